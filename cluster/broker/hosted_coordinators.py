"""Everything on a broker that coordinates or serves transactions and groups, and its connections to other brokers."""

from collections.abc import Callable, Mapping
from typing import Protocol

from cluster.broker.coordinator_runtime import CoordinatorHost
from cluster.broker.group_coordinator_service import OFFSETS_TOPIC, GroupCoordination
from cluster.broker.inter_broker import PeerHost, Peers
from cluster.broker.replica import Replica
from cluster.broker.transaction_coordinator_service import TRANSACTIONS_TOPIC, TransactionCoordination
from cluster.broker.transactional_requests import TransactionalRequests, TransactionServer
from cluster.network import InFlightRequest
from cluster.protocol.messages import Request
from cluster.protocol.names import topic_of


class CoordinatingHost(CoordinatorHost, PeerHost, TransactionServer, Protocol):
    """The broker that hosts them."""


class HostedCoordinators:
    """The coordinators of one broker, and what they need beside them."""

    def __init__(
        self,
        host: CoordinatingHost,
        config: Mapping[str, object],
        new_uuid: Callable[[], str],
        new_producer_id: Callable[[], int],
    ) -> None:
        self._peers = Peers(host)
        self.groups = GroupCoordination(host, config, new_uuid)
        self.transactions = TransactionCoordination(host, config, new_producer_id, self._peers)
        self.requests = TransactionalRequests(host, self._peers, config)

    def handlers(self) -> dict[type[Request], Callable[[InFlightRequest], None]]:
        """Which requests they serve."""
        return {**self.groups.handlers(), **self.transactions.handlers(), **self.requests.handlers()}

    def died(self) -> None:
        """The broker's process ended."""
        self.groups.died()
        self.transactions.died()
        self._peers.died()

    def leadership_changed(self, replica: Replica, *, was_leader: bool, at_creation: bool) -> None:
        """Coordinators come and go with the partitions of their topics."""
        coordination: GroupCoordination | TransactionCoordination
        topic = topic_of(replica.partition)
        if topic == OFFSETS_TOPIC:
            coordination = self.groups
        elif topic == TRANSACTIONS_TOPIC:
            coordination = self.transactions
        else:
            return
        if was_leader:
            coordination.resigned(replica)
        if replica.is_leader:
            coordination.elected(replica, at_creation=at_creation)

"""What commands do to transactions: a producer that abandons its own, and the end of one that hangs."""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.broker.broker import Broker
from cluster.broker.controller_channel import ControllerChannel
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.producer.producer import Producer
from cluster.commands import catalogue as c
from cluster.protocol.errors import ErrorCode
from cluster.simulation.active_faults import FaultBook, Refused


class Cluster(Protocol):
    """What these commands act on: the simulation, as far as they need it."""

    control: ControllerChannel

    def process(self, name: str) -> Broker | Consumer | Producer | None:
        """A process by its name."""


class TransactionOperations:
    """Carries them out; `book` keeps the abandoned transactions, until their producers end."""

    def __init__(self, simulation: Cluster, book: FaultBook) -> None:
        self._simulation, self._book = simulation, book
        self.handlers: dict[type, Callable[[Any], None]] = {
            c.AbandonTransaction: self._abandon,
            c.AbortHangingTransaction: self._abort_hanging,
        }

    def _abandon(self, command: c.AbandonTransaction) -> None:
        """Its application sends what belongs to the transaction, and never comes to its end."""
        producer = self._simulation.process(command.producer)
        if not isinstance(producer, Producer) or producer.transaction_loop is None:
            raise Refused(f"{command.producer} is not a producer with transactions")
        loop = producer.transaction_loop
        if not producer.alive or loop.over:
            raise Refused(f"{command.producer} is not running: start it first")
        if loop.abandoned:
            raise Refused(f"{command.producer} has abandoned its transaction already")
        loop.abandoned = True
        self._book.begin(("abandoned", command.producer), command, None, lambda: None)

    def _abort_hanging(self, command: c.AbortHangingTransaction) -> None:
        """WriteTxnMarkers (API 27), asked of the partition's leader by an administrator."""
        name = f"{command.topic}-{command.partition}"
        control = self._simulation.control
        leader = self._simulation.process(f"broker-{control.controller.partitions[name].leader}")
        if not isinstance(leader, Broker) or not leader.running or not leader.replicas[name].is_leader:
            raise Refused(f"LEADER_NOT_AVAILABLE: nobody leads {name}")
        refused: list[ErrorCode] = []
        try:
            leader.transactional_requests.abort_hanging(name, lambda _, error: refused.append(error))
        except LookupError as reason:
            raise Refused(str(reason)) from reason
        if refused and refused[0] is not ErrorCode.NONE:
            raise Refused(f"{refused[0].name}: the marker was not written")

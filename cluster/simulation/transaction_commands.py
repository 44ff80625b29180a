"""Commands on transactions: abandon a producer's transaction, abort a hanging one."""

from cluster.broker.broker import Broker
from cluster.clients.producer.producer import Producer
from cluster.commands import catalogue as c
from cluster.protocol.errors import ErrorCode
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, Handlers
from cluster.simulation.running_cluster import RunningCluster


class TransactionCommands:
    """Executes commands on transactions. An abandoned transaction is a fault until its producer's process ends."""

    def __init__(self, cluster: RunningCluster, active: ActiveFaults) -> None:
        self._cluster, self._active = cluster, active
        self.handlers: Handlers = {
            c.AbandonTransaction: self._abandon,
            c.AbortHangingTransaction: self._abort_hanging,
        }

    def _abandon(self, command: c.AbandonTransaction) -> None:
        """The application sends the records of its transaction, and neither commits nor aborts it."""
        producer = self._cluster.process(command.producer)
        if not isinstance(producer, Producer) or producer.transaction_loop is None:
            raise CommandRefusedError(f"{command.producer} is not a producer with transactions")
        loop = producer.transaction_loop
        if not producer.alive or loop.finished:
            raise CommandRefusedError(f"{command.producer} is not running: start it first")
        if loop.abandoned:
            raise CommandRefusedError(f"{command.producer} has abandoned its transaction already")
        loop.abandoned = True
        self._active.start(("abandoned", command.producer), command, None, lambda: None)

    def _abort_hanging(self, command: c.AbortHangingTransaction) -> None:
        """WriteTxnMarkers (API 27), asked of the partition's leader by an administrator."""
        name = f"{command.topic}-{command.partition}"
        control = self._cluster.control
        leader = self._cluster.process(f"broker-{control.controller.partitions[name].leader}")
        if not isinstance(leader, Broker) or not leader.running or not leader.replicas[name].is_leader:
            raise CommandRefusedError(f"LEADER_NOT_AVAILABLE: {name} has no leader")
        refused: list[ErrorCode] = []
        try:
            leader.transactional_requests.abort_hanging(name, lambda _, error: refused.append(error))
        except LookupError as reason:
            raise CommandRefusedError(str(reason)) from reason
        if refused and refused[0] is not ErrorCode.NONE:
            raise CommandRefusedError(f"{refused[0].name}: the marker was not written")

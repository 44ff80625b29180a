"""An idempotent producer: a process with an application that sends, an accumulator, and a sender thread.

Source: `org.apache.kafka.clients.producer.KafkaProducer`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from cluster import events as e
from cluster.clients.process import ClientEnvironment, Process
from cluster.clients.producer.accumulator import Accumulator, ProducerBatch
from cluster.clients.producer.record_feed import RecordFeed
from cluster.clients.producer.sender import Sender
from cluster.clients.producer.transaction_loop import TransactionLoop
from cluster.clients.producer.transaction_manager import TransactionManager
from cluster.config import in_flight_keys
from cluster.network import Connection
from cluster.protocol.api import Request
from cluster.protocol.messages import MetadataRequest, ProduceRequest
from cluster.protocol.record_batch import RECORD_OVERHEAD_BYTES
from cluster.random_streams import random_stream
from cluster.spec import ProducerSpec

MS = 1_000


class Producer(Process):
    """One producer instance. `config` has every producer key of Kafka."""

    timed_out_after_us = MS  # more than its timeout must have passed, in whole milliseconds

    def __init__(
        self, environment: ClientEnvironment, spec: ProducerSpec, name: str, number: int, config: dict[str, Any]
    ) -> None:
        super().__init__(environment, name, number, config)
        self.spec, self.declared, self.config, self.topics = spec, spec, config, spec.topics
        self.state = "Stopped"
        self.accumulator = Accumulator(
            max(1, config["batch.size"]),
            config["buffer.memory"],
            int(config["linger.ms"] * MS),
            spec.size_bytes + RECORD_OVERHEAD_BYTES,
            config["compression.type"],
        )
        self.feed = RecordFeed(self, spec, self.accumulator, environment.seed, config)
        self.transactions: TransactionManager | None = None
        self.transaction_loop: TransactionLoop | None = None
        if spec.transactions is not None:
            self.feed.allowance = 0
            transactional_id = spec.transactions.id_of(int(name.rpartition("-")[2]))
            timeout_ms: int = config["transaction.timeout.ms"]
            self.transactions = TransactionManager(self, transactional_id, timeout_ms, environment.transaction_version)
            random = random_stream(environment.seed, f"transactions/{name}")
            self.transaction_loop = TransactionLoop(self, spec.transactions, self.transactions, random)
        self.sender = Sender(self, config, self.accumulator)
        self.overdue = False  # a request has timed out, which its thread does not know yet

    # --- the process ------------------------------------------------------------------------------------------------

    def launch(self, nursery: trio.Nursery) -> None:
        """Start the process."""
        if self.declared is not self.spec:
            self._become_declared()
        self.begin()
        self.accumulator.reset(self.config["buffer.memory"])
        self.sender.restart()
        self.feed.restart()
        if self.transaction_loop is not None:
            self.transaction_loop.reset()
        self.set_state("Running", "started")
        self.timeline.start(nursery, self._run, name=self.name)

    def configure(self, declared: ProducerSpec) -> None:
        """It is declared otherwise: what can change in flight does, the rest when the process starts again."""
        self.declared = declared
        config = declared.producer_config()
        self.config |= {key: config[key] for key in in_flight_keys("producer")}
        self._read_config()

    def change_rate(self, per_second: float) -> None:
        """Records come at another rate from now on."""
        self.feed.change_rate(per_second)

    def _become_declared(self) -> None:
        """A new process reads all of its configuration."""
        self.spec = self.declared
        self.config = dict(self.spec.producer_config())
        self._read_config()
        self.feed.forget_partitioners()

    def _read_config(self) -> None:
        config = self.config
        self.read_timeouts(config)
        codec: str = config["compression.type"]
        self.accumulator.configure(max(1, config["batch.size"]), int(config["linger.ms"] * MS), codec)
        self.sender.configure(config)
        self.feed.configure(config)

    async def _run(self) -> None:
        async with trio.open_nursery() as nursery:
            if not self.alive:
                return
            self.scope = nursery.cancel_scope
            self.timeline.start(nursery, self.sender.run, name=f"{self.name}/sender")
            run_transactions = self._transactions_thread()
            if run_transactions is not None:
                self.timeline.start(nursery, run_transactions, name=f"{self.name}/transactions")

    def _transactions_thread(self) -> Callable[[], Awaitable[None]] | None:
        """What else runs in the process when it works in transactions."""
        return self.transaction_loop.run if self.transaction_loop is not None else None

    def kill(self) -> None:
        """Kill -9: what is buffered is lost with the process."""
        self._gone("Dead", "killed")

    def closed(self) -> None:
        """Everything is sent, after close(): the process ends."""
        self._gone("Stopped", "closed")

    def _gone(self, state: str, reason: str) -> None:
        self.end()
        self.feed.end()
        self.sender.end()
        self.accumulator.reset(self.config["buffer.memory"])
        self.set_state(state, reason)
        self.notify_stopped(cleanly=state == "Stopped")

    def close_soon(self) -> None:
        """Ask the application to stop: what has come by now is sent, then the process ends."""
        self.pull()
        self.feed.closing = True
        if self.transaction_loop is not None and self.state != "Fenced":
            self.transaction_loop.closing = True
            self.transaction_loop.wake()
            return
        self.sender.closing = True
        self.sender.wake()

    def freeze(self) -> None:
        """Freeze the whole process."""
        super().freeze()
        self.set_state("Paused", "paused")

    def thaw(self) -> None:
        """Go on; records whose time came meanwhile come now."""
        self.set_state("Running", "resumed")
        super().thaw()
        self.pull()
        self.sender.wake()

    def set_state(self, state: str, reason: str) -> None:
        """Tell the world where the application stands."""
        self.state = state
        self.emit(e.ProducerStateChanged(producer=self.name, state=state, reason=reason))

    def connected(self, _: Connection) -> None:
        """What waits for this connection may go."""
        self.sender.wake()

    def disconnected(self, _: Connection) -> None:
        """Metadata may be out of date."""
        self.sender.disconnected()

    def _check_timeouts(self, _: None) -> None:
        """The thread finds requests that have timed out when poll() returns, which lasts request.timeout.ms at most.

        While it waits for other answers it looks all the time. Source: `NetworkClient.poll`,
        `Sender.maybeSendAndPollTransactionalRequest`.
        """
        returns_us = self.sender.polls_since_us + self._request_timeout_us
        asleep = self.running and self.timeline.now_us < returns_us
        if asleep and all(one.waits_only_for(ProduceRequest, MetadataRequest) for one in self._watched):
            self.overdue = True
            self._timeouts = self.timeline.call_at(returns_us, self._check_timeouts, None)
            return
        self.overdue, self.sender.polls_since_us = False, self.timeline.now_us
        super()._check_timeouts(None)

    def poll_returned(self) -> None:
        """Something has woken its thread, which now knows of requests that have timed out."""
        self.overdue = False
        if self._timeouts is not None:
            self._timeouts.cancel()
        super()._check_timeouts(None)

    async def ask(self, broker: int, request: Request, *, long_poll: bool = False) -> Any:  # noqa: ANN401 - its response
        """Send a request and wait for its response; both wake the thread, which then finds what has timed out."""
        self._woken()
        response = await super().ask(broker, request, long_poll=long_poll)
        self._woken()
        return response

    def _woken(self) -> None:
        self.sender.polls_since_us = self.timeline.now_us
        if self.overdue:
            self.poll_returned()

    # --- between the application and the sender -----------------------------------------------------------------------

    def begin_sending(self) -> None:
        """Metadata and producer id are there: the application may send."""
        self.feed.begin()
        self.pull()

    def keys_moved(self, serials: dict[str, int]) -> None:
        """From now on keys go to other partitions; `serials`: partition → its next serial number."""
        self.environment.key_order.moved(self.name, serials)

    def key_sent(self, partition: str, serial: int) -> None:
        """A record with a key that did not decide its partition goes there next."""
        self.environment.key_order.sent(self.name, partition, serial)

    def pull(self) -> None:
        """Bring what has come by now into the accumulator."""
        self.feed.pull()

    def look_ahead(self) -> None:
        """Batches were drained: the next record opens one."""
        self.feed.look_ahead()

    def memory_released(self) -> None:
        """A batch gave its memory back."""
        self.feed.memory_released()

    # --- transactions -------------------------------------------------------------------------------------------------

    def identified(self, producer_id: int, epoch: int) -> None:
        """The coordinator gave a producer id and epoch."""
        self.sender.identified(producer_id, epoch)

    def exceeds_availability_timeout(self, broker: int) -> bool:
        """Whether a broker has taken nothing for longer than the partitioner waits for one."""
        return self.sender.exceeds_availability_timeout(broker)

    def send_refused(self, topic: str, waited_for: str, error: str) -> None:
        """send() gave a record up: after `max.block.ms`, or because it is too large."""
        self.sender.refused(topic, waited_for, error)
        self.transaction_failed(error)

    def transaction_progressed(self) -> None:
        """Something that the application's transaction waits for may have happened."""
        if self.transaction_loop is not None:
            self.transaction_loop.wake()

    def transaction_opened(self, batch: ProducerBatch) -> None:
        """A batch belongs to the open transaction."""
        if self.transaction_loop is not None:
            self.transaction_loop.opened(batch)

    def transaction_failed(self, error: str = "") -> None:
        """A batch of the open transaction failed."""
        if self.transaction_loop is not None:
            self.transaction_loop.batch_failed(error)

    def fenced(self, reason: str) -> None:
        """Somebody else uses the transactional id, or the coordinator does not know this producer: it stops sending."""
        self.feed.closing = True
        self.sender.abandon("TransactionAbortedException", also_sent=True)
        self.set_state("Fenced", reason)

    def batch_ready(self, at_us: int) -> None:
        """A batch may be sent from this instant on."""
        if at_us <= self.timeline.now_us:
            self.sender.wake()
        else:
            self.sender.look_at(at_us)

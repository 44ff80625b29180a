"""An idempotent producer: a process with an application that sends, an accumulator and a sender thread.

Source: `org.apache.kafka.clients.producer.KafkaProducer`.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from cluster import events as e
from cluster.clients.client_environment import ClientEnvironment
from cluster.clients.producer.accumulator import Accumulator, ProducerBatch
from cluster.clients.producer.producer_host import ProducerHost
from cluster.clients.producer.record_feed import RecordFeed
from cluster.clients.producer.sender import Sender
from cluster.clients.producer.tombstones import Tombstones
from cluster.clients.producer.transaction_loop import TransactionLoop
from cluster.clients.producer.transaction_manager import TransactionManager
from cluster.config import ProducerConfig, in_flight_keys
from cluster.network import Connection
from cluster.protocol.api import Request
from cluster.protocol.client_states import PRODUCER_STATES, ProducerState
from cluster.protocol.messages import MetadataRequest, ProduceRequest
from cluster.protocol.record_batch import RECORD_OVERHEAD_BYTES
from cluster.random_streams import random_stream
from cluster.spec import ProducerSpec

MS: Final = 1_000
_S = ProducerState


class Producer(ProducerHost):
    """One producer instance. `declared`: its spec in the scenario as `set` commands left it; `spec`: the one in force.

    `overdue`: a request has timed out, which the sender thread has not noticed yet.
    """

    timed_out_after_us = MS  # more than its timeout must have passed, in whole milliseconds

    def __init__(self, environment: ClientEnvironment, spec: ProducerSpec, name: str, number: int) -> None:
        self._values = dict(spec.producer_config())
        self.config = config = ProducerConfig.of(self._values)
        super().__init__(environment, name, number, config)
        self.spec, self.declared, self.topics = spec, spec, spec.topics
        self.state: ProducerState = PRODUCER_STATES.initial
        self.accumulator = Accumulator(
            max(1, config.batch_size),
            config.buffer_memory,
            config.linger_ms * MS,
            spec.size_bytes + RECORD_OVERHEAD_BYTES,
            config.compression_type,
        )
        self.tombstones = Tombstones(environment.seed, name, spec.tombstones) if spec.tombstones > 0 else None
        self.feed = RecordFeed(self, spec, self.accumulator, environment.seed, config)
        self.transactions = self._make_transactions()
        self.sender = Sender(self, config, self.accumulator, self.transactions)
        self.transaction_loop = self._make_transaction_loop()
        self.overdue = False

    def _make_transactions(self) -> TransactionManager | None:
        """Make the transaction manager of a transactional producer's process; None for any other producer."""
        if self.spec.transactions is None:
            return None
        transactional_id = self.spec.transactions.id_of(int(self.name.rpartition("-")[2]))
        timeout_ms = self.config.transaction_timeout_ms
        return TransactionManager(self, transactional_id, timeout_ms, self.environment.transaction_version)

    def _make_transaction_loop(self) -> TransactionLoop | None:
        """Make the application of a transactional producer; None for any other."""
        spec, transactions = self.spec.transactions, self.transactions
        if spec is None or transactions is None:
            return None
        self.feed.allowance = 0
        random = random_stream(self.environment.seed, f"transactions/{self.name}")
        return TransactionLoop(
            self, spec, transactions, random, accumulator=self.accumulator, feed=self.feed, sender=self.sender
        )

    # --- the process --------------------------------------------------------------------------------------------------

    def launch(self, nursery: trio.Nursery) -> None:
        """Start the process."""
        if self.declared is not self.spec:
            self._reload_spec()
        self.transactions = self.sender.transactions = self._make_transactions()
        self.begin()
        self.accumulator.reset(self.config.buffer_memory)
        self.sender.restart()
        self.feed.restart()
        if self.transaction_loop is not None and self.transactions is not None:
            self.transaction_loop.reset(self.transactions)
        self._change_state(_S.RUNNING, "started")
        self.timeline.start(nursery, self._run, name=self.name)

    def configure(self, declared: ProducerSpec) -> None:
        """Take a changed spec: keys that change in flight hold at once, all others when the process starts again."""
        self.declared = declared
        values = declared.producer_config()
        self._values |= {key: values[key] for key in in_flight_keys("producer")}
        self._read_config()

    def change_rate(self, per_second: float) -> None:
        """Send records at another rate from now on."""
        self.feed.change_rate(per_second)

    def _reload_spec(self) -> None:
        """Read the declared spec and all of its configuration, as a new process does."""
        self.spec = self.declared
        self._values = dict(self.spec.producer_config())
        self._read_config()
        self.feed.forget_partitioners()

    def _read_config(self) -> None:
        self.config = config = ProducerConfig.of(self._values)
        self.read_timeouts(config)
        self.accumulator.configure(max(1, config.batch_size), config.linger_ms * MS, config.compression_type)
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
        """The thread of a transactional producer that runs beside its sender; None without transactions."""
        return self.transaction_loop.run if self.transaction_loop is not None else None

    def kill(self) -> None:
        """End the process by kill -9: buffered records are lost."""
        self._ended(_S.DEAD, "killed")

    def closed(self) -> None:
        """End the process after close(): everything is sent."""
        self._ended(_S.STOPPED, "closed")

    def _ended(self, state: ProducerState, reason: str) -> None:
        self.end()
        self.feed.end()
        self.sender.end()
        self.accumulator.reset(self.config.buffer_memory)
        self._change_state(state, reason)
        self.notify_stopped(cleanly=state is _S.STOPPED)

    def close_soon(self) -> None:
        """Ask the application to close: records that have arrived by now are sent, then the process ends."""
        self.pull()
        self.feed.close()
        if self.transaction_loop is not None and self.state is not _S.FENCED:
            self.transaction_loop.closing = True
            self.transaction_loop.wake()
        else:
            self.sender.closing = True
            self.sender.wake()
        self._close_before_sending()

    def _close_before_sending(self) -> None:
        """Let close() wait for requests in flight, and not for a producer id: no record waits for it.

        Source: `Sender.run`, whose main loop ends with close(), whatever the application waits for.
        """
        initialising = self.transactions is not None and self.transactions.initialising
        if self.state is not _S.RUNNING or (self.sender.began and not initialising):
            return  # the sender sends what there is, and ends the process
        if self.awaits_response:
            self.after(self.retry_backoff_us, self._close_before_sending)
        else:
            self.closed()

    def freeze(self) -> None:
        """Freeze the whole process."""
        super().freeze()
        self._change_state(_S.PAUSED, "paused")

    def thaw(self) -> None:
        """Resume the process; records that would have arrived meanwhile arrive now."""
        self._change_state(_S.RUNNING, "resumed")
        super().thaw()
        self.pull()
        self.sender.wake()

    def _change_state(self, to: ProducerState, reason: str) -> None:
        self.state = PRODUCER_STATES.next_state(self.state, to)
        self.emit(e.ProducerStateChanged(producer=self.name, state=to.value, reason=reason))

    def connected(self, _: Connection) -> None:
        """Send the batches that wait for this connection."""
        self.sender.wake()

    def disconnected(self, _: Connection) -> None:
        """Refresh the metadata, which may be out of date."""
        self.sender.disconnected()

    def _check_timeouts(self, _: None) -> None:
        """Notice requests that have timed out when poll() returns, at most request.timeout.ms after it was called.

        While the sender thread waits for any other response it notices them at once. Source: `NetworkClient.poll`,
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
        """Let the sender thread, which is awake, notice requests that have timed out."""
        self.overdue = False
        if self._timeouts is not None:
            self._timeouts.cancel()
        super()._check_timeouts(None)

    async def refresh_metadata(self, topics: tuple[str, ...]) -> None:
        """Ask for metadata; a broker that has not heard of a new topic yet takes none of its partitions away."""
        known = dict(self.topic_partitions)
        await super().refresh_metadata(topics)
        for topic, partitions in known.items():
            if partitions and not self.topic_partitions[topic]:
                self.topic_partitions[topic] = partitions

    async def ask(self, broker: int, request: Request, *, long_poll: bool = False) -> Any:  # noqa: ANN401 - its response
        """Send a request and wait for its response; both wake the sender thread, which notices timed-out requests."""
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
        """Start the application: metadata and producer id are known."""
        self.feed.begin()
        self.pull()

    def knows_topics(self) -> bool:
        """Whether one topic is known: send() waits for that of its record only (`KafkaProducer.waitOnMetadata`)."""
        return any(self.topic_partitions.get(topic) for topic in self.topics)

    def request_metadata(self) -> None:
        """Let the sender thread refresh metadata until the topic is there."""
        self.sender.request_metadata()

    def keys_moved(self, serials: dict[str, int]) -> None:
        """Note that keys map to other partitions from now on; `serials`: partition → its next serial number."""
        self.environment.key_order.moved(self.name, serials)

    def key_sent(self, partition: str, serial: int) -> None:
        """Note that a record whose key did not decide its partition is the next one of this partition."""
        self.environment.key_order.sent(self.name, partition, serial)

    def pull(self) -> None:
        """Move the records that have arrived by now into the accumulator."""
        self.feed.pull_arrived()

    def look_ahead(self) -> None:
        """Schedule the next pull: batches were drained, so the next record opens one."""
        self.feed.look_ahead()

    def memory_released(self) -> None:
        """Continue a send() that waits for `buffer.memory`."""
        self.feed.memory_released()

    # --- transactions -------------------------------------------------------------------------------------------------

    def identified(self, producer_id: int, epoch: int) -> None:
        """Use this producer id and epoch from now on; sequences restart at 0."""
        self.sender.identified(producer_id, epoch)

    def exceeds_availability_timeout(self, broker: int) -> bool:
        """Whether a broker has taken nothing for longer than `partitioner.availability.timeout.ms`."""
        return self.sender.exceeds_availability_timeout(broker)

    def send_refused(self, topic: str, waited_for: str, error: str) -> None:
        """Record that send() failed: after `max.block.ms`, or because the record is too large."""
        self.sender.refused(topic, waited_for, error)
        self.transaction_failed(error)

    def transaction_progressed(self) -> None:
        """Wake the application of a transactional producer."""
        if self.transaction_loop is not None:
            self.transaction_loop.wake()

    def transaction_opened(self, batch: ProducerBatch) -> None:
        """Note that a batch belongs to the open transaction."""
        if self.transaction_loop is not None:
            self.transaction_loop.opened(batch)

    def transaction_failed(self, error: str = "") -> None:
        """Make the open transaction abortable."""
        if self.transaction_loop is not None:
            self.transaction_loop.batch_failed(error)

    def fenced(self, reason: str) -> None:
        """Stop sending: another producer has the transactional id, or the coordinator does not know this one."""
        self.feed.closing = True
        self.sender.abandon("TransactionAbortedException", also_sent=True)
        self._change_state(_S.FENCED, reason)

    def batch_ready(self, at_us: int) -> None:
        """Wake the sender at this instant, from which on a batch may be sent."""
        if at_us <= self.timeline.now_us:
            self.sender.wake()
        else:
            self.sender.look_at(at_us)

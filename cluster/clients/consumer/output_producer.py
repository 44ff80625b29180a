"""The producer inside a member's process: the application writes one output record for each processed record.

An output record has the key of its input and the input's identity (`RecordBatch.origins`). So the delivery ledger
recognizes a second copy. Its configuration is `producer` of the application. send() waits for metadata and for
`buffer.memory`. flush() sends buffered records without `linger.ms`, and waits until all of them are settled.
Source: `KafkaProducer.send`, `flush`.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from cluster.clients.client_environment import ClientEnvironment
from cluster.clients.delivery_ledger import origins_of
from cluster.clients.process import Process, Wait
from cluster.clients.producer.producer import Producer
from cluster.protocol.record_batch import Slice
from cluster.spec import ApplicationSpec, ProducerSpec
from cluster.virtual_time import Waiter


class OutputProducer(Producer):
    """A producer without arrivals of its own. `failure`: the error of the first record that could not be written."""

    def __init__(self, environment: ClientEnvironment, application: ApplicationSpec, name: str, number: int) -> None:
        topic = application.writes
        topics = () if topic is None else (topic,)
        spec = ProducerSpec(name, topics, rate_per_second=0.0, config=application.producer)
        super().__init__(environment, spec, name, number)
        self._topic = topic
        self._application: Waiter | None = None
        self._failed = 0
        self.failure: str | None = None

    def begin(self) -> None:
        """Start the process: nothing has failed yet."""
        super().begin()
        self.failure, self._failed, self._application = None, self.sender.counters["failed"], None

    def begin_sending(self) -> None:
        """Continue a send() that waits for metadata or the producer id."""
        super().begin_sending()
        self._wake()

    def memory_released(self) -> None:
        """Continue a waiting send() or flush(): a batch was acknowledged, or has failed."""
        if self.sender.counters["failed"] > self._failed:
            self.failure = f"a record could not be written to {self._topic}: {self.sender.last_error}"
        self._wake()

    def _wake(self) -> None:
        if self._application is not None:
            self._application.wake()

    def _wait_for(self, member: Process, why: str) -> Wait:
        return partial(self._wait, member, why)

    async def _wait(self, member: Process, why: str) -> None:
        self._application = waiter = self.timeline.waiter(why)
        await member.park(waiter)
        self._application = None

    def write(self, member: Process, slices: Sequence[Slice]) -> Iterator[Wait]:
        """send() one output record for each of these input records, in their order; yields each wait."""
        assert self._topic is not None
        while not self.feed.begun:
            yield self._wait_for(member, "the metadata of its outputs")
        if self.feed.refusal:
            self._refuse(self._topic, sum(end - first for _, first, end in slices))
            return
        for batch, first, end in slices:
            at = first
            while at < end:
                key = batch.keys[at - batch.base_offset] if batch.keys else None
                run = origins_of(batch, at, end if key is None else at + 1)[0]
                taken = self.feed.put(self._topic, key, run)
                if not taken:
                    yield self._wait_for(member, "buffer.memory for its outputs")
                at += taken

    def _refuse(self, topic: str, records: int) -> None:
        """Fail the send() of records that are too large. Source: `KafkaProducer.ensureValidRecordSize`."""
        for _ in range(records):
            self.send_refused(topic, "", self.feed.refusal)
        self.memory_released()

    async def flush(self, member: Process) -> None:
        """Wait until every sent record is acknowledged or has failed; `linger.ms` is not waited for."""
        while not self.sender.idle:
            self.accumulator.flushing = True
            self.sender.wake()
            await self._wait_for(member, "its outputs to be acknowledged")()
        self.accumulator.flushing = False

"""The producer inside a member's process: the application writes its outputs for each processed record.

An output record has the key of its input and an identity of its input's (`Outputs`). So the delivery ledger
recognizes a second copy. Its configuration is `producer` of the application. send() waits for metadata and for
`buffer.memory`. flush() sends buffered records without `linger.ms`, and waits until all of them are settled.
Source: `KafkaProducer.send`, `flush`.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from cluster.clients.application.outputs import Outputs
from cluster.clients.client_environment import ClientEnvironment
from cluster.clients.delivery_ledger import origins_of
from cluster.clients.process import Process, Wait
from cluster.clients.producer.producer import Producer
from cluster.protocol.record_batch import Origin, Slice
from cluster.spec import ApplicationSpec, ProducerSpec
from cluster.virtual_time import Waiter


class OutputProducer(Producer):
    """A producer without arrivals of its own. `failure`: the error of the first record that could not be written."""

    def __init__(self, environment: ClientEnvironment, application: ApplicationSpec, name: str, number: int) -> None:
        topics, config = application.topics_written, application.producer
        super().__init__(environment, ProducerSpec(name, topics, rate_per_second=0.0, config=config), name, number)
        self._outputs = Outputs(application.written, environment.seed, name.rpartition("-")[0])
        self._application: Waiter | None = None
        self._failed = 0
        self.failure: str | None = None

    def begin(self) -> None:
        """Start the process: nothing has failed yet."""
        super().begin()
        self.failure, self._failed, self._application = None, self.sender.counters["failed"], None

    def knows_topics(self) -> bool:
        """Whether all topics are known: the application begins with all of its outputs."""
        return all(self.topic_partitions.get(topic) for topic in self.topics)

    def begin_sending(self) -> None:
        """Continue a send() that waits for metadata or the producer id."""
        super().begin_sending()
        self._wake()

    def memory_released(self) -> None:
        """Continue a waiting send() or flush(): a batch was acknowledged, or has failed."""
        if self.sender.counters["failed"] > self._failed:
            topics = ", ".join(self.topics)
            self.failure = f"a record could not be written to {topics}: {self.sender.last_error}"
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
        """send() the output records for each of these input records, in their order; yields each wait."""
        while not self.feed.begun:
            yield self._wait_for(member, "the metadata of its outputs")
        for batch, first, end in slices:
            at = first
            while at < end:
                key = batch.keys[at - batch.base_offset] if batch.keys else None
                alone = key is not None or not self._outputs.plain
                run = origins_of(batch, at, at + 1 if alone else end)[0]
                taken = 1
                if not self._outputs.plain:
                    for topic, copy in self._outputs.of(run):
                        while not self._put(topic, key, copy):
                            yield self._wait_for(member, "buffer.memory for its outputs")
                elif not (taken := self._put(self.topics[0], key, run)):
                    yield self._wait_for(member, "buffer.memory for its outputs")
                at += taken

    def write_dead_letter(self, member: Process, topic: str, piece: Slice) -> Iterator[Wait]:
        """send() one record to the dead-letter topic, with its key and identity; yields each wait."""
        while not self.feed.begun:
            yield self._wait_for(member, "the metadata of its outputs")
        batch, offset, end = piece
        key = batch.keys[offset - batch.base_offset] if batch.keys else None
        while not self._put(topic, key, origins_of(batch, offset, end)[0]):
            yield self._wait_for(member, "buffer.memory for its outputs")

    def _put(self, topic: str, key: int | None, run: Origin) -> int:
        """send() records; returns how many were taken. One that is too large fails.

        Source: `KafkaProducer.ensureValidRecordSize`.
        """
        if not self.feed.refusal:
            return self.feed.put(topic, key, run)
        for _ in range(run[3]):
            self.send_refused(topic, "", self.feed.refusal)
        self.memory_released()
        return run[3]

    async def flush(self, member: Process) -> None:
        """Wait until every sent record is acknowledged or has failed; `linger.ms` is not waited for."""
        while not self.sender.idle:
            self.accumulator.flushing = True
            self.sender.wake()
            await self._wait_for(member, "its outputs to be acknowledged")()
        self.accumulator.flushing = False

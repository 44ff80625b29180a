"""What brokers and clients count since their process started: from events alone, beside the view.

A broker counts what it appends as the leader of an epoch, also one that is deposed and does not know it. A new process
begins at zero, as after a restart of a real one. Prometheus sees the reset.
"""

import copy
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable

from cluster import events as e
from cluster.protocol.names import topic_of
from recordings.journal.format import Position
from recordings.journal.reader import Recording

KEPT_EVERY = 250_000  # events between two states that a step back begins at
NOT_COUNTED = "TransactionAbortedException"  # RecordAccumulator.abortUndrainedBatches tells no sensor


class ProcessCounts:
    """The counts of all processes: keys are (what, topic), the topic "" for all topics together."""

    def __init__(self) -> None:
        self.brokers: dict[int, Counter[tuple[str, str]]] = {}
        self.consumers: dict[str, Counter[tuple[str, str]]] = {}
        self.producers: dict[str, Counter[tuple[str, str]]] = {}  # one in a consumer's application has its name
        self._leaders: dict[str, dict[int, int]] = {}  # partition → leader epoch → broker
        self._kept_in: dict[str, str] = {}  # group → its partition of `__consumer_offsets`

    def take(self, event: e.Event) -> None:
        """Count an event."""
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def _of_broker(self, broker: int) -> Counter[tuple[str, str]]:
        return self.brokers.setdefault(broker, Counter())

    def _of_producer(self, producer: str) -> Counter[tuple[str, str]]:
        return self.producers.setdefault(producer, Counter())

    # --- brokers ------------------------------------------------------------------------------------------------------

    def _broker_started(self, event: e.BrokerStarted) -> None:
        self.brokers[event.broker] = Counter()

    def _leadership_taken(self, event: e.LeadershipTaken) -> None:
        self._leaders.setdefault(event.partition, {})[event.leader_epoch] = event.broker

    def _records_appended(self, event: e.RecordsAppended) -> None:
        counts, topic = self._of_broker(self._leaders[event.partition][event.leader_epoch]), topic_of(event.partition)
        for name in ("", topic):
            counts["messagesin", name] += event.count
            counts["bytesin", name] += event.bytes

    def _leader_elected(self, event: e.LeaderElected) -> None:
        if event.reason == "unclean":  # each controller counts it from the metadata log
            for counts in self.brokers.values():
                counts["uncleanleaderelections", ""] += 1

    # --- coordinators -------------------------------------------------------------------------------------------------

    def _group_declared(self, event: e.GroupDeclared) -> None:
        self._kept_in[event.group] = event.coordinator_partition

    def _group_stabilized(self, event: e.GroupStabilized) -> None:
        self._of_coordinator(event.group)["completed_rebalances", ""] += 1

    def _offsets_committed(self, event: e.OffsetsCommitted) -> None:
        self._of_coordinator(event.group)["offset_commits", ""] += len(event.offsets)

    def _of_coordinator(self, group: str) -> Counter[tuple[str, str]]:
        leaders = self._leaders[self._kept_in[group]]
        return self._of_broker(leaders[max(leaders)])

    # --- clients ------------------------------------------------------------------------------------------------------

    def _member_started(self, event: e.MemberStarted) -> None:
        self.consumers[event.member] = Counter()

    def _poll_returned(self, event: e.PollReturned) -> None:
        self.consumers[event.member]["consumed", ""] += event.records

    def _producer_state_changed(self, event: e.ProducerStateChanged) -> None:
        if event.state in {"Stopped", "Dead"}:  # the next process begins anew
            self.producers.pop(event.producer, None)

    def _produce_sent(self, event: e.ProduceSent) -> None:
        for partitions in (event.records, event.retried):
            for partition, records in partitions.items():
                self._count(event.producer, "send", partition, records)

    def _batch_retried(self, event: e.BatchRetried) -> None:
        self._count(event.producer, "retry", event.partition, event.records)

    def _batch_failed(self, event: e.BatchFailed) -> None:
        if event.error != NOT_COUNTED:
            self._count(event.producer, "error", event.partition, event.records)

    def _send_refused(self, event: e.SendRefused) -> None:
        self._of_producer(event.producer)["error", ""] += (
            event.records
        )  # KafkaProducer.doSend counts it without a topic

    def _batch_split(self, event: e.BatchSplit) -> None:
        self._of_producer(event.producer)["split", ""] += 1

    def _count(self, producer: str, what: str, partition: str, records: int) -> None:
        counts = self._of_producer(producer)
        counts[what, ""] += records
        counts[what, topic_of(partition)] += records


HANDLERS: dict[type[e.Event], Callable[..., None]] = {
    e.BrokerStarted: ProcessCounts._broker_started,
    e.LeadershipTaken: ProcessCounts._leadership_taken,
    e.RecordsAppended: ProcessCounts._records_appended,
    e.LeaderElected: ProcessCounts._leader_elected,
    e.GroupDeclared: ProcessCounts._group_declared,
    e.GroupStabilized: ProcessCounts._group_stabilized,
    e.OffsetsCommitted: ProcessCounts._offsets_committed,
    e.MemberStarted: ProcessCounts._member_started,
    e.PollReturned: ProcessCounts._poll_returned,
    e.ProducerStateChanged: ProcessCounts._producer_state_changed,
    e.ProduceSent: ProcessCounts._produce_sent,
    e.BatchRetried: ProcessCounts._batch_retried,
    e.BatchFailed: ProcessCounts._batch_failed,
    e.SendRefused: ProcessCounts._send_refused,
    e.BatchSplit: ProcessCounts._batch_split,
}


class RecordedCounts:
    """The counts of a recording just after any event; a step back begins at a state that was kept on the way.

    `at` raises RecordingError where the recording is damaged (unless it is salvaged).
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._kept: list[tuple[Position, ProcessCounts]] = [(Position(), ProcessCounts())]
        self._counts = ProcessCounts()
        self._end = Position()
        self._batches = recording.batches()
        self._batch: list[e.Event] = []
        self._seq = self._place = 0

    def at(self, seq: int) -> ProcessCounts:
        """The counts after the event `seq`, 0: before the first. The next call changes them."""
        if seq < self._seq:
            self._restart(seq)
        while self._seq < seq:
            if self._place == len(self._batch):
                self._turn_page()
                if not self._batch:
                    break
            self._counts.take(self._batch[self._place])
            self._seq = self._batch[self._place].seq
            self._place += 1
        return self._counts

    def _restart(self, seq: int) -> None:
        """Begin at the last state kept that is not behind `seq`."""
        position, counts = self._kept[bisect_right(self._kept, seq, key=lambda one: one[0].seq) - 1]
        self._seq, self._counts = position.seq, copy.deepcopy(counts)
        self._batches, self._end = self._recording.batches(position), position
        self._batch, self._place = [], 0

    def _turn_page(self) -> None:
        """Read on; everything read so far is counted, so its state can be kept."""
        if self._end.seq >= self._kept[-1][0].seq + KEPT_EVERY:
            self._kept.append((self._end, copy.deepcopy(self._counts)))
        self._batch, self._place = [], 0
        for batch in self._batches:
            self._end = batch.end
            self._batch = [entry for entry in batch.entries if isinstance(entry, e.Event)]
            if self._batch:
                return

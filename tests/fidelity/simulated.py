"""A scenario as Flightdeck flies it, as facts: the lines of `run --log`, and what its applications were told."""

import os
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping

import trio

from cluster.commands import Mark
from cluster.events import (
    ApplicationFailed,
    BatchFailed,
    ConsumerFenced,
    Event,
    OffsetCommitRefused,
    PartitionsAssigned,
    PartitionsPaused,
    PartitionsResumed,
    PartitionsRevoked,
    PreferredReadReplicaChanged,
    ProducerDeclared,
    ProducerIdAssigned,
    ProducerStateChanged,
    RebalanceListenerReturned,
    SendRefused,
    TransactionStateChanged,
)
from cluster.protocol.record_batch import RecordBatch
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from cluster.view.state import NEVER
from recordings.flights.runner import FlightResult, fly, make_plan
from recordings.kafka_log.renderer import RENDERERS
from recordings.kafka_log.state import KafkaLogState
from recordings.scenarios.loader import load
from tests.fidelity.normalisation import (
    EMPTY_MARKER,
    READ_REPLICA,
    DescribedMember,
    Fact,
    LoggedBatch,
    Row,
    committed_text,
    description_text,
    facts,
    log_text,
    offsets_text,
    outcome,
    positions_text,
    records_text,
    replica_name,
)

Told = tuple[float, str, str]
LOOKS = ("offsets of ", "committed of ", "description of ", "positions of ", "records of ")
"""What a mark is called that looks at a topic, a group or a member."""

LOG = "log of "
BACKGROUND = "consumer_background_thread"
"""The thread of a consumer of the new protocol; its lines without a context do not tell whose it is."""


def flown(scenario: str | os.PathLike[str], *, invariants: bool = True) -> list[Fact]:
    """The facts of a flight of this scenario file."""
    plan = make_plan(load(str(scenario)), invariants=invariants)
    flight = _Flight(plan.spec)
    ended = fly(plan, log=flight)
    if invariants and not ended.held:
        raise AssertionError(f"{plan.scenario}: {ended.invariants['violations']}")
    flight.look_until(plan.spec.until_us)
    return facts(flight.rows, [*flight.told, *_logs(plan.spec), *_outcome(plan.spec, ended)])


def _logs(spec: ScenarioSpec) -> list[Told]:
    """What stands in the logs, at each `mark "log of TOPIC"`, in a flight of its own."""
    looks = [(at_us, text.removeprefix(LOG)) for at_us, text in _marks(spec) if text.startswith(LOG)]
    if not looks:
        return []
    told: list[Told] = []
    simulation = Simulation(spec, spec.seed)

    async def fly_on() -> None:
        async with simulation.running():
            for at_us, topic in looks:
                await simulation.timeline.fly(at_us)
                told.extend((at_us / 1_000, *each) for each in _logs_now(simulation, spec, topic))

    trio.run(fly_on, clock=simulation.timeline)
    return told


def _logs_now(simulation: Simulation, spec: ScenarioSpec, topic: str) -> Iterator[tuple[str, str]]:
    names = [f"{each.name}-{n}" for each in spec.topics if each.name == topic for n in range(each.partitions)]
    for broker in spec.brokers:
        for name in names:
            log = simulation.log_of(broker.id, name)
            if log is not None:
                yield replica_name(name, broker.id), log_text(map(_logged, log.batches))


def _logged(batch: RecordBatch) -> LoggedBatch:
    kept = [batch.base_offset + place for place in batch.places]
    marker = EMPTY_MARKER if batch.marker and not kept else batch.marker
    return LoggedBatch(batch.base_offset, batch.next_offset - 1, kept, marker, horizon=batch.delete_horizon_us >= 0)


def _outcome(spec: ScenarioSpec, ended: FlightResult) -> Iterator[Told]:
    """What became of the acknowledged records, for each group, when producers sent any."""
    if ended.view["delivery"]["acknowledged"]:
        for group in spec.groups:
            counts = ended.view["delivery"]["by_group"][group.name]
            missing = counts["acknowledged"] - counts["delivered"]
            yield from outcome(ended.virtual_s * 1_000, group.name, missing, counts["duplicated"])


JAVA_NAMES = {
    "REQUEST_TIMED_OUT": "TimeoutException",
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceException",
    "GROUP_MAX_SIZE_REACHED": "GroupMaxSizeReachedException",
}


def java_exception(error: str) -> str:
    """The exception that the Java client throws for an error code: `PRODUCER_FENCED` → `ProducerFencedException`."""
    if not error.isupper():
        return error
    return JAVA_NAMES.get(error, f"{error.title().replace('_', '')}Exception")


class _Flight:
    """A sink that renders each event as Kafka's log has it, and keeps what callbacks and exceptions tell."""

    def __init__(self, spec: ScenarioSpec) -> None:
        self.rows: list[Row] = []
        self.told: list[Told] = []
        self._log = KafkaLogState()
        self._transactions = _Transactions(spec)
        self._view = ClusterView()
        self._looks = deque(each for each in _marks(spec) if each[1].startswith(LOOKS))
        self._assigned = {name: group.application.commit for group in spec.groups for name in group.assign}

    def __call__(self, event: Event) -> None:
        at_ms = event.at_us / 1_000
        writer = getattr(event, "member", "") or getattr(event, "producer", "")
        for renderer in RENDERERS.get(type(event), ()):
            for line in renderer(self._log, event):
                thread = BACKGROUND if self._asynchronous(writer) and not line.context else writer
                self.rows.append(Row(at_ms, line.level, line.logger, line.context + line.message, thread))
        if isinstance(event, PreferredReadReplicaChanged) and event.broker >= 0:
            text = f"{READ_REPLICA} for partition {event.partition} to {event.broker}"
            context = f"[Consumer clientId={event.member}, groupId={event.group}] "
            self.rows.append(Row(at_ms, "DEBUG", "FetchCollector", context + text, writer))
        told = _told_by_hand(event, self._assigned) if writer in self._assigned else _told(event)
        if self._asynchronous(writer):
            told = _told_by_listener(event)
        self.told += [(at_ms, *each) for each in (*told, *self._transactions.told(event))]
        self.look_until(event.at_us)
        if self._looks:
            fold(self._view, event)

    def _asynchronous(self, writer: str) -> bool:
        """Whether a client is a consumer that speaks the new protocol now."""
        return writer in self._log.members and self._log.members[writer].asynchronous

    def look_until(self, at_us: int) -> None:
        """Look where the scenario looks before an instant."""
        while self._looks and at_us >= self._looks[0][0]:
            self._look(*self._looks.popleft())

    def _look(self, at_us: int, words: str) -> None:
        """What a scenario sees where it looks at an instant."""
        what, _, name = words.partition(" of ")
        look = {
            "offsets": self._offsets,
            "committed": self._committed,
            "description": self._description,
            "positions": self._positions,
            "records": self._records,
        }
        self.told.append((at_us / 1_000, name, look[what](name)))

    def _positions(self, name: str) -> str:
        member = self._view.members[name]
        return positions_text(member.positions, member.paused_partitions)

    def _records(self, group: str) -> str:
        finished = defaultdict[str, list[int]](list)
        for reader in self._view.groups[group].readers.values():
            for producer, serials in reader.finished_serials.items():
                finished[producer] += [serial for first, end in serials.ranges() for serial in range(first, end)]
        return records_text(finished)

    def _offsets(self, topic: str) -> str:
        logs = [self._view.partitions[name] for name in self._view.partitions_by_topic[topic]]
        start, end = sum(log.log_start for log in logs), sum(log.high_watermark for log in logs)
        return offsets_text(start, sum(log.last_stable_offset for log in logs), end)

    def _committed(self, name: str) -> str:
        group = self._view.groups[name]
        offsets = {each: reader.committed for each, reader in group.readers.items() if reader.committed != NEVER}
        return committed_text(group.state, len(group.members), offsets)

    def _description(self, name: str) -> str:
        group, consumer = self._view.groups[name], self._view.groups[name].consumer
        assert consumer is not None
        members = [
            DescribedMember(
                group.members[key], one.instance_id, one.epoch, one.assigned + one.pending_revocation, one.target
            )
            for key, one in consumer.members.items()
        ]
        return description_text(group.state, (consumer.group_epoch, consumer.assignment_epoch), group.assignor, members)


def _marks(spec: ScenarioSpec) -> list[tuple[int, str]]:
    return [(step.at_us, step.command.text) for step in spec.steps if isinstance(step.command, Mark)]


def _told(event: Event) -> list[tuple[str, str]]:
    match event:
        case PartitionsAssigned(member=member, partitions=partitions):
            return [(member, f"assigned [{', '.join(partitions)}]")]
        case PartitionsRevoked(member=member, partitions=partitions, lost=lost):
            return [(member, f"{'lost' if lost else 'revoked'} [{', '.join(partitions)}]")]
        case PartitionsPaused(member=member, partitions=partitions):
            return [(member, f"paused [{', '.join(sorted(partitions))}]")]
        case PartitionsResumed(member=member, partitions=partitions):
            return [(member, f"resumed [{', '.join(sorted(partitions))}]")]
        case OffsetCommitRefused(member=member, error=error) if error.endswith("Exception"):
            return [(member, f"commit_threw {error}")]
        case ConsumerFenced(member=member):
            return [(member, "poll_threw FencedInstanceIdException")]
        case ApplicationFailed(member=member, reason=reason):
            return [(member, f"poll_threw {java_exception(reason.partition(':')[0])}")]
        case SendRefused(producer=producer, waited_for="memory"):
            return [(producer, "send_failed BufferExhaustedException")]  # which is a TimeoutException
        case BatchFailed(producer=producer, error=error) | SendRefused(producer=producer, error=error):
            return [(producer, f"send_failed {java_exception(error)}")]
        case _:
            return []


def _told_by_hand(event: Event, assigned: Mapping[str, str]) -> list[tuple[str, str]]:
    """What a member with assign() is told: it has no callbacks, and a refused commit throws, but for an auto commit."""
    match event:
        case PartitionsAssigned():
            return []
        case OffsetCommitRefused(member=member, error="UNKNOWN_MEMBER_ID"):
            return [] if assigned[member] == "auto" else [(member, "commit_threw CommitFailedException")]
        case _:
            return _told(event)


def _told_by_listener(event: Event) -> list[tuple[str, str]]:
    """What a member of the new protocol is told: its listener may return when its partitions are lost already."""
    match event:
        case PartitionsRevoked(lost=False):
            return []
        case RebalanceListenerReturned(member=member, partitions=partitions):
            return [(member, f"revoked [{', '.join(partitions)}]")]
        case _:
            return _told(event)


class _Transactions:
    """What the calls of a transactional producer return: initTransactions(), commitTransaction(), an exception."""

    def __init__(self, spec: ScenarioSpec) -> None:
        aborting = [each for each in spec.producers if each.transactions is not None and each.transactions.abort == 1]
        self._aborting = {name for each in aborting for name in each.instances()}
        self._declared = {name for each in spec.producers for name in each.instances()}
        self._transactional: set[str] = set()
        self._begins: set[str] = set()
        self._owner: dict[int, str] = {}

    def told(self, event: Event) -> list[tuple[str, str]]:
        match event:
            case ProducerDeclared(producer=producer, transactional_id=transactional_id) if transactional_id:
                self._transactional.add(producer)
            case ProducerStateChanged(producer=producer, state="Running") if producer in self._transactional:
                self._begins.add(producer)
            case ProducerIdAssigned(producer=producer) if producer in self._begins:
                self._begins.remove(producer)
                self._owner[event.producer_id] = producer
                return [(producer, "transactions_initialised")]
            case TransactionStateChanged(state="PrepareCommit", loaded=False, producer_id=producer_id):
                owner = self._owner.get(producer_id, "")
                return [(owner, "transaction_committed")] if owner in self._declared else []
            case TransactionStateChanged(state="PrepareAbort", loaded=False, producer_id=producer_id):
                owner = self._owner.get(producer_id, "")
                return [(owner, "transaction_aborted")] if owner in self._aborting else []
            case ProducerStateChanged(producer=producer, state="Fenced", reason=reason):
                return [(producer, f"producer_threw {java_exception(reason)}")]
            case _:
                pass
        return []

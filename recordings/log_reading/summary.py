"""The main tables of a recording that was read from logs: what the logs tell, and None for what they do not."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from cluster import events as e
from cluster.events import Event
from cluster.view import ClusterView, fold
from cluster.view.logged.state import UNKNOWN
from recordings.journal.reader import Recording
from recordings.log_reading.make import Reading, reading_of

SECOND_US = 1_000_000


class ReadGroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """A group at the end of the logs. `coordinator`: the broker of its coordinator's last line; `lag` is in no log.

    `rebalances`: None where no coordinator's line has the group; clients' lines alone do not tell how many.
    """

    group: str
    protocol: str
    state: str | None
    members: int | None
    generation: int | None
    rebalances: int | None
    coordinator: int | None
    lag: int | None = None


class ReadRebalanceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rebalance: `took_s` until the coordinator received the assignment, None if no line says so.

    A rebalance that began anew before it had an assignment is one, with its first cause and `attempts`. Of a group of
    the consumer protocol each epoch is a row: when its members have reached it is in no log. `detail`: the reason in
    the coordinator's words, "" of an epoch. `moved` and `stopped_partition_s` are in no log of a broker.
    """

    at_s: float
    group: str
    generation: int | None
    cause: str | None
    trigger: str
    took_s: float | None
    attempts: int
    members: int | None
    detail: str = ""
    moved: int | None = None
    stopped_partition_s: float | None = None


class ReadProducerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A producer at the end of the logs; "" for no transactional id, and for no error in its lines.

    What it sent and what was acknowledged is in no line.
    """

    producer: str
    transactional_id: str
    state: str | None
    producer_id: int | None
    epoch: int | None
    retried: int
    split: int
    disconnected: int
    last_error: str
    sent: int | None = None


class ReadTransactionalIdRow(msgspec.Struct, frozen=True, kw_only=True):
    """A transactional id at the end of the logs. Its state, and when transactions begin and commit, is in no line."""

    transactional_id: str
    coordinator: int | None
    producer_id: int | None
    epoch: int | None
    initialized: int
    timed_out: int
    fenced: int
    state: str | None = None


class ReadSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `flightdeck summary --json` prints of such a recording."""

    recording: str
    read_from: list[str]
    reading: Reading
    groups: list[ReadGroupRow]
    rebalances: list[ReadRebalanceRow]
    producers: list[ReadProducerRow]
    transactional_ids: list[ReadTransactionalIdRow]
    warnings: list[str]


class _GroupTables:
    """A group's rows, gathered from its events alone."""

    def __init__(self, name: str) -> None:
        self.name, self.protocol = name, UNKNOWN
        self.state: str | None = None
        self.members: int | None = None
        self.generation: int | None = None
        self.coordinator, self.flown = -1, False
        self.started: tuple[int, e.RebalanceStarted] | None = None
        self.attempts = 0
        self.rows: list[ReadRebalanceRow] = []

    def take(self, event: Event) -> None:
        """Take one event of the group."""
        match event:
            case e.RebalanceStarted():
                self.protocol, self.state, self.coordinator = "classic", "PreparingRebalance", event.broker
                self.started = self.started or (event.at_us, event)
                self.attempts += 1
            case e.JoinBarrierCompleted():
                self.protocol, self.generation, self.members = "classic", event.generation, len(event.members)
                self.state = "CompletingRebalance" if event.members else "Empty"
                if not event.members:
                    self._close(event.at_us)
            case e.GroupStabilized():
                self.state, self.generation = "Stable", event.generation
                self._close(event.at_us)
            case e.GroupLoaded() | e.ConsumerGroupLoaded():
                self.state = event.state if event.state != UNKNOWN else None
                self.protocol = "consumer" if isinstance(event, e.ConsumerGroupLoaded) else "classic"
                self.members, self.coordinator, self.generation = len(event.members), event.broker, None
                self._close(None)
            case e.ConsumerGroupEpochBumped():
                self.protocol, self.state, self.coordinator = "consumer", None, event.broker
                self.generation, self.members = event.epoch, None
                self._epoch(event)
            case e.ClassicGroupUpgraded() | e.ConsumerGroupDowngraded():
                self.protocol = "consumer" if isinstance(event, e.ClassicGroupUpgraded) else "classic"
                self.state, self.coordinator = None, event.broker
                self._close(None)
            case e.GroupDeclared():
                self.flown = event.offset_reset != UNKNOWN
            case e.MemberIdAssigned():
                self.coordinator = event.broker
            case e.GroupUnloaded():
                self.state = None
                self._close(None)
            case _:
                pass

    def _close(self, now_us: int | None) -> None:
        """End the rebalance that is under way; None: no line says when."""
        if self.started is None:
            return
        began_us, first = self.started
        self.rows.append(
            ReadRebalanceRow(
                at_s=began_us / SECOND_US,
                group=self.name,
                generation=self.generation if now_us is not None else None,
                cause=_known(first.cause),
                trigger=first.trigger,
                took_s=(now_us - began_us) / SECOND_US if now_us is not None else None,
                attempts=self.attempts,
                members=self.members if now_us is not None else None,
                detail=first.detail,
            )
        )
        self.started, self.attempts = None, 0

    def _epoch(self, event: e.ConsumerGroupEpochBumped) -> None:
        row = ReadRebalanceRow(
            at_s=event.at_us / SECOND_US,
            group=self.name,
            generation=event.epoch,
            cause=_known(event.cause),
            trigger=", ".join(event.members),
            took_s=None,
            attempts=1,
            members=None,
        )
        self.rows.append(row)

    def row(self) -> ReadGroupRow:
        """The group's row, at the end."""
        self._close(None)
        known = self.flown or self.protocol != UNKNOWN
        return ReadGroupRow(
            group=self.name, protocol=self.protocol, state=self.state, members=self.members,
            generation=self.generation, rebalances=len(self.rows) if known else None,
            coordinator=self.coordinator if self.coordinator >= 0 else None,
        )  # fmt: skip


def _known(text: str) -> str | None:
    return text if text != UNKNOWN else None


def tables_of(events: Iterable[Event]) -> tuple[list[ReadGroupRow], list[ReadRebalanceRow]]:
    """The groups and the rebalances, in the order of their beginning."""
    groups: dict[str, _GroupTables] = {}
    for event in events:
        name: str = getattr(event, "group", "")
        if name:
            groups.setdefault(name, _GroupTables(name)).take(event)
    rows = [each.row() for each in groups.values()]
    return rows, sorted((row for each in groups.values() for row in each.rows), key=lambda row: row.at_s)


def _folded(view: ClusterView, events: Iterable[Event]) -> Iterator[Event]:
    """The events, each applied to the view."""
    for event in events:
        fold(view, event)
        yield event


def _producers(view: ClusterView) -> list[ReadProducerRow]:
    lost = {one.client: one.lost for one in view.logs.connections.values()} if view.logs is not None else {}
    return [
        ReadProducerRow(
            producer=one.producer, transactional_id=one.transactional_id, state=one.state,
            producer_id=one.producer_id, epoch=one.epoch, retried=one.retried, split=one.split,
            disconnected=lost.get(one.producer, 0),
            last_error=one.last_error,
        )
        for one in (view.logs.producers.values() if view.logs is not None else ())
    ]  # fmt: skip


def _transactional_ids(view: ClusterView) -> list[ReadTransactionalIdRow]:
    return [
        ReadTransactionalIdRow(
            transactional_id=one.transactional_id, coordinator=one.coordinator, producer_id=one.producer_id,
            epoch=one.epoch, initialized=one.initialized, timed_out=one.timed_out, fenced=one.fenced,
        )
        for one in (view.logs.transactional_ids.values() if view.logs is not None else ())
    ]  # fmt: skip


def summarize_reading(recording: Recording) -> ReadSummary:
    """The main tables. Raises RecordingError: damaged."""
    view = ClusterView()
    groups, rebalances = tables_of(_folded(view, recording.events()))
    return ReadSummary(
        recording=str(recording.path),
        read_from=list(recording.header.read_from),
        reading=reading_of(recording.path),
        groups=groups,
        rebalances=rebalances,
        producers=_producers(view),
        transactional_ids=_transactional_ids(view),
        warnings=recording.warnings,
    )


def summary_of_logs(path: Path, *, salvage: bool) -> ReadSummary | None:
    """The summary of a recording that was read from logs; None for a flight's. Raises RecordingError."""
    recording = Recording(path, salvage=salvage, logs=True)
    return summarize_reading(recording) if recording.header.read_from else None

"""The panels of a member's place: its timers, its partitions, its generations, its state at the coordinator."""

from collections.abc import Sequence

from cluster.view.document import partition_order, partition_time_lag_us
from cluster.view.lives.lives import MemberLife
from cluster.view.rebalances import ConsumerGroupView
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from console.presenters import states
from console.presenters.consumer_groups.members_table import ReconciliationListing
from console.presenters.exceptions.group_lag import LAG_IS
from console.presenters.formatting import UNKNOWN, count, duration, moment
from console.presenters.list_view import CONTINUED, Listing, WorstFirstListing
from console.presenters.members import MembersListing
from console.presenters.overview import broker_state
from console.presenters.partition_grids import lag_of
from console.presenters.styled_text import ERROR, FAINT, MOVING, MUTED, PLAIN, STRONG, WARN, Line, Span, line, middle
from console.presenters.table import TableColumn, for_names, layout

JOINING = f"{CONTINUED}now"
STARTED = "its process started"


class MemberTimersListing(MembersListing):
    """The row of one member in the table of its group's members."""

    title = "poll loop and heartbeat thread"

    def __init__(self, view: ClusterView, group: GroupView, member: str, now_us: int, width: int) -> None:
        super().__init__(view, group, now_us, width)
        self.keys, self.sick = [f"{CONTINUED}{member}"], 0

    def note(self) -> Line:
        """Nothing: the title of the group's table counts its members."""
        return ()

    def rows(self, key: str) -> tuple[Line, ...]:
        """The two lines of the member; none can be selected."""
        return super().rows(key.removeprefix(CONTINUED))


class AtCoordinatorListing(ReconciliationListing):
    """The row of one member in the table of reconciliation: what the coordinator keeps of it."""

    title = "at the coordinator"
    vacant = line(("its group has no member of this id", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, member: MemberView, now_us: int, width: int) -> None:
        super().__init__(view, group, now_us, width)
        known: ConsumerGroupView = self.consumer
        self.keys = [one for one in known.members if group.members.get(one) == member.member]

    def row_keys(self) -> list[str]:
        """Its ids: two while a former process has not been removed. None can be selected."""
        return [f"{CONTINUED}{key}" for key in self.keys]

    def rows(self, key: str) -> tuple[Line]:
        """What the coordinator keeps of one id."""
        return super().rows(key.removeprefix(CONTINUED))

    def note(self) -> Line:
        """The epochs of its group."""
        epochs = f"group epoch {self.consumer.group_epoch} · assignment epoch {self.consumer.assignment_epoch}"
        return line((epochs, MUTED))


PARTITION_COLUMNS = (
    TableColumn("partition", 14, grow=1, most=28),
    TableColumn("position", 9, right=True),
    TableColumn("buffered", 8, right=True, rank=2),
    TableColumn("committed", 9, right=True),
    TableColumn("lag", 6, right=True),
    TableColumn("held back", 9, right=True, rank=1),
    TableColumn("time lag", 8, right=True, rank=2),
    TableColumn("owned for", 9, right=True, rank=4),
    TableColumn("fetched from", 18, rank=3, grow=1, most=30),
)


class OwnedListing(WorstFirstListing):
    """The partitions that a member owns by its own account; those that nothing can be fetched of come first."""

    title = "partitions"
    vacant = line(("owns none", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, member: MemberView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.group, self.member, self.now_us = view, group, member, now_us
        self.layout = layout(for_names(PARTITION_COLUMNS, member.owned), width)
        self.order(sorted(member.owned, key=partition_order))

    def rank(self, key: str) -> int | None:
        """Partitions without a leader that answers."""
        partition = self.view.partitions[key]
        leads = partition.leader >= 0 and broker_state(self.view.brokers[partition.leader]) in {"up", "stopping"}
        return None if leads else 0

    def header(self) -> Line:
        """The columns' titles, if it owns partitions."""
        return self.layout.header() if self.keys else ()

    def note(self) -> Line:
        """What the lag counts."""
        return line((LAG_IS, FAINT))

    def rows(self, key: str) -> tuple[Line]:
        """One partition."""
        partition, reader = self.view.partitions[key], self.group.readers.get(key)
        position = self.member.positions.get(key, NEVER)
        committed = reader.committed if reader is not None else NEVER
        held = partition.high_watermark - partition.last_stable_offset if self.group.read_committed else 0
        late_us = partition_time_lag_us(self.view, self.group, key, self.now_us)
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            _offset(position),
            self._buffered(key, position),
            _offset(committed),
            line(count(lag_of(self.view, self.group, partition))),
            line((count(held), WARN if held else FAINT)),
            duration(late_us) if late_us else ((UNKNOWN, FAINT),),
            duration(self.now_us - self.member.owned[key]),
            self._source(key),
        ]
        return (self.layout.row(cells),)

    def _buffered(self, key: str, position: int) -> Line:
        """How many offsets behind its position the consumer has fetched already."""
        fetched = self.member.buffered.get(key)
        return line((count(fetched.next_offset - position), PLAIN)) if fetched is not None else line((UNKNOWN, FAINT))

    def _source(self, key: str) -> Line:
        """The broker that it is fetched from, and whether that answers; `pause()` where nothing is fetched."""
        if key in self.member.paused_partitions:
            return line(("pause() was called", WARN))
        follower = self.member.read_from.get(key)
        broker = self.view.partitions[key].leader if follower is None else follower
        if broker < 0:
            return line(("✖ no leader", ERROR))
        state = broker_state(self.view.brokers[broker])
        sign = states.BROKER[state]
        role = "" if follower is None else " (follower)"
        if state == "up":
            return line(f"broker-{broker}{role}")
        return line((f"{sign.glyph} broker-{broker}{role} {state}", sign.tone))


def _offset(offset: int) -> Line:
    return line(str(offset)) if offset != NEVER else line((UNKNOWN, FAINT))


STAY_COLUMNS = (
    TableColumn("gen", 5, right=True),
    TableColumn("joined", 8, right=True),
    TableColumn("took", 7, right=True),
    TableColumn("it joined because", 18, rank=3, grow=2, most=46),
    TableColumn("got", 4, right=True, rank=1),
    TableColumn("revoked", 7, right=True, rank=1),
    TableColumn("stayed", 7, right=True),
    TableColumn("until", 14, grow=2, most=46),
)
EPOCH_COLUMNS = (TableColumn("epoch", 5, right=True), *STAY_COLUMNS[1:])


class GenerationsListing(Listing):
    """The generations (KIP-848: member epochs) that a member was in, as its client knew them, newest first."""

    title = "its generations"
    vacant = line(("it has been in none yet", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, member: MemberView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.life, self.now_us = view.lives.members.get(member.member, MemberLife()), now_us
        self.epochs = group.consumer is not None
        if self.epochs:
            self.title = "its member epochs"
        self.layout = layout(EPOCH_COLUMNS if self.epochs else STAY_COLUMNS, width)
        self.stays = {str(one.joined_us): one for one in reversed(self.life.stays)}
        known = {one.generation for one in group.rebalances}
        self.keys = [key if one.generation in known else f"{CONTINUED}{key}" for key, one in self.stays.items()]

    def header(self) -> Line:
        """The columns' titles, if there is a row."""
        return self.layout.header() if self.row_keys() else ()

    def row_keys(self) -> Sequence[str]:
        """The present join, then generations; those whose rebalance the group still knows can be selected."""
        return [*([JOINING] if self.life.joins_us != NEVER else []), *self.keys]

    def rows(self, key: str) -> tuple[Line]:
        """One generation."""
        if key == JOINING:
            return (self._joining(),)
        one = self.stays[key.removeprefix(CONTINUED)]
        took = duration(one.assigned_us - one.asked_us) if one.assigned_us != NEVER else UNKNOWN
        cells: list[Line | Span | str] = [
            (str(one.generation), STRONG),
            moment(one.joined_us),
            line((took, PLAIN if one.assigned_us != NEVER else FAINT)),
            line((one.why or self._unnamed(one.joined_us), MUTED)),
            line((f"+{one.gained}" if one.gained else "0", PLAIN if one.gained else FAINT)),
            line((str(one.lost), PLAIN if one.lost else FAINT)),
            duration((one.ended_us if one.ended_us != NEVER else self.now_us) - one.joined_us),
            line((one.ended_for or UNKNOWN, MUTED)) if one.ended_us != NEVER else line(("now", PLAIN)),
        ]
        return (self.layout.row(cells),)

    def _unnamed(self, joined_us: int) -> str:
        """The reason that a client does not name: its first generation since its process started has none."""
        since = self.life.started_us
        first = not any(since <= one.joined_us < joined_us for one in self.life.stays)
        return STARTED if first and since <= joined_us else UNKNOWN

    def _joining(self) -> Line:
        cells: list[Line | Span | str] = [
            ("↻", MOVING),
            ("joins", MOVING),
            line((duration(self.now_us - self.life.joins_us), MOVING)),
            line((self.life.joins_for or self._unnamed(self.now_us + 1), MUTED)),
            "",
            "",
            "",
            "",
        ]
        return self.layout.row(cells)

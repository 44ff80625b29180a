"""Rebalances that are over, as a table; and the case file of one of them, in words."""

from bisect import bisect_left, bisect_right

from cluster.view.state import NEVER, ClusterView, GroupView, Moment, RebalanceView
from console.presenters import states
from console.presenters.awaited import awaited_joins, awaited_syncs
from console.presenters.listing import Listing
from console.presenters.moments import concerns
from console.presenters.numbers import SECOND_US, clock, count, duration, moment
from console.presenters.table import Column, layout
from console.presenters.text import ACCENT, FAINT, MOVING, MUTED, PLAIN, STRONG, WARN, Line, Span, line, wrapped

NOW = "now"
CHAIN_KEPT = 24

COLUMNS = (
    Column("gen", 4, right=True),
    Column("began", 8, right=True, rank=1),
    Column("cause", 20, grow=3, most=26),
    Column("set off by", 12, rank=2, grow=1, most=18),
    Column("took", 6, right=True),
    Column("stopped", 7, right=True, rank=1),
    Column("moved", 5, right=True, rank=2),
    Column("re-read", 7, right=True, rank=2),
    Column("waited for", 12, rank=4, grow=1, most=24),
)


class RebalancesListing(Listing):
    """Newest first; the one under way on top."""

    title = "rebalances"
    vacant = line(("none yet: the first one begins when a member joins", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.group, self.now_us = view, group, now_us
        self.layout = layout(COLUMNS, width)
        self.by_key = {str(one.started_us): one for one in reversed(group.rebalances)}

    def note(self) -> Line:
        """What `stopped` is."""
        return line(("stopped: partition-seconds without an owner", FAINT)) if self.width >= 80 else ()

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """`now`, if one is under way, then the instants at which they began."""
        return [*([NOW] if self.group.barrier is not None else []), *self.by_key]

    def rows(self, key: str) -> tuple[Line]:
        """One rebalance."""
        if key == NOW:
            return (self._under_way(),)
        one = self.by_key[key]
        cells: list[Line | Span | str] = [
            str(one.generation),
            moment(one.started_us),
            line((one.cause, PLAIN)),
            one.trigger,
            duration(one.stable_us - one.started_us),
            _costs(one.stopped_partition_us / SECOND_US, one.stopped_partition_us),
            _costs(one.moved, one.moved),
            _costs(one.reread, one.reread),
            line((_waited(one), MUTED)),
        ]
        return (self.layout.row(cells),)

    def _under_way(self) -> Line:
        barrier = self.group.barrier
        assert barrier is not None
        missing = awaited_joins(self.view, self.group, self.now_us) or awaited_syncs(self.view, self.group, self.now_us)
        after = self.group.generation + (1 if barrier.completed_us == NEVER else 0)
        cells: list[Line | Span | str] = [
            (str(after), MOVING),
            moment(barrier.started_us),
            line(("↻ " + barrier.cause, MOVING)),
            barrier.trigger,
            line((duration(self.now_us - barrier.started_us), MOVING)),
            "",
            "",
            "",
            line((", ".join(one.member for one in missing), WARN)),
        ]
        return self.layout.row(cells)


def _costs(number: float, exact: int) -> Line:
    return line((count(number), PLAIN)) if exact else line(("0", FAINT))


def _waited(one: RebalanceView) -> str:
    return f"{one.waited_for} {duration(one.waited_us)}" if one.waited_for and one.waited_us else one.waited_for


def case_file(view: ClusterView, group: GroupView, key: str, width: int) -> list[Line]:
    """A rebalance as a story: what set it off, what happened, who was waited for, what it cost, what would help."""
    one = next((one for one in group.rebalances if str(one.started_us) == key), None)
    if one is None:
        return [line(("This rebalance is not known any more.", MUTED))]
    width = min(width, 100)
    result: list[Line] = [*_cause(one, width), ()]
    result += [_heading("what happened"), *_chain(view, group, one, width), ()]
    result += [_heading("waited for"), *_waiting(one, width), ()]
    result += [_heading("what it cost"), *_cost(one, width), ()]
    remedy = states.REMEDIES.get(one.cause)
    if remedy:
        result += [_heading("what would have helped"), *wrapped(line("  ", remedy), width, indent=2)]
    return result


def _heading(words: str) -> Line:
    return line((words, ACCENT))


def _cause(one: RebalanceView, width: int) -> list[Line]:
    who = f" ({one.trigger})" if one.trigger else ""
    title = line((f"{one.cause}{who}", STRONG), (f"  generation {one.generation}", MUTED))
    gloss = states.CAUSES.get(one.cause, "")
    when = f"from {clock(one.started_us, 3)} to {clock(one.stable_us, 3)}, {duration(one.stable_us - one.started_us)}"
    return [title, *wrapped(line((gloss, MUTED)), width), line((when, MUTED))]


def _chain(view: ClusterView, group: GroupView, one: RebalanceView, width: int) -> list[Line]:
    shown = chain_of(view, group, one)
    if not shown:
        return [line(("  nothing that is known", MUTED))]
    skipped = len(shown) - CHAIN_KEPT
    lines: list[Line] = []
    if skipped > 0:
        lines.append(line((f"  … {skipped} earlier", FAINT)))
    for noted in shown[-CHAIN_KEPT:]:
        offset = noted.at_us - one.started_us
        before = f"{'-' if offset < 0 else '+'}{duration(abs(offset))}"
        words = line((f"  {clock(noted.at_us, 3)} ", MUTED), (f"{before:>8}  ", FAINT), noted.text)
        lines += wrapped(words, width, indent=25)
    return lines


def chain_of(view: ClusterView, group: GroupView, one: RebalanceView) -> list[Moment]:
    """What is known of this rebalance, and of what befell the member that set it off before."""
    concerned = {group.group, *(member.member for member in view.members.values() if member.group == group.group)}
    session_us = max((member.session_timeout_ms for member in view.members.values()), default=0) * 1_000
    first = bisect_left(view.moments, one.started_us - 2 * session_us, key=_instant)
    last = bisect_right(view.moments, one.stable_us, key=_instant)
    return [
        noted
        for noted in view.moments[first:last]
        if concerns(noted, concerned if noted.at_us >= one.started_us else {one.trigger})
    ]


def _instant(noted: Moment) -> int:
    return noted.at_us


def _waiting(one: RebalanceView, width: int) -> list[Line]:
    if not one.waited_for:
        return [line(("  nobody in particular", MUTED))]
    words = line("  ", (one.waited_for, WARN), f" joined last, {duration(one.waited_us)} after the barrier had opened")
    return wrapped(words, width, indent=2)


def _cost(one: RebalanceView, width: int) -> list[Line]:
    stopped = duration(one.stopped_partition_us)
    parts = [
        f"  {stopped} of partitions without an owner, summed over partitions",
        f"  {one.moved} partitions changed their owner, {one.members} members took part",
        f"  {count(one.reread)} records were read a second time",
    ]
    return [row for part in parts for row in wrapped(line((part, PLAIN)), width, indent=2)]


class CaseListing(Listing):
    """A case file as a panel shows it, line by line."""

    title = "case file"

    def __init__(self, view: ClusterView, group: GroupView, key: str, width: int) -> None:
        super().__init__(width)
        self._lines = case_file(view, group, key, width - 4)

    def row_keys(self) -> list[str]:
        """One for each line; none can be selected."""
        return [f"#{place}" for place in range(len(self._lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (line("  ", *self._lines[int(key[1:])]),)

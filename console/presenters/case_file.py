"""A rebalance as a story: what set it off, who was waited for, what moved, what it cost, what would have helped."""

from bisect import bisect_left, bisect_right
from itertools import groupby

from cluster.view.state import ClusterView, GroupView, Moment, RebalanceView
from console.presenters import causes
from console.presenters.listing import Listing
from console.presenters.members import ranges
from console.presenters.moments import concerns, told
from console.presenters.numbers import SECOND_US, clock, count, duration
from console.presenters.phase import members_words
from console.presenters.text import ACCENT, FAINT, MUTED, PLAIN, STRONG, WARN, Line, line, wrapped

CHAIN_KEPT = 24
RECENT_US = 10 * SECOND_US  # a start that is longer ago explains nothing


def case_file(view: ClusterView, group: GroupView, key: str, width: int) -> list[Line]:
    """Everything that is known of one rebalance; `key` is its first instant in µs."""
    one = next((one for one in group.rebalances if str(one.started_us) == key), None)
    if one is None:
        return [line(("This rebalance is not known any more.", MUTED))]
    width = min(width, 100)
    result: list[Line] = [*_cause(view, one, width), ()]
    result += [_heading("what happened"), *_chain(view, group, one, width), ()]
    result += [_heading("waited for"), *_waiting(one, width), ()]
    result += [_heading("what moved"), *_moves(one, width), ()]
    result += [_heading("what it cost"), *_cost(group, one, width), ()]
    cause = causes.CAUSES.get(one.cause)
    if cause is not None:
        result += [_heading("what would have helped"), *wrapped(line("  ", cause.remedy), width, indent=2)]
    return result


def _heading(words: str) -> Line:
    return line((words, ACCENT))


def _cause(view: ClusterView, one: RebalanceView, width: int) -> list[Line]:
    who = f" ({one.trigger})" if one.trigger else ""
    title = line((f"{one.cause}{who}", STRONG), (f"  generation {one.generation}", MUTED))
    when = f"from {clock(one.started_us, 3)} to {clock(one.stable_us, 3)}, {duration(one.took_us)}"
    rows = [title, *wrapped(line((causes.story(view, one), PLAIN)), width), line((when, MUTED))]
    if one.detail:
        rows += wrapped(line(("in the coordinator's log: ", MUTED), one.detail), width, indent=2)
    return rows


def _chain(view: ClusterView, group: GroupView, one: RebalanceView, width: int) -> list[Line]:
    shown = told(chain_of(view, group, one))
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
        and (noted.at_us >= one.started_us - RECENT_US or not noted.text.endswith(" started"))
    ]


def _instant(noted: Moment) -> int:
    return noted.at_us


def _waiting(one: RebalanceView, width: int) -> list[Line]:
    rows: list[Line] = []
    if not one.waited_for:
        rows.append(line(("  nobody in particular", MUTED)))
    else:
        opened = one.completed_us - one.started_us
        by_time = f" came last; the barrier closed by time, {duration(opened)} after it had opened"
        last = by_time if one.initial else f" joined last, {duration(one.waited_us)} after the barrier had opened"
        rows += wrapped(line("  ", (one.waited_for, WARN), last), width, indent=2)
    if len(one.arrivals) > 1:
        came = [f"{name} +{duration(max(0, at_us - one.started_us))}" for name, at_us in one.arrivals.items()]
        before = one.members - len(came)
        first = f"{before} before these: " if before > 0 else ""
        rows += wrapped(line(("  in the order they came: ", MUTED), first, ", ".join(came)), width, indent=2)
    if one.newcomers:
        rows += wrapped(line(("  new in the group: ", MUTED), ", ".join(one.newcomers)), width, indent=2)
    rows += [
        row
        for name, why in one.removed.items()
        for row in wrapped(line("  ", (name, WARN), f" was dropped meanwhile: {why}"), width, indent=2)
    ]
    if one.extensions:
        rows += wrapped(line(("  ", PLAIN), causes.extended(one.extensions, one.extended)), width, indent=2)
    if one.begun > 1:
        rows += wrapped(
            line(f"  it began {one.begun} times: before it was Stable something new happened"), width, indent=2
        )
    return rows


def _moves(one: RebalanceView, width: int) -> list[Line]:
    rows = wrapped(line(("  ", PLAIN), causes.vote(one)), width, indent=2)
    if not one.moved:
        return [*rows, line(("  no partition changed its owner", PLAIN))]
    rows += wrapped(line(f"  {_partitions(one.moved)} changed owners:"), width, indent=2)
    shown = sorted(one.moves, key=lambda move: (move[2], move[1]))
    for (after, before), moves in groupby(shown, key=lambda move: (move[2], move[1])):
        names = ranges([move[0] for move in moves])
        rows += wrapped(line("    ", (after or "nobody", ACCENT), f" got {names} from {before}"), width, indent=6)
    if one.moved > len(one.moves):
        rows.append(line((f"    … and {one.moved - len(one.moves)} more", FAINT)))
    return rows


def _cost(group: GroupView, one: RebalanceView, width: int) -> list[Line]:
    exact = f"{one.stopped_partition_us // 1_000:,} partition-milliseconds"
    parts = [
        f"  {causes.stood_still(group, one)}",
        f"  {duration(one.stopped_partition_us)} of partitions without an owner ({exact})",
    ]
    if one.unowned_before_us >= SECOND_US // 10:
        parts.append(f"  {duration(one.unowned_before_us)} more before that, until the coordinator did anything")
    parts.append(f"  {count(one.reread)} records were read a second time; {members_words(one.members)} took part")
    return [row for part in parts for row in wrapped(line((part, PLAIN)), width, indent=2)]


def _partitions(number: int) -> str:
    return "1 partition" if number == 1 else f"{number} partitions"


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

"""The details of one rebalance: its trigger, its awaited member, the moved partitions, its cost."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.rebalances import RebalanceView
from cluster.view.state import ClusterView, GroupView
from cluster.view.votes import AssignorVote
from console.presenters import rebalance_causes
from console.presenters.causal_chain import causal_chain, rolling_restart
from console.presenters.consumer_groups.causes import reconciliation_rows
from console.presenters.event_log import merged_entries
from console.presenters.formatting import SECOND_US, clock, duration, partition_seconds, ranges
from console.presenters.list_view import CONTINUED, Listing
from console.presenters.rebalance_phase import members_words, partitions_words
from console.presenters.styled_text import ACCENT, FAINT, MUTED, OK, PLAIN, STRONG, WARN, Line, line, wrapped

if TYPE_CHECKING:
    from recordings.remedies.background import RemediesProgress
    from recordings.remedies.measure import Remedies

CHAIN_KEPT = 24
JOINED_KEPT = 12  # the view keeps so many of the last members that joined
BAR_CELLS = 20
_EFFECTS = {"better": ("✔", OK), "worse": ("✖", WARN), "none": ("·", FAINT), "failed": ("·", FAINT)}


def details_lines(view: ClusterView, group: GroupView, key: str, width: int) -> list[Line]:
    """All lines on one rebalance; `key` is its `RebalanceView.key`."""
    one = next((one for one in group.rebalances if one.key == key), None)
    if one is None:
        return [line(("The view no longer holds this rebalance.", MUTED))]
    width = min(width, 100)
    waiting = "waited for" if one.reconciliation is None else "reconciliation"
    result: list[Line] = verdict_lines(view, group, one, width)
    result += [_heading(waiting), *_waiting(one, width), ()]
    result += [_heading("what happened"), *_chain(view, group, one, width), ()]
    if one.vote is not None:
        result += [_heading("vote for the assignor"), *_vote(one.vote, width), ()]
    result += [_heading("what moved"), *_moves(one, width), ()]
    if one.detail:
        result += [_heading("in the coordinator's log"), *wrapped(line("  ", one.detail), width, indent=2), ()]
    return result


def verdict_lines(view: ClusterView, group: GroupView, one: RebalanceView, width: int) -> list[Line]:
    """The cause and the cost: the first lines, above the fold of a small terminal."""
    return [*_cause(view, one, width), (), _heading("what it cost"), *_cost(group, one, width), ()]


def _heading(words: str) -> Line:
    return line((words, ACCENT))


def _cause(view: ClusterView, one: RebalanceView, width: int) -> list[Line]:
    who = f" ({one.trigger})" if one.trigger else ""
    title = line((f"{one.cause}{who}", STRONG), (f"  {rebalance_causes.number_words(one)}", MUTED))
    over_us = one.started_us + one.took_us
    when = f"from {clock(one.started_us, 3)} to {clock(over_us, 3)}, {duration(one.took_us)}"
    return [title, *wrapped(line((rebalance_causes.explanation(view, one), PLAIN)), width), line((when, MUTED))]


def _chain(view: ClusterView, group: GroupView, one: RebalanceView, width: int) -> list[Line]:
    shown = merged_entries(causal_chain(view, group, one))
    skipped = len(shown) - CHAIN_KEPT
    lines: list[Line] = []
    before = rolling_restart(view, group, one)
    if before:
        lines += wrapped(line("  ", before), width, indent=4)
    if skipped > 0:
        lines.append(line((f"  … {skipped} earlier", FAINT)))
    for entry in shown[-CHAIN_KEPT:]:
        offset = entry.at_us - one.started_us
        before = f"{'-' if offset < 0 else '+'}{duration(abs(offset))}"
        words = line((f"  {clock(entry.at_us, 3)} ", MUTED), (f"{before:>8}  ", FAINT), entry.text)
        lines += wrapped(words, width, indent=25)
    return lines or [line(("  no other event is known", MUTED))]


def _waiting(one: RebalanceView, width: int) -> list[Line]:
    if one.reconciliation is None:
        rows = wrapped(_ended_by(one), width, indent=2)
    else:
        rows = reconciliation_rows(one, one.reconciliation, width)
    if len(one.arrivals) > 1:
        came = [f"{name} +{duration(max(0, at_us - one.started_us))}" for name, at_us in one.arrivals.items()]
        many = len(one.arrivals) == JOINED_KEPT
        first = f"the last {JOINED_KEPT} that joined: " if many else "joined in this order: "
        rows += wrapped(line(("  " + first, MUTED), ", ".join(came)), width, indent=2)
    if one.newcomers:
        rows += wrapped(line(("  new in the group: ", MUTED), ", ".join(one.newcomers)), width, indent=2)
    for name, why in one.removed.items():
        how = (
            " left during the rebalance"
            if why == RebalanceCause.MEMBER_LEFT
            else f" was removed during the rebalance: {why}"
        )
        rows += wrapped(line("  ", (name, WARN), how), width, indent=2)
    if one.extensions:
        rows += wrapped(
            line(("  ", PLAIN), rebalance_causes.extension_words(one.extensions, one.extended)), width, indent=2
        )
    if one.attempts > 1:
        again = "restarted" if one.reconciliation is None else "the group epoch rose again"
        words = f"  {again} {rebalance_causes.times_words(one.attempts - 1)}: something changed before it was Stable"
        rows += wrapped(line(words), width, indent=2)
    return rows


def _ended_by(one: RebalanceView) -> Line:
    """The end of the barrier: an initial barrier's delay, the last member's JoinGroup, or its departure."""
    opened = duration(one.waited_us) + (" after it was opened last" if one.attempts > 1 else " after it was opened")
    if one.initial:
        return line(f"  for no member: group.initial.rebalance.delay.ms closed the barrier, {opened}")
    if not one.waited_for:
        return line(("  for no member", PLAIN))
    who = (one.waited_for, WARN)
    if rebalance_causes.joined_last(one):
        return line("  ", who, f" joined last and closed the barrier, {opened}")
    if one.waited_for in one.removed:
        return line("  ", who, f" did not join: it {_went(one)}, which closed the barrier, {opened}")
    return line("  ", who, f" did not join: max.poll.interval.ms closed the barrier, {opened}")


def _went(one: RebalanceView) -> str:
    return "left" if rebalance_causes.departure(one) == "left" else "was removed"


def _moves(one: RebalanceView, width: int) -> list[Line]:
    rows = wrapped(line(("  ", PLAIN), rebalance_causes.generation_words(one)), width, indent=2)
    if not one.moved:
        return [*rows, line(("  no partition changed its owner", PLAIN))]
    rows += wrapped(line(f"  {partitions_words(one.moved)} changed owners:"), width, indent=2)
    shown = sorted(one.moves, key=lambda move: (move[2], move[1]))
    for (after, before), moves in groupby(shown, key=lambda move: (move[2], move[1])):
        names = ranges([move[0] for move in moves])
        rows += wrapped(line("    ", (after or "no member", ACCENT), f" got {names} from {before}"), width, indent=6)
    if one.moved > len(one.moves):
        rows.append(line((f"    … and {one.moved - len(one.moves)} more", FAINT)))
    return rows


def _cost(group: GroupView, one: RebalanceView, width: int) -> list[Line]:
    parts = [
        f"  {rebalance_causes.ownership_words(group, one)}",
        f"  {partition_seconds(one.stopped_partition_us)} partition-seconds unowned",
    ]
    if one.unowned_before_us >= SECOND_US // 10:
        parts.append(f"  plus {partition_seconds(one.unowned_before_us)} partition-seconds before the rebalance began")
    reread = f"{one.reread:,} record{'s' if one.reread > 1 else ''} re-read" if one.reread else "nothing re-read"
    parts.append(f"  {reread} · {members_words(one.members)}")
    return [row for part in parts for row in wrapped(line((part, PLAIN)), width, indent=2)]


def _vote(vote: AssignorVote, width: int) -> list[Line]:
    """What each member offers and votes for, the count, and the members that block an assignor."""
    rows: list[Line] = []
    alike: dict[tuple[str, ...], list[str]] = {}
    for member, offer in vote.offers.items():
        alike.setdefault(offer, []).append(member)
    for offer, members in alike.items():
        offers, votes = ("offers", "votes") if len(members) == 1 else ("offer", "vote")
        ballot = (f": {votes} for {vote.votes[members[0]]}", MUTED)
        rows += wrapped(
            line(f"  {rebalance_causes.listed(members)} {offers} {', '.join(offer)}", ballot), width, indent=4
        )
    most = list(vote.votes.values()).count(vote.assignor)
    words = line("  elected: ", (vote.assignor, STRONG), (f" by {most} of {len(vote.votes)} votes", OK))
    rows += wrapped(words, width, indent=4)
    for name, members in vote.blocked.items():
        verb = "does" if len(members) == 1 else "do"
        words = line(("  blocked: ", WARN), name, (f": {rebalance_causes.listed(members)} {verb} not offer it", PLAIN))
        rows += wrapped(words, width, indent=4)
    return rows


def remedies_section(progress: "RemediesProgress | None", key: str, width: int) -> list[tuple[Line, str]]:
    """How to avoid it, line by line with the key of a remedy; without a search, the key that begins it."""
    heading = line(("how to avoid it, measured with the same seed", ACCENT)), ""
    width = min(width, 100)
    if progress is None:
        return [
            heading,
            (line("  ", (key, ACCENT), (" flies this flight again with other settings, in the background", MUTED)), ""),
        ]
    if progress.failed:
        return [heading, *((row, "") for row in wrapped(line("  ", (progress.failed, WARN)), width, indent=2))]
    if progress.result is None:
        done = round(progress.share * BAR_CELLS)
        bar = "█" * done + "░" * (BAR_CELLS - done)
        return [heading, (line(f"  {bar} {progress.share:4.0%}  ", (key, ACCENT), (" cancels", MUTED)), "")]
    found = [row for each in progress.result.found for row in _remedies(each, width)]
    said = [row for each in progress.result.warnings for row in wrapped(line("  ", (each, MUTED)), width, indent=2)]
    return [heading, *found, *((row, "") for row in said)]


def _remedies(found: "Remedies", width: int) -> list[tuple[Line, str]]:
    rows: list[tuple[Line, str]] = []
    for remedy in found.remedies:
        mark, tone = _EFFECTS[remedy.effect]
        worse = "worse: " if remedy.effect == "worse" else ""
        words = line("  ", (mark, tone), " ", (remedy.text, PLAIN), (f": {worse}{remedy.words}", MUTED))
        first, *more = wrapped(words, width, indent=4)
        rows += [(first, "\n".join(remedy.settings)), *((row, "") for row in more)]
    opens = line(f"  {found.sentence}  ", ("enter", ACCENT), (" shows both flights beside each other", MUTED))
    return [*rows, (opens if rows else line(f"  {found.sentence}"), "")]


class RebalanceDetailsListing(Listing):
    """The details of one rebalance in a panel, line by line."""

    def __init__(
        self, view: ClusterView, group: GroupView, key: str, width: int, remedies: Sequence[tuple[Line, str]] = ()
    ) -> None:
        super().__init__(width)
        self.title = f"rebalance of {group.group}"
        rows = details_lines(view, group, key, width - 4)
        one = next((one for one in group.rebalances if one.key == key), None)
        above = len(verdict_lines(view, group, one, min(width - 4, 100))) if one is not None else len(rows)
        remedies = [*remedies, ((), "")] if remedies and one is not None else remedies
        lines = [*((row, "") for row in rows[:above]), *remedies, *((row, "") for row in rows[above:])]
        self._lines = {name or f"{CONTINUED}{index}": row for index, (row, name) in enumerate(lines)}

    def row_keys(self) -> list[str]:
        """One key for each line; only remedies can be selected, by their settings."""
        return list(self._lines)

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (line("  ", *self._lines[key]),)

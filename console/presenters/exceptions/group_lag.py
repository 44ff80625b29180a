"""The lag of a group by its reason: to be read, control and aborted records, held back, of silent members."""

from typing import NamedTuple

from cluster.view.document import group_lag, group_partitions, read_up_to
from cluster.view.state import ClusterView, GroupView, MemberView, PartitionView
from console.presenters.awaited_members import silent_ids
from console.presenters.formatting import count
from console.presenters.styled_text import FAINT, MUTED, PLAIN, STRONG, WARN, Line, Span, line
from console.presenters.transactions import holder, is_stuck

DOT: Span = (" · ", FAINT)
LAG_IS = "lag: from the committed offset to the high watermark"


class LagParts(NamedTuple):
    """Lag in offsets: `readable` can be read now, a last stable offset holds `held` back.

    `silent`: below the last stable offset, but assigned to members for which no process sends heartbeats. `control`
    and `aborted`: of the others, the markers, and records of aborted transactions that a reader of committed data
    passes over. `worst`: the partition that most is held back in.
    """

    readable: int
    control: int
    aborted: int
    held: int
    silent: int
    worst: PartitionView | None

    @property
    def total(self) -> int:
        """The group's lag."""
        return self.readable + self.control + self.aborted + self.held + self.silent


def unread_of_paused(view: ClusterView, member: MemberView) -> dict[str, int]:
    """The partitions for which a running member has called pause(), with the records after its position, if any."""
    held = [one for one in member.paused_partitions if one in member.positions] if member.alive else ()
    unread = {one: view.partitions[one].high_watermark - member.positions[one] for one in held}
    return {one: number for one, number in unread.items() if number > 0}


def lag_parts(view: ClusterView, group: GroupView) -> LagParts:
    """The parts of a group's lag; together they are `group_lag`."""
    of_silent = {name for member_id in silent_ids(view, group) for name in group.assignment.get(member_id, ())}
    silent = control = aborted = 0
    held: dict[str, int] = {}
    for name in group_partitions(view, group):
        partition, first = view.partitions[name], read_up_to(view, group, name)
        transactions, end = partition.transactions, partition.high_watermark
        if transactions is not None and group.read_committed:
            end = min(end, max(first, partition.last_stable_offset))
            held[name] = max(0, partition.high_watermark - end)
        if name in of_silent:
            silent += max(0, end - first)
        elif transactions is not None and (first := max(first, partition.log_start)) < end:
            control += transactions.control.covered(first, end)
            aborted += transactions.aborted.covered(first, end) if group.read_committed else 0
    held_back = sum(held.values())
    worst = view.partitions[max(held, key=lambda name: held[name])] if held_back else None
    readable = group_lag(view, group) - held_back - silent - control - aborted
    return LagParts(readable, control, aborted, held_back, silent, worst)


def stuck_words(view: ClusterView, group: GroupView, now_us: int) -> list[Line]:
    """What a stuck transaction holds back, in its lengths, longest first; empty if none does."""
    if not group.read_committed:
        return []
    parts = lag_parts(view, group)
    if parts.worst is None or not is_stuck(view, parts.worst, now_us):
        return []
    head = line((f"‖ {count(parts.held)} held back", WARN))
    _, by = holder(view, parts.worst, now_us)
    return [line(*head, (": ", MUTED), *by), line(*head, (", ", MUTED), by[-1]), head]


def splits(view: ClusterView, group: GroupView) -> bool:
    """Whether a group's lag may have several reasons: its logs have transactions, or it has a silent member."""
    partitions = view.partitions
    return bool(silent_ids(view, group)) or any(
        partitions[name].transactions is not None
        for topic in group.topics
        for name in view.partitions_by_topic.get(topic, ())
    )


def lag_line(view: ClusterView, group: GroupView, now_us: int) -> Line:
    """`lag 569: 0 readable · 569 held back: payments-0 reads up to 411 of 980, gateway-1, Ongoing, 5.0 s left`."""
    parts = lag_parts(view, group)
    readable = f": {count(parts.readable)} readable"
    words: list[Span] = [("    lag ", MUTED), (count(parts.total), STRONG), (readable, PLAIN)]
    for number, kind in ((parts.control, "control"), (parts.aborted, "aborted")):
        if number:
            words += [DOT, (f"{count(number)} {kind}", PLAIN)]
    if parts.worst is not None:
        worst = parts.worst
        _, by = holder(view, worst, now_us)
        reads = f"{worst.partition} reads up to {worst.last_stable_offset} of {worst.high_watermark}, "
        words += [DOT, (f"{count(parts.held)} held back", WARN), (": ", MUTED), (reads, PLAIN), *by]
    if parts.silent:
        names = [group.members[member_id] for member_id in silent_ids(view, group)]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        words += [DOT, (f"{count(parts.silent)} of silent {names[0]}{more}", WARN)]
    return line(*words)

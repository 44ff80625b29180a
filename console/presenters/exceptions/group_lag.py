"""The lag of a group by its reason: to be read, held back by a transaction, of silent members."""

from typing import NamedTuple

from cluster.view.document import group_lag, read_up_to
from cluster.view.state import ClusterView, GroupView, PartitionView
from console.presenters.awaited_members import silent_ids
from console.presenters.formatting import count
from console.presenters.styled_text import FAINT, MUTED, PLAIN, STRONG, WARN, Line, Span, line
from console.presenters.transactions import holder, is_stuck

DOT: Span = (" · ", FAINT)


class LagParts(NamedTuple):
    """Lag in records: `readable` can be read now, a last stable offset holds `held` back.

    `silent`: readable, but assigned to members for which no process sends heartbeats. `worst`: the partition that most
    is held back in.
    """

    readable: int
    held: int
    silent: int
    worst: PartitionView | None


def lag_parts(view: ClusterView, group: GroupView) -> LagParts:
    """The parts of a group's lag; together they are `group_lag`."""
    held: dict[str, int] = {}
    if group.read_committed:
        for topic in group.topics:
            for name in view.partitions_by_topic.get(topic, ()):
                partition = view.partitions[name]
                if partition.transactions is not None:
                    first = max(read_up_to(view, group, name), partition.last_stable_offset)
                    held[name] = max(0, partition.high_watermark - first)
    silent = 0
    for member_id in silent_ids(view, group):
        for name in group.assignment.get(member_id, ()):
            lag = view.partitions[name].high_watermark - read_up_to(view, group, name)
            silent += max(0, lag) - held.get(name, 0)
    held_back = sum(held.values())
    worst = max(held, key=lambda name: held[name], default="") if held_back else ""
    return LagParts(
        group_lag(view, group) - held_back - silent, held_back, silent, view.partitions[worst] if worst else None
    )


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
    """Whether a group's lag may have several reasons: it reads transactions, or has a silent member."""
    reads = group.read_committed and any(
        view.partitions[name].transactions is not None
        for topic in group.topics
        for name in view.partitions_by_topic.get(topic, ())
    )
    return reads or bool(silent_ids(view, group))


def lag_line(view: ClusterView, group: GroupView, now_us: int) -> Line:
    """`lag 569: 0 readable · 569 held back: payments-0 reads up to 411 of 980, gateway-1, Ongoing, 5.0 s left`."""
    parts = lag_parts(view, group)
    total = parts.readable + parts.held + parts.silent
    words: list[Span] = [("    lag ", MUTED), (count(total), STRONG), (f": {count(parts.readable)} readable", PLAIN)]
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

"""The phase bar of a group of the new protocol: its epochs, its progress to the target, the awaited member's limit."""

from cluster.view.rebalances import ConsumerGroupView
from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters import states
from console.presenters.consumer_groups.reconciliation import (
    AwaitedMember,
    awaited_members,
    duty_words,
    reconciled_members,
    unconcerned_members,
    waiting_members,
    waits_words,
)
from console.presenters.formatting import countdown, duration
from console.presenters.styled_text import FAINT, MOVING, MUTED, PLAIN, STRONG, WARN, Line, Span, gauge, length, line

DOT: Span = (" · ", FAINT)
NAMES_SHOWN = 4


def epoch_parts(consumer: ConsumerGroupView) -> list[Line]:
    """The group epoch and the assignment epoch, which follows it."""
    late = consumer.assignment_epoch != consumer.group_epoch
    return [
        line((f"group epoch {consumer.group_epoch}", PLAIN)),
        line((f"assignment epoch {consumer.assignment_epoch}", WARN if late else MUTED)),
    ]


def summaries(group: GroupView, now_us: int) -> list[Line]:
    """The cause of the rebalance under way and its age, longest form first; empty without one."""
    rebalance = group.under_way
    if group.state not in {"Assigning", "Reconciling"} or rebalance is None:
        return []
    meaning = states.group(group.state, consumer=True).meaning
    cause: Span = (f"{rebalance.cause} ({rebalance.trigger})" if rebalance.trigger else rebalance.cause, STRONG)
    since: Span = (f" {duration(now_us - rebalance.started_us)} ago", PLAIN)
    return [line(cause, since, (f": {meaning}", MUTED)), line(cause, since), line(cause)]


def progress(view: ClusterView, group: GroupView, now_us: int, width: int) -> tuple[Line, Line]:
    """How many members have reached their targets, and the first awaited one; its limit, and who waits for it."""
    consumer = group.consumer
    assert consumer is not None
    members, done = len(consumer.members), reconciled_members(consumer)
    missing = awaited_members(view, group, now_us)
    second = line(
        *gauge(done / max(1, members), MOVING), (f"reconciled {done} of {members}", STRONG), *_awaited(missing)
    )
    parts = [part for part in (_limit(missing, now_us), _waits(group), _unconcerned(view, group)) if part]
    third: list[Span] = [("    ", PLAIN)]
    for place, part in enumerate(parts):
        if place and length(tuple(third)) + length(part) > 2 * width - 12:
            break
        third += [*([("; ", MUTED)] if place else []), *part]
    return second, tuple(third) if parts else ()


def _awaited(missing: list[AwaitedMember]) -> tuple[Span, ...]:
    if not missing:
        return ((" · no member is awaited", MUTED),)
    first, duty = missing[0], duty_words(missing[0])
    what = f"{' ' if duty else ''}{duty} ({first.reason})"
    others = ", ".join(one.member for one in missing[1 : 1 + NAMES_SHOWN])
    more = len(missing) - 1 - NAMES_SHOWN
    rest = f", and for {others}{f' and {more} more' if more > 0 else ''}" if others else ""
    return DOT, ("waiting for ", PLAIN), (first.member, WARN), (what, PLAIN), (rest, MUTED)


def _limit(missing: list[AwaitedMember], now_us: int) -> Line:
    """When the coordinator fences the first awaited member that has a limit."""
    one = next((one for one in missing if one.fenced_at_us != NEVER), None)
    if one is None:
        return ()
    left = countdown(one.fenced_at_us - now_us)
    return line((one.member, WARN), (f" is fenced in {left}", PLAIN), (" (max.poll.interval.ms)", MUTED))


def _waits(group: GroupView) -> Line:
    waiting = waiting_members(group)
    if not waiting:
        return ()
    more = f" and {len(waiting) - 1} more wait" if len(waiting) > 1 else ""
    return line((waits_words(waiting[0]) + more, PLAIN))


def _unconcerned(view: ClusterView, group: GroupView) -> Line:
    """The members that read partitions and have nothing to revoke: this rebalance does not stop them."""
    number = len(unconcerned_members(view, group))
    if not number:
        return ()
    return line((f"{number} members keep consuming" if number > 1 else "1 member keeps consuming", MUTED))

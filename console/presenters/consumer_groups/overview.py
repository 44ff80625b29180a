"""A group of the new protocol in the overview's table: its epoch, its progress, who is awaited and until when."""

from collections.abc import Sequence

from cluster.view.rebalances import ConsumerGroupView
from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters.consumer_groups.reconciliation import (
    AwaitedMember,
    awaited_members,
    duty_words,
    reconciled_members,
)
from console.presenters.formatting import countdown
from console.presenters.styled_text import MOVING, MUTED, WARN, Line, length, line
from console.presenters.table import TableColumn


def number_column(groups: Sequence[GroupView]) -> TableColumn:
    """The column of generations; of group epochs where groups speak the new protocol."""
    new = [group for group in groups if group.consumer is not None]
    if not new:
        return TableColumn("gen", 4, rank=1, right=True)
    title = "epoch" if len(new) == len(groups) else "gen/epoch"
    return TableColumn(title, len(title), rank=1, right=True)


def reconciled(consumer: ConsumerGroupView) -> str:
    """`2/3`: members that have their target, of all."""
    return f"{reconciled_members(consumer)}/{len(consumer.members)}"


def consumer_rebalance(view: ClusterView, group: GroupView, now_us: int, width: int) -> Line:
    """The first awaited member, what it must revoke for which member, and when it is fenced."""
    missing = awaited_members(view, group, now_us)
    if not missing:
        assert group.under_way is not None
        return line(("↻ ", MOVING), group.under_way.cause)
    choices = [_awaited(missing, form, now_us) for form in range(3)]
    return next((one for one in choices if length(one) <= width), choices[-1])


def _awaited(missing: list[AwaitedMember], form: int, now_us: int) -> Line:
    """The longest form first: duty, limit and reason; duty and limit; the limit or the reason alone."""
    first = missing[0]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    left = f"fenced in {countdown(first.fenced_at_us - now_us)}" if first.fenced_at_us != NEVER else ""
    duty = duty_words(first).removeprefix("to ").replace("revoke", "revokes", 1)
    words = (
        (duty, left, first.reason),
        (duty, left) if duty and left else (first.reason,),
        (left or first.reason,),
    )[form]
    return line(("↻ ", MOVING), (first.member, WARN), (more, MUTED), ": " + ", ".join(part for part in words if part))

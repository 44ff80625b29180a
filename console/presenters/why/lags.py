"""Why a group's lag is not zero: a member that stands still with partitions, or where most of the lag is."""

from collections.abc import Mapping

from cluster.view.document import partition_lags
from cluster.view.state import ClusterView, GroupView
from console.presenters.awaited_members import members_of
from console.presenters.formatting import count
from console.presenters.styled_text import OK, WARN
from console.presenters.why.answers import WhyAnswer, WhyFacts, fault_ends, in_order
from console.presenters.why.groups import process_lines
from console.presenters.why.paused import PAUSED, leaves_partitions, why_unread


def reader_stands_still(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A member with a live session stands still, or has paused partitions, that have lag: the one with most of it."""
    view, group = facts.view, facts.view.groups[name]
    lags = partition_lags(view, group) if any(leaves_partitions(one) for one in members_of(view, name)) else {}
    owner, left = _leaves_most(view, group, lags)
    if not left:
        return None
    member = view.members[owner]
    first = min(left, key=lambda one: member.paused_partitions.get(one, facts.now_us))
    reason = why_unread(member, first)
    assert reason is not None  # as of all that it leaves
    where = f"that {owner} has paused" if reason.words == PAUSED else f"of {owner}, {reason.words}"
    verdict = f"{_has(name, sum(lags.values()))}{count(sum(lags[one] for one in left))} on partitions {where}"
    found = (*reason.facts, *process_lines(facts, owner))
    return WhyAnswer(verdict, WARN, in_order(*found), fault_ends(facts, owner), (reason.command,))


def _leaves_most(view: ClusterView, group: GroupView, lags: Mapping[str, int]) -> tuple[str, list[str]]:
    """The owner that leaves most of the lag unread, and its partitions with it; none where each owner reads."""
    left: dict[str, list[str]] = {}
    for partition, lag in lags.items():
        owner = group.owners.get(partition, "")
        if lag and owner in view.members and why_unread(view.members[owner], partition) is not None:
            left.setdefault(owner, []).append(partition)
    return max(left.items(), key=lambda one: sum(lags[name] for name in one[1]), default=("", []))


def lag_not_zero(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The partition with most of the lag, its owner, and the newest fault of the group or the owner."""
    group = facts.view.groups[name]
    lags = partition_lags(facts.view, group)
    partition = max(lags, key=lags.__getitem__, default="")
    if not partition or not lags[partition]:
        return None
    if partition in _leaves_most(facts.view, group, lags)[1]:
        return None  # `reader_stands_still` has told it
    owner, most, total = group.owners.get(partition, ""), lags[partition], sum(lags.values())
    where = f"on {partition}{f' of {owner}' if owner else ''}"
    part = f"most {where}, {count(most)}" if most < total else f"all {where}"
    active = [fault for fault in facts.view.faults.values() if {name, owner} & {*fault.targets}]
    found = [fact for who in (name, owner) for fact in facts.lines(who, "fault_started")] if active else []
    return WhyAnswer(_has(name, total) + part, OK, in_order(*found))


def _has(name: str, total: int) -> str:
    return f"{name} has a lag of {count(total)} (from committed offsets): "

"""Why a group's lag is not zero: a member that stands still with partitions, or where most of the lag is."""

from cluster.view.document import group_partitions
from cluster.view.state import GroupView, MemberView
from console.presenters.formatting import count
from console.presenters.partition_grids import lag_of
from console.presenters.styled_text import OK, WARN
from console.presenters.why.answers import WhyAnswer, WhyFacts, in_order
from console.presenters.why.groups import process_lines


def reader_stands_still(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A member that owns partitions with lag is frozen or stalled, and its session goes on: the one with most lag."""
    lags = _lags(facts, facts.view.groups[name])
    of: dict[str, int] = {}
    for (_, owner), lag in lags.items():
        member = facts.view.members.get(owner)
        if lag and member is not None and _stands(member):
            of[owner] = of.get(owner, 0) + lag
    if not of:
        return None
    owner = max(of, key=lambda one: of[one])
    frozen = facts.view.members[owner].paused
    what = "its process is frozen" if frozen else "its application is stalled"
    verdict = f"{_has(name, lags)}{count(of[owner])} on partitions of {owner}, {what}"
    may = f"resume {owner}" if frozen else f"restart {owner}"
    return WhyAnswer(verdict, WARN, in_order(*process_lines(facts, owner)), "", (may,))


def lag_not_zero(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The partition with most of the lag, its owner, and the newest fault of the group or the owner."""
    lags = _lags(facts, facts.view.groups[name])
    partition, owner = max(lags, key=lambda one: lags[one], default=("", ""))
    if not partition or not lags[partition, owner]:
        return None
    most, where = lags[partition, owner], f"on {partition}{f' of {owner}' if owner else ''}"
    part = f"most {where}, {count(most)}" if most < sum(lags.values()) else f"all {where}"
    active = [fault for fault in facts.view.faults.values() if {name, owner} & {*fault.targets}]
    found = [fact for who in (name, owner) for fact in facts.lines(who, "fault_started")] if active else []
    return WhyAnswer(_has(name, lags) + part, OK, in_order(*found))


def _lags(facts: WhyFacts, group: GroupView) -> dict[tuple[str, str], int]:
    """The lag of each partition of the group's topics, by the partition and its owner."""
    view = facts.view
    return {
        (name, group.owners.get(name, "")): lag_of(view, group, view.partitions[name])
        for name in group_partitions(view, group)
    }


def _has(name: str, lags: dict[tuple[str, str], int]) -> str:
    return f"{name} has a lag of {count(sum(lags.values()))}: "


def _stands(member: MemberView) -> bool:
    return member.alive and (member.paused or member.stalled_until_us is not None)

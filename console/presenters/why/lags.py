"""Why a group's lag is not zero: a member that stands still with partitions, or where most of the lag is."""

from cluster.view.document import partition_lags
from cluster.view.state import MemberView
from console.presenters.formatting import count
from console.presenters.styled_text import OK, WARN
from console.presenters.why.answers import WhyAnswer, WhyFacts, fault_ends, in_order
from console.presenters.why.groups import process_lines
from console.presenters.why.paused import does_not_read, paused_since, resume_partitions, stands_still


def reader_stands_still(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A member with a live session stands still, or has paused partitions, that have lag: the one with most of it."""
    view, group = facts.view, facts.view.groups[name]
    still = {member: one for member, one in view.members.items() if one.group == name and _reads_not_all(one)}
    if not still:  # no frame counts lag for a question that has no answer
        return None
    lags = partition_lags(view, group)
    of: dict[str, int] = {}
    for partition, lag in lags.items():
        owner = group.owners.get(partition, "")
        if lag and owner in still and does_not_read(still[owner], partition):
            of[owner] = of.get(owner, 0) + lag
    if not of:
        return None
    owner = max(of, key=lambda one: of[one])
    where, may = _where(still[owner])
    verdict = f"{_has(name, sum(lags.values()))}{count(of[owner])} on partitions {where}"
    found = (*paused_since(still[owner]), *process_lines(facts, owner))
    return WhyAnswer(verdict, WARN, in_order(*found), fault_ends(facts, owner), (may,))


def _where(member: MemberView) -> tuple[str, str]:
    """Whose partitions are not read and why, and the command that ends it."""
    owner = member.member
    if member.paused:
        return f"of {owner}, its process is frozen", f"resume {owner}"
    if member.stalled_until_us is not None:
        return f"of {owner}, its application is stalled", f"restart {owner}"
    return f"that {owner} has paused", resume_partitions(member)


def lag_not_zero(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The partition with most of the lag, its owner, and the newest fault of the group or the owner."""
    group = facts.view.groups[name]
    lags = partition_lags(facts.view, group)
    partition = max(lags, key=lags.__getitem__, default="")
    if not partition or not lags[partition]:
        return None
    owner, most, total = group.owners.get(partition, ""), lags[partition], sum(lags.values())
    if owner in facts.view.members and does_not_read(facts.view.members[owner], partition):
        return None  # it is in the answer before this
    where = f"on {partition}{f' of {owner}' if owner else ''}"
    part = f"most {where}, {count(most)}" if most < total else f"all {where}"
    active = [fault for fault in facts.view.faults.values() if {name, owner} & {*fault.targets}]
    found = [fact for who in (name, owner) for fact in facts.lines(who, "fault_started")] if active else []
    return WhyAnswer(_has(name, total) + part, OK, in_order(*found))


def _has(name: str, total: int) -> str:
    return f"{name} has a lag of {count(total)} (from committed offsets): "


def _reads_not_all(member: MemberView) -> bool:
    return stands_still(member) or (member.alive and bool(member.paused_partitions))

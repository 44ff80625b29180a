"""Why a running member reads nothing of a partition: a frozen process, a stalled application, a call of pause()."""

from cluster.view.state import MemberView
from console.presenters.exceptions.facts import and_more
from console.presenters.exceptions.group_lag import unread_of_paused
from console.presenters.formatting import count
from console.presenters.styled_text import WARN
from console.presenters.why.answers import WhyAnswer, WhyFact, WhyFacts, fault_ends, in_order
from console.presenters.why.groups import process_lines


def stands_still(member: MemberView) -> bool:
    """Whether a member that runs reads nothing at all; a slow application reads on."""
    return member.alive and (member.paused or member.stalled_until_us is not None)


def does_not_read(member: MemberView, partition: str) -> bool:
    """Whether a member that runs reads nothing of a partition that it owns."""
    return stands_still(member) or (member.alive and partition in member.paused_partitions)


def paused_since(member: MemberView) -> tuple[WhyFact, ...]:
    """The first pause() of those in force, with the partitions that it named."""
    if not member.paused_partitions:
        return ()
    since_us = min(member.paused_partitions.values())
    names = [name for name, at_us in member.paused_partitions.items() if at_us == since_us]
    return (WhyFact(since_us, f"{member.member} called pause() for {and_more(names)}"),)


def resume_partitions(member: MemberView) -> str:
    """The command that ends the pauses of a member."""
    return f"resume partitions of {member.member}"


def partitions_paused(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The member's application called pause() for partitions that have records after its position."""
    member = facts.view.members[name]
    unread = sum(unread_of_paused(facts.view, member).values())
    if not unread:
        return None
    owned = len(member.owned)
    paused = f"{len(member.paused_partitions)} of its {owned} partition{'s' * (owned != 1)}"
    verdict = f"{name} has paused {paused}: {count(unread)} record{'s' * (unread != 1)} unread"
    found = (*paused_since(member), *process_lines(facts, name))
    return WhyAnswer(verdict, WARN, in_order(*found), fault_ends(facts, name), (resume_partitions(member),))

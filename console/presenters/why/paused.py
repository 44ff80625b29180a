"""Why a running member reads nothing of a partition: a frozen process, a stalled application, a call of pause()."""

from typing import NamedTuple

from cluster.view.state import MemberView
from console.presenters.exceptions.facts import and_more
from console.presenters.exceptions.group_lag import unread_of_paused
from console.presenters.formatting import count
from console.presenters.styled_text import WARN
from console.presenters.why.answers import WhyAnswer, WhyFact, WhyFacts, fault_ends, in_order
from console.presenters.why.groups import process_lines

PAUSED = "its application called pause()"


class Unread(NamedTuple):
    """Why a member that runs reads nothing of a partition that it owns, and the command that ends it.

    `facts`: the call of pause(), if that is why.
    """

    words: str
    command: str
    facts: tuple[WhyFact, ...] = ()


def why_unread(member: MemberView, partition: str) -> Unread | None:
    """None for a member that reads the partition; a slow application reads on."""
    name = member.member
    if member.alive and member.paused:
        return Unread("its process is frozen", f"resume {name}")
    if member.alive and member.stalled_until_us is not None:
        return Unread("its application is stalled", f"restart {name}")
    if member.alive and partition in member.paused_partitions:
        return Unread(PAUSED, resume_partitions(member), (_pause_of(member, partition),))
    return None


def leaves_partitions(member: MemberView) -> bool:
    """Whether there may be a partition for which `why_unread` has an answer."""
    return member.alive and (member.paused or member.stalled_until_us is not None or bool(member.paused_partitions))


def resume_partitions(member: MemberView) -> str:
    """The command that ends the pauses of a member."""
    return f"resume partitions of {member.member}"


def _pause_of(member: MemberView, partition: str) -> WhyFact:
    """When the member called pause() for a partition, and for how many others then."""
    paused = member.paused_partitions
    others = [name for name, at_us in paused.items() if at_us == paused[partition] and name != partition]
    return WhyFact(paused[partition], f"{member.member} called pause() for {and_more([partition, *others])}")


def partitions_paused(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The member's application called pause() for partitions that have records after its position."""
    member = facts.view.members[name]
    unread = sum(unread_of_paused(facts.view, member).values())
    if not unread:
        return None
    owned = len(member.owned)
    paused = f"{len(member.paused_partitions)} of its {owned} partition{'s' * (owned != 1)}"
    verdict = f"{name} has paused {paused}: {count(unread)} record{'s' * (unread != 1)} unread"
    first = min(member.paused_partitions, key=member.paused_partitions.__getitem__)
    found = (_pause_of(member, first), *process_lines(facts, name))
    return WhyAnswer(verdict, WARN, in_order(*found), fault_ends(facts, name), (resume_partitions(member),))

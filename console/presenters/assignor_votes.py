"""The vote of a group's members for an assignor: what each offers, and which members block which assignor."""

from cluster.view.state import ClusterView, GroupView
from cluster.view.votes import AssignorVote
from console.presenters.awaited_members import members_of
from console.presenters.rebalance_causes import is_cooperative
from console.presenters.styled_text import MUTED, OK, PLAIN, STRONG, WARN, Line, line, wrapped

NAMES_SHOWN = 6
EAGER, COOPERATIVE, MIXED = "eager", "cooperative", "mixed"


def listed(members: list[str], most: int = NAMES_SHOWN) -> str:
    """`g-2, g-3`, and `g-2, g-3 and 7 more` of many."""
    shown = ", ".join(members[:most])
    return shown if len(members) <= most else f"{shown} and {len(members) - most} more"


def cooperation(view: ClusterView, group: GroupView) -> str:
    """How the group's running members rejoin: EAGER, COOPERATIVE, or MIXED: each by its own list of assignors."""
    lists = [member.assignors for member in members_of(view, group.group) if member.alive] or [group.assignors]
    kinds = {is_cooperative(assignors) for assignors in lists}
    return MIXED if len(kinds) > 1 else COOPERATIVE if kinds == {True} else EAGER


def blocked_words(vote: AssignorVote) -> str:
    """Which assignors cannot be elected, and which members are the reason; "" without one."""
    return "; ".join(f"{name} is blocked by {listed(members, 3)}" for name, members in vote.blocked.items())


def vote_lines(vote: AssignorVote, width: int) -> list[Line]:
    """What each member offers and votes for, the count, and the members that block an assignor."""
    rows: list[Line] = []
    alike: dict[tuple[str, ...], list[str]] = {}
    for member, offer in vote.offers.items():
        alike.setdefault(offer, []).append(member)
    for offer, members in alike.items():
        offers, votes = ("offers", "votes") if len(members) == 1 else ("offer", "vote")
        ballot = (f": {votes} for {vote.votes[members[0]]}", MUTED)
        rows += wrapped(line(f"  {listed(members)} {offers} {', '.join(offer)}", ballot), width, indent=4)
    most = list(vote.votes.values()).count(vote.assignor)
    words = line("  elected: ", (vote.assignor, STRONG), (f" by {most} of {len(vote.votes)} votes", OK))
    rows += wrapped(words, width, indent=4)
    for name, members in vote.blocked.items():
        verb = "does" if len(members) == 1 else "do"
        words = line(("  blocked: ", WARN), name, (f": {listed(members)} {verb} not offer it", PLAIN))
        rows += wrapped(words, width, indent=4)
    return rows

"""Members that a command starts with a list of assignors that the rest of their group does not accept.

Source: Kafka's `ClassicGroup.supportsProtocols`: a member may join if every member supports one of its protocols.
"""

from cluster.view.state import ClusterView, MemberView

Offers = dict[str, tuple[str, ...]]


def offers_of(view: ClusterView, group: str, gone: str = "") -> Offers:
    """What the members at the coordinator offer, as their processes started; without the member that is gone."""
    known = view.groups[group].members.values()
    return {name: view.members[name].assignors for name in known if name != gone and name in view.members}


def accepts(offers: Offers, assignors: tuple[str, ...]) -> bool:
    """Whether a group of members with these offers lets a member with these assignors join."""
    return not offers or any(all(name in offer for offer in offers.values()) for name in assignors)


def refused_in_turn(view: ClusterView, members: list[MemberView]) -> list[str]:
    """Which of these members of one group cannot come back when each is restarted after the other."""
    if not members:
        return []
    offers, refused = offers_of(view, members[0].group), []
    for member in members:
        if not member.instance_id:  # a static member sends no LeaveGroup: its former offer counts until it is back
            offers.pop(member.member, None)
        if accepts(offers, member.next_assignors):
            offers[member.member] = member.next_assignors
        else:
            refused.append(member.member)
    return refused

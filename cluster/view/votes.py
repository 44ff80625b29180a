"""The vote for a generation's assignor, of members whose lists of assignors differ."""

import msgspec


class AssignorVote(msgspec.Struct, frozen=True, gc=False):
    """What each member offered (client id → assignors in its order), the vote of each, and the elected assignor."""

    assignor: str
    offers: dict[str, tuple[str, ...]]
    votes: dict[str, str]

    @property
    def blocked(self) -> dict[str, list[str]]:
        """Each assignor that some members offer and others do not → those that do not, in the order of joining."""
        names = dict.fromkeys([name for offer in self.offers.values() for name in offer])
        lacking = {name: [member for member, offer in self.offers.items() if name not in offer] for name in names}
        return {name: members for name, members in lacking.items() if members}

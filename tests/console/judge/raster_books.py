"""Who held each partition when, from the raw events: a list of stretches, never coarsened."""

from typing import NamedTuple

from cluster import events as e
from tests.console.judge.group_books import GroupBook

WORST = ("owned", "several", "moving", "unowned")


class Stretch(NamedTuple):
    """From `at_us` on a partition is in a state of `WORST`; `owner`: who has it, or had it last."""

    at_us: int
    state: str
    owner: str


class RasterBook:
    """One group: its partitions' stretches, its barriers as [from, to or -1, generation at the end]."""

    def __init__(self) -> None:
        self.stretches: dict[str, list[Stretch]] = {}
        self.barriers: list[list[int]] = []
        self.generations: list[tuple[int, int]] = []
        self._holders: dict[str, list[str]] = {}
        self._asked: set[str] = set()  # partitions that their owner is to revoke

    def note(self, event: e.Event, group: GroupBook) -> None:
        """Record one event of the group; the group's own book has it already."""
        match event:
            case e.PartitionsAssigned():
                for name in event.partitions:
                    holders = self._holders.setdefault(name, [])
                    if event.member in holders:
                        holders.remove(event.member)
                    holders.append(event.member)
                    self._asked.discard(name)
                    self._write(event.at_us, name)
            case e.PartitionsRevoked():
                self._lost(event.at_us, event.member, event.partitions)
            case e.MemberStopped():
                self._lost(event.at_us, event.member, tuple(self._holders))
            case e.MemberStateChanged(state="Fenced"):
                self._lost(event.at_us, event.member, tuple(self._holders))
            case e.GroupStabilized():
                self._given(event, group)
            case e.MemberAssignmentChanged():
                for name in (*event.pending_revocation, *event.assigned):
                    if self._holders.get(name, [""])[-1:] == [event.member]:
                        asks = name in event.pending_revocation
                        (self._asked.add if asks else self._asked.discard)(name)
                        self._write(event.at_us, name)
            case _:
                pass
        self._barrier(event.at_us, group)

    def _given(self, event: e.GroupStabilized, group: GroupBook) -> None:
        """Who still holds what it was not given is to give it up."""
        given = {(name, group.members.get(one, "")) for one, names in event.assignment.items() for name in names}
        for name, holders in self._holders.items():
            if holders:
                (self._asked.discard if (name, holders[-1]) in given else self._asked.add)(name)
                self._write(event.at_us, name)

    def _lost(self, at_us: int, member: str, names: tuple[str, ...]) -> None:
        for name in names:
            holders = self._holders.get(name, [])
            if member not in holders:
                continue
            if holders[-1] == member:
                self._asked.discard(name)
            holders.remove(member)
            self._write(at_us, name, member)

    def _write(self, at_us: int, name: str, last: str = "") -> None:
        holders, known = self._holders[name], self.stretches.setdefault(name, [])
        if not holders:
            new = Stretch(at_us, "unowned", last)
        elif name in self._asked:
            new = Stretch(at_us, "moving", holders[-1])
        else:
            new = Stretch(at_us, "several" if len(holders) > 1 else "owned", holders[-1])
        if known and known[-1].at_us == at_us:
            known.pop()
        if not known or known[-1][1:] != new[1:]:
            known.append(new)

    def _barrier(self, at_us: int, group: GroupBook) -> None:
        if (self.generations[-1][1] if self.generations else 0) != group.generation:
            self.generations.append((at_us, group.generation))
        is_open = bool(self.barriers) and self.barriers[-1][1] < 0
        if group.under_way is not None and not is_open:
            self.barriers.append([at_us, -1, -1])
        elif group.under_way is None and is_open:
            self.barriers[-1][1:] = [at_us, group.generation]

    # --- what a picture has to agree with ---------------------------------------------------------------------------

    def seen(self, name: str, from_us: int, to_us: int) -> list[Stretch]:
        """A partition's stretches that touch a cell of time."""
        known = self.stretches.get(name, [])
        ends = [*(one.at_us for one in known[1:]), to_us]
        return (
            [one for one, end in zip(known, ends, strict=bool(known)) if one.at_us < to_us and end > from_us]
            if known
            else []
        )

    def worst(self, names: list[str], from_us: int, to_us: int) -> tuple[str, set[str]]:
        """The worst state of a cell, and the owners of what is in that state; "" where nothing was owned yet."""
        seen = [one for name in names for one in self.seen(name, from_us, to_us)]
        if not seen:
            return "", set()
        worst = max((one.state for one in seen), key=WORST.index)
        owners = {one.owner for one in seen if one.state == worst}
        return ("several" if worst == "owned" and len(owners) > 1 else worst), owners

    def unowned_us(self, until_us: int) -> int:
        """The time without an owner, summed over partitions from their first owner on."""
        total = 0
        for known in self.stretches.values():
            ends = [*(one.at_us for one in known[1:]), until_us]
            total += sum(
                max(0, min(end, until_us) - one.at_us)
                for one, end in zip(known, ends, strict=True)
                if one.state == "unowned"
            )
        return total

    def unowned_at(self, at_us: int) -> int:
        """How many partitions are unowned at an instant."""
        return sum(
            1 for name in self.stretches if [one.state for one in self.seen(name, at_us, at_us + 1)] == ["unowned"]
        )

    def generation_at(self, at_us: int) -> int:
        """The generation, or group epoch, at an instant."""
        return next((number for since_us, number in reversed(self.generations) if since_us <= at_us), 0)

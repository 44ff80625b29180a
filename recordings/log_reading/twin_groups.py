"""A group of a twin: which members join, leave and die, and when, so that its coordinator logs the same again."""

from collections.abc import Iterable
from typing import Final

from cluster.protocol.rebalance_causes import RebalanceCause

KAFKA_SESSION_US, KAFKA_POLL_US, KAFKA_HEARTBEAT_US = 45_000_000, 300_000_000, 3_000_000
HALF_SECOND_US: Final = 500_000
LEAST_SESSION_US, LEAST_POLL_US = 6_000_000, 2_000_000
SHORT_US, MARGIN_US = 1_000_000, 500_000
"""Between a death and a return; between the last sign of a member and its silence, before its first heartbeat."""


def milliseconds(us: int) -> str:
    """A duration as a scenario has it."""
    return f"{us // 1000}ms"


class TwinMember:
    """A member by its name in the logs: its number in the twin, whether it runs, when it was last known to be there."""

    def __init__(self, number: int, seen_us: int) -> None:
        self.number, self.seen_us, self.runs, self.member_id = number, seen_us, True, ""


class TwinGroup:
    """A group: its members and the commands that make them join and leave."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.protocol = "classic"
        self.static = False
        self.members: dict[str, TwinMember] = {}
        self.first = 0  # members that are there before any line
        self.commands: list[tuple[int, str]] = []
        self.session_us, self.poll_us = KAFKA_SESSION_US, KAFKA_POLL_US
        self.expired: list[tuple[int, int, str]] = []
        self.stalls: dict[str, tuple[int, int]] = {}
        self.too_slow: list[tuple[int, int, str]] = []
        self.cooperative, self.session_known, self.successors = False, False, 0
        self.took_us: list[int] = []
        self.partitions: set[str] = set()
        self.initial: list[tuple[int, int]] = []
        self.assigned_ids: dict[str, tuple[str, int]] = {}  # of names that no line lets join yet
        self.adopted = 0

    def has_id(self, name: str, member_id: str, at_us: int) -> None:
        """A member has an id, with which it is to join."""
        self.assigned_ids[name] = member_id, at_us

    def adopt(self, number: int) -> list[str]:
        """Let members join whose joins are in no line, as in releases 3.x, first ids first. Returns their names."""
        scaled_us = max((at_us for at_us, text in self.commands if text.startswith("scale")), default=0)
        names = [name for name in self.assigned_ids if name not in self.members][:number]
        for name in names:
            member_id, at_us = self.assigned_ids[name]
            self.joins(name, member_id, max(at_us, scaled_us))
        self.adopted += len(names)
        return names

    def joins(self, name: str, member_id: str, at_us: int) -> None:
        """A member joins: a new one, one that left, or a new process of one whose end the coordinator does not know."""
        self.assigned_ids.pop(name, None)
        known = self.members.get(name) or self._in_place_of_another(name)
        if known is None:
            self.members[name] = TwinMember(len(self.members) + 1, at_us)
            self.commands.append((at_us, f"scale {{group}} to {len(self.members)}"))
        elif name in self.stalls:
            self._unstalled(name, at_us)
        elif known.runs and known.member_id not in {"", member_id}:
            self.commands.append((at_us - SHORT_US, f"kill {{group}}-{known.number}"))
            self.commands.append((at_us, f"start {{group}}-{known.number}"))
        elif not known.runs:
            known.runs = True
            self.commands.append((at_us, f"start {{group}}-{known.number}"))
        self.members[name].seen_us, self.members[name].member_id = at_us, member_id

    def _in_place_of_another(self, name: str) -> TwinMember | None:
        """A new name takes the place of a member that is gone, as a new process of a Deployment does."""
        gone = next((other for other, one in self.members.items() if not one.runs), None)
        if gone is None:
            return None
        self.successors += 1
        known = self.members[name] = self.members.pop(gone)
        if gone in self.stalls:
            self.stalls[name] = self.stalls.pop(gone)
        return known

    def there(self, names: Iterable[str], at_us: int) -> None:
        """Members that a generation has; those that no line named are there from the beginning."""
        for name in names:
            if name not in self.members:
                self.members[name] = TwinMember(len(self.members) + 1, at_us)
                self.first = len(self.members)
            self.members[name].seen_us = at_us

    def removed(self, name: str, member_id: str, reason: str, at_us: int) -> None:
        """A member leaves, or the coordinator removes it; the id of a former process changes nothing."""
        if name in self.members and self.members[name].member_id not in {"", member_id}:
            return
        if name not in self.members:
            self.there([name], at_us)
        known = self.members[name]
        was_there, known.runs = known.runs, False
        if reason == RebalanceCause.POLL_INTERVAL_EXCEEDED:
            since_us = at_us - known.seen_us - MARGIN_US
            self.poll_us = max(LEAST_POLL_US, min(self.poll_us, since_us))
            self.stalls[name] = at_us, known.seen_us
        elif reason in {RebalanceCause.SESSION_EXPIRED, RebalanceCause.SYNC_TIMED_OUT}:
            self.session_us = max(LEAST_SESSION_US, min(self.session_us, at_us - known.seen_us))
            self.session_known = True
            if was_there:
                self.expired.append((at_us, known.seen_us, f"{{group}}-{known.number}"))
        elif was_there:
            self.commands.append((at_us, f"stop {{group}}-{known.number}"))

    def left_for_a_time(self, name: str, at_us: int) -> None:
        """A static member leaves and keeps its place."""
        self.static = True
        self.there([name], at_us)
        self.members[name].runs = False
        self.members[name].seen_us = at_us
        self.commands.append((at_us, f"stop {{group}}-{self.members[name].number}"))

    def back(self, name: str, at_us: int) -> None:
        """A static member is back under its instance id."""
        self.static = True
        self.there([name], at_us)
        known = self.members[name]
        if known.runs:
            self.commands.append((at_us - SHORT_US, f"kill {{group}}-{known.number}"))
        known.runs, known.seen_us, known.member_id = True, at_us, ""
        self.commands.append((at_us, f"start {{group}}-{known.number}"))

    @property
    def heartbeat_us(self) -> int | None:
        """How far members' heartbeats are apart, as the longest rebalance that waited for them says; None: unknown."""
        longest_us = max(self.took_us, default=0)
        if len(self.took_us) < 3 or longest_us > KAFKA_HEARTBEAT_US:
            return None
        return max(HALF_SECOND_US, -(-(longest_us - MARGIN_US // 5) // HALF_SECOND_US) * HALF_SECOND_US)

    def _unstalled(self, name: str, at_us: int) -> None:
        """A member that did not poll joins again: it polls."""
        left_us, _ = self.stalls.pop(name)
        self.members[name].runs = True
        self.too_slow.append((left_us, at_us, f"{{group}}-{self.members[name].number}"))

    def timed(self, end_us: int) -> list[tuple[int, str]]:
        """Every command, with the faults that lead to what the coordinator logged."""
        for name in list(self.stalls):
            self._unstalled(name, end_us)
        kills = [
            (seen_us + MARGIN_US if at_us - seen_us <= self.session_us else at_us - self.session_us, f"kill {name}")
            for at_us, seen_us, name in self.expired
        ]
        stalls = [
            (left_us - self.poll_us, f"stall {name} for {milliseconds(back_us - left_us + self.poll_us)}")
            for left_us, back_us, name in self.too_slow
        ]
        return sorted([*self.commands, *kills, *stalls], key=lambda command: command[0])

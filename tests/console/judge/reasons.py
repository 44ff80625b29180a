"""Judges the reason why a group waits for a member, and the timer that ends the wait."""

import re

from tests.console.judge.books import Books
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook, RebalanceBook
from tests.console.judge.member_books import MemberBook
from tests.console.judge.spoken import DURATION, says

D = f"({DURATION})"
ENDS = rf"(?:session ends in {D}|its session is suspended)"
BUSY_FOR_US = 1_000_000


class Reasons:
    """The facts about the members of one group at one instant."""

    def __init__(self, books: Books, group: GroupBook, now_us: int) -> None:
        self.books, self.group, self.now_us = books, group, now_us

    def absent_from(self, rebalance: RebalanceBook) -> dict[str, str]:
        """Member id → name of those without a JoinGroup at the barrier; an initial barrier waits for its delay only."""
        if rebalance.initial or self.books.coordinator(self.group).state != "up":
            return {}
        here = {member_id for _, member_id, _ in rebalance.joins}
        return {
            one: name for one, name in (*self.group.members.items(), *self.group.pending.items()) if one not in here
        }

    def waiting(self, words: str, absent: dict[str, str]) -> bool:
        """`waiting for X: reason`, `waiting for 3: X reason; Y, Z`, `no member is missing`."""
        if words == "no member is missing":
            return not absent
        names = sorted(absent.values())
        if match := re.fullmatch(r"waiting for (\d+): (\S+) (.+?); ([^;]+)", words):
            others = [name.rstrip("…") for name in match[4].split(", ")]
            listed = sorted([match[2], *others])
            whole = listed == names if len(names) <= 5 else all(name in names for name in listed)
            return int(match[1]) == len(absent) and whole and self._any(match[2], match[3], absent)
        if match := re.fullmatch(r"waiting for (\S+): (.+)", words):
            return names == [match[1]] and self._any(match[1], match[2], absent)
        return False

    def leader_awaited(self, words: str, rebalance: RebalanceBook) -> bool:
        """Whether the barrier is closed and the leader's SyncGroup is missing, and no other member is awaited."""
        leaders = {one: name for one, name in self.group.members.items() if name == self.group.leader}
        absent = {one: name for one, name in leaders.items() if one not in rebalance.synced}
        if len(absent) < 2:
            return self.waiting(words, absent)
        return any(
            self.waiting(words, {one: name}) for one, name in absent.items()
        )  # processes of one name: which of them led?

    def _any(self, name: str, reason: str, absent: dict[str, str]) -> bool:
        return any(self.holds(one, name, reason) for one, known in absent.items() if known == name)

    def holds(self, member_id: str, name: str, reason: str) -> bool:
        """Whether this is the reason why the group waits for this member."""
        verdict = Verdict(self.now_us)
        verdict.read("", reason, self._sentences(member_id, self.books.members.get(name)))
        return not verdict.false

    def _ends(self, member_id: str, text: str | None) -> bool:
        deadline_us = self.group.sessions.get(member_id, -1)
        return deadline_us < 0 if text is None else deadline_us >= 0 and says(text, deadline_us - self.now_us)

    def _sentences(self, member_id: str, member: MemberBook | None) -> Sentences:
        if member is None:
            return ((f"no process of that name runs: {ENDS}", lambda m: self._ends(member_id, m[1])),)
        mine = member.member_id == member_id or (bool(member.instance_id) and not member.member_id)
        runs = member.alive and not member.frozen and mine
        works = runs and not member.in_poll
        busy_us = self.now_us - member.busy_since_us if works else -1
        notified = member.heard == "REBALANCE_IN_PROGRESS" and member.heard_us > member.beats_from_us
        due_us = member.next_beat_us()
        able = runs and not member.beats_held
        return (
            (
                rf"last poll {D} ago: stalled; joins inside poll\(\)",
                lambda m: works and member.stalled and says(m[1], busy_us),
            ),
            (
                rf"last poll {D} ago: processing; joins inside poll\(\)",
                lambda m: works and not member.stalled and busy_us > BUSY_FOR_US and says(m[1], busy_us),
            ),
            (
                rf"last poll {D} ago: notified, joins in its next poll\(\)",
                lambda m: works and notified and says(m[1], busy_us),
            ),
            (r"notified, joins in its poll\(\)", lambda _: runs and notified),
            ("not notified of the rebalance yet", lambda _: able and not notified and due_us <= self.now_us),
            (
                rf"notified at its next heartbeat, in {D}",
                lambda m: able and not notified and due_us > self.now_us and says(m[1], due_us - self.now_us),
            ),
            (
                f"static member is away, no LeaveGroup was sent: {ENDS}",
                lambda m: bool(member.instance_id) and not member.alive and self._ends(member_id, m[1]),
            ),
            (f"its process is dead: {ENDS}", lambda m: not member.alive and self._ends(member_id, m[1])),
            (
                f"the id of its former process: {ENDS}",
                lambda m: member.alive and not mine and self._ends(member_id, m[1]),
            ),
            (f"its process is frozen: {ENDS}", lambda m: member.frozen and self._ends(member_id, m[1])),
            (
                f"its heartbeat thread is paused: {ENDS}",
                lambda m: runs and member.beats_held and self._ends(member_id, m[1]),
            ),
            ("looks up the coordinator", lambda _: runs and member.coordinator < 0),
            ("revokes partitions, then joins", lambda _: runs and member.state == "Revoking"),
            ("its JoinGroup is under way", lambda _: runs and member.state == "Joining" and member.coordinator >= 0),
            ("has its member id, sends JoinGroup next", lambda _: member_id in self.group.pending),
            (
                "the leader is computing the assignment, then sends SyncGroup",
                lambda _: runs and self.group.state == "CompletingRebalance" and self.group.leader == member.name,
            ),
        )

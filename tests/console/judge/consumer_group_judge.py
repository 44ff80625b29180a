"""Judges what the screens say of groups of the new protocol: epochs, members, revocations, limits, who waits."""

import re

from tests.console.judge.books import Books
from tests.console.judge.consumer_group_books import NewProtocolBook
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook, RebalanceBook
from tests.console.judge.spoken import DURATION, says

D = f"({DURATION})"
KEPT = 12
MEANINGS = {
    "Assigning": "the target assignment is older than the group epoch",
    "Reconciling": "each member reconciles on its own",
    "Stable": "every member has its target assignment",
}


def named(text: str) -> set[str]:
    """The partitions of `orders 0-2,5 · payments 4`."""
    found = set()
    for part in text.split(" · "):
        topic, _, runs = part.rpartition(" ")
        for run in runs.split(","):
            first, _, last = run.partition("-")
            found |= {f"{topic}-{number}" for number in range(int(first), int(last or first) + 1)}
    return found


class ConsumerGroupJudge:
    """One group of the new protocol at one instant."""

    def __init__(self, books: Books, group: GroupBook, new: NewProtocolBook, now_us: int) -> None:
        self.books, self.group, self.new, self.now_us = books, group, new, now_us
        self.up = books.coordinator(group).state == "up"
        moving = group.state in {"Assigning", "Reconciling"}
        self.awaited = new.awaited() if moving and self.up else set()
        self.waiting = {one: lacks for one in new.members if moving and (lacks := new.lacks(one))}

    def name(self, member_id: str) -> str:
        """A member's client id."""
        return self.group.members.get(member_id, member_id)

    def ids(self, name: str) -> list[str]:
        """The member ids of a client id."""
        return [member_id for member_id in self.new.members if self.name(member_id) == name]

    @property
    def done(self) -> int:
        """How many have their targets."""
        return sum(self.new.done(one) for one in self.new.members)

    # --- the phase --------------------------------------------------------------------------------------------------

    def titles(self) -> Sentences:
        """The parts of the title."""
        return (
            ("consumer", lambda _: True),
            (r"group epoch (\d+)", lambda m: int(m[1]) == self.new.epoch),
            (r"assignment epoch (\d+)", lambda m: int(m[1]) == self.new.assigned_epoch),
        )

    def firsts(self) -> Sentences:
        """The line with the state."""
        group, rebalance = self.group, self.group.under_way
        head = rf"\S {group.state}  "
        cause = (
            re.escape(rebalance.cause + (f" ({rebalance.trigger})" if rebalance.trigger else "")) if rebalance else "-"
        )
        meaning = re.escape(MEANINGS.get(group.state, "-"))

        def since(match: "re.Match[str]") -> bool:
            return rebalance is not None and (match[1] is None or says(match[1], self.now_us - rebalance.started_us))

        moving = group.state in {"Assigning", "Reconciling"}
        return (
            (f"{head}{cause}(?: {D} ago)?(?:: {meaning})?", lambda m: self.up and moving and since(m)),
            (f"{head}{meaning}", lambda _: self.up and (not moving or rebalance is None)),
        )

    def bodies(self) -> Sentences:
        """The progress, the awaited member, its limit, and who waits."""
        return (
            (
                (
                    r"reconciled (\d+) of (\d+) · (?:(no member is awaited)|waiting for (.+?))"
                    rf"(?: (\S+) is fenced in {D} \(max.poll.interval.ms\))?;?"
                    r"(?: (\S+) waits for (.+?) of (\S+?)(?: and of \d+ more)?(?: and (\d+) more wait)?)?;?"
                    r"(?: (\d+) members? keeps? consuming)?"
                ),
                self._progress,
            ),
        )

    def _progress(self, match: "re.Match[str]") -> bool:
        numbers = (int(match[1]), int(match[2])) == (self.done, len(self.new.members))
        awaited = not self.awaited if match[3] else self._awaited(match[4])
        return numbers and awaited and self._limit(match[5], match[6]) and self._waits(match) and self._reads(match[11])

    def _awaited(self, words: str) -> bool:
        match = re.fullmatch(
            r"(\S+)(?: to revoke (.+?)(?: for (\S+)(?: and (\d+) more)?)?)? \(([^()]+(?:\(\))?[^()]*)\)"
            r"(?:, and for (.+?)(?: and (\d+) more)?)?",
            words,
        )
        if match is None:
            return False
        names = sorted(self.name(one) for one in self.awaited)
        others = match[6].split(", ") if match[6] else []
        whole = len(others) + 1 + int(match[7] or 0) == len(names) and set(others) <= set(names)
        return whole and any(
            one in self.awaited and self._duty(one, match[2], match[3]) and self.reason(one, match[5])
            for one in self.ids(match[1])
        )

    def _duty(self, member_id: str, names: str | None, taker: str | None) -> bool:
        owed = self.new.owed(member_id)
        if names is None:
            return not owed
        takers = {
            self.name(one) for one in self.new.members if one != member_id and owed & set(self.new.members[one].target)
        }
        return named(names) == owed and (taker in takers if taker else not takers)

    def reason(self, member_id: str, words: str) -> bool:
        """Whether this is why the group waits for a member."""
        verdict = Verdict(self.now_us)
        verdict.read("", words, self._reasons(member_id))
        return not verdict.false

    def _reasons(self, member_id: str) -> Sentences:
        member = self.books.members.get(self.name(member_id))
        deadline_us = self.group.sessions.get(member_id, -1)
        ends = rf"(?:session ends in {D}|its session is suspended)"

        def left(match: "re.Match[str]") -> bool:
            return deadline_us < 0 if match[1] is None else says(match[1], deadline_us - self.now_us)

        if member is None:
            return ((f"no process of that name runs: {ends}", left),)
        mine = member.member_id == member_id
        owes = self.new.members[member_id].state == "UNREVOKED_PARTITIONS"
        able = member.alive and not member.frozen and not member.beats_held and mine
        due_us = member.next_beat_us()
        busy_us = -1 if member.in_poll else self.now_us - member.busy_since_us
        return (
            (f"static member is away: {ends}", lambda m: not member.alive and bool(member.instance_id) and left(m)),
            (f"its process is dead: {ends}", lambda m: not member.alive and left(m)),
            (f"the id of its former process: {ends}", lambda m: member.alive and not mine and left(m)),
            (f"its process is frozen: {ends}", lambda m: member.frozen and left(m)),
            (f"its heartbeats are paused: {ends}", lambda m: member.beats_held and left(m)),
            ("looks up the coordinator", lambda _: member.coordinator < 0),
            (f"stalled, last poll {D} ago", lambda m: able and owes and member.stalled and says(m[1], busy_us)),
            (f"processing, last poll {D} ago", lambda m: able and owes and not member.stalled and says(m[1], busy_us)),
            ("its next heartbeat reports the revocation", lambda _: able and owes and member.state == "ACKNOWLEDGING"),
            (r"inside poll\(\)", lambda _: able and owes and member.state == "RECONCILING"),
            ("the answer to its heartbeat is under way", lambda _: able and owes and member.state != "RECONCILING"),
            (f"next heartbeat in {D}", lambda m: able and not owes and says(m[1], due_us - self.now_us)),
            ("its heartbeat is under way", lambda _: able and not owes and due_us <= self.now_us),
        )

    def _limit(self, name: str | None, left: str | None) -> bool:
        limits = [one for one in self.awaited if self.new.members[one].fenced_us >= 0]
        if name is None or left is None:
            return not limits
        return any(
            one in limits and says(left, self.new.members[one].fenced_us - self.now_us) for one in self.ids(name)
        )

    def _waits(self, match: "re.Match[str]") -> bool:
        if match[7] is None:
            return not self.waiting
        told = named(match[8])
        true = any(
            {name for name, other in self.waiting.get(one, {}).items() if self.name(other) == match[9]} == told
            for one in self.ids(match[7])
        )
        return true and int(match[10] or 0) == len(self.waiting) - 1

    def _reads(self, number: str | None) -> bool:
        """A line without room for it says nothing: only a number that is said is judged."""
        if number is None:
            return True
        reading = [one for one in self.new.members if self._runs(one) and not self.new.owed(one)]
        return int(number) == len(reading)

    def _runs(self, member_id: str) -> bool:
        member = self.books.members.get(self.name(member_id))
        if member is None or member.member_id != member_id:
            return False
        return member.alive and not member.frozen and bool(member.owned)

    # --- the table and the overview ---------------------------------------------------------------------------------

    def protocols(self, note: str, told: list[tuple[str, str]], verdict: Verdict) -> None:
        """While classic members are in the group, the number of them and the protocol of each."""
        place, classic = (
            f"reconciliation of {self.group.name}",
            {key for key, one in self.new.members.items() if one.classic},
        )
        match = re.fullmatch(r"reconciled \d+ of \d+(?: · (\d+) classic)?", note)
        verdict.claim(match is not None and int(match[1] or 0) == len(classic), place, f"{note!r}, not {classic}")
        for key, protocol in told:
            truth = ("classic" if key in classic else "consumer") if classic else ""
            verdict.claim(protocol == truth, place, f"{key} speaks {protocol!r}, not {truth!r}")

    def table(self, rows: list[tuple[str, list[str]]], verdict: Verdict) -> None:
        """The rows of the reconciliation: member id, then epoch, state, partitions, duty, limit."""
        place = f"reconciliation of {self.group.name}"
        order = [key for key, _ in rows]
        verdict.claim(set(order) == set(self.new.members), place, f"members {order}")
        verdict.claim(set(order[: len(self.awaited)]) == self.awaited, place, f"first are {order}, not {self.awaited}")
        for key, (epoch, state, has, duty, left) in rows:
            one = self.new.members.get(key)
            if one is None:
                continue
            behind = self.new.epoch - one.epoch
            told = "away" if one.epoch == -2 else str(one.epoch) + (f" (-{behind})" if behind > 0 else "")
            verdict.claim(epoch == told, place, f"{key} epoch {epoch}, not {told}")
            verdict.claim(state[2:] == one.state, place, f"{key} state {state}")
            verdict.claim(
                "…" in has or (named(has) if has else set()) == set(one.has), place, f"{key} assigned {has!r}"
            )
            limit = left == "–" if one.fenced_us < 0 else says(left, one.fenced_us - self.now_us)
            verdict.claim(limit, place, f"{key} is fenced in {left}")
            if not duty.endswith("…"):
                verdict.claim(self._does(key, duty), place, f"{key} does {duty!r}")

    def _does(self, key: str, words: str) -> bool:
        if not words:
            return key not in self.awaited and key not in self.waiting
        if match := re.fullmatch(r"waits for (.+?) of (\S+?)(?: and \d+ more)?", words):
            lacks = self.waiting.get(key, {})
            return named(match[1]) == {name for name, other in lacks.items() if self.name(other) == match[2]} != set()
        if match := re.fullmatch(r"revokes (.+?)(?: for (\S+?)(?: and \d+ more)?)?: (.+)", words):
            return self._duty(key, match[1], match[2]) and self.reason(key, match[3])
        return not self.new.owed(key) and self.reason(key, words)

    def overview(self) -> Sentences:
        """The overview's words on a rebalance under way."""
        rebalance = self.group.under_way
        who = r"(\S+?)(?: and (\d+) more)?: "

        def one_of(match: "re.Match[str]") -> list[str]:
            if int(match[2] or 0) != len(self.awaited) - 1:
                return []
            return [one for one in self.ids(match[1]) if one in self.awaited]

        def limited(one: str, left: str | None) -> bool:
            fenced_us = self.new.members[one].fenced_us
            return fenced_us < 0 if left is None else says(left, fenced_us - self.now_us)

        return (
            (
                rf"{who}revokes (.+?)(?: for (\S+?)(?: and \d+ more)?)?(?:, fenced in {D})?(?:, (.+))?",
                lambda m: any(
                    self._duty(one, m[3], m[4]) and limited(one, m[5]) and (m[6] is None or self.reason(one, m[6]))
                    for one in one_of(m)
                ),
            ),
            (rf"{who}fenced in {D}", lambda m: any(limited(one, m[3]) for one in one_of(m))),
            (rf"{who}(.+)", lambda m: any(self.reason(one, m[3]) for one in one_of(m))),
            ("([a-z ]+)", lambda m: rebalance is not None and m[1] == rebalance.cause and not self.awaited),
        )


def reconciliation_sentences(rebalance: RebalanceBook) -> Sentences:
    """The case file's section on what each member had to do."""
    revoked = rebalance.revoked or {}
    gone = {(at_us, name): reason for at_us, _, name, reason in rebalance.gone}

    def removed(name: str) -> str | None:
        """The reason of the removal that ended what a member had to do; None if it gave its partitions up."""
        return gone.get((revoked[name].to_us, name))

    def gave(match: "re.Match[str]") -> bool:
        one = revoked.get(match[1])
        return one is not None and named(match[2]) == set(one.names) and says(match[3], one.to_us - one.from_us)

    def order(match: "re.Match[str]") -> bool:
        told = re.findall(rf"(\S+) \+{D}", match[1])
        true = list(rebalance.reached.items())[-KEPT:]
        times = all(says(text, at_us - rebalance.started_us) for (_, text), (_, at_us) in zip(told, true, strict=False))
        return [name for name, _ in told] == [name for name, _ in true] and times

    return (
        (rf"(\S+) revoked ((?:(?! revoked | within ).)+) within {D}", lambda m: gave(m) and removed(m[1]) is None),
        (
            rf"(\S+) had to revoke ((?:(?! revoke ).)+), and was removed after {D}: ([a-z ]+)",
            lambda m: gave(m) and removed(m[1]) == m[4],
        ),
        ("no member had to revoke a partition", lambda _: not revoked),
        (rf"had their targets in this order: ((?:\S+ \+{DURATION}, )*\S+ \+{DURATION})", order),
        (
            r"the group epoch rose again (?:once|twice|(\d+) times): something changed before it was Stable",
            lambda m: len(rebalance.opened_us) > 1 and (m[1] is None or int(m[1]) == len(rebalance.opened_us) - 1),
        ),
    )


def slowest(rebalance: RebalanceBook) -> tuple[str, int]:
    """The member that took longest to revoke partitions, and how long; "" without one."""
    took = {name: one.to_us - one.from_us for name, one in (rebalance.revoked or {}).items() if one.to_us >= 0}
    name = max(took, key=lambda one: took[one], default="")
    return name, took.get(name, 0)

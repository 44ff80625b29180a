"""Judges the answers of `why?`: every sentence, each fact's instant, and that nothing is calm that is not."""

import re
from collections.abc import Collection
from typing import NamedTuple

from cluster.spec import ScenarioSpec
from tests.console.judge.books import Books
from tests.console.judge.cluster_why_judge import KINDS, ClusterWhyJudge
from tests.console.judge.consumer_group_judge import ConsumerGroupJudge
from tests.console.judge.event_log_judge import judge_entry
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook
from tests.console.judge.headline_judge import HeadlineJudge
from tests.console.judge.lag_judge import LagJudge
from tests.console.judge.member_books import MemberBook
from tests.console.judge.members_judge import LATE_US
from tests.console.judge.producer_why_judge import ProducerWhyJudge
from tests.console.judge.reasons import Reasons
from tests.console.judge.spoken import DURATION, counts, instant, says

D = f"({DURATION})"
AWAY = "no live leader|a frozen leader"
MORE = r"(?: and (?P<more>\d+) more)?"
REMOVED = {
    "it sent LeaveGroup": "member left",
    "its coordinator had no heartbeat for its session": "session expired",
    "max.poll.interval.ms passed": "poll interval exceeded",
    "its coordinator had no SyncGroup in time": "sync timed out",
    "the group has group.max.size members": "group full",
    "another process has its group.instance.id": "static member replaced",
}
Match = re.Match[str]


class Said(NamedTuple):
    """An answer as it is drawn."""

    verdict: str
    facts: list[tuple[int, str]]
    ends: list[str]
    may: list[str]


def answers_in(rows: list[str]) -> list[Said]:
    """The answers that lines of the overlay show."""
    found: list[Said] = []
    for row in rows:
        if match := re.fullmatch(r"  [✖▲↻●] (.+)", row):
            found.append(Said(match[1], [], [], []))
        elif match := re.fullmatch(r"  (\d\d:\d\d:\d\d\.\d{3})  (.+)", row):
            found[-1].facts.append((instant(match[1]), match[2]))
        elif match := re.fullmatch(r"    ends: (.+)", row):
            found[-1].ends.append(match[1])
        elif match := re.fullmatch(r"    you can: (.+)", row):
            found[-1].may.append(match[1])
        else:
            assert not row.strip(), row
    return found


class WhyJudge:
    """The answers at one instant."""

    def __init__(self, books: Books, now_us: int, verdict: Verdict, spec: ScenarioSpec) -> None:
        self.books, self.now_us, self.verdict = books, now_us, verdict
        self.headline = HeadlineJudge(books, now_us, verdict, spec)
        self.cluster = ClusterWhyJudge(books, now_us, verdict, self.headline)
        producers = ProducerWhyJudge(books, now_us, self.headline, self.cluster)
        self.others: dict[str, ClusterWhyJudge | ProducerWhyJudge] = dict.fromkeys(KINDS, self.cluster)
        self.others |= dict.fromkeys(producers.subjects(), producers)

    def subjects(self) -> dict[str, list[str]]:
        """What is asked about, by kind; members in an order that changes with time."""
        members = list(self.books.members)
        turn = self.now_us // 100_000 % max(1, len(members))
        of_cluster = self.cluster.subjects() | self.others["producer"].subjects()
        return {"group": list(self.books.groups), "member": [*members[turn:], *members[:turn]], **of_cluster}

    def judge(self, kind: str, name: str, rows: list[str]) -> None:
        """The lines on one subject."""
        said, place = answers_in(rows), f"why {name}"
        self.verdict.claim(bool(said), place, "no answer")
        wanted = self._wanted(kind, name)
        for answer in said:
            self.verdict.read(place, answer.verdict, self._verdicts(kind, name))
            for at_us, text in answer.facts:
                self._fact(kind, name, at_us, text)
            for text in (part for ends in answer.ends for part in ends.split("; ")):
                self.verdict.read(f"{place}, ends", text, (*self._fault_ends(kind, name), *self._ends(kind, name)))
            self.verdict.claim(self._all_faults_end(name, answer), place, f"an end of a fault is left out: {answer}")
            for text in answer.may:
                self.verdict.read(f"{place}, may", text, self._may())
        for words in wanted:
            found = any(re.search(words, answer.verdict) for answer in said)
            self.verdict.claim(found, place, f"nothing like {words!r} in {[one.verdict for one in said]}")

    def _ending(self, *names: str) -> dict[str, int]:
        """The faults of processes that end by themselves: text → in µs from now."""
        ending = [one for one in self.books.cluster.faults.values() if one.ends_at_us >= 0]
        return {one.text: one.ends_at_us - self.now_us for one in ending if {*names} & {*one.text.split()}}

    def _fault_ends(self, kind: str, name: str) -> Sentences:
        anybody = kind in {"partition", "topic"}  # any member may own it
        readers = (one.name for one in self.books.members.values() if anybody or one.group == name)
        ending = self._ending(name, *readers)
        return ((rf"(.+?) ends in {D}", lambda m: m[1] in ending and says(m[2], ending[m[1]])),)

    def _all_faults_end(self, name: str, answer: Said) -> bool:
        """Where a process stands still, the end of what made it is told."""
        reader = re.search(
            r"on partitions of (\S+), its |^(\S+) of \S+ has \S+ and reads nothing: its ", answer.verdict
        )
        who = next(filter(None, reader.groups())) if reader is not None else name
        stands = re.search(
            r"is frozen$|heartbeat thread is paused|: stalled$|its application is stalled$", answer.verdict
        )
        told = sum(" ends in " in part and "session" not in part for part in "; ".join(answer.ends).split("; "))
        own = answer.verdict.startswith(name) and "no coordinator" not in answer.verdict
        if stands is None or (reader is None and not own):
            return True
        return told == min(2, len(self._ending(who)))

    # --- what has to be said ----------------------------------------------------------------------------------------

    def _wanted(self, kind: str, name: str) -> list[str]:
        if kind in self.others:
            return self.others[kind].wanted(kind, name)
        if kind == "group":
            group = self.books.groups[name]
            found = [r"coordinator|no coordinator"] * self._out(group)
            found += ["not complete|not reconciled"] * bool(self._absent(group))
            found += ["silent"] * bool(self._silent(group))
            found += ["is not a member of"] * bool(self._evicted(group))
            found += [AWAY] * bool(group.members and self._unserved(self.books.partitions_of(group)))
            found += ["read_committed reads"] * bool(self._stuck(group))
            found += ["has a lag of"] * bool(self.books.lag(group))
            found += ["its process is frozen|its application is stalled|has paused"] * bool(self._standing(group))
            return found + ["no owner"] * bool(self._unowned(group))
        member = self.books.members[name]
        group = self.books.groups[member.group]
        if not self._belongs(member, group):
            return ["is not a member"]
        found = ["process|heartbeat thread"] * self._stands(member, group)
        found += ["coordinator"] * (member.alive and self._out(group))
        found += ["heartbeat is late"] * (self._late_us(member) > 0)
        found += [AWAY] * (member.alive and bool(self._unserved(member.owned)))
        found += ["has not polled"] * (member.alive and self.headline._late(member))
        found += ["has paused"] * (member.alive and self._unread_of_paused(member) > 0)
        awaited = self._absent(group).values()
        found += ["not complete|not reconciled"] * (bool(awaited) and not member.owned and name not in awaited)
        return found + [f"waits for {name}"] * (name in awaited)

    def _evicted(self, group: GroupBook) -> list[str]:
        """Running processes that are not in their group any more, and did not leave it."""
        known = (one for one in self.books.members.values() if one.group == group.name and one.alive)
        out = (one for one in known if one.removed_for not in {"", "member left"})
        return [one.name for one in out if not self._belongs(one, group)]

    def _unserved(self, names: Collection[str]) -> list[str]:
        """The partitions of these whose leader does not answer."""
        places = self.books.cluster.partitions
        return [one for one in names if not self.cluster._served(places[one])]

    def _unserved_words(self, whose: str, names: Collection[str]) -> Sentences:
        """`4 of 12 partitions of billing have no live leader: orders-1 and 3 more`."""
        away = self._unserved(names)
        places, cluster = self.books.cluster.partitions, self.books.cluster

        def said(m: Match) -> bool:
            frozen = m[4] == "a frozen leader"
            here = [one for one in away if frozen == cluster.is_led(places[one])]  # one that starts does not lead yet
            agrees = (m[3] == "has") == (len(here) == 1) and m[5] in here and int(m[6] or 0) == len(here) - 1
            return (int(m[1]), int(m[2])) == (len(here), len(names)) and agrees

        of = rf"partitions? of {re.escape(whose)}"
        return (
            (rf"(\d+) of (\d+) {of} (has|have) (no live leader|a frozen leader): (\S+?)(?: and (\d+) more)?", said),
        )

    def _late_us(self, member: MemberBook) -> int:
        """For how long its heartbeat is late, by the same rule as the members' clocks."""
        beats = member.alive and not member.frozen and not member.beats_held
        due_us = member.next_beat_us()
        found = beats and due_us >= 0 and member.generation >= 0 and member.coordinator >= 0
        late_us = self.now_us - due_us
        return late_us if found and late_us > LATE_US else 0

    def _out(self, group: GroupBook) -> bool:
        return bool(group.members) and self.books.coordinator(group).state != "up"

    def _absent(self, group: GroupBook) -> dict[str, str]:
        if group.under_way is None or self.books.coordinator(group).state != "up":
            return {}
        return self.headline._absent(group)

    def _silent(self, group: GroupBook) -> list[str]:
        return [one for known, one in self.headline._silent() if known is group]

    def _stuck(self, group: GroupBook) -> str:
        """The partition in which a stuck transaction holds the group back most; empty without one."""
        return LagJudge(self.books, group, self.now_us, self.verdict).stuck() or ""

    def _standing(self, group: GroupBook, *, alone: bool = True) -> dict[str, int]:
        """The lag of members that run, own partitions with lag, and are frozen or stalled, or have paused them.

        `alone`: without partitions that another member believes to hold, too.
        """
        lags: dict[str, int] = {}
        for name in self.books.partitions_of(group):
            holders = self.books.member_books.holders(group.name, name)
            for member in (self.books.members[holder] for holder in holders if len(holders) == 1 or not alone):
                if member.alive and member.leaves(name):
                    lags[member.name] = lags.get(member.name, 0) + self.books.lag_in(group, name)
        return {name: lag for name, lag in lags.items() if lag}

    def _lag_of(self, group: GroupBook) -> Sentences:
        """The sentences on the lag: all of it, and the part on one member's partitions or on one partition."""
        least, standing = self._standing(group), self._standing(group, alone=False)
        total = self.books.lag(group)
        most = max((self.books.lag_in(group, name) for name in self.books.partitions_of(group)), default=0)
        head = rf"{re.escape(group.name)} has a lag of (\S+) \(from committed offsets\): "

        def stands(m: Match) -> bool:
            who = next((one for one in standing if m["where"] == self._not_read(one)), "")
            if not who or not counts(m[1], total):
                return False
            lags = range(max(1, least.get(who, 0)), standing[who] + 1)
            return any(counts(m[2], lag) and lag >= max(least.values(), default=0) for lag in lags)

        def lies(m: Match) -> bool:
            part = most == total if m["part"] is None else most < total and counts(m["part"], most)
            right = part and counts(m[1], total) and self.books.lag_in(group, m[2]) == most > 0
            holders = self.books.member_books.holders(group.name, m[2])
            return right and (m[3] in holders if m[3] else m[2] not in group.owners)

        return (
            (head + r"(\S+) on partitions (?P<where>of (?:\S+), .+|that .+)", stands),
            (head + r"most on (\S+?)(?: of (\S+))?, (?P<part>\S+)", lies),
            (head + r"all on (\S+?)(?: of (\S+))?(?P<part>(?!))?", lies),
        )

    def _not_read(self, who: str) -> str:
        """What is said of the partitions of a member that leaves them."""
        member = self.books.members[who]
        if member.frozen or member.stalled:
            return f"of {who}, its {'process is frozen' if member.frozen else 'application is stalled'}"
        return f"that {who} has paused"

    def _unread_of_paused(self, member: MemberBook) -> int:
        high = {name: self.books.cluster.partitions[name].high_watermark for name in member.paused}
        return sum(max(0, high[name] - member.positions[name]) for name in high if name in member.positions)

    def _unowned(self, group: GroupBook) -> int:
        return max(0, len(self.books.partitions_of(group)) - len(group.owners))

    @staticmethod
    def _belongs(member: MemberBook, group: GroupBook) -> bool:
        return member.name in group.members.values() or member.name in group.pending.values()

    @staticmethod
    def _ids(member: MemberBook, group: GroupBook) -> list[str]:
        return [one for one, name in group.members.items() if name == member.name]

    def _stands(self, member: MemberBook, group: GroupBook) -> bool:
        ids = self._ids(member, group)
        return bool(ids) and (all(member.silent(one) for one in ids) or (member.alive and member.beats_held))

    # --- verdicts ---------------------------------------------------------------------------------------------------

    def _verdicts(self, kind: str, name: str) -> Sentences:
        if kind in self.others:
            return self.others[kind].verdicts(kind, name)
        if kind == "group":
            return self._of_group(self.books.groups[name])
        member = self.books.members[name]
        return self._of_member(member, self.books.groups[member.group])

    def _of_group(self, group: GroupBook) -> Sentences:
        name, absent = re.escape(group.name), self._absent(group)
        barrier, silent, names = group.under_way, self._silent(group), list(group.members.items())
        stuck = self._stuck(group)
        troubled = absent or silent or stuck or self._standing(group) or self._evicted(group)
        unserved = self._unserved(self.books.partitions_of(group)) if group.members else []
        calm = not troubled and not unserved and not self._out(group)

        def quiet(m: Match) -> bool:
            ids = sorted(silent, key=lambda one: group.sessions.get(one, 1 << 62))
            sooner = group.sessions.get(ids[0], -1) if ids else -1
            named = any(one == m["who"] and group.sessions.get(known, -1) == sooner for known, one in names)
            return bool(ids) and named and int(m["more"] or 0) == len(ids) - 1

        return (
            *self._coordinators(group),
            *self._unserved_words(group.name, self.books.partitions_of(group)),
            (rf"(?P<who>\S+) is not a member of {name}: (?P<why>.+)",
             lambda m: m["who"] in self._evicted(group)
             and REMOVED.get(m["why"], m["why"]) == self.books.members[m["who"]].removed_for),
            *self._rebalances(group),
            (rf"(?P<who>\S+?){MORE} (?:is|are) silent", quiet),
            (rf"(\d+) of (\d+) partitions? (?:has|have) no owner in {name}",
             lambda m: (int(m[1]), int(m[2])) == (self._unowned(group), len(self.books.partitions_of(group)))),
            (rf"{name} is (\S+): it has no members",
             lambda m: calm and barrier is None and m[1] == group.state and not group.members),
            (rf"{name} is (\S+): (\d+) partitions? (?:has|have) an owner, no member is awaited",
             lambda m: calm and not self._unowned(group) and (m[1], int(m[2])) == (group.state, len(group.owners))),
            *(self.cluster.readers(f"(?P<part>{re.escape(stuck)})") if stuck else ()),
            *self._lag_of(group),
        )  # fmt: skip

    def _rebalances(self, group: GroupBook) -> Sentences:
        name, absent, barrier = re.escape(group.name), self._absent(group), group.under_way
        preparing = group.state == "PreparingRebalance"
        first = barrier is not None and barrier.initial and preparing

        def waits(m: Match) -> bool:
            return m["who"] in absent.values() and int(m["more"] or 0) == len(absent) - 1

        return (
            (rf"generation (\d+) is not complete: {name} waits for (?P<who>\S+?){MORE}",
             lambda m: group.new is None and int(m[1]) == group.generation + preparing and waits(m)),
            (rf"epoch (\d+) is not reconciled: {name} waits for (?P<who>\S+?){MORE}",
             lambda m: group.new is not None and int(m[1]) == group.new.epoch and waits(m)),
            (rf"{name} is in its initial rebalance delay: no member is awaited", lambda _: first),
            (rf"{name} rebalances: no member is missing", lambda _: barrier is not None and not absent and not first),
        )  # fmt: skip

    def _coordinators(self, group: GroupBook) -> Sentences:
        state, until = self.books.coordinator(group), "nothing can complete until"
        return (
            (rf"coordinator broker-(\d+) is down: {until} its partition has a new leader",
             lambda m: state == (int(m[1]), "down")),
            (rf"coordinator broker-(\d+) is frozen: {until} it resumes or its partition has a new leader",
             lambda m: state == (int(m[1]), "frozen")),
            (rf"coordinator broker-(\d+) restarted: {until} it has registered again",
             lambda m: state == (int(m[1]), "restarted")),
            (r"coordinator broker-(\d+) is loading the group from (\S+)",
             lambda m: state == (int(m[1]), "loading") and m[2] == group.coordinator_partition),
            (r"no coordinator: (\S+) has no leader",
             lambda m: state.state == "no leader" and m[1] == group.coordinator_partition),
        )  # fmt: skip

    def _of_member(self, member: MemberBook, group: GroupBook) -> Sentences:
        name, of = re.escape(member.name), re.escape(group.name)
        belongs, ids = self._belongs(member, group), self._ids(member, group)
        busy_us = 0 if member.in_poll else self.now_us - member.busy_since_us
        works = member.alive and not member.frozen
        calm = belongs and not self._wanted("member", member.name)
        former = works and bool(ids) and all(member.silent(one) for one in ids)
        return (
            (rf"{name} is not a member of {of}(?:: (.+))?",
             lambda m: not belongs and (REMOVED.get(m[1], m[1]) if m[1] else "") == member.removed_for),
            (rf"{name}'s process is not running, and {of} has not noticed", lambda _: belongs and not member.alive),
            (rf"{name}'s process is frozen", lambda _: belongs and member.alive and member.frozen),
            (rf"{name} runs again, and {of} still has the id of its former process", lambda _: former),
            (rf"{name}'s heartbeat thread is paused", lambda _: works and member.beats_held),
            (rf"{name} has not polled for {D}: (stalled|processing)",
             lambda m: works and not member.in_poll and says(m[1], busy_us) and (m[2] == "stalled") == member.stalled),
            (rf"{name}'s heartbeat is late: it was due {D} ago",
             lambda m: belongs and self._late_us(member) > 0 and says(m[1], self._late_us(member))),
            (rf"{name} has paused (\d+) of its (\d+) partitions?: (\S+) records? unread",
             lambda m: member.alive and (int(m[1]), int(m[2])) == (len(member.paused), len(member.owned))
             and counts(m[3], self._unread_of_paused(member))),
            *self._coordinators(group),
            *(self._rebalances(group) if belongs and not member.owned else ()),
            *self._unserved_words(member.name, member.owned),
            (rf"{of} waits for {name}", lambda _: member.name in self._absent(group).values()),
            (rf"{name} is (\S+): it owns (\d+) partitions?",
             lambda m: calm and (m[1], int(m[2])) == (member.state, len(member.owned))),
        )  # fmt: skip

    # --- facts ------------------------------------------------------------------------------------------------------

    def _fact(self, kind: str, name: str, at_us: int, text: str) -> None:
        verdict, place = Verdict(self.now_us), f"why {name}, fact"
        verdict.read(place, text, self._own_facts(kind, name, at_us))
        if verdict.false and "unknown" in verdict.false[0]:
            judge_entry(self.books, at_us, text, place, self.verdict)
            return
        self.verdict.claim(not verdict.false, place, f"{text!r} at {at_us}")

    def _own_facts(self, kind: str, name: str, at_us: int) -> Sentences:
        if kind in self.others:
            return self.others[kind].facts(kind, name, at_us)
        group = self.books.groups[name if kind == "group" else self.books.members[name].group]
        read = self.books.partitions_of(group)
        behind = [one for one in read if kind == "member" or self.books.lag_in(group, one)]
        paused = self.books.member_books.paused_fact(at_us // 1_000, lambda _: behind)
        return (paused, *self._facts(group, at_us), *self.cluster.began(at_us // 1_000))

    def _facts(self, group: GroupBook, at_us: int) -> Sentences:
        at_ms, rebalance, members = at_us // 1_000, group.under_way, self.books.members
        names = "|".join(re.escape(one) for one in {*group.members.values(), *group.pending.values()}) or "-"

        def joined(m: Match) -> bool:
            assert rebalance is not None
            number, last_us = len(rebalance.joins), max(at for at, _, _ in rebalance.joins)
            of = max(number, len(group.members) + len(group.pending))
            return (int(m[1]), int(m[2])) == (number, of) and last_us // 1_000 == at_ms

        return (
            (r"(\d+) of (\d+) members have joined", joined),
            (r"(\S+) lost its owner", lambda m: group.unowned_since_us.get(m[1], -1) // 1_000 == at_ms),
            (r"(\S+)'s last poll\(\) returned", lambda m: members[m[1]].busy_since_us // 1_000 == at_ms),
            (r"(\S+)'s last heartbeat was answered: (\S+)",
             lambda m: (members[m[1]].heard_us // 1_000, members[m[1]].heard) == (at_ms, m[2])),
            (rf"({names})(?: (to revoke .+?))?: ((?!commit refused).+)", lambda m: self._awaited(group, at_ms, m)),
        )  # fmt: skip

    def _awaited(self, group: GroupBook, at_ms: int, m: Match) -> bool:
        absent, rebalance = self._absent(group), group.under_way
        if rebalance is None or m[1] not in absent.values():
            return False
        member = self.books.members.get(m[1])
        since_us = member.busy_since_us if member is not None and "last poll" in m[3] else rebalance.started_us
        ids = [one for one, name in absent.items() if name == m[1]]
        if group.new is not None:
            judge_ = ConsumerGroupJudge(self.books, group, group.new, self.now_us)
            words = f"{m[1]}{f' {m[2]}' if m[2] else ''} ({m[3]})"
            others = "".join(f", and for {', '.join(names)}" for names in [_others(absent, m[1])] if names)
            true = any(judge_._awaited(f"{words}{others}") for _ in ids[:1])
        else:
            true = any(Reasons(self.books, group, self.now_us).holds(one, m[1], m[3]) for one in ids)
        return true and since_us // 1_000 == at_ms

    # --- ends and remedies ------------------------------------------------------------------------------------------

    def _ends(self, kind: str, name: str) -> Sentences:
        if kind in self.others:
            return self.others[kind].ends(kind, name)
        member = self.books.members[name] if kind == "member" else None
        group = self.books.groups[member.group if member is not None else name]
        absent, rebalance = self._absent(group), group.under_way
        closes_us = rebalance.closes_us - self.now_us if rebalance is not None else -1
        of = self._ids(member, group) if member is not None else self._silent(group)
        key = "session.timeout.ms" if group.new is None else "group.consumer.session.timeout.ms"
        initial = rebalance is not None and rebalance.initial

        def session(m: Match) -> bool:
            ends = [group.sessions.get(one, -1) for one in of]
            return any(one < 0 if m[1] is None else one >= 0 and says(m[1], one - self.now_us) for one in ends)

        def poll(m: Match) -> bool:
            assert member is not None
            limit = says(m[1], member.poll_us) or m[1] == f"{member.poll_us / 1e6:g} s"
            return limit and says(m[2], member.busy_since_us + member.poll_us - self.now_us)

        def registers(m: Match) -> bool:
            places = self.books.cluster.partitions
            away = self._unserved(member.owned if member is not None else self.books.partitions_of(group))
            isrs = [places[one].isr for one in away if places[one].leader < 0]
            return m[1] in {", ".join(f"broker-{number}" for number in isr) for isr in isrs}

        def fenced(m: Match) -> bool:
            if group.new is None:
                return False
            return ConsumerGroupJudge(self.books, group, group.new, self.now_us)._limit(m[1], m[2])

        return (
            (rf"the barrier closes when (it joins|all have joined), or in {D} \(max.poll.interval.ms\)",
             lambda m: says(m[2], closes_us) and (m[1] == "it joins") == (len(absent) == 1)),
            (rf"the barrier closes within {D} \((max.poll.interval.ms|group.initial.rebalance.delay.ms)\)",
             lambda m: says(m[1], closes_us) and initial == m[2].startswith("group")),
            ("SyncGroup ends the wait", lambda _: group.state == "CompletingRebalance"),
            (rf"broker-(\d+) is fenced within {D} \(broker.session.timeout.ms\)",
             lambda m: self.headline._fenced_within(int(m[1]), m[2])),
            (rf"(?:session ends in {D}|its session is suspended) \({key}\)", session),
            (rf"(\S+) is fenced in {D} \(max.poll.interval.ms\)", fenced),
            (rf"max.poll.interval.ms \((.+?)\) passes in {D}", poll),
            (r"an in-sync replica registers: (.+)", registers),
            ("no timer ends this: its process is not running", lambda _: member is not None and not member.alive),
            *self.cluster.transaction_ends(),
        )  # fmt: skip

    def _lives(self, name: str) -> bool:
        members, producers = self.books.members, self.books.cluster.producers
        return members[name].alive if name in members else producers[name].state not in {"Dead", "Stopped"}

    def _frozen(self, name: str) -> bool:
        members = self.books.members
        return members[name].frozen if name in members else self.books.cluster.producers[name].state == "Paused"

    def _may(self) -> Sentences:
        members, brokers = self.books.members, self.books.cluster.brokers
        return (
            (r"start broker-(\d+)", lambda m: not brokers[int(m[1])].up),
            (r"resume broker-(\d+)", lambda m: brokers[int(m[1])].frozen),
            (r"start (\S+)", lambda m: not self._lives(m[1])),
            (r"resume partitions of (\S+)", lambda m: bool(members[m[1]].paused) and self._lives(m[1])),
            (r"restart (\S+)", lambda m: self._lives(m[1]) and not (m[1] not in members and self._frozen(m[1]))),
            (r"resume (\S+)", lambda m: self._frozen(m[1])),
            (r"abort hanging transaction (\S+)", lambda m: m[1] in self.headline._hanging()),
            (r"scale (\S+) to 1", lambda m: not self.books.groups[m[1]].members),
        )


def _others(absent: dict[str, str], name: str) -> list[str]:
    """The other awaited members' names."""
    names = list(absent.values())
    names.remove(name)
    return names

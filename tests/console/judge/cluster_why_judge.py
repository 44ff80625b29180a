"""Judges the answers of `why?` on brokers, partitions and topics."""

import re

from tests.console.judge.books import Books
from tests.console.judge.cluster_books import BrokerBook, PartitionBook
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.headline_judge import HeadlineJudge
from tests.console.judge.spoken import DURATION, says
from tests.console.judge.transactions_judge import TransactionsJudge

D = f"({DURATION})"
KINDS = ("partition", "topic", "broker")
AWAY = {
    "is down and fenced": "down",
    "is down, and the controller has not fenced it": "down",
    "is frozen": "frozen",
    "runs, and the controller has fenced it": "fenced",
}
PASSING = {"starts": "starting", "shuts down": "stopping"}
Match = re.Match[str]


class ClusterWhyJudge:
    """The answers at one instant."""

    def __init__(self, books: Books, now_us: int, verdict: Verdict, headline: HeadlineJudge) -> None:
        self.books, self.now_us, self.headline, self.cluster = books, now_us, headline, books.cluster
        self.transactions = TransactionsJudge(books, now_us, verdict)

    def subjects(self) -> dict[str, list[str]]:
        """The names of each kind: partitions that are not well first, the others by turns."""
        names = list(self.cluster.partitions)
        turn = self.now_us // 100_000 % max(1, len(names))
        well = [name for name in names if not self._of_partition(name)]
        sick = [name for name in names if name not in set(well)]
        brokers = [f"broker-{number}" for number in self.cluster.brokers]
        return {
            "partition": [*sick[:4], *well[turn:], *well[:turn], *sick[4:]],
            "topic": list(self.cluster.topics),
            "broker": brokers,
        }

    def wanted(self, kind: str, name: str) -> list[str]:
        """Patterns of verdicts that may not be missing."""
        if kind == "broker":
            number = _number(name)
            passing = self.headline._broker(number) != "up"
            found = ["is down|is frozen|has fenced it|starts|shuts down"] * passing
            return found + ["out of sync"] * bool(self._behind(number)) + ["leads none"] * self._leads_none(number)
        found = []
        for one in self._partitions(kind, name):
            found += self._of_partition(one)
        return list(dict.fromkeys(found))

    def _partitions(self, kind: str, name: str) -> list[str]:
        if kind == "partition":
            return [name]
        return [each for each, one in self.cluster.partitions.items() if one.topic == name]

    def _of_partition(self, name: str) -> list[str]:
        one, found = self.cluster.partitions[name], []
        if not self._served(one):
            found.append("has no leader|has no live leader|which is frozen")
        elif len(one.isr) < self._least(one):
            found.append("is below min.insync.replicas")
        elif len(one.isr) < one.wanted:
            found.append("is under-replicated")
        if self.books.stable_offset(name) < one.high_watermark:
            found.append("read_committed reads")
        if self._unread(name) or self._stands(name):
            found.append("no member of|and reads nothing")
        return found

    def _served(self, one: PartitionBook) -> bool:
        return self.cluster.is_led(one) and not self.cluster.brokers[one.leader].frozen

    def _least(self, one: PartitionBook) -> int:
        return self.cluster.least(one)

    def _unread(self, name: str) -> list[str]:
        """Groups that read the topic and have no member at the partition."""
        topic = self.cluster.partitions[name].topic
        return [
            group.name for group in self.books.groups.values() if topic in group.topics and name not in group.owners
        ]

    def _stands(self, name: str) -> bool:
        """Whether a group's only member with the partition is frozen or stalled, or has paused it."""
        topic = self.cluster.partitions[name].topic
        for group in self.books.groups.values():
            if topic in group.topics:
                holders = self.books.member_books.holders(group.name, name)
                members = [self.books.members[one] for one in holders]
                if len(members) == 1 and members[0].alive and members[0].leaves(name):
                    return True
        return False

    def _behind(self, number: int) -> list[str]:
        places = self.cluster.partitions.items()
        return [name for name, one in places if one.lacks(number)]

    def _copied(self, number: int) -> list[str]:
        places = self.cluster.partitions.items()
        return [name for name, one in places if number in set(one.adding) - set(one.isr)]

    def _replicas(self, number: int) -> int:
        return sum(number in set(one.replicas) - set(one.adding) for one in self.cluster.partitions.values())

    def _led(self, number: int) -> int:
        return sum(one.leader == number for one in self.cluster.partitions.values())

    def _leads_none(self, number: int) -> bool:
        up = self.headline._broker(number) == "up"
        return up and self._replicas(number) > 0 and not self._led(number)

    # --- verdicts ---------------------------------------------------------------------------------------------------

    def verdicts(self, kind: str, name: str) -> Sentences:
        """The sentences of a subject's verdicts."""
        if kind == "broker":
            return self._broker_verdicts(_number(name), re.escape(name))
        places = self._partitions(kind, name)
        part = "(?P<part>" + "|".join(re.escape(one) for one in places) + ")"
        whole = (
            rf"{re.escape(name)}: (\d+) partitions? (?:has|have) a leader and all replicas in sync",
            lambda m: int(m[1]) == len(places) and not self.wanted(kind, name),
        )
        return (*self._health(part), *self.readers(part), whole)

    def _health(self, part: str) -> Sentences:
        known, brokers = self.cluster.partitions, self.cluster.brokers

        def led(m: Match) -> tuple[PartitionBook, BrokerBook]:
            one = known[m["part"]]
            assert one.leader == int(m["broker"])
            return one, brokers[one.leader]

        def unled(m: Match) -> bool:
            _, broker = led(m)
            return not broker.serves and not broker.frozen and broker.up == (m["how"] == "starts")

        def short(m: Match) -> bool:
            one = known[m["part"]]
            return self._served(one) and len(one.isr) == int(m["n"]) < int(m["of"]) == self._least(one)

        def under(m: Match) -> bool:
            one = known[m["part"]]
            here = (len(one.isr), one.wanted) == (int(m["n"]), int(m["of"]))
            return self._served(one) and self._least(one) <= len(one.isr) < one.wanted and here

        def calm(m: Match) -> bool:
            one, _ = led(m)
            return not self._of_partition(m["part"]) and int(m["n"]) == len(one.replicas)

        return (
            (rf"{part} has no leader", lambda m: known[m["part"]].leader < 0),
            (rf"{part} has no live leader: broker-(?P<broker>\d+) (?P<how>starts|is down)", unled),
            (rf"{part} is led by broker-(?P<broker>\d+), which is frozen: requests wait", lambda m: led(m)[1].frozen),
            ((rf"{part} is below min.insync.replicas: (?P<n>\d+) of (?P<of>\d+) in sync, acks=all is refused"), short),
            (rf"{part} is under-replicated: (?P<n>\d+) of (?P<of>\d+) replicas are in sync", under),
            (rf"{part} is led by broker-(?P<broker>\d+), all (?P<n>\d+) replicas are in sync", calm),
        )

    def readers(self, part: str) -> Sentences:
        """What is said of the readers of a partition; `part` is the pattern of its name."""

        def held(m: Match) -> bool:
            name = m["part"]
            high, found = self.cluster.partitions[name].high_watermark, self.transactions._holder(name)
            if found is None or (int(m["stable"]), int(m["high"])) != (self.books.stable_offset(name), high):
                return False
            verdict = Verdict(self.now_us)
            verdict.read("", m["by"], self.transactions._reasons(name, *found))
            return not verdict.false

        def still(m: Match) -> bool:
            member = self.books.members[m["who"]]
            mine = member.group == m["group"] and m["part"] in member.owned and member.alive
            if member.frozen or member.stalled:
                why = "process is frozen" if member.frozen else "application is stalled"
            else:
                why = "application called pause()" if m["part"] in member.paused else ""
            return mine and m["why"] == why

        owner = r"(?P<who>\S+) of (?P<group>\S+)"
        why = r"(?P<why>process is frozen|application is stalled|application called pause\(\))"
        return (
            (rf"read_committed reads {part} up to (?P<stable>\d+) of (?P<high>\d+): (?P<by>.+)", held),
            (rf"no member of (?P<group>\S+) reads {part}", lambda m: m["group"] in self._unread(m["part"])),
            (rf"{owner} has {part} and reads nothing: its {why}", still),
        )

    def _broker_verdicts(self, number: int, name: str) -> Sentences:
        broker, state = self.cluster.brokers[number], self.headline._broker(number)
        behind = self._behind(number)

        def away(m: Match) -> bool:
            return state == AWAY[m[1]] and (state != "down" or broker.fenced == m[1].endswith("and fenced"))

        def late(m: Match) -> bool:
            return m[1] in behind and int(m[2] or 0) == len(behind) - 1

        def copies(m: Match) -> bool:
            copied = self._copied(number)
            return state == "up" and m[1] in copied and int(m[2] or 0) == len(copied) - 1

        return (
            (rf"{name} ({'|'.join(AWAY)})", away),
            (rf"{name} ({'|'.join(PASSING)})", lambda m: state == PASSING[m[1]]),
            (rf"{name} leads none of the (\d+) partitions that it replicates",
             lambda m: self._leads_none(number) and int(m[1]) == self._replicas(number)),
            (rf"{name} is out of sync in (\S+?)(?: and (\d+) more)?", late),
            (rf"{name} copies (\S+?)(?: and (\d+) more)? for a reassignment", copies),
            (rf"{name} is up: it leads (\d+) partitions?, its replicas are in sync",
             lambda m: state == "up" and not (behind or self._copied(number)) and int(m[1]) == self._led(number)),
        )  # fmt: skip

    # --- facts, ends ------------------------------------------------------------------------------------------------

    def facts(self, kind: str, name: str, at_us: int) -> Sentences:
        """The sentences of facts that the event log does not have."""
        asked = self._partitions(kind, name) if kind != "broker" else []
        at_ms, groups = at_us // 1_000, self.books.groups.values()
        return (
            (
                r"(\S+) lost its owner",
                lambda m: any(one.unowned_since_us.get(m[1], -1) // 1_000 == at_ms for one in groups),
            ),
            self.books.member_books.paused_fact(at_ms, lambda named: {named}.intersection(asked)),
            *self.began(at_ms),
        )

    def ends(self, kind: str, name: str) -> Sentences:
        """The sentences of what ends a condition."""
        places = self._partitions(kind, name) if kind != "broker" else []
        known = self.cluster.partitions

        def listed(m: Match, truth: tuple[int, ...]) -> bool:
            return sorted(map(_number, m[1].split(", "))) == sorted(truth)

        return (
            (rf"broker-(\d+) is fenced within {D} \(broker.session.timeout.ms\)",
             lambda m: self.headline._fenced_within(int(m[1]), m[2])),
            ("no timer ends this: its process is not running",
             lambda _: kind == "broker" and not self.cluster.brokers[_number(name)].up),
            (r"an in-sync replica registers: (.+)",
             lambda m: any(known[one].leader < 0 and listed(m, known[one].isr) for one in places)),
            (r"(.+?) (?:is|are) in sync again",
             lambda m: any(listed(m, tuple({*known[one].replicas} - {*known[one].isr})) for one in places)),
            *self.transaction_ends(),
        )  # fmt: skip

    def began(self, at_ms: int) -> Sentences:
        """The fact that a transaction began."""
        ids = self.books.transactions.ids
        return ((r"(\S+) began its transaction", lambda m: ids[m[1]].started_us // 1_000 == at_ms),)

    def _is_overdue(self, name: str) -> bool:
        one = self.books.transactions.ids[name]
        return one.state == "Ongoing" and self.transactions._left_us(one) <= 0

    def transaction_ends(self) -> Sentences:
        """What ends a transaction."""
        ids = self.books.transactions.ids

        def timeout(m: Match) -> bool:
            one = ids[m[1]]
            return one.state == "Ongoing" and says(m[2], self.transactions._left_us(one))

        return (
            ("its coordinator aborts it", lambda _: any(one.raised for one in ids.values())),
            ("overdue: the coordinator's next scan aborts it", lambda _: any(self._is_overdue(one) for one in ids)),
            (rf"(\S+) times out in {D} \(transaction.timeout.ms\)", timeout),
        )


def _number(broker: str) -> int:
    return int(broker.removeprefix("broker-"))

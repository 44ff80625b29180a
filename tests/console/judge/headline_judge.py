"""Judges the headline: its words are true, and no condition of a graver rank holds."""

import re
from collections.abc import Sequence

from cluster.spec import ScenarioSpec
from tests.console.judge.books import Books
from tests.console.judge.cluster_books import PartitionBook
from tests.console.judge.consumer_group_judge import ConsumerGroupJudge
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook
from tests.console.judge.member_books import MemberBook
from tests.console.judge.operations import operation_says
from tests.console.judge.producer_books import declared_configs
from tests.console.judge.reasons import Reasons
from tests.console.judge.spoken import DURATION, counts, says
from tests.console.judge.transaction_books import UNDER_WAY, IdBook

D = f"({DURATION})"
LEFT = f"(?P<left>{DURATION})"
MORE = r"(?: and (?P<more>\d+) more(?: groups?)?)?"
SILENT = "sends? nothing more"
COUNTED = r"(?:(?P<count>\d+) partitions?(?: and (?P<internal>\d+) internal ones?)?|(?P<only>\d+) internal partitions?)"
GLYPHS = "✖✖✖✖✖▲▲▲▲▲▲▲▲▲▲↻▲▲↻↻↻↻●"
"""The signs of the ranks, gravest first: the judge's own order, which the console's has to be."""
GATHERING = 15
"""The rank of a rebalance that no member holds up, which a headline of a graver rank hides."""
BUSY_US = 1_000_000
OUT = {"no leader", "down", "frozen", "restarted"}


class HeadlineJudge:
    """The cluster's conditions at one instant."""

    def __init__(self, books: Books, now_us: int, verdict: Verdict, spec: ScenarioSpec) -> None:
        self.books, self.now_us, self.verdict, self.session_us = books, now_us, verdict, spec.broker_session_us
        self.declared = declared_configs(spec, books.cluster.producers)
        self.cluster, groups = books.cluster, books.groups.values()
        self.places = self.cluster.partitions
        self.rebalancing = [one for one in groups if one.under_way is not None and books.coordinator(one).state == "up"]
        self.reasons = {one.name: Reasons(books, one, now_us) for one in groups}

    def judge(self, text: str) -> None:
        """A headline in any of its lengths."""
        text = text.strip()
        rank = next(number for number, holds in enumerate(self._ranks()) if holds)
        self.verdict.claim(text[0] == GLYPHS[rank], "headline", f"{text!r} is not of rank {rank}")
        self.verdict.read(f"headline of rank {rank}", text[2:], self._sentences()[rank])

    def judge_in_force(self, texts: Sequence[str]) -> None:
        """All conditions that hold, gravest first, as `--plain` says them: each is there, and no other."""
        ranks = self._ranks()[:-1]
        ranks[GATHERING] = any(not self._stands_still(group) for group in self.rebalancing)
        held = [rank for rank, holds in enumerate(ranks) if holds]
        self.verdict.claim(len(held) == len(texts), "plain line", f"{texts} are not of the ranks {held}")
        for rank, text in zip(held, texts, strict=False):
            self.verdict.read(f"plain line of rank {rank}", text, self._sentences()[rank])

    # --- what holds -------------------------------------------------------------------------------------------------

    def _ranks(self) -> list[bool]:
        brokers = [self._broker(number) for number in self.cluster.brokers]
        members = self.books.members.values()
        return [
            bool(self._unled()),
            bool(self._frozen()),
            bool(self._out()),
            bool(self._below()),
            bool(self._hanging()),
            any(self._stands_still(group) for group in self.rebalancing),
            bool(self._still()),
            bool(self._stuck()),
            bool(self._silent()),
            bool(self._outside()),
            any(self._late(one) for one in members),
            bool(self._paused()),
            bool(self._in_state("Fenced") or self.books.outdated_producers()),
            bool(self._in_state("Dead")),
            bool({"down", "frozen", "fenced"}.intersection(brokers)),
            bool(self.rebalancing),
            bool(self._under()),
            bool(self.cluster.faults),
            bool(self.cluster.operations(self.now_us)),
            bool(self._reassigned()),
            "starting" in brokers or "stopping" in brokers,
            any(self.books.coordinator(one).state == "loading" for one in self.books.groups.values()),
            True,
        ]

    def _unled(self) -> list[str]:
        return [name for name, one in self.places.items() if not self.cluster.is_led(one)]

    def _frozen(self) -> list[str]:
        led = [(name, one) for name, one in self.places.items() if self.cluster.is_led(one)]
        return [name for name, one in led if self.cluster.brokers[one.leader].frozen]

    def _well_led(self) -> dict[str, PartitionBook]:
        away = {*self._unled(), *self._frozen()}
        return {name: one for name, one in self.places.items() if name not in away}

    def _below(self) -> list[str]:
        return [name for name, one in self._well_led().items() if len(one.isr) < self.cluster.least(one)]

    def _under(self) -> list[str]:
        return [name for name, one in self._well_led().items() if len(one.isr) < one.wanted]

    def _reassigned(self) -> list[str]:
        return [name for name, one in self.places.items() if one.adding or one.removing]

    def _out(self) -> list[GroupBook]:
        groups = self.books.groups.values()
        return [one for one in groups if one.members and self.books.coordinator(one).state in OUT]

    def _broker(self, number: int) -> str:
        one = self.cluster.brokers[number]
        if not one.up:
            return "down"
        if one.frozen:
            return "frozen"
        if one.fenced and one.registered and not one.stopping:
            return "fenced"
        return "stopping" if one.stopping else "starting" if one.fenced or not one.serves else "up"

    def _open(self) -> list[tuple[str, int, IdBook | None]]:
        """Partitions held back by a transaction without a marker: its producer id, and the id of that producer id."""
        found = []
        for name, log in self.books.transactions.logs.items():
            high = self.places[name].high_watermark
            unread = log.unread(high)
            if not unread or self.books.stable_offset(name) >= high:
                continue
            producer_id, marker = unread[min(unread)]
            if marker is None:
                found.append((name, producer_id, self.books.transactions.of_producer(producer_id)))
        return found

    @staticmethod
    def _writes(one: IdBook | None, name: str) -> bool:
        return one is not None and one.last is not None and one.last.state in UNDER_WAY and name in one.last.partitions

    def _hanging(self) -> dict[str, int]:
        return {name: producer_id for name, producer_id, one in self._open() if not self._writes(one, name)}

    def _still(self) -> dict[str, int]:
        """Running producers with batches and five seconds without an acknowledgement, and how long that is."""
        waits = {name: self.now_us - one.waiting_us for name, one in self.cluster.producers.items() if one.waits}
        linger = {name: 1_000 * self.cluster.producers[name].limit(self.declared[name], "linger.ms") for name in waits}
        return {name: us for name, us in waits.items() if us >= 5_000_000 + linger[name]}

    def _is_still(self, match: "re.Match[str]") -> bool:
        still, who = self._still(), match["who"]
        right = who in still and still[who] == max(still.values()) and int(match["more"] or 0) == len(still) - 1
        errors = {None, self.cluster.producers[who].error} if who in still else set()
        return right and says(match["left"], still[who]) and match["error"] in errors

    def _stuck(self) -> dict[str, IdBook]:
        held = {name: one for name, _, one in self._open() if one is not None and self._writes(one, name)}
        return {name: one for name, one in held.items() if self._open_at_coordinator(one) and self._half_used(one)}

    def stuck_partitions(self) -> set[str]:
        """Partitions that a hanging transaction holds back, or one that has used half of its timeout."""
        return {*self._hanging(), *self._stuck()}

    @staticmethod
    def _open_at_coordinator(one: IdBook) -> bool:
        """A raised epoch (PrepareEpochFence) ends nothing: the transaction is open until its abort is committed."""
        return one.last is not None and one.last.state == "Ongoing"

    def _half_used(self, one: IdBook) -> bool:
        assert one.last is not None
        return 2 * (self.now_us - one.started_us) >= 1_000 * one.last.timeout_ms

    def _silent(self) -> list[tuple[GroupBook, str]]:
        return [
            (group, member_id)
            for group in self.books.groups.values()
            if self.books.coordinator(group).state == "up"
            for member_id, name in group.members.items()
            if name not in self.books.members or self.books.members[name].silent(member_id)
        ]

    def _outside(self) -> list[MemberBook]:
        """Frozen processes by whose name their group has no member."""
        frozen = [one for one in self.books.members.values() if one.alive and one.frozen]
        return [one for one in frozen if one.name not in self.books.groups[one.group].members.values()]

    def _late(self, one: MemberBook) -> bool:
        busy_us = 0 if one.in_poll else self.now_us - one.busy_since_us
        return one.alive and not one.frozen and 4 * busy_us > one.poll_us

    def _paused(self) -> dict[str, dict[str, int]]:
        """The partitions that running members have paused for half a minute and more, with their unread records."""
        found: dict[str, dict[str, int]] = {}
        for one in self.books.members.values():
            long = [name for name, at_us in one.paused.items() if self.now_us - at_us >= 30_000_000]
            high = {name: self.places[name].high_watermark for name in long if name in one.positions}
            unread = {name: end - one.positions[name] for name, end in high.items() if end > one.positions[name]}
            if unread and one.alive and not one.frozen:
                found[one.name] = unread
        return found

    def _is_paused(self, match: "re.Match[str]") -> bool:
        paused, who = self._paused(), match[1]
        if who not in paused or self.books.members[who].group != match[2]:
            return False
        since = {name: min(self.books.members[name].paused[one] for one in unread) for name, unread in paused.items()}
        told = match[4] is None or says(match[4], self.now_us - since[who])
        counted = match[5] is None or counts(match[5], sum(paused[who].values()))
        return int(match[3]) == len(paused[who]) and since[who] == min(since.values()) and told and counted

    def _absent(self, group: GroupBook) -> dict[str, str]:
        """The awaited members of a group of either protocol, by id."""
        rebalance = group.under_way
        if group.new is not None:
            judge = ConsumerGroupJudge(self.books, group, group.new, self.now_us)
            return {one: judge.name(one) for one in judge.awaited}
        assert rebalance is not None
        if group.state == "CompletingRebalance":
            of_leader = [one for one, name in group.members.items() if name == group.leader]
            waiting = [one for one in of_leader if one not in rebalance.synced]
            return dict.fromkeys(waiting[:1], group.leader)  # a former process may have its name, and one id leads
        return self.reasons[group.name].absent_from(rebalance) if group.state == "PreparingRebalance" else {}

    def _stands_still(self, group: GroupBook) -> bool:
        return any(self._unable(group, one, name) for one, name in self._absent(group).items())

    def _unable(self, group: GroupBook, member_id: str, name: str) -> bool:
        if member_id in group.pending:
            return False
        member = self.books.members.get(name)
        if member is None or member.silent(member_id) or member.beats_held:
            return True
        busy_us = 0 if member.in_poll else self.now_us - member.busy_since_us
        holds = group.new is None or group.new.members[member_id].state == "UNREVOKED_PARTITIONS"
        asked = member.state != "ACKNOWLEDGING"
        looks_up = group.new is not None and member.coordinator < 0
        return looks_up or (holds and asked and not member.in_poll and (member.stalled or busy_us > BUSY_US))

    # --- what is said -----------------------------------------------------------------------------------------------

    def _sentences(self) -> list[Sentences]:
        return [
            self._leaders(),
            ((rf"(?P<who>\S+?){MORE} (?:is|are) frozen and leads? " + COUNTED, self._frozen_ones),),
            self._coordinators(),
            (
                (COUNTED + r" below min.insync.replicas: acks=all refused(?: · (?P<who>\S+)"
                 + MORE + ")?", lambda m: self._counted(m, self._below())),
            ),
            (
                ((rf"(?P<who>\S+?){MORE}: last stable offset stuck behind a hanging transaction"
                 r"(?: · producer id (?P<id>\d+))?"), self._hangs),
            ),
            self._waits(still=True),
            (
                (
                    (
                        rf"(?P<who>\S+?){MORE} makes? no progress: no acknowledgement for {LEFT}"
                        r"(?: · last error (?P<error>\w+))?"
                    ),
                    self._is_still,
                ),
            ),
            self._holds_back(),
            (((rf"(?P<who>\S+) of (?P<group>\S+?){MORE} (?:is|are) silent"
              rf"(?: · (?:session ends in (?P<left>{DURATION})|its session is suspended))?"), self._is_silent),),
            (((rf"(?P<who>\S+) of (?P<group>\S+?){MORE} (?:is frozen and not a member|are frozen, not members)"
              rf"(?: · removed {LEFT} ago)?"), self._is_outside),),
            ((rf"(\S+) of (\S+) has not polled for {D}(?: · (stalled|processing)(?: · max.poll.interval.ms {D})?)?",
              self._is_late),),
            ((rf"(\S+) of (\S+) has paused (\d+) partitions?(?: · for {D}(?: · (\S+) records? unread)?)?",
              self._is_paused),),
            ((rf"(?P<who>\S+?){MORE} (?:is|are) fenced and {SILENT}", lambda m: self._is_named(m, "Fenced")),
             ((rf"(?P<who>\S+?){MORE} (?:has a fenced epoch: its|have fenced epochs:) next requests? (?:is|are) refused"
              r"(?: · epoch (?P<mine>\d+), its transactional id has (?P<now>\d+))?"), self._is_outdated)),
            ((rf"(?P<who>\S+?){MORE} (?:is|are) down and {SILENT}", lambda m: self._is_named(m, "Dead")),),
            self._brokers({"down": "is down", "frozen": "is frozen", "fenced": "is fenced"}),
            self._waits(still=False),
            (
                (COUNTED + r" under-replicated(?: · (?P<who>\S+)" + MORE + ")?",
                 lambda m: self._counted(m, self._under())),
            ),
            self._faults(),
            ((r"roll.+", self._operates),),
            (
                (COUNTED + r" being reassigned(?: · (?P<who>\S+)" + MORE + ")?",
                 lambda m: self._counted(m, self._reassigned())),
            ),
            self._brokers({"starting": "starts", "stopping": "shuts down"}),
            ((r"coordinator broker-(\d+) is loading (\S+)",
              lambda m: self.books.coordinator(self.books.groups[m[2]]) == (int(m[1]), "loading")),),
            self._calm(),
        ]  # fmt: skip

    def _counted(self, match: "re.Match[str]", truth: list[str]) -> bool:
        """The number of partitions, those of internal topics apart, and, with their names, the first one of them."""
        named = match["who"] is None or (match["who"] in truth and int(match["more"] or 0) == len(truth) - 1)
        return self._numbers_say(match, truth) and named

    def _numbers_say(self, match: "re.Match[str]", truth: list[str]) -> bool:
        internal = sum(self.cluster.topics[self.places[name].topic].internal for name in truth)
        said = int(match["count"] or 0), int(match["internal"] or match["only"] or 0)
        return said == (len(truth) - internal, internal)

    def _leaders(self) -> Sentences:
        unled = self._unled()

        def true(match: "re.Match[str]") -> bool:
            right = match["who"] in unled and int(match["more"] or 0) == len(unled) - 1
            states = {"starts": "starting", "is frozen": "frozen"}
            starts = match["alive"] is None or self._broker(int(match["alive"])) == states[match["does"]]
            fenced = match["broker"] is None or self._fenced_within(int(match["broker"]), match["left"])
            return right and starts and fenced

        return (
            ((rf"(?P<who>\S+?){MORE} (?:has|have) no live leader"
             r"(?: · broker-(?:(?P<alive>\d+) (?P<does>starts|is frozen)"
             rf"|(?P<broker>\d+) is fenced within {LEFT}))?"), true),
        )  # fmt: skip

    def _fenced_within(self, broker: int, left: str) -> bool:
        since_us = max(self.cluster.brokers[broker].stopped_us, self.cluster.controller_us)
        return not self.cluster.brokers[broker].up and says(left, since_us + self.session_us - self.now_us)

    def _frozen_ones(self, match: "re.Match[str]") -> bool:
        brokers = {f"broker-{self.places[name].leader}" for name in self._frozen()}
        told = match["who"] in brokers and int(match["more"] or 0) == len(brokers) - 1
        return told and self._numbers_say(match, self._frozen())

    def _coordinators(self) -> Sentences:
        words = {"is down": "down", "is frozen": "frozen", "restarted": "restarted"}

        def true(match: "re.Match[str]") -> bool:
            group, broker = self.books.groups[match["group"]], int(match["broker"])
            alike = [one for one in self._out() if self.books.coordinator(one) == self.books.coordinator(group)]
            right = self.books.coordinator(group) == (broker, words[match["what"]])
            counted = group in alike and int(match["more"] or 0) == len(alike) - 1
            return right and counted and (match["left"] is None or self._fenced_within(broker, match["left"]))

        def leaderless(match: "re.Match[str]") -> bool:
            group = self.books.groups[match["group"]]
            alike = [one for one in self._out() if self.books.coordinator(one).state == "no leader"]
            part = match["part"] in {None, group.coordinator_partition}
            return group in alike and int(match["more"] or 0) == len(alike) - 1 and part

        return (
            ((rf"coordinator broker-(?P<broker>\d+) of (?P<group>\S+?){MORE} (?P<what>is down|is frozen|restarted)"
             rf"(?: · broker-\d+ is fenced within (?P<left>{DURATION}))?"), true),
            (rf"no coordinator of (?P<group>\S+?){MORE}(?: · (?P<part>\S+) has no leader)?", leaderless),
        )  # fmt: skip

    def _hangs(self, match: "re.Match[str]") -> bool:
        hanging = self._hanging()
        right = match["who"] in hanging and int(match["more"] or 0) == len(hanging) - 1
        return right and (match["id"] is None or int(match["id"]) == hanging[match["who"]])

    def _holds_back(self) -> Sentences:
        timer = rf"(?:times out in (?P<left>{DURATION})|(?P<over>overdue))(?: \(transaction.timeout.ms\))?"
        ending = rf"(?:(?P<aborted>abort under way)|{timer})"

        def true(match: "re.Match[str]") -> bool:
            stuck = self._stuck()
            one = stuck.get(match["where"])
            if one is None or one.last is None:
                return False
            oldest = min(other.started_us for other in stuck.values())
            mine = [name for name, other in stuck.items() if other is one]
            left_us = one.started_us + 1_000 * one.last.timeout_ms - self.now_us
            if one.raised or match["aborted"]:
                ends = one.raised and match["aborted"] is not None
            else:
                ends = left_us <= 0 if match["over"] else left_us > 0 and says(match["left"], left_us)
            told = match.groupdict()
            by = told.get("by") in {None, one.name}
            age = told.get("age") is None or says(told["age"], self.now_us - one.started_us)
            return one.started_us == oldest and int(match["more"] or 0) == len(mine) - 1 and ends and by and age

        head = rf"(?P<where>\S+?){MORE}: last stable offset stuck"
        return (
            (rf"{head} behind (?P<by>\S+)'s transaction, (?P<age>{DURATION}), {ending}", true),
            (rf"{head} by (?P<by>\S+), {ending}", true),
            (rf"{head}, {ending}", true),
        )

    def _is_silent(self, match: "re.Match[str]") -> bool:
        silent = self._silent()
        named = [
            (group, one) for group, one in silent if group.name == match["group"] and group.members[one] == match["who"]
        ]
        ends = [group.sessions.get(one, -1) for group, one in named]
        left = match["left"] is None or any(says(match["left"], at_us - self.now_us) for at_us in ends if at_us >= 0)
        return bool(named) and int(match["more"] or 0) == len(silent) - 1 and left

    def _is_outside(self, match: "re.Match[str]") -> bool:
        outside, removals = {one.name: one for one in self._outside()}, self.books.lives.removed
        if match["who"] not in outside or outside[match["who"]].group != match["group"]:
            return False
        removed_us = {name: removals[name].at_us for name in outside if name in removals}
        first_us = removed_us.get(match["who"])
        first = first_us is None or first_us == min(removed_us.values())
        ago = match["left"] is None or (first_us is not None and says(match["left"], self.now_us - first_us))
        return int(match["more"] or 0) == len(outside) - 1 and first and ago

    def _is_late(self, match: "re.Match[str]") -> bool:
        member = self.books.members[match[1]]
        used = {
            one.name: (self.now_us - one.busy_since_us) / one.poll_us
            for one in self.books.members.values()
            if self._late(one)
        }
        what = match[4] is None or (match[4] == "stalled") == member.stalled
        limit = match[5] is None or says(match[5], member.poll_us)
        most = used.get(match[1], 0.0) >= max(used.values())
        return (
            most and member.group == match[2] and says(match[3], self.now_us - member.busy_since_us) and what and limit
        )

    def _in_state(self, state: str) -> list[str]:
        return [name for name, one in self.cluster.producers.items() if one.state == state]

    def _is_named(self, match: "re.Match[str]", state: str) -> bool:
        """One producer of this state by name, and the number of the others."""
        here = self._in_state(state)
        return match["who"] in here and int(match["more"] or 0) == len(here) - 1

    def _is_outdated(self, match: "re.Match[str]") -> bool:
        here, who = self.books.outdated_producers(), match["who"]
        right = not self._in_state("Fenced") and who in here and int(match["more"] or 0) == len(here) - 1
        return right and (match["mine"] is None or (int(match["mine"]), int(match["now"])) == here[who])

    def _brokers(self, words: dict[str, str]) -> Sentences:
        here = {number: words[state] for number in self.cluster.brokers if (state := self._broker(number)) in words}
        return (
            (rf"broker-(\d+) ({'|'.join(words.values())})(?: · (\d+) more brokers? too)?",
             lambda m: here.get(int(m[1])) == m[2] and (m[3] is None or int(m[3]) == len(here) - 1)),
        )  # fmt: skip

    def _faults(self) -> Sentences:
        texts = [fault.text for fault in self.cluster.faults.values()]
        return (
            (r"fault in force: (.+)", lambda m: texts == [m[1]]),
            (r"(\d+) faults in force(?: · newest: (.+))?",
             lambda m: int(m[1]) == len(texts) > 1 and m[2] in {None, texts[-1]}),
        )  # fmt: skip

    def _operates(self, match: "re.Match[str]") -> bool:
        """The newest of all operations under way; of several that began in one instant any."""
        here = self.cluster.operations(self.now_us)
        newest = [one for one in here if one.begun.at_us == here[-1].begun.at_us]
        return any(operation_says(match[0], one, self.now_us, len(here) - 1) for one in newest)

    def _waits(self, *, still: bool) -> Sentences:
        """A group of those with the most unowned partitions: an awaited member, why, until when.

        `still`: of the groups that wait for a member that stands still, else of the others; both kinds may be there.
        """
        groups = {one.name: one for one in self.rebalancing if self._stands_still(one) == still}
        most = max((self._unowned(one)[0] for one in groups.values()), default=0)

        def worst(match: "re.Match[str]") -> GroupBook | None:
            group = groups.get(match["group"])
            if group is None or self._unowned(group)[0] != most:
                return None
            told = match.groupdict()
            cost = told.get("gaps") is None or (int(told["gaps"]), int(told["all"])) == self._unowned(group)
            closes = told.get("left") is None or self._closes(group, told["left"])
            return group if cost and closes else None

        def gathers(match: "re.Match[str]") -> bool:
            group = worst(match)
            return group is not None and group.under_way is not None and group.under_way.initial

        def awaits(match: "re.Match[str]") -> bool:
            group = worst(match)
            return group is not None and self._awaits(match, group, still)

        def rebalances(match: "re.Match[str]") -> bool:
            group = worst(match)
            return group is not None and group.under_way is not None and group.under_way.cause == match["cause"]

        closes = rf"(?: · (?:barrier closes|fenced) within (?P<left>{DURATION}))?"
        why = r"(?:(?:: |, (?=stalled|processing))(?P<why>[^·]+?))?"
        cost = r"(?: · (?P<gaps>\d+) of (?P<all>\d+) partitions unowned)?"
        return (
            (rf"(?P<group>\S+): initial rebalance delay{closes}{cost}", gathers),
            (
                rf"(?P<group>\S+) waits for (?P<who>\S+?){MORE}{why}{closes}{cost}",
                awaits,
            ),
            (rf"(?P<group>\S+) rebalances: (?P<cause>[a-z ]+?){closes}{cost}", rebalances),
        )

    def _unowned(self, group: GroupBook) -> tuple[int, int]:
        total = len(self.books.partitions_of(group))
        return max(0, total - len(group.owners)), total

    def _closes(self, group: GroupBook, left: str) -> bool:
        assert group.under_way is not None
        if group.new is None:
            return group.state == "PreparingRebalance" and says(left, group.under_way.closes_us - self.now_us)
        limits = [group.new.members[one].fenced_us for one in self._absent(group)]
        return any(at_us >= 0 and says(left, at_us - self.now_us) for at_us in limits)

    def _awaits(self, match: "re.Match[str]", group: GroupBook, still: bool) -> bool:
        absent = self._absent(group)
        named = [one for one, name in absent.items() if name == match["who"]]
        leaders = group.new is None and group.state == "CompletingRebalance"
        counted = leaders or int(match["more"] or 0) == len(absent) - 1
        unable = group.new is not None or any(self._unable(group, one, match["who"]) == still for one in named)
        why = match["why"]
        return bool(named) and counted and unable and (why is None or any(self._why(group, one, why) for one in named))

    def _why(self, group: GroupBook, member_id: str, words: str) -> bool:
        """The reason as the phase bar has it, in a shorter form."""
        if group.new is not None:
            judge = ConsumerGroupJudge(self.books, group, group.new, self.now_us)
            forms = [
                re.sub(r", (session ends|its session)", r": \1", words),
                re.sub(r"^(stalled|processing) (.+)$", r"\1, last poll \2 ago", words),
            ]
            return any(judge.reason(member_id, form) for form in forms)
        forms = [
            words,
            re.sub(r"^(stalled|processing) (.+)$", r"last poll \2 ago: \1; joins inside poll()", words),
            re.sub(r"^last poll (.+) ago, (stalled|processing)$", r"last poll \1 ago: \2; joins inside poll()", words),
            words.replace(", notified", ": notified"),
            re.sub(r", (session ends|its session)", r": \1", words),
        ]
        name = group.members.get(member_id) or group.pending.get(member_id, "")
        return any(self.reasons[group.name].holds(member_id, name, form) for form in forms)

    def _calm(self) -> Sentences:
        states = [one.state for one in self.books.groups.values()]

        def told(match: "re.Match[str]") -> bool:
            said = {state: int(number) for number, state in re.findall(r"(\d+) groups? (\w+)", match[1])}
            return said == {state: states.count(state) for state in states}

        return (
            ("all groups Stable, all partitions in sync", lambda _: set(states) == {"Stable"}),
            ("all partitions in sync", lambda _: not states),
            (r"((?:\d+ groups? \w+, )+)all partitions in sync", told),
        )

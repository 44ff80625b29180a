"""Judges the phase bar: the state, the progress, the awaited members with the reason, the timer that ends the wait."""

import re

from tests.console.judge.books import Books, Coordinator
from tests.console.judge.consumer_group_judge import ConsumerGroupJudge, slowest
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook, RebalanceBook
from tests.console.judge.lag_judge import LagJudge
from tests.console.judge.member_books import MemberBook
from tests.console.judge.reasons import Reasons
from tests.console.judge.spoken import DURATION, bar_says, partition_seconds, says
from tests.console.judge.vote_judge import COOPERATIVE, blocks

GLYPHS = {"Empty": "○", "PreparingRebalance": "↻", "CompletingRebalance": "↻", "Stable": "●", "Dead": "✖",
          "Assigning": "↻", "Reconciling": "↻"}  # fmt: skip
D = f"({DURATION})"
MOVING = {"Assigning", "Reconciling"}
BUSY_FOR_US = 1_000_000


class PhaseJudge:
    """One group's phase bar at one instant."""

    def __init__(self, books: Books, group: GroupBook, now_us: int, verdict: Verdict, broker_session_us: int) -> None:
        self.books, self.group, self.now_us, self.verdict = books, group, now_us, verdict
        self.coordinator: Coordinator = books.coordinator(group)
        self.reasons = Reasons(books, group, now_us)
        self.broker_session_us = broker_session_us
        self.place = f"phase of {group.name}"
        self.new = ConsumerGroupJudge(books, group, group.new, now_us) if group.new is not None else None

    def judge(self, note: str, rows: list[str]) -> None:
        """The title's note and the lines."""
        for part in note.split(" · "):
            self.verdict.read(f"{self.place}, title", part, self._titles())
        self.verdict.read(self.place, rows[0].strip(), self._firsts())
        split = next((place for place, row in enumerate(rows) if row.startswith("    lag ")), len(rows))
        lag = " ".join(" ".join(rows[split:]).split())
        LagJudge(self.books, self.group, self.now_us, self.verdict).judge(lag)
        rows = rows[:split]
        body = " ".join(" ".join(rows[1:]).split())
        gauge = re.match(r"  ▐(.{12})▏ ", rows[1]) if len(rows) > 1 else None
        if gauge is not None:
            self.verdict.claim(
                bar_says(gauge[1], self._share()), self.place, f"bar {gauge[1]!r} for {self._share():.2f}"
            )
            body = " ".join((rows[1][gauge.end() :] + " " + " ".join(rows[2:])).split())
        self.verdict.read(self.place, body, self._bodies())

    # --- the title and the state ------------------------------------------------------------------------------------

    def _titles(self) -> Sentences:
        group, coordinator = self.group, self.coordinator
        members = [one for one in self.books.members.values() if one.group == group.name]
        opened = group.under_way is not None and group.under_way.completed is None and coordinator.state == "up"
        kind: Sentences = (("classic", lambda _: True),) if self.new is None else self.new.titles()
        return (
            *kind,
            ("static", lambda _: any(one.instance_id for one in members)),
            (r"generation (\d+)", lambda m: self.new is None and int(m[1]) == group.generation and not opened),
            (r"generation (\d+) → (\d+)", lambda m: int(m[1]) == group.generation == int(m[2]) - 1 and opened),
            (r"coordinator broker-(\d+)", lambda m: (int(m[1]), "up") == coordinator),
            (r"coordinator broker-(\d+) [✖‖↻] (\w+)", lambda m: (int(m[1]), m[2]) == coordinator),
            ("no coordinator", lambda _: coordinator.state == "no leader"),
            (r"leader (\S+)", lambda m: m[1] == group.leader),
            (r"([\w.-]+)", lambda m: m[1] == group.assignor),
        )

    def _firsts(self) -> Sentences:
        group, rebalance = self.group, self.group.under_way
        head = rf"{re.escape(GLYPHS[group.state])} {group.state}  "
        cause = re.escape(
            f"{rebalance.cause} ({rebalance.trigger})"
            if rebalance and rebalance.trigger
            else rebalance.cause
            if rebalance
            else ""
        )
        up, opening = self.coordinator.state == "up", group.state == "PreparingRebalance"
        initial = rebalance is not None and rebalance.initial and opening

        def since(match: "re.Match[str]") -> bool:
            return (
                rebalance is not None
                and up
                and (match[1] is None or says(match[1], self.now_us - rebalance.started_us))
            )

        def asked(match: "re.Match[str]") -> bool:
            words = match[2]
            if "SyncGroup" in words:
                return group.state == "CompletingRebalance"
            if words == "no partition is assigned yet":
                return initial and not any(group.assignment.values())
            return opening and not initial and self._kind() in words

        called = (
            "no partition is assigned yet|members rejoin and keep consuming \\(cooperative\\)|"
            "members rejoin with nothing assigned \\(eager\\)|"
            "cooperative members keep consuming, the others rejoin with nothing assigned \\(mixed\\)|"
            "members wait for the leader's SyncGroup"
        )
        return (
            (f"{head}the last state that its coordinator reported", lambda _: not up),
            *(() if self.new is None else self.new.firsts()),
            (f"{head}{cause}(?: {D} ago)?: ({called})", lambda m: since(m) and asked(m)),
            (
                f"{head}{cause}: (eager|cooperative|mixed)",
                lambda m: up and rebalance is not None and m[1] == self._kind(),
            ),
            (
                f"{head}no members; committed offsets are kept for offsets.retention.minutes",
                lambda _: group.state == "Empty" and not group.members,
            ),
            (
                f"{head}the generation has its assignment; no rebalance is under way",
                lambda _: (
                    up and group.state == "Stable" and rebalance is None and not self._blocked() and self.new is None
                ),
            ),
            (
                rf"{head}(?:elected {re.escape(group.assignor)}: )?(\S+ is blocked by .+)",
                lambda m: up and group.state == "Stable" and blocks(m[1], group.offers),
            ),
            (f"{head}the coordinator has removed the group", lambda _: group.state == "Dead"),
            (f"{head}the join barrier is open: .*", lambda _: rebalance is None and opening),
            (f"{head}members are fixed: .*", lambda _: rebalance is None and group.state == "CompletingRebalance"),
        )

    def _blocked(self) -> bool:
        return len({frozenset(offer) for offer in self.group.offers.values()}) > 1

    def _kind(self) -> str:
        """`eager`, `cooperative`, or `mixed`: by what the running members offer."""
        running = [one.offers for one in self.books.members.values() if one.group == self.group.name and one.alive]
        kinds = {set(offers) == COOPERATIVE for offers in running or [self.group.assignors]}
        return "mixed" if len(kinds) > 1 else "cooperative" if kinds == {True} else "eager"

    def _share(self) -> float:
        group, rebalance = self.group, self.group.under_way
        if group.state == "Stable":
            return len(group.owners) / max(1, len(self.books.partitions_of(group)))
        if self.new is not None and group.state in MOVING:
            return self.new.done / max(1, len(self.new.new.members))
        if rebalance is None:
            return 0.0
        if group.state == "CompletingRebalance":
            return len(rebalance.synced) / max(1, len(group.members))
        if rebalance.initial:  # of the delay under way, or of all of it
            return (self.now_us - rebalance.started_us) / max(1, rebalance.closes_us - rebalance.started_us)
        return len(rebalance.joins) / max(1, len(group.members) + len(group.pending))

    # --- the lines below --------------------------------------------------------------------------------------------

    def _bodies(self) -> Sentences:
        if self.coordinator.state != "up":
            return self._unanswered()
        rebalance = self.group.under_way
        if self.new is not None and self.group.state in MOVING:
            return self.new.bodies()
        if self.group.state == "PreparingRebalance" and rebalance is not None:
            return self._gathering(rebalance) if rebalance.initial else self._barrier(rebalance)
        if self.group.state == "CompletingRebalance" and rebalance is not None:
            return self._assigning(rebalance)
        return self._stable() if self.group.state == "Stable" else self._without_members()

    def _unanswered(self) -> Sentences:
        broker, state = self.coordinator
        down = self.books.cluster.brokers[broker] if broker >= 0 else None
        after = " members cannot join, heartbeat or commit until it answers"

        def fenced_by(match: "re.Match[str]") -> bool:
            assert down is not None
            since_us = max(down.stopped_us, self.books.cluster.controller_us)
            return says(match[2], since_us + self.broker_session_us - self.now_us)

        def this(match: "re.Match[str]") -> bool:
            return int(match[1]) == broker

        who, until = r"coordinator broker-(\d+)", "nothing can complete until"
        within = rf"within {D} \(broker.session.timeout.ms\)"
        return (
            (
                rf"✖ {who} is down: {until} its partition has a new leader, {within}{after}",
                lambda m: this(m) and state == "down" and fenced_by(m),
            ),
            (rf"✖ {who} is down: {until} its partition has a new leader{after}", lambda m: this(m) and state == "down"),
            (
                rf"‖ {who} is frozen: {until} it resumes or its partition has a new leader{after}",
                lambda m: this(m) and state == "frozen",
            ),
            (rf"↻ {who} restarted: {until} it has registered again{after}", lambda m: this(m) and state == "restarted"),
            (
                rf"↻ {who} is loading the group from (\S+){after}",
                lambda m: this(m) and state == "loading" and m[2] == self.group.coordinator_partition,
            ),
            (
                rf"✖ no coordinator: (\S+) has no leader{after}",
                lambda m: state == "no leader" and m[1] == self.group.coordinator_partition,
            ),
        )

    def _gathering(self, rebalance: RebalanceBook) -> Sentences:
        return (
            (
                (
                    rf"initial rebalance delay: barrier closes in {D}(?: \(group.initial.rebalance.delay.ms\))? "
                    r"(\d+) members? at the barrier; another new member extends it by the same delay"
                ),
                lambda m: (
                    says(m[1], rebalance.closes_us - self.now_us)
                    and int(m[2]) == len(rebalance.joins)
                    and _plural(m[0])
                ),
            ),
        )

    def _barrier(self, rebalance: RebalanceBook) -> Sentences:
        group = self.group
        expected = len(group.members) + len(group.pending)

        def true(match: "re.Match[str]") -> bool:
            absent = self.reasons.absent_from(rebalance)
            one = match["last"] == "when it joins"
            return (
                (int(match["joined"]), int(match["of"])) == (len(rebalance.joins), expected)
                and says(match["closes"], rebalance.closes_us - self.now_us)
                and one == (len(absent) == 1)
                and self.reasons.waiting(match["waiting"], absent)
                and (match["extended"] is None or self._extended(match["extended"], rebalance))
            )

        return (
            (
                (
                    rf"joined (?P<joined>\d+) of (?P<of>\d+) · (?P<waiting>.+?) barrier closes "
                    rf"(?P<last>when it joins|when all have joined), or in (?P<closes>{DURATION}) "
                    r"\(max.poll.interval.ms\)"
                    r"(?:, without the missing member|, without missing members|; (?P<extended>extended .+))?"
                ),
                true,
            ),
        )

    @staticmethod
    def _extended(words: str, rebalance: RebalanceBook) -> bool:
        times = {"once": 1, "twice": 2}
        why = "new members were still arriving|no member had rejoined"
        match = re.fullmatch(rf"extended (once|twice|(\d+) times): ({why})", words)
        if match is None:
            return False
        reason = "newcomers" if match[3].startswith("new") else "nobody rejoined"
        return (times.get(match[1]) or int(match[2])) == len(rebalance.extensions) and rebalance.extensions[
            -1
        ] == reason

    def _assigning(self, rebalance: RebalanceBook) -> Sentences:
        group, completed = self.group, rebalance.completed

        def true(match: "re.Match[str]") -> bool:
            assert completed is not None
            kept = {"eager": "members that joined", "cooperative": "members keep", "mixed": "cooperative members"}
            return (
                (int(match["synced"]), int(match["of"])) == (len(rebalance.synced), len(group.members))
                and int(match["generation"]) == group.generation
                and says(match["since"], self.now_us - completed.at_us)
                and match["reads"].startswith(kept[self._kind()])
                and self.reasons.leader_awaited(match["waiting"], rebalance)
            )

        reads = (
            "members keep consuming what they own until then|members that joined own nothing until then|"
            "cooperative members keep consuming until then, the others own nothing"
        )
        return (
            (
                (
                    rf"synced (?P<synced>\d+) of (?P<of>\d+) · (?P<waiting>.+?) generation (?P<generation>\d+) began "
                    rf"(?P<since>{DURATION}) ago, not assigned yet; (?P<reads>{reads})"
                ),
                true,
            ),
        )

    # --- at peace ---------------------------------------------------------------------------------------------------

    def _stable(self) -> Sentences:
        numbers = (
            r"(?P<all>\d+) members? (?P<verb>owns?) (?P<owned>\d+) of (?P<parts>\d+) partitions?"
            r"(?:, (?P<given>\d+) assigned)?"
        )
        some = (
            r"(?P<live>\d+) of (?P<all>\d+) members? answer; (?P<owned>\d+) of (?P<parts>\d+) partitions? owned, "
            r"(?P<given>\d+) assigned"
        )
        gone = r"(?P<gone> · (?:is|are|[^·])+?(?:away \(static: [^)]+\)|died without (?:LeaveGroup|a last heartbeat)))?"
        rest = r" (?P<rest>nearest limit: .+|generation .+|group epoch .+|no rebalance yet, .+|\S+ keeps its place .+)"
        return ((numbers + gone + rest, self._all_own), (some + gone + rest, self._some_own))

    def _all_own(self, match: "re.Match[str]") -> bool:
        silent = [one for one, name in self.group.members.items() if self._silent(one, name)]
        verb = "owns" if len(self.group.members) == 1 else "own"
        return not silent and match["verb"] == verb and self._numbers(match) and self._gone(match) and self._rest(match)

    def _some_own(self, match: "re.Match[str]") -> bool:
        live = [one for one, name in self.group.members.items() if not self._silent(one, name)]
        fewer = len(live) < len(self.group.members)
        return (
            int(match["live"]) == len(live)
            and fewer
            and self._numbers(match)
            and self._gone(match)
            and self._rest(match)
        )

    def _numbers(self, match: "re.Match[str]") -> bool:
        given = sum(len(partitions) for partitions in self.group.assignment.values())
        parts, owned = len(self.books.partitions_of(self.group)), len(self.group.owners)
        said = (int(match["all"]), int(match["owned"]), int(match["parts"]))
        assigned = given == owned if match["given"] is None else int(match["given"]) == given
        return said == (len(self.group.members), owned, parts) and assigned and _plural(match[0].partition(" · ")[0])

    def _silent(self, member_id: str, name: str) -> bool:
        member = self.books.members.get(name)
        return member is None or member.silent(member_id)

    def _ended(self) -> list[MemberBook]:
        known = [self.books.members[name] for name in self.group.members.values() if name in self.books.members]
        return [one for one in known if not one.alive]

    def _gone(self, match: "re.Match[str]") -> bool:
        ended = self._ended()
        static = [one.name for one in ended if one.instance_id]
        wanted = static or [one.name for one in ended]
        words = match["gone"]
        if words is None:
            return not wanted
        names = re.fullmatch(r" · (.+?)(?: and (\d+) more)? (is away|are away|died) \(?.*", words)
        if names is None or ("static" in words) != bool(static):
            return False
        listed = names[1].split(", ")
        verb = "died" if not static else "is away" if len(static) == 1 else "are away"
        return listed == wanted[:3] and len(listed) + int(names[2] or 0) == len(wanted) and names[3] == verb

    def _rest(self, match: "re.Match[str]") -> bool:
        verdict = Verdict(self.now_us)
        verdict.read("", match["rest"], self._rests())
        self.verdict.claims += verdict.claims
        return not verdict.false

    def _rests(self) -> Sentences:
        group = self.group
        return (
            (rf"nearest limit: (\S+) session ends in {D} \({self._session_key()}\)", self._nearest_session),
            (rf"nearest limit: (\S+) poll\(\) is due within {D} \(max.poll.interval.ms\)", self._nearest_poll),
            ("no rebalance yet, and no timer near its end", lambda _: not group.rebalances),
            (
                (
                    rf"(?P<who>\S+) keeps its place for (?P<left>{DURATION}) \({self._session_key()}\)"
                    rf"(?:, restarts in (?P<back>{DURATION}))?; (?P<parts>\d+) partitions? without an owner until then"
                ),
                self._keeps_its_place,
            ),
            (
                (
                    r"(?P<number>generation|group epoch) (?P<generation>\d+): "
                    r"(?P<cause>[a-z ]+?)(?: \((?P<who>[^)]*)\))?: "
                    rf"(?P<took>{DURATION})"
                    r"(?P<how>, closed by group.initial.rebalance.delay.ms|"
                    rf", waited (?P<waited>{DURATION}) for (?P<last>\S+)"
                    r"(?: \((?P<departure>left|removed|did not join)\))?|"
                    rf", revocation by (?P<slowest>\S+) (?P<gave>{DURATION})(?: \(removed\))?)?; (?P<moved>\d+) moved, "
                    r"(?:(?P<paused>\d+) paused, (?P<kept>\d+) kept|nothing was owned before)"
                    r"(?:, (?P<reread>\S+) re-read)?"
                ),
                self._last,
            ),
        )

    def _session_key(self) -> str:
        return "session.timeout.ms" if self.new is None else "group.consumer.session.timeout.ms"

    def _used(self) -> dict[tuple[str, str], float]:
        """The used share of each timer."""
        used: dict[tuple[str, str], float] = {}
        for member_id, name in self.group.members.items():
            member, deadline_us = self.books.members.get(name), self.group.sessions.get(member_id, -1)
            if member is not None and deadline_us >= 0 and member.session_us:
                used[name, "session"] = max(
                    used.get((name, "session"), 0.0), 1 - (deadline_us - self.now_us) / member.session_us
                )
        for member in self.books.members.values():
            belongs = member.name in self.group.members.values()
            if belongs and member.alive and not member.in_poll:
                used[member.name, "poll"] = (self.now_us - member.busy_since_us) / member.poll_us
        return used

    def _nearest_session(self, match: "re.Match[str]") -> bool:
        used = self._used()
        ids = [member_id for member_id, name in self.group.members.items() if name == match[1]]
        left = any(says(match[2], self.group.sessions.get(one, -1) - self.now_us) for one in ids)
        return left and used[match[1], "session"] >= max(used.values()) - 1e-9

    def _nearest_poll(self, match: "re.Match[str]") -> bool:
        used, member = self._used(), self.books.members[match[1]]
        left_us = member.poll_us - (self.now_us - member.busy_since_us)
        return says(match[2], left_us) and used.get((match[1], "poll"), -1.0) >= max(used.values()) - 1e-9

    def _keeps_its_place(self, match: "re.Match[str]") -> bool:
        ids = [member_id for member_id, name in self.group.members.items() if name == match["who"]]
        member = self.books.members[match["who"]]
        unowned = [name for one in ids for name in self.group.assignment.get(one, ()) if name not in self.group.owners]
        back = match["back"] is None or any(
            says(match["back"], fault.ends_at_us - self.now_us)
            for fault in self.books.cluster.faults.values()
            if match["who"] in fault.text.split() and fault.ends_at_us >= 0
        )
        return (
            not member.alive
            and bool(member.instance_id)
            and any(says(match["left"], self.group.sessions.get(one, -1) - self.now_us) for one in ids)
            and back
            and int(match["parts"]) == len(unowned)
            and _plural(match[0])
        )

    def _last(self, match: "re.Match[str]") -> bool:
        rebalance = self.group.rebalances[-1] if self.group.rebalances else None
        return rebalance is not None and matches_rebalance(match, rebalance)

    def _without_members(self) -> Sentences:
        group = self.group
        known = [one for one in self.books.members.values() if one.group == group.name]
        able = [one.name for one in known if one.alive and one.state not in {"Fenced", "Left"}]

        def member(name: str) -> MemberBook:
            return self.books.members[name]

        return (
            (r"(\S+) has its member id and joins with it next", lambda m: m[1] in group.pending.values()),
            (r"(\S+) joins with its next heartbeat", lambda m: self.new is not None and m[1] in able),
            (r"(\S+) sends JoinGroup", lambda m: m[1] in able and member(m[1]).coordinator >= 0),
            (
                r"(\S+) looks up the coordinator \(FindCoordinator\)",
                lambda m: m[1] in able and member(m[1]).coordinator < 0,
            ),
            (r"(\S+) is frozen", lambda m: m[1] in able and all(member(name).frozen for name in able)),
            ("no running member can join the group", lambda _: not able and any(one.alive for one in known)),
            (
                r"no member runs; start one with :(start \S+|scale \S+ to 1)",
                lambda _: not any(one.alive for one in known),
            ),
        )


def matches_rebalance(match: "re.Match[str]", rebalance: RebalanceBook) -> bool:
    """Whether a sentence on a completed rebalance is true of this one."""
    completed = rebalance.completed
    waited_us = completed.waited_us if completed is not None else 0
    if rebalance.revoked is not None:
        who, took_us = slowest(rebalance)
        how = (match["slowest"] or "") == who and (not who or says(match["gave"], took_us))
    elif rebalance.initial:
        how = match["how"] == ", closed by group.initial.rebalance.delay.ms"
    elif match["waited"] is None:
        how = completed is None or not completed.last_joined or not waited_us or not completed.members
    else:
        assert completed is not None
        how = (
            match["last"] == completed.last_joined
            and says(match["waited"], waited_us)
            and match["departure"] == departure(rebalance)
        )
    paused = (int(match["paused"] or 0), int(match["kept"] or 0)) == (len(rebalance.unowned), rebalance.kept)
    return (
        int(match["generation"]) == rebalance.generation
        and (match["number"] == "group epoch") == (rebalance.revoked is not None)
        and (match["cause"], match["who"] or "") == (rebalance.cause, rebalance.trigger)
        and says(match["took"], rebalance.over_us - rebalance.started_us)
        and how
        and int(match["moved"]) == len(rebalance.moves)
        and paused
        and ((match["reread"] is None) == (rebalance.reread == 0))
    )


def departure(rebalance: RebalanceBook) -> str | None:
    """How the awaited member ended the wait without a JoinGroup; None if its JoinGroup closed the barrier."""
    completed = rebalance.completed
    assert completed is not None
    last = [at_us for at_us, _, name in rebalance.joins if name == completed.last_joined]
    if last and last[-1] == completed.at_us:
        return None
    reasons = [reason for _, _, name, reason in rebalance.gone if name == completed.last_joined]
    return "did not join" if not reasons else "left" if reasons[-1] == "member left" else "removed"


def _plural(text: str) -> bool:
    """Whether every number of members and partitions agrees with its noun."""
    found = re.findall(r"(\d+) (member|partition)(s?)\b", text)
    return all((number == "1") == (not plural) for number, _, plural in found)


__all__ = ["PhaseJudge", "departure", "matches_rebalance", "partition_seconds"]

"""Judges the split of a lag: readable, control and aborted records, held back, of silent members."""

import re

from tests.console.judge.books import Books
from tests.console.judge.grammar import Holds, Sentences, Verdict
from tests.console.judge.group_books import GroupBook
from tests.console.judge.spoken import counts
from tests.console.judge.transactions_judge import TransactionsJudge


def _both(held: int, pattern: str, true: Holds) -> Holds:
    """The number that is held back, and the reason behind it."""

    def holds(match: "re.Match[str]") -> bool:
        reason = re.fullmatch(pattern, match[0].partition(" held back: ")[2])
        return reason is not None and counts(match["held"], held) and true(reason)

    return holds


HELD = r"(?: · (?P<held>\S+) held back: (?P<where>\S+) reads up to (?P<stable>\d+) of (?P<high>\d+), (?P<by>.+?))?"
SILENT = r"(?: · (?P<silent>\S+) of silent (?P<who>\S+)(?: and (?P<more>\d+) more)?)?"
PASSED = r"(?: · (?P<control>\S+) control)?(?: · (?P<aborted>\S+) aborted)?"
SENTENCE = re.compile(rf"lag (?P<lag>\S+): (?P<readable>\S+) readable{PASSED}{HELD}{SILENT}")


class LagJudge:
    """One group's lag at one instant."""

    def __init__(self, books: Books, group: GroupBook, now_us: int, verdict: Verdict) -> None:
        self.books, self.group, self.now_us, self.verdict = books, group, now_us, verdict
        self.place = f"lag of {group.name}"

    def judge(self, text: str) -> None:
        """The line of the phase bar; empty when it is not there."""
        may_differ = bool(self._silent()) or self._reads_transactions()
        self.verdict.claim(
            bool(text) == may_differ, self.place, f"{text!r}, where it {'may' if may_differ else 'may not'}"
        )
        if not text:
            return
        match = SENTENCE.fullmatch(text)
        if match is None:
            self.verdict.claim(False, self.place, f"unknown claim: {text!r}")
            return
        lag = self.books.lag(self.group)
        held = {name: self._held(name) for name in self.books.partitions_of(self.group)}
        silent = sum(self.books.lag_in(self.group, name) - held[name] for name in self._of_silent())
        control, aborted = self._passed_over()
        truths = {
            "lag": lag,
            "readable": lag - sum(held.values()) - silent - control - aborted,
            "control": control,
            "aborted": aborted,
            "held": sum(held.values()),
            "silent": silent,
        }
        for part, truth in truths.items():
            said = match[part] or "0"
            self.verdict.claim(counts(said, truth), self.place, f"{part} {said}, not {truth}")
        if match["held"]:
            self._worst(match, held)
        if match["silent"]:
            names = self._silent()
            right = match["who"] in names and int(match["more"] or 0) == len(names) - 1
            self.verdict.claim(right, self.place, f"{match[0]!r}: silent are {names}")

    def stuck(self) -> str | None:
        """A partition with most records held back, if its transaction hangs or has used half of its timeout."""
        held = {name: self._held(name) for name in self.books.partitions_of(self.group)}
        if not any(held.values()):
            return None
        name = next(name for name, records in held.items() if records == max(held.values()))
        judge = TransactionsJudge(self.books, self.now_us, self.verdict)
        found = judge._holder(name)
        if found is None or found[1] is not None:
            return None
        one = self.books.transactions.of_producer(found[0])
        if one is None or not judge._writes(one, name):
            return name
        assert one.last is not None
        half = 2 * judge._left_us(one) <= 1_000 * one.last.timeout_ms
        return name if one.last.state == "Ongoing" and half else None

    def overview(self) -> Sentences:
        """What the overview says in place of the last rebalance."""
        name = self.stuck()
        if name is None:
            return ()
        held = sum(self._held(each) for each in self.books.partitions_of(self.group))
        judge = TransactionsJudge(self.books, self.now_us, self.verdict)
        found = judge._holder(name)
        assert found is not None
        ways = judge._reasons(name, *found)
        return (
            *((rf"‖ (?P<held>[\d.kMG]+) held back: {pattern}", _both(held, pattern, true)) for pattern, true in ways),
            (r"‖ (\S+) held back(?:, .+)?", lambda m: counts(m[1], held)),
        )

    def _worst(self, match: "re.Match[str]", held: dict[str, int]) -> None:
        name, partitions = match["where"], self.books.cluster.partitions
        right = held.get(name, 0) == max(held.values())
        limits = int(match["stable"]), int(match["high"])
        right = right and limits == (self.books.stable_offset(name), partitions[name].high_watermark)
        self.verdict.claim(right, self.place, f"false claim: {match[0]!r}")
        judge = TransactionsJudge(self.books, self.now_us, self.verdict)
        holder = judge._holder(name)
        if holder is not None:
            self.verdict.read(f"{self.place}, by", match["by"], judge._reasons(name, *holder))

    def _held(self, name: str) -> int:
        if not self.group.read_committed:
            return 0
        read = max(self.books.committed(self.group, name), self.books.stable_offset(name))
        return max(0, self.books.cluster.partitions[name].high_watermark - read)

    def _passed_over(self) -> tuple[int, int]:
        """Markers, and offsets of aborted transactions, that the group has before it, but for silent members'."""
        logs, silent = self.books.transactions.logs, set(self._of_silent())
        control = aborted = 0
        for name in self.books.partitions_of(self.group):
            if name not in logs or name in silent:
                continue
            partition = self.books.cluster.partitions[name]
            end = self.books.stable_offset(name) if self.group.read_committed else partition.high_watermark
            ahead = range(self.books.committed(self.group, name), end)
            marked, dead = logs[name].passed_over(self.books.cluster.partitions[name].log_start)
            control += sum(offset in ahead for offset in marked)
            aborted += sum(offset in ahead for offset in dead) if self.group.read_committed else 0
        return control, aborted

    def _reads_transactions(self) -> bool:
        logs = self.books.transactions.logs
        return any(name in logs and logs[name].ever for name in self.books.partitions_of(self.group))

    def _silent(self) -> list[str]:
        known = self.books.members
        return [
            name for member_id, name in self.group.members.items() if name not in known or known[name].silent(member_id)
        ]

    def _of_silent(self) -> list[str]:
        known, group = self.books.members, self.group
        silent = [one for one, name in group.members.items() if name not in known or known[name].silent(one)]
        return [name for member_id in silent for name in group.assignment.get(member_id, ())]

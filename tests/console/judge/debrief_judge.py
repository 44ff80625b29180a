"""Judges a debrief: every fault, instant, point and cell of the strip follows from the raw lines of the journal.

No referee, no score, no bill of the product: the rules stand here a second time, from docs/game.md.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from recordings.journal.reader import Recording
from recordings.journal.segments import line_chunks
from tests.console.judge.grammar import Verdict
from tests.console.judge.spoken import instant, says
from tests.support.independent_bill import IndependentBill

Line = dict[str, Any]

TERMS = {
    "unread": ("groups", "unread_partition_us", 1_000_000, 1, 200),
    "no live leader": ("cluster", "leaderless_partition_us", 1_000_000, 1, 100),
    "failed": ("producers", "failed", 1, 2, 150),
    "re-read": ("groups", "reread", 1, 1, 100),
}
OPEN_TERMS = {"lost": (5, 150)}  # what only the ledger counts: its points must fit its own number
FAULT_ROW = re.compile(r"  ✖ (\S.*?)\s{2,}(\S+)\s+(\S+)\s+(\S+)\s+(\S+(?: s)?)\s*")
TERM_ROW = re.compile(r"  (\S.*?)\s{2,}(\S.*?)\s{2,}([+-]\d+)\s*")
SUM_ROW = re.compile(r"  score\s+(?:never below 0\s+)?(\d+)\s*")
SYMPTOM_ROW = re.compile(r"  (\d\d:\d\d:\d\d\.\d{3})  (?:(\S[^:]*): )?(headline|why (\S+)): (\S.*?)\s*")
VERDICT_ROW = re.compile(
    r"  [●✖] score (\d+) · (\d+) of (\d+) faults? found · (\d+) wrong accusations?(, you gave up)?\s*"
)
ANSWER = re.compile(r"(right|wrong|found already): (.+?)(?: \((\d+) of (\d+) faults\))?")


class Given(NamedTuple):
    """A hidden fault by its command's line, and when a diagnosis with its kind and targets came."""

    text: str
    targets: tuple[str, ...]
    at_us: int
    found_us: int | None


class DebriefJudge:
    """Reads the journal once; `judge` takes the panels' texts."""

    def __init__(self, path: Path, length_us: int) -> None:
        self.length_us = length_us
        lines: list[Line] = []
        for _, segment in sorted(Recording(path).segments.items()):
            for chunk in line_chunks(segment):
                lines += [msgspec.json.decode(line) for line in chunk.splitlines()]
        self.commands = [line for line in lines if "command" in line]
        self.events = [line for line in lines if "command" not in line]
        self.end_us = max(self.events[-1]["at_us"], self.commands[-1]["at_us"])
        self._replay()

    def _replay(self) -> None:
        """The faults, the wrong accusations and the end, from the commands alone."""
        self.faults: list[Given] = []
        self.wrong: list[int] = []
        self.answers: list[tuple[int, str, str, int]] = []  # instant, verdict, accusation, faults found by then
        self.gave_up, self.over_us = False, self.end_us
        expected = sum(line["source"] == "game" for line in self.commands)
        for line in self.commands:
            at_us, text = line["at_us"], line["command"].replace('"', "")
            if line["source"] == "game":
                self.faults.append(Given(text, tuple(line["targets"]), at_us, None))
            elif line["source"] == "operator" and text == "mark give up":
                self.gave_up, self.over_us = True, at_us
                return
            elif line["source"] == "operator" and text.startswith("mark diagnose "):
                self._take(text.removeprefix("mark diagnose "), at_us)
                if len(self.faults) == expected and all(one.found_us is not None for one in self.faults):
                    self.over_us = at_us
                    return

    def _take(self, said: str, at_us: int) -> None:
        place = next((place for place, fault in enumerate(self.faults) if same(said, fault)), None)
        if place is None:
            self.wrong.append(at_us)
            verdict = "wrong"
        elif self.faults[place].found_us is None:
            self.faults[place] = self.faults[place]._replace(found_us=at_us)
            verdict = "right"
        else:
            verdict = "found already"
        self.answers.append((at_us, verdict, said, sum(one.found_us is not None for one in self.faults)))

    def judge_answers(self, answers: list[tuple[int, str]], verdict: Verdict) -> None:
        """Each diagnosis was answered with what it is, and nothing else was said."""
        truth = [(at_us, "you gave up") for at_us in [self.over_us] if self.gave_up]
        given = [one for one in answers if one[1] == "you gave up"]
        verdict.claim(given == truth, "answer", f"{given}: {truth}")
        diagnoses = [one for one in answers if one not in given]
        verdict.claim(len(diagnoses) == len(self.answers), "answer", f"{diagnoses}: {self.answers}")
        for (at_us, text), (true_us, true, accused, found) in zip(diagnoses, self.answers, strict=False):
            said = ANSWER.fullmatch(text)
            holds = said is not None and (at_us, said[1]) == (true_us, true) and same_words(said[2], accused)
            verdict.claim(holds, "answer", f"{text!r}: {true} {accused}")
            several = true == "right" and len(self.faults) > 1
            counted = None if said is None or said[3] is None else (int(said[3]), int(said[4]))
            verdict.claim(counted == ((found, len(self.faults)) if several else None), "answer", f"{text!r}: {found}")

    # --- the score ----------------------------------------------------------------------------------------------------

    def bills(self) -> tuple[Line, Line]:
        """Before the first fault, and at the end."""
        bill, place, found = IndependentBill(), 0, []
        for at_us in (self.faults[0].at_us, self.over_us):
            while place < len(self.events) and self.events[place]["at_us"] <= at_us:
                bill.take(self.events[place])
                place += 1
            found.append(msgspec.json.decode(msgspec.json.encode(bill.bill(at_us))))
        return found[0], found[1]

    def points(self) -> dict[str, int]:
        """Each damage term's points."""
        before, after = self.bills()
        found = {}
        for name, (scope, field, per, each, most) in TERMS.items():
            amount = max(0, _sum(after, scope, field) - _sum(before, scope, field)) // per
            found[name] = -min(most, amount * each)
        return found

    def found_points(self, fault: Given) -> int:
        """A diagnosis' points: all at once, a quarter at the end."""
        if fault.found_us is None:
            return 0
        full = 1_000 // len(self.faults)
        took, limit = fault.found_us - fault.at_us, self.length_us - fault.at_us
        return full - (3 * full * min(took, limit)) // (4 * limit)

    # --- the panels ---------------------------------------------------------------------------------------------------

    def judge(self, panels: dict[str, list[str]]) -> Verdict:
        """Each panel's rows, without title and header."""
        verdict = Verdict(self.over_us)
        total = self._judge_score(panels["score"], verdict)
        self._judge_verdict(panels["debrief"], verdict, total)
        first = self._judge_symptoms(panels["symptoms"], verdict)
        self._judge_truth(panels["truth"], verdict, first)
        return verdict

    def _judge_verdict(self, rows: list[str], verdict: Verdict, total: int) -> None:
        said = VERDICT_ROW.fullmatch(rows[0])
        verdict.claim(said is not None, "debrief", f"unknown: {rows[0]!r}")
        if said is None:
            return
        found = sum(fault.found_us is not None for fault in self.faults)
        truth = (total, found, len(self.faults), len(self.wrong), self.gave_up)
        claimed = (*(int(said[number]) for number in range(1, 5)), said[5] is not None)
        verdict.claim(claimed == truth, "debrief", f"{rows[0]!r}: {truth}")
        self._judge_strip(rows[1].removeprefix("  ").rstrip(), verdict)

    def _judge_strip(self, strip: str, verdict: Verdict) -> None:
        cells = len(strip)
        marks = {min(cells - 1, at_us * cells // self.length_us): "!" for at_us in self.wrong}
        marks |= {self._cell(fault.found_us, cells): "✓" for fault in self.faults if fault.found_us is not None}
        marks |= {self._cell(fault.at_us, cells): "✖" for fault in self.faults}
        played = self._cell(self.over_us, cells)
        truth = "".join(marks.get(cell, "─" if cell <= played else "┈") for cell in range(cells))
        verdict.claim(strip == truth, "strip", f"{strip!r}: {truth!r}")

    def _cell(self, at_us: int, cells: int) -> int:
        return min(cells - 1, at_us * cells // self.length_us)

    def _judge_truth(self, rows: list[str], verdict: Verdict, first: dict[int, int]) -> None:
        verdict.claim(len(rows) == len(self.faults), "truth", f"{len(rows)} rows of {len(self.faults)} faults")
        for number, (row, fault) in enumerate(zip(rows, self.faults, strict=False)):
            said = FAULT_ROW.fullmatch(row)
            verdict.claim(said is not None, "truth", f"unknown: {row!r}")
            if said is None:
                continue
            verdict.claim(same(said[1], fault), "truth", f"{row!r}: {fault.text}")
            for place, at_us in ((2, fault.at_us), (3, first.get(number)), (4, fault.found_us)):
                holds = said[place] == "–" if at_us is None else said[place] == clock(at_us)
                verdict.claim(holds, "truth", f"{row!r}: {at_us}")
            took = said[5] == "–" if fault.found_us is None else says(said[5], fault.found_us - fault.at_us)
            verdict.claim(took, "truth", f"{row!r}: took")

    def _judge_score(self, rows: list[str], verdict: Verdict) -> int:
        """The terms and their sum; returns the score that they add up to."""
        points = self.points()
        truth = {fault.text: self.found_points(fault) for fault in self.faults}
        total, seen = 0, set()
        for row in rows[:-1]:
            said = TERM_ROW.fullmatch(row)
            verdict.claim(said is not None, "score", f"unknown: {row!r}")
            if said is None:
                continue
            name, what, claimed = said[1], said[2], int(said[3])
            total += claimed
            plural = name not in {*TERMS, *OPEN_TERMS} or what.startswith("1 ") != what.endswith("s")
            verdict.claim(plural, "score", f"{row!r}: one or several")
            if name in TERMS:
                verdict.claim(claimed == points[name], "score", f"{row!r}: {points[name]}")
                seen.add(name)
            elif name in OPEN_TERMS:
                each, most = OPEN_TERMS[name]
                number = int(what.split()[0].replace(",", ""))
                verdict.claim(claimed == -min(most, each * number), "score", f"{row!r}")
            elif name in {"found", "not found"}:
                fault = next((one for one in self.faults if same(what.partition(",")[0], one)), None)
                holds = fault is not None and truth[fault.text] == claimed
                verdict.claim(holds, "score", f"{row!r}: {truth}")
            else:
                verdict.claim((name, claimed) == ("wrong accusation", -150), "score", f"{row!r}")
        verdict.claim(seen == set(TERMS), "score", f"terms that are shown: {seen}")
        wrong = sum("wrong accusation" in row for row in rows)
        verdict.claim(wrong == len(self.wrong), "score", f"{wrong} wrong accusations of {len(self.wrong)}")
        said = SUM_ROW.fullmatch(rows[-1])
        verdict.claim(said is not None and int(said[1]) == max(0, total), "score", f"{rows[-1]!r}: {total}")
        return max(0, total)

    def _judge_symptoms(self, rows: list[str], verdict: Verdict) -> dict[int, int]:
        """Each symptom is of a target, in time; returns the first instant of each fault."""
        first: dict[int, int] = {}
        for row in rows:
            said = SYMPTOM_ROW.fullmatch(row)
            verdict.claim(said is not None, "symptoms", f"unknown: {row!r}")
            if said is None:
                continue
            at_us = instant(said[1])
            number = next((n for n, one in enumerate(self.faults) if said[2] is None or same(said[2], one)), -1)
            fault = self.faults[number]
            until_us = self.over_us if fault.found_us is None else fault.found_us
            verdict.claim(fault.at_us < at_us <= until_us, "symptoms", f"{row!r}: {fault}")
            verdict.claim(at_us % 1_000_000 == 0, "symptoms", f"{row!r}: no whole second")
            names = self._concerned(fault)
            named = said[4] in names if said[4] else any(name in said[5] for name in names)
            verdict.claim(named, "symptoms", f"{row!r}: {names}")
            first[number] = min(first.get(number, at_us), at_us)
        return first

    def _concerned(self, fault: Given) -> set[str]:
        """The targets, the group of a member and the members of a group."""
        found = set(fault.targets)
        for line in self.events:
            if line["kind"] == "member_declared" and (
                line["member"] in fault.targets or line["group"] in fault.targets
            ):
                found |= {line["member"], line["group"]}
        return found


def same(said: str, fault: Given) -> bool:
    """Whether an accusation has the fault's words and targets; a command says a duration behind them."""
    return same_words(said, fault.text.split(" to ")[0].split(" for ")[0])


def same_words(one: str, other: str) -> bool:
    """Whether two accusations have the same words: the targets of a link stand in any order."""
    return sorted(one.split()) == sorted(other.split())


def clock(at_us: int) -> str:
    seconds, us = divmod(at_us, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{us // 1000:03}"


def _sum(bill: Line, scope: str, field: str) -> int:
    payers = [bill["cluster"]] if scope == "cluster" else bill[scope].values()
    return sum(int(payer.get(field, 0)) for payer in payers)

"""Judges a comparison of two flights: each number of its bill, its verdict and its lags follows from both journals."""

import re
from collections import Counter
from typing import Any

from tests.console.judge.grammar import Verdict
from tests.console.judge.spoken import instant, interval
from tests.support.independent_bill import IndependentBill

Line = dict[str, Any]

HEIGHTS = " ▁▂▃▄▅▆▇█"
FIELDS = {
    "unread": "unread_partition_us", "stopped": "stopped_member_us", "rebalances": "rebalances",
    "duplicated": "duplicated", "re-read": "reread", "skipped": "skipped", "dead-lettered": "dead_lettered",
    "peak time lag": "peak_time_lag_us", "behind": "behind_us", "failed": "failed", "refused": "refused",
    "late": "late", "retries": "retries", "without a live leader": "leaderless_partition_us",
    "below min.insync.replicas": "below_min_isr_partition_us",
}  # fmt: skip
LEDGER = {"lost", "deleted unread", "compacted unread"}  # what only the ledger knows
NOUNS = {
    "unread partition-seconds?": "unread", "stopped member-seconds?": "stopped", "rebalances?": "rebalances",
    "duplicates?": "duplicated", "re-read records?": "re-read", "seconds? of peak time lag": "peak time lag",
    "seconds? behind": "behind", "failed sends?": "failed", "refused batch(?:es)?": "refused",
    "late records?": "late", "retried batch(?:es)?": "retries",
    "leaderless partition-seconds?": "without a live leader",
    "partition-seconds? below min.insync.replicas": "below min.insync.replicas",
}  # fmt: skip
UNJUDGED = ("lost records?", "records? (?:deleted|compacted) unread", "skipped records?", "dead letters?")
LARGEST = {"peak time lag"}
SAME = {"Both flights cost the same.", "Both flights cost nearly the same.", "Neither flight costs anything."}
RARE = 1_000  # events of a flight: a kind that comes as rarely is worth a line in the event log
ROW = re.compile(r"  (\S.*?) +([<\d.,]+) +([<\d.,]+) │ +([<\d.,]+) +([<\d.,]+)  (\S+) (better|worse) +(\S+)")
PAYER = re.compile(r"  (?:(group|producer) (\S+)|cluster)")
PARTING = re.compile(r"first divergence (\S+?)(?:, only in (\S+): .*)?")


class JournalAt:
    """One flight's bills and lags at instants, recomputed from its lines in one pass."""

    def __init__(self, lines: list[Line], instants: list[int]) -> None:
        self.lines = lines
        self.bills: dict[int, Line] = {}
        self.lags: dict[int, dict[str, int]] = {}
        bill, place = IndependentBill(), 0
        for at_us in instants:
            while place < len(lines) and lines[place]["at_us"] <= at_us:
                bill.take(lines[place])
                place += 1
            self.bills[at_us] = bill.bill(at_us)
            self.lags[at_us] = {name: bill._time_lag(group, at_us) for name, group in bill.groups.items()}
        counts = Counter(line["kind"] for line in lines)
        self.rare = [line for line in lines if counts[line["kind"]] <= RARE]

    def amount(self, at_us: int, scope: str, name: str, measure: str) -> int:
        """A measure of a payer."""
        bill = self.bills[at_us] if at_us else {"cluster": {}, "groups": {}, "producers": {}}
        payer = bill["cluster"] if scope == "cluster" else bill[f"{scope}s"].get(name, {})
        return int(payer.get(FIELDS[measure], 0))

    def total(self, at_us: int, measure: str) -> int:
        """A measure over all payers."""
        bill = self.bills[at_us]
        every = [bill["cluster"], *bill["groups"].values(), *bill["producers"].values()]
        values = [int(payer[FIELDS[measure]]) for payer in every if FIELDS[measure] in payer]
        return max(values, default=0) if measure in LARGEST else sum(values)


class ComparisonJudge:
    """`labels`: the flights' names; `until_us`: where both end; `step_us`: how far apart samples are."""

    def __init__(
        self, flights: tuple[list[Line], list[Line]], labels: tuple[str, str], until_us: int, step_us: int
    ) -> None:
        self.grid = [*range(step_us, until_us, step_us), until_us]
        self.flights = JournalAt(flights[0], self.grid), JournalAt(flights[1], self.grid)
        self.labels, self.until_us, self.step_us = labels, until_us, step_us
        self.parted_ms: int | None = None

    def bill(self, text: str, cursor_us: int, verdict: Verdict) -> None:
        """Each row at the cursor and at the end, and none missing."""
        title, heads, *rows = text.splitlines()
        match = re.search(r"at (\S+) │ at the end, (\S+)", title)
        if match is None:
            verdict.claim(False, "bill", f"unknown title {title!r}")
            return
        here_us = max((us for us in self.grid if us <= cursor_us), default=0)
        verdict.claim(_tenth(here_us) == instant(match[1]), "bill", f"{match[1]} for {cursor_us / 1e6:.3f} s")
        verdict.claim(_tenth(self.until_us) == instant(match[2]), "bill", f"the end at {match[2]}")
        verdict.claim(heads.split()[1:] == [*self.labels, "│", *self.labels], "bill", f"heads {heads!r}")
        scope, name = "", ""
        seen: set[tuple[str, str, str]] = set()
        for row in rows:
            if (amounts := ROW.fullmatch(row.rstrip())) is not None:
                self._row(amounts.groups(), (scope, name), here_us, verdict)
                seen.add((scope, name, amounts[1]))
            elif (payer := PAYER.fullmatch(row.rstrip())) is not None:
                scope, name = payer[1] or "cluster", payer[2] or ""
        self._none_missing(seen, verdict)

    def _row(self, row: tuple[str, ...], payer: tuple[str, str], here_us: int, verdict: Verdict) -> None:
        measure, *amounts, label, mark, _ = row
        if measure in LEDGER:
            return
        for place, text in enumerate(amounts):
            truth = self.flights[place % 2].amount(here_us if place < 2 else self.until_us, *payer, measure)
            right = amount_says(text, truth, FIELDS[measure])
            verdict.claim(right, f"bill of {payer}", f"{measure} {text} in column {place}, not {truth}")
        ends = [flight.amount(self.until_us, *payer, measure) for flight in self.flights]
        right = label == self.labels[1] and mark == ("better" if ends[1] < ends[0] else "worse")
        verdict.claim(right, f"bill of {payer}", f"{measure} {label} {mark}: {ends}")

    def _none_missing(self, seen: set[tuple[str, str, str]], verdict: Verdict) -> None:
        bills = [flight.bills[self.until_us] for flight in self.flights]
        payers = [("cluster", "", [bill["cluster"] for bill in bills])]
        for scope in ("group", "producer"):
            both = [name for name in bills[0][f"{scope}s"] if name in bills[1][f"{scope}s"]]
            payers += [(scope, name, [bill[f"{scope}s"][name] for bill in bills]) for name in both]
        for scope, name, (one, other) in payers:
            for measure, field in FIELDS.items():
                if field in one and _differ(one[field], other[field], field):
                    verdict.claim((scope, name, measure) in seen, "bill", f"no row for {measure} of {scope} {name}")

    def sentence(self, text: str, spoken: tuple[str, str], verdict: Verdict) -> None:
        """`A costs 3 unread partition-seconds and 1 rebalance; B costs 5 and 2.`"""
        match = re.fullmatch(r"(.+?) costs (.+); (.+?) costs (.+)\.", text)
        if match is None:
            ends = [(flight.total(self.until_us, name) for flight in self.flights) for name in FIELDS]
            same = all(a == b or abs(a - b) * 20 < max(a, b) for a, b in ends)
            verdict.claim(same and text in SAME, "verdict", f"unknown sentence {text!r}")
            return
        verdict.claim((match[1].lower(), match[3].lower()) == spoken, "verdict", f"names in {text!r}")
        said = re.findall(r"([<\d.,]*\d) (" + "|".join([*NOUNS, *UNJUDGED]) + ")", match[2])
        others = re.findall(r"[<\d.,]*\d", match[4])
        for (one, noun), other in zip(said, others, strict=False):
            measure = next((name for pattern, name in NOUNS.items() if re.fullmatch(pattern, noun)), "")
            if not measure:
                continue
            for flight, number in zip(self.flights, (one, other), strict=True):
                truth = flight.total(self.until_us, measure)
                verdict.claim(amount_says(number, truth, FIELDS[measure]), "verdict", f"{text!r}: {measure} {truth}")

    def parting(self, text: str, verdict: Verdict) -> None:
        """Before the first divergence an event differs already, and at it something happens in the named flight."""
        match = PARTING.fullmatch(text)
        if match is None:
            verdict.claim(text.startswith("no divergence"), "divergence", f"unknown {text!r}")
            return
        said_us = instant(match[1])
        self.parted_ms = said_us // 1_000
        pairs = zip(self.flights[0].lines, self.flights[1].lines, strict=False)
        first_us = next((min(a["at_us"], b["at_us"]) for a, b in pairs if a != b), None)
        right = first_us is not None and said_us >= first_us // 1_000 * 1_000
        verdict.claim(right, "divergence", f"{text!r}: the first event differs at {first_us}")
        for flight, other, label in zip(self.flights, self.flights[::-1], self.labels, strict=True):
            if match[2] in {None, label}:
                own = [line for line in flight.rare if line["at_us"] // 1_000 * 1_000 == said_us]
                alone = [line for line in own if not any(_alike(line, one) for one in other.rare)]
                verdict.claim(bool(alone), "divergence", f"{text!r}: nothing of its own happens there")

    def mark(self, times: str, axis: tuple[int, int], verdict: Verdict) -> None:
        """The mark of the first divergence is in the cell of its instant, and there is none without one."""
        first_us, cell_us = axis
        cells = [place for place, sign in enumerate(times) if sign == "≠"]
        ends = [((first_us + cell * cell_us) // 1_000, (first_us + (cell + 1) * cell_us) // 1_000) for cell in cells]
        right = not cells if self.parted_ms is None else len(ends) == 1 and ends[0][0] <= self.parted_ms <= ends[0][1]
        verdict.claim(right, "divergence", f"marked in {cells}, not at {self.parted_ms} ms: {times!r}")

    def lag(self, text: str, side: int, group: str, axis: tuple[int, int], most: str, verdict: Verdict) -> None:
        """The heights of a flight's lag; the larger one of both flights is drawn full."""
        first_us, cell_us = axis
        grid, lags = self.grid, [[flight.lags[us].get(group, 0) for us in self.grid] for flight in self.flights]
        full = max(max(each) for each in lags)
        verdict.claim(_spoken(most, max(lags[side])), f"lag of {group}", f"up to {most}, not {max(lags[side])}")
        known = (self.until_us - first_us) // cell_us + 1
        for column, char in enumerate(text[:known].ljust(min(known, len(text)))):
            from_us = first_us + column * cell_us
            seen = [lag for us, lag in zip(grid, lags[side], strict=True) if from_us <= us < from_us + cell_us]
            seen = seen or [lag for us, lag in zip(grid, lags[side], strict=True) if us < from_us][-1:] or [0]
            level = -(-max(seen) * 8 // full) if full else 0
            verdict.claim(HEIGHTS.index(char) == level, f"lag of {group}", f"{char!r} in cell {column}, not {level}")


def amount_says(text: str, truth: int, field: str) -> bool:
    """Whether an amount is written as it is: seconds rounded to a tenth, from 100 on to one."""
    if not field.endswith("_us"):
        return text.replace(",", "") == str(truth)
    if text == "<0.1":
        return 0 < truth < 50_000
    if text == "0":
        return truth == 0
    half = 50_000 if "." in text else 500_000
    return abs(float(text.replace(",", "")) * 1_000_000 - truth) <= half


def _differ(one: int, other: int, field: str) -> bool:
    """Whether two amounts are certainly written differently."""
    if not field.endswith("_us"):
        return one != other
    return abs(one - other) > (1_000_000 if max(one, other) >= 99_000_000 else 100_000)


def _alike(line: Line, other: Line) -> bool:
    """Whether two events are of one kind, at one instant."""
    return (line["at_us"], line["kind"]) == (other["at_us"], other["kind"])


def _tenth(us: int) -> int:
    return us // 100_000 * 100_000


def _spoken(text: str, truth_us: int) -> bool:
    low, high = interval(text)
    return low <= truth_us < high

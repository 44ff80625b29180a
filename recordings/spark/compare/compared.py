"""What a comparison found, as `compare.json` holds it, and in sentences."""

import shlex
from typing import Final

import msgspec

from recordings.comparison.amounts import SECOND_US, noun
from recordings.comparison.bill import MEASURES
from recordings.comparison.verdict import joined, without_comparison
from recordings.spark.compare.bootstrap import CONFIDENCE, FEWEST
from recordings.spark.compare.differences import Differences, MeasureDifference
from recordings.spark.formatting import many

FORMAT: Final = 1
SPOKEN: Final = 3
SMALLEST: Final = 0.0005
BY_FIELD: Final = {measure.field: measure for measure in MEASURES}
SURE: Final = f"{CONFIDENCE:.0%}".replace("%", " %")


class ComparedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of flights: their recordings, the instant up to which they count, and all measures over all payers.

    `scenario` is that of the first flight, `scenario_b` that of the second: they may be two versions of one file.
    `failure`: why the pair is left out; it has no measures then. `shortened`: one flight is longer than `until_us`.
    """

    scenario: str
    scenario_b: str
    seed: int
    a: str
    b: str
    until_us: int | None
    shortened: bool
    measures_a: dict[str, int]
    measures_b: dict[str, int]
    warnings: list[str]
    failure: str | None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Set `b` against set `a`. `only_a`, `only_b`: recordings without a counterpart. `seconds`: it took in reality."""

    format: int = FORMAT
    flightdeck: str
    a: str
    b: str
    confidence: float = CONFIDENCE
    pairs: list[ComparedPair]
    only_a: list[str]
    only_b: list[str]
    differences: Differences
    seconds: float

    @property
    def judged(self) -> list[ComparedPair]:
        """The pairs of which both recordings could be read."""
        return [pair for pair in self.pairs if pair.failure is None]

    @property
    def failed(self) -> list[ComparedPair]:
        """The pairs that are left out."""
        return [pair for pair in self.pairs if pair.failure is not None]

    @property
    def counted(self) -> str:
        """What a pair is called where pairs are counted: a `seed`, unless several scenarios fly the same seeds."""
        judged = self.judged
        return "seed" if len({pair.seed for pair in judged}) == len(judged) else "pair"

    @property
    def different(self) -> list[MeasureDifference]:
        """The measures that differ over all payers, by weight."""
        return [each for each in self.differences.totals if each.differs]


def sentences(compared: Compared) -> list[str]:
    """The answer in words: what differs and by how much, what does not, and on how many flights that rests."""
    judged = len(compared.judged)
    if not judged:
        return ["No pair of flights can be read."]
    found = [*_idle(compared), *(_costs(compared, each) for each in compared.different[:SPOKEN])]
    more = len(compared.different) - SPOKEN
    if more > 0:
        found.append(f"{more} more {'measure differs' if more == 1 else 'measures differ'}: see the table.")
    unsure = [each.measure for each in compared.differences.totals if not each.differs]
    if not compared.differences.totals:
        found.append(f"{compared.a} and {compared.b} cost the same in every pair of flights.")
    elif not compared.different:
        found.append(f"{compared.a} and {compared.b} are not different{_at(compared)}.")
    elif unsure:
        found.append(f"Not different{_at(compared)}: {joined(unsure)}.")
    if judged == 1:
        found.append("One pair of flights says nothing of chance: fly both sets with eight seeds or more.")
    elif judged < FEWEST:
        each = compared.counted
        found.append(f"With fewer than {FEWEST} {each}s a measure differs only if every {each} agrees.")
    return found + _other_scenarios(compared) + _left_out(compared)


def evidence(pair: ComparedPair) -> str:
    """The command that shows where the two flights of a pair part."""
    return shlex.join(["flightdeck", "diff", pair.a, pair.b])


def typical(compared: Compared) -> ComparedPair | None:
    """The pair whose difference in the weightiest differing measure is nearest to the mean; None if none differs."""
    return compared.pairs[compared.different[0].nearest] if compared.different else None


def mean_amount(field: str, value: float) -> str:
    """A mean for people, without its sign: `51.2`, `0.4`, `0.003`, `1,204`."""
    in_seconds = field.endswith("_us")
    value = abs(value) / (SECOND_US if in_seconds else 1)
    if value < 0.095:  # one decimal would show 0
        return f"{value:.1g}" if value >= SMALLEST else "0"
    whole = value >= 100 or (value == round(value) and not in_seconds)
    return f"{value:,.0f}" if whole else f"{value:,.1f}"


def signed(field: str, value: float) -> str:
    """A difference for people: `+51.2`, `−3`, `0`."""
    text = mean_amount(field, value)
    return text if text == "0" else f"{'+' if value > 0 else '−'}{text}"


def interval(each: MeasureDifference) -> str:
    """`+42.0 to +60.1`; of too few pairs nothing."""
    if each.low is None or each.high is None:
        return ""
    return f"{signed(each.field, each.low)} to {signed(each.field, each.high)}"


def _costs(compared: Compared, each: MeasureDifference) -> str:
    """`hasty costs 51.2 more unread partition-seconds a flight (+42.0 to +60.1), in 20 of 20 seeds.`."""
    number = mean_amount(each.field, each.difference)
    more = "fewer" if each.b_is_better else "more"
    bounds = f" ({interval(each)})" if each.low is not None else ""
    seeds = f"{each.agreeing} of {many(each.pairs, compared.counted)}" if each.pairs > 1 else "the one pair"
    return f"{compared.b} costs {number} {more} {noun(BY_FIELD[each.field], number)} a flight{bounds}, in {seeds}."


def _at(compared: Compared) -> str:
    """The level at which nothing is seen, which is no confidence that there is nothing."""
    judged = len(compared.judged)
    return f" at {SURE} confidence over {many(judged, compared.counted)}" if judged >= FEWEST else ""


def _idle(compared: Compared) -> list[str]:
    both = ((compared.a, compared.differences.idle_a), (compared.b, compared.differences.idle_b))
    return [without_comparison(name, groups) for name, groups in both if groups]


def _other_scenarios(compared: Compared) -> list[str]:
    """Seeds draw the same faults for two scenarios only where these have the same: readers judge that themselves."""
    others = {(pair.scenario, pair.scenario_b) for pair in compared.judged if pair.scenario != pair.scenario_b}
    return [f"{compared.a} flies {one}, {compared.b} flies {other}: two scenarios." for one, other in sorted(others)]


def _left_out(compared: Compared) -> list[str]:
    found = []
    alone = [many(len(paths), "flight") + f" of {name}" for name, paths in _alone(compared) if paths]
    if alone:
        have = "has" if len(alone) == 1 and alone[0].startswith("1 ") else "have"
        found.append(f"{joined(alone)} {have} no counterpart, and {'is' if have == 'has' else 'are'} left out.")
    if compared.failed:
        found.append(f"{many(len(compared.failed), 'pair')} cannot be read, and counts in no measure.")
    shortened = sum(pair.shortened for pair in compared.judged)
    if shortened:
        found.append(f"{many(shortened, 'pair')} of flights: the longer one counts up to the end of the other.")
    return found


def _alone(compared: Compared) -> list[tuple[str, list[str]]]:
    return [(compared.a, compared.only_a), (compared.b, compared.only_b)]

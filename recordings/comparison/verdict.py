"""One sentence of at most 20 words: what each of two flights costs."""

from collections.abc import Sequence
from typing import Final

import msgspec

from recordings.comparison.amounts import amount, spoken
from recordings.comparison.bill import MEASURES, Bill, Measure, Scope
from recordings.comparison.pairing import PairedBills, total

MOST_WORDS: Final = 20
MOST_MEASURES: Final = 3

BY_WEIGHT: Final = (
    "lost", "deleted", "failed", "skipped", "dead_lettered", "unread_partition_us", "rebalances", "duplicated",
    "leaderless_partition_us", "below_min_isr_partition_us", "stopped_member_us", "peak_time_lag_us", "late", "refused",
    "reread", "behind_us", "retries", "compacted",
)  # fmt: skip
"""The measures by their weight: a verdict names the first ones that differ, a ranking compares them in this order."""

WEIGHED: Final = tuple(sorted(MEASURES, key=lambda measure: BY_WEIGHT.index(measure.field)))


class Cost(msgspec.Struct, frozen=True):
    """The amounts of a measure in two flights, over all that is compared."""

    measure: Measure
    a: int
    b: int

    @property
    def is_worth_a_word(self) -> bool:
        """Whether the difference is worth a word: as shown, and at least a twentieth of the larger amount."""
        return amount(self.measure, self.a) != amount(self.measure, self.b) and abs(self.a - self.b) * 20 >= max(
            self.a, self.b
        )


def costs(a: Bill, b: Bill, bills: PairedBills) -> list[Cost]:
    """The totals of every measure over the paired groups, producers and clusters, by weight."""
    return [
        Cost(
            measure,
            total(a, measure, [name for name, _ in bills.pairs[measure.scope]]),
            total(b, measure, [name for _, name in bills.pairs[measure.scope]]),
        )
        for measure in WEIGHED
    ]


def verdict(a: str, b: str, found: Sequence[Cost], *, partly: bool = False) -> str:
    """What each flight costs, in the up to three weightiest measures that differ; `a` and `b` name the flights.

    `partly`: a flight has groups or producers without a counterpart, which `found` leaves out.
    """
    shown = [cost for cost in found if cost.is_worth_a_word][:MOST_MEASURES]
    while shown:
        sentence = _sentence(a, b, shown)
        if len(sentence.split()) <= MOST_WORDS or len(shown) == 1:
            return sentence
        shown.pop()
    same = all(cost.a == cost.b for cost in found)
    if not any(cost.a or cost.b for cost in found):
        return "What both flights have costs nothing in either." if partly else "Neither flight costs anything."
    if partly:
        return f"What both flights have costs {'the same' if same else 'nearly the same'}."
    return f"Both flights cost {'the same' if same else 'nearly the same'}."


def without_comparison(subject: str, groups: Sequence[str]) -> str:
    """What is said of a flight in which groups read nothing that the other flight reads: no cost is a saving."""
    whose = groups[0] if len(groups) == 1 else f"{len(groups)} groups"
    return f"{capitalized(subject)} saves only the work: {whose} {'reads' if len(groups) == 1 else 'read'} nothing."


def _sentence(a: str, b: str, shown: Sequence[Cost]) -> str:
    first = joined([spoken(cost.measure, cost.a) for cost in shown])
    second = joined([amount(cost.measure, cost.b) for cost in shown])
    if len(shown) == 1:
        second = spoken(shown[0].measure, shown[0].b)
    return f"{capitalized(a)} costs {first}; {b} costs {second}."


def capitalized(name: str) -> str:
    """`the fork` at the beginning of a sentence; the name of a recording stays."""
    return name[0].upper() + name[1:] if name.startswith("the ") else name


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def balance(found: Sequence[Cost], b: str) -> str:
    """In how many measures the second flight is better, and in how many worse; "" if it is the same in all."""
    b = capitalized(b)
    better = sum(1 for cost in found if cost.is_worth_a_word and cost.b < cost.a)
    worse = sum(1 for cost in found if cost.is_worth_a_word and cost.b > cost.a)
    if not better and not worse:
        return ""
    if not worse:
        return f"{b} is better in {_measures(better)}, and worse in none."
    if not better:
        return f"{b} is worse in {_measures(worse)}, and better in none."
    return f"{b} is better in {_measures(better)}, and worse in {worse}."


def _measures(count: int) -> str:
    return f"{count} measure" if count == 1 else f"{count} measures"


def of_scope(scope: Scope) -> list[Measure]:
    """The measures of a scope by weight."""
    return [measure for measure in WEIGHED if measure.scope is scope]

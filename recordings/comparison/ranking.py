"""Several ways ranked by what they cost: flights, or groups of one flight that read the same topics.

Ways are compared by the weightiest measure first, and by the next one where they are equal.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from recordings.comparison.amounts import amount, spoken
from recordings.comparison.bill import Bill, Measure, Scope, payers
from recordings.comparison.course import Course
from recordings.comparison.pairing import total
from recordings.comparison.verdict import MOST_WORDS, WEIGHED, Cost, joined, of_scope


class RankedWay(msgspec.Struct, frozen=True, kw_only=True):
    """One way and its amounts by field. `rank` counts from 1; ways that cost the same have the same."""

    rank: int
    name: str
    amounts: dict[str, int]


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Ways by their rank, in one sentence. `of`: what they are. `fields`: measures that differ, by weight."""

    of: str
    sentence: str
    fields: list[str]
    ways: list[RankedWay]


def rank(of: str, ways: Mapping[str, Mapping[str, int]], measures: Sequence[Measure]) -> Ranking:
    """Rank ways by their amounts; each name → field → amount, for each of these measures (by weight)."""
    keys = {name: tuple(amounts[measure.field] for measure in measures) for name, amounts in ways.items()}
    order = sorted(ways, key=lambda name: keys[name])
    distinct = sorted(set(keys.values()))
    differing = [measure for measure in measures if len({amounts[measure.field] for amounts in ways.values()}) > 1]
    return Ranking(
        of=of,
        sentence=_sentence(of, order, ways, differing),
        fields=[measure.field for measure in differing],
        ways=[RankedWay(rank=distinct.index(keys[name]) + 1, name=name, amounts=dict(ways[name])) for name in order],
    )


def _sentence(of: str, order: Sequence[str], ways: Mapping[str, Mapping[str, int]], differing: list[Measure]) -> str:
    """The way that costs least, and the one that costs most."""
    least, most = order[0], order[-1]
    pairs = [Cost(measure, ways[least][measure.field], ways[most][measure.field]) for measure in differing]
    shown = [cost for cost in pairs if cost.is_worth_a_word][:2]
    while shown:
        cheap = joined([spoken(cost.measure, cost.a) for cost in shown])
        dear = joined([amount(cost.measure, cost.b) for cost in shown])
        sentence = f"{least} costs least of {len(order)} {of}: {cheap}; {most} costs most: {dear}."
        if len(sentence.split()) <= MOST_WORDS or len(shown) == 1:
            return sentence
        shown.pop()
    return f"The {len(order)} {of} cost {'nearly ' if differing else ''}the same."


def has_rivals(spec: ScenarioSpec) -> bool:
    """Whether two groups of a scenario read the same topics."""
    return len({tuple(sorted(group.topics)) for group in spec.groups}) < len(spec.groups)


def rank_groups(view: ClusterView, bill: Bill) -> list[Ranking]:
    """The groups of a flight that read the same topics, where they do not cost the same."""
    reading: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, group in view.groups.items():
        reading[tuple(sorted(group.topics))].append(name)
    measures = of_scope(Scope.GROUP)
    rankings = []
    for names in reading.values():
        if len(names) > 1:
            ways = {name: {each.field: each.of(bill.groups[name]) for each in measures} for name in names}
            ranking = rank("groups", ways, measures)
            if ranking.ways[-1].rank > 1:
                rankings.append(ranking)
    return rankings


def rank_flights(named: Mapping[str, Course]) -> Ranking:
    """Flights by the totals of their bills."""
    ways = {}
    for name, course in named.items():
        bill = course.bill
        ways[name] = {each.field: total(bill, each, payers(bill, each.scope)) for each in WEIGHED}
    return rank("flights", ways, WEIGHED)

"""Several ways ranked by what they cost: flights, or groups of one flight that read the same topics.

Ways are compared by the weightiest measure first, and by the next one where they are equal or nearly so. A way that
reads nothing, though another one reads, is compared with none: what it saves is the work.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.rebalances import RebalanceView
from recordings.comparison.amounts import amount, spoken
from recordings.comparison.bill import Bill, Measure, Scope, payers
from recordings.comparison.course import Course
from recordings.comparison.pairing import read_nothing, total
from recordings.comparison.verdict import MOST_WORDS, WEIGHED, Cost, joined, of_scope

SHOWN_OF_GROUPS = (
    Measure(Scope.GROUP, "moved_partitions", "moved", "partitions"),
    Measure(Scope.GROUP, "converging_us", "converging", "seconds"),
)
"""What a ranking of groups shows besides their costs, and does not weigh: time and moves cost nothing by themselves."""


class RankedWay(msgspec.Struct, frozen=True, kw_only=True):
    """One way and its amounts by field. `rank` counts from 1; ways that cost the same have the same.

    `read_nothing`: the groups that read nothing in this way only. Such a way has rank 0, and comes last.
    """

    rank: int
    name: str
    amounts: dict[str, int]
    read_nothing: list[str] = []


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Ways by their rank, in one sentence. `of`: what they are. `fields`: measures that differ, by weight."""

    of: str
    sentence: str
    fields: list[str]
    ways: list[RankedWay]


def rank(
    of: str,
    ways: Mapping[str, Mapping[str, int]],
    measures: Sequence[Measure],
    idle: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Ranking:
    """Rank ways by their amounts; each name → field → amount, for each of these measures (by weight).

    `idle`: way → the groups that read nothing in it, though they read in another way.
    """
    compared = {name: amounts for name, amounts in ways.items() if not idle.get(name)}
    tiers = list(_tiers(list(compared), compared, measures))
    order = [name for tier in tiers for name in tier]
    differing = [measure for measure in measures if len({amounts[measure.field] for amounts in compared.values()}) > 1]
    left_out = [name for name in ways if name not in compared]
    ranked = [
        RankedWay(rank=place, name=name, amounts=dict(ways[name]))
        for place, tier in enumerate(tiers, 1)
        for name in tier
    ]
    ranked += [
        RankedWay(rank=0, name=name, amounts=dict(ways[name]), read_nothing=list(idle[name])) for name in left_out
    ]
    return Ranking(
        of=of,
        sentence=_sentence(of, order, ways, differing, left_out),
        fields=[measure.field for measure in differing],
        ways=ranked,
    )


def _tiers(
    names: Sequence[str], ways: Mapping[str, Mapping[str, int]], measures: Sequence[Measure]
) -> Iterator[list[str]]:
    """Names in tiers that cost the same: the next measure parts those whose amounts are near the least of them."""
    if not measures:
        yield list(names)
        return
    first, *rest = measures
    left = sorted(names, key=lambda name: ways[name][first.field])
    while left:
        least = ways[left[0]][first.field]
        near = [name for name in left if not Cost(first, least, ways[name][first.field]).is_worth_a_word]
        yield from _tiers(near, ways, rest)
        left = left[len(near) :]


def _sentence(
    of: str,
    order: Sequence[str],
    ways: Mapping[str, Mapping[str, int]],
    differing: list[Measure],
    left_out: Sequence[str],
) -> str:
    """The way that costs least, and the one that costs most; or which ones are not compared."""
    if not order:
        return f"A group reads nothing in each of the {len(left_out)} {of}: none is compared."
    if left_out and len(order) == 1:
        whose = left_out[0] if len(left_out) == 1 else f"{len(left_out)} {of}"
        return f"{order[0]} has no rival: {whose} {'read' if len(left_out) > 1 else 'reads'} nothing."
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
            reads = any(bill.groups[name].delivered for name in names)
            idle = {name: [name] for name in names if reads and not bill.groups[name].delivered}
            ranking = rank("groups", ways, measures, idle)
            if ranking.ways[-1].rank != 1:
                rankings.append(_with_rebalances(ranking, view))
    return rankings


def _with_rebalances(ranking: Ranking, view: ClusterView) -> Ranking:
    """The same ranking with what the groups' rebalances moved, and how long they took, from cause to assignment."""
    shown = {way.name: _of_rebalances(view.groups[way.name].rebalances) for way in ranking.ways}
    ranked = [shown[way.name] for way in ranking.ways if way.rank]
    differing = [each.field for each in SHOWN_OF_GROUPS if len({amounts[each.field] for amounts in ranked}) > 1]
    ways = [msgspec.structs.replace(way, amounts=way.amounts | shown[way.name]) for way in ranking.ways]
    return msgspec.structs.replace(ranking, fields=[*ranking.fields, *differing], ways=ways)


def _of_rebalances(rebalances: Sequence[RebalanceView]) -> dict[str, int]:
    return {
        "moved_partitions": sum(one.moved for one in rebalances),
        "converging_us": sum(one.took_us for one in rebalances),
    }


def rank_flights(named: Mapping[str, Course]) -> Ranking:
    """Flights by the totals of their bills."""
    ways = {}
    for name, course in named.items():
        bill = course.bill
        ways[name] = {each.field: total(bill, each, payers(bill, each.scope)) for each in WEIGHED}
    bills = [course.bill for course in named.values()]
    return rank("flights", ways, WEIGHED, {name: read_nothing(course.bill, bills) for name, course in named.items()})

"""Ways ranked by what they cost: groups on the same topics, and flights."""

import itertools

from recordings.comparison.bill import MEASURES, Scope
from recordings.comparison.meter import BillMeter
from recordings.comparison.ranking import has_rivals, rank, rank_groups
from recordings.comparison.verdict import MOST_WORDS, WEIGHED, of_scope
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load


def test_the_weightiest_measure_that_differs_decides() -> None:
    nothing = dict.fromkeys((measure.field for measure in WEIGHED), 0)
    ways = {
        "slow": nothing | {"unread_partition_us": 9_000_000},
        "lossy": nothing | {"lost": 1},
        "busy": nothing | {"unread_partition_us": 9_000_000, "rebalances": 1},
        "twin": nothing | {"unread_partition_us": 9_000_000},
    }
    found = rank("ways", ways, WEIGHED)
    assert [(way.rank, way.name) for way in found.ways] == [(1, "slow"), (1, "twin"), (2, "busy"), (3, "lossy")]
    assert found.fields == ["lost", "unread_partition_us", "rebalances"]
    assert found.sentence == (
        "slow costs least of 4 ways: 0 lost records and 9.0 unread partition-seconds; lossy costs most: 1 and 0."
    )


def test_a_ranking_has_at_most_twenty_words() -> None:
    nothing = dict.fromkeys((measure.field for measure in WEIGHED), 0)
    for chosen in itertools.combinations(MEASURES, 2):
        ways = {"deploy-static": nothing, "deploy-dynamic": nothing | {each.field: 10**10 for each in chosen}}
        assert len(rank("flights", ways, WEIGHED).sentence.split()) <= MOST_WORDS
    same = rank("groups", {"a": nothing, "b": nothing}, of_scope(Scope.GROUP))
    assert same.sentence == "The 2 groups cost the same."
    assert [way.rank for way in same.ways] == [1, 1]


def test_the_ways_of_a_deploy_are_ranked_by_what_they_cost() -> None:
    plan, meter = make_plan(load("eager-vs-cooperative"), until_us=60_000_000), BillMeter()
    assert has_rivals(plan.spec)
    assert not has_rivals(load("rolling-restart-static").spec)
    fly(plan, meter=meter)
    (ranking,) = rank_groups(meter.view, meter.bill())
    assert [way.name for way in ranking.ways] == ["cooperative", "eager"]
    assert ranking.sentence.startswith("cooperative costs least of 2 groups: ")

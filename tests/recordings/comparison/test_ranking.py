"""Ways ranked by what they cost: groups on the same topics, and flights."""

import itertools
from pathlib import Path

from console.cli.comparison import of_ranking
from recordings.comparison.bill import MEASURES, Scope
from recordings.comparison.course import courses_of
from recordings.comparison.diff import diff
from recordings.comparison.meter import BillMeter
from recordings.comparison.ranking import has_rivals, rank, rank_flights, rank_groups
from recordings.comparison.verdict import MOST_WORDS, WEIGHED, of_scope
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load, parse_scenario

IDLE = """
title = "Two groups, and one of them has no member"
until = "20s"
[[topic]]
name = "orders"
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
[[group]]
name = "reading"
topics = ["orders"]
members = {members}
[[group]]
name = "idle"
topics = ["orders"]
members = 0
"""


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


def test_a_way_that_reads_nothing_is_never_the_best() -> None:
    nothing = dict.fromkeys((measure.field for measure in WEIGHED), 0)
    ways = {"idle": nothing, "slow": nothing | {"rebalances": 9}, "fast": nothing | {"rebalances": 1}}
    found = rank("groups", ways, WEIGHED, {"idle": ["idle"]})
    assert [(way.rank, way.name, way.read_nothing) for way in found.ways] == [
        (1, "fast", []), (2, "slow", []), (0, "idle", ["idle"]),
    ]  # fmt: skip
    assert found.sentence == "fast costs least of 2 groups: 1 rebalance; slow costs most: 9."
    assert of_ranking(found).splitlines()[-1].startswith("   ✗  idle: reads nothing")
    alone = rank("groups", {"idle": nothing, "slow": nothing}, WEIGHED, {"idle": ["idle"]})
    assert alone.sentence == "slow has no rival: idle reads nothing."
    none = rank("flights", {"a": nothing, "b": nothing}, WEIGHED, {"a": ["x"], "b": ["y"]})
    assert none.sentence == "A group reads nothing in each of the 2 flights: none is compared."


def test_a_group_that_starts_too_late_to_read_is_ranked_with_none() -> None:
    text = IDLE.format(members=1)
    plan, meter = make_plan(parse_scenario(text, "idle.toml")), BillMeter()
    fly(plan, meter=meter)
    (ranking,) = rank_groups(meter.view, meter.bill())
    assert [(way.rank, way.name) for way in ranking.ways] == [(1, "reading"), (0, "idle")]
    assert ranking.sentence == "reading has no rival: idle reads nothing."


def test_a_flight_that_reads_nothing_saves_only_the_work(tmp_path: Path) -> None:
    for name, members in (("reads", 1), ("rests", 0)):
        plan = make_plan(parse_scenario(IDLE.format(members=members), "idle.toml"))
        fly(plan, record=tmp_path / name)
    for paths in (("reads", "rests"), ("rests", "reads")):
        found = diff(*(tmp_path / name for name in paths))
        assert (found.verdict, found.balance) == ("rests saves only the work: reading reads nothing.", "")
    courses = courses_of([tmp_path / "reads", tmp_path / "rests"], salvage=False)
    ranking = rank_flights(dict(zip(("reads", "rests"), courses, strict=True)))
    assert [(way.rank, way.name, way.read_nothing) for way in ranking.ways] == [
        (1, "reads", []), (0, "rests", ["reading"]),
    ]  # fmt: skip


def test_the_ways_of_a_deploy_are_ranked_by_what_they_cost() -> None:
    plan, meter = make_plan(load("eager-vs-cooperative"), until_us=60_000_000), BillMeter()
    assert has_rivals(plan.spec)
    assert not has_rivals(load("rolling-restart-static").spec)
    fly(plan, meter=meter)
    (ranking,) = rank_groups(meter.view, meter.bill())
    assert [way.name for way in ranking.ways] == ["cooperative", "eager"]
    assert ranking.sentence.startswith("cooperative costs least of 2 groups: ")


HELD = """
title = "Three groups, and two of them do not read what they own"
until = "60s"
[[topic]]
name = "orders"
partitions = 2
[[topic]]
name = "orders-dlt"
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
[defaults.group]
topics = ["orders"]
config = { "auto.offset.reset" = "earliest", "session.timeout.ms" = "6s" }
[[group]]
name = "reading"
[[group]]
name = "paused"
[[group]]
name = "hurried"
application = { retries = { times = 1, backoff = "100ms" }, dead_letter = "orders-dlt" }
[[at]]
time = "20s"
do = "pause partitions orders-0 of paused-1 for 30s"
[[at]]
time = "20s"
do = "fail dependency of hurried for 10s"
[[at]]
time = "40s"
do = "kill reading-1 for 3s"
"""


def test_a_group_that_does_not_read_what_it_owns_or_gives_records_up_costs_more_than_one_that_reads() -> None:
    plan, meter = make_plan(parse_scenario(HELD, "held.toml")), BillMeter()
    fly(plan, meter=meter)
    bill = meter.bill()
    (ranking,) = rank_groups(meter.view, bill)
    assert [way.name for way in ranking.ways] == ["reading", "paused", "hurried"]
    assert bill.groups["hurried"].dead_lettered > 50
    assert 29_000_000 < bill.groups["paused"].stalled_partition_us < 31_000_000
    assert bill.groups["reading"].stalled_partition_us == 0 < bill.groups["reading"].unread_partition_us


def test_ways_that_cost_nearly_the_same_are_compared_by_the_next_measure() -> None:
    nothing = dict.fromkeys((measure.field for measure in WEIGHED), 0)
    ways = {
        "crashes": nothing | {"unread_partition_us": 100_000_000, "rebalances": 9},
        "patient": nothing | {"unread_partition_us": 103_000_000},
    }
    assert [way.name for way in rank("groups", ways, WEIGHED).ways] == ["patient", "crashes"]

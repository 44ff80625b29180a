"""What a ranking of groups shows of their rebalances is what the raw events say, and its table fits a terminal."""

from typing import NamedTuple

import pytest

from cluster import events as e
from cluster.view.rebalances import RebalanceView
from console.cli.comparison import NEARLY_EQUAL, of_ranking
from recordings.comparison.bill import Scope
from recordings.comparison.meter import BillMeter
from recordings.comparison.ranking import Ranking, rank, rank_groups
from recordings.comparison.verdict import WEIGHED, of_scope
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario

TEXT = """
title = "One join and one leave, two protocols"
seed = 2
until = "60s"
[[topic]]
name = "orders"
partitions = 6
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "30/s"
[defaults.group]
topics = ["orders"]
members = 3
[[group]]
name = "eager"
assignors = ["range"]
config = { "auto.offset.reset" = "earliest" }
[[group]]
name = "consumer"
config = { "auto.offset.reset" = "earliest", "group.protocol" = "consumer" }
[[at]]
time = "20s"
do = "scale eager to 4"
[[at]]
time = "20s"
do = "scale consumer to 4"
[[at]]
time = "40s"
do = "scale eager to 2"
[[at]]
time = "40s"
do = "scale consumer to 2"
"""
OVER = ("Stable", "Empty")


class Told(NamedTuple):
    """Partitions that changed hands, and the instants between which each rebalance was under way."""

    moved: int
    spans: list[tuple[int, int]]

    @property
    def amounts(self) -> dict[str, int]:
        return {"moved_partitions": self.moved, "converging_us": sum(end - start for start, end in self.spans)}


def told(events: list[e.Event], group: str) -> Told:
    """From raw events, without the fold."""
    names: dict[str, str] = {}
    shares: dict[str, tuple[str, ...]] = {}
    owners: dict[str, str] = {}
    spans: list[tuple[int, int]] = []
    start, moved = -1, 0
    for event in events:
        if getattr(event, "group", "") != group:
            continue
        if isinstance(event, e.RebalanceStarted | e.ConsumerGroupEpochBumped) and start < 0:
            start = event.at_us
        elif isinstance(event, e.JoinReceived | e.ConsumerMemberSubscribed):
            names[event.member_id] = event.member
        elif isinstance(event, e.MemberAssignmentChanged):
            shares[event.member_id] = event.assigned
        elif isinstance(event, e.MemberRemoved):
            shares.pop(event.member_id, None)
        elif isinstance(event, e.GroupStabilized) or (
            isinstance(event, e.ConsumerGroupStateChanged) and event.state in OVER
        ):
            if isinstance(event, e.GroupStabilized):
                shares = dict(event.assignment)
            if start < 0:
                continue
            now = {partition: names[one] for one, partitions in shares.items() for partition in partitions}
            moved += sum(owners.get(partition, name) != name for partition, name in now.items())
            owners |= now
            spans.append((start, event.at_us))
            start = -1
        elif isinstance(event, e.PartitionsAssigned) and spans and start < 0:
            spans[-1] = spans[-1][0], event.at_us
    return Told(moved, spans)


def ranked() -> tuple[Ranking, list[e.Event]]:
    events: list[e.Event] = []
    meter = BillMeter()
    fly(make_plan(parse_scenario(TEXT, "t.toml")), meter=meter, log=events.append)
    (ranking,) = rank_groups(meter.view, meter.bill())
    return ranking, events


def wrong(ranking: Ranking, events: list[e.Event]) -> list[str]:
    return [way.name for way in ranking.ways if not told(events, way.name).amounts.items() <= way.amounts.items()]


def test_moves_and_times_are_what_the_events_say() -> None:
    ranking, events = ranked()
    assert [way.rank for way in ranking.ways] == [1, 2]
    assert wrong(ranking, events) == []
    assert all(told(events, way.name).moved > 0 for way in ranking.ways)


@pytest.mark.parametrize("field", ["moved", "assigned_us"])
def test_another_amount_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = RebalanceView.__getattribute__

    def other(one: RebalanceView, name: str) -> object:
        value = original(one, name)
        return value + 1_000_000 if name == field and isinstance(value, int) else value

    monkeypatch.setattr(RebalanceView, "__getattribute__", other)
    assert wrong(*ranked()) == ["eager", "consumer"] or wrong(*ranked()) == ["consumer", "eager"]


def test_the_table_has_a_column_for_each_group_and_fits_a_terminal() -> None:
    ranking, _ = ranked()
    sentence, heads, *rows = of_ranking(ranking).splitlines()
    assert sentence == ranking.sentence
    assert heads.split() == ["1.", ranking.ways[0].name, "2.", ranking.ways[1].name]
    assert {len(row) for row in (heads, *rows)} == {len(heads)}
    assert len(heads) <= 80
    assert len(rows) == len(ranking.fields)
    shown = [row.split("  ")[1] for row in rows]
    assert shown[-2:] == ["moved (partitions)", "converging (s)"]


def test_five_ways_keep_all_their_measures_with_the_ranks_above_the_names() -> None:
    names, measures = ["consumer", "static", "cooperative", "hasty", "eager"], of_scope(Scope.GROUP)[:9]
    ways = {
        name: {each.field: 1_000 * (1 + place) for each in measures} | {"rebalances": place}
        for place, name in enumerate(names)
    }
    ranking = rank("groups", ways, measures)
    _, ranks, heads, *rows = of_ranking(ranking).splitlines()
    assert ranks.split() == ["1.", "2.", "3.", "4.", "5."]
    assert heads.split() == names
    assert len(rows) == len(ranking.fields)
    assert {len(row) for row in (ranks, heads, *rows)} == {len(heads)}
    assert len(heads) <= 80


def test_the_table_says_why_the_smaller_amount_is_not_the_first() -> None:
    nothing = dict.fromkeys((measure.field for measure in WEIGHED), 0)
    near = {"a": nothing | {"unread_partition_us": 100_000_000, "rebalances": 3}}
    near["b"] = nothing | {"unread_partition_us": 98_000_000, "rebalances": 5}
    found = rank("groups", near, WEIGHED)
    assert [way.name for way in found.ways] == ["a", "b"]
    assert of_ranking(found).splitlines()[-1].strip() == NEARLY_EQUAL
    near["b"]["unread_partition_us"] = 101_000_000
    assert NEARLY_EQUAL not in of_ranking(rank("groups", near, WEIGHED))

"""Groups of the new protocol in flight: the view is the truth through faults, and flights repeat."""

from importlib import import_module

import msgspec
import pytest

from cluster.clients.consumer.consumer import Consumer
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.rebalances import ConsumerGroupView
from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from recordings.scenarios.loader import parse_scenario
from tests.support.independent_recorder import IndependentRecorder
from tests.support.random_flights import lies

TEXT = """
title = "t"
module = "groups"
lesson = "l"
until = "70s"

[cluster]
config = { "group.consumer.session.timeout.ms" = 6000, "group.consumer.min.session.timeout.ms" = 6000 }

[[topic]]
name = "orders"
partitions = 4

[[producer]]
name = "p"
topics = ["orders"]
rate = "20/s"

[[group]]
name = "g"
topics = ["orders"]
members = 3
stagger = "1s"
static = STATIC
config = { "group.protocol" = "consumer", "max.poll.interval.ms" = 5000 }
"""
STEPS = ("kill g-1 for 9s", "stop g-2 for 2s", "pause g-3 for 8s", "stall g-2 for 12s", "kill broker-1 for 3s")


def spec(*commands: str, static: bool = False) -> ScenarioSpec:
    steps = "".join(f'[[at]]\ntime = "{10 * (place + 1)}s"\ndo = "{each}"\n' for place, each in enumerate(commands))
    return parse_scenario(TEXT.replace("STATIC", str(static).lower()) + steps, "t.toml").spec


@pytest.mark.parametrize("static", [False, True])
def test_the_view_is_the_truth_through_kills_stops_pauses_stalls_and_a_failover(static: bool) -> None:
    assert lies(spec(*STEPS, static=static)) == []


RESTARTS = tuple(f"kill g-{number} for 2s" for number in (1, 2, 3, 1, 2, 3))


def test_of_a_process_with_two_member_ids_its_own_one_counts() -> None:
    """Killed for less than its session: the coordinator keeps the former member until that has expired."""
    assert lies(spec(*RESTARTS)) == []


def test_a_view_of_the_greatest_member_id_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Member ids are random: sorted by them alone, a former member stands before its successor in half of the cases."""
    monkeypatch.setattr(import_module("cluster.view.document"), "_is_its_own", lambda *_: False)
    assert any("member_epochs" in lie for lie in lies(spec(*RESTARTS)))


def test_a_view_that_counts_a_static_members_return_as_rebalance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroupView, "taken", lambda _, __, partitions: partitions)
    assert any("took_ms" in lie for lie in lies(spec("pause g-3 for 1s", "stop g-2 for 1s", static=True)))


def lone_spec() -> ScenarioSpec:
    text = TEXT.replace("members = 3", "members = 1").replace("STATIC", "false").replace('"70s"', '"20s"')
    config = text.replace('max.poll.interval.ms" = 5000', 'max.poll.interval.ms" = 5000, "metadata.max.age.ms" = 2000')
    return parse_scenario(config + '[[at]]\ntime = "5s"\ndo = "add partitions orders to 6"\n', "t.toml").spec


def test_a_lone_member_ends_its_rebalance_without_another_state_of_the_group() -> None:
    assert lies(lone_spec()) == []


def test_a_view_that_waits_for_another_state_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroupView, "reconciled", False)
    assert any("rebalance" in lie for lie in lies(lone_spec()))


RENAMED = ("set g group.remote.assignor range", "stop g-1 for 500ms", "stop g-2 for 500ms", "move coordinator of g")


def renamed_spec() -> ScenarioSpec:
    return msgspec.structs.replace(spec(*RENAMED, static=True), until_us=42_000_000)


def test_a_new_coordinator_has_the_assignor_that_its_members_prefer_now() -> None:
    """Static members that came back with another one have not made it compute: no record has the last target's."""
    assert lies(renamed_spec()) == []


def test_a_view_that_keeps_the_assignor_of_the_last_target_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.coordinators.consumer_group.lifecycle.preferred_assignor", lambda *_: "uniform")
    assert any("assignor" in lie for lie in lies(renamed_spec()))


def test_the_target_of_a_deposed_coordinator_is_no_rebalance_of_its_group() -> None:
    notes = IndependentRecorder().coordinators
    notes.computed(ConsumerGroup("g"), "uniform")
    assert not notes.barriers
    assert not notes.assignors


def regex_spec() -> ScenarioSpec:
    text = TEXT.replace('topics = ["orders"]\nmembers', 'topic_regex = "ord.+"\nmembers').replace("STATIC", "false")
    return parse_scenario(text + '[[at]]\ntime = "30s"\ndo = "add partitions orders to 6"\n', "t.toml").spec


def test_the_topics_of_a_regular_expression_are_the_groups() -> None:
    """Its lag, its records and their fate, in view and truth."""
    made = regex_spec()
    assert lies(made) == []
    plan = Plan(scenario="t", text="", spec=made, settings=Settings(seed=1, until_us=made.until_us))
    (counts,) = fly(plan).view["delivery"]["by_group"].values()
    assert counts["delivered"] + counts["skipped"] == counts["appended"] > counts["delivered"] > 500


def test_a_view_without_the_topics_of_an_expression_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterView, "reads", lambda *_: None)
    assert any("lag" in lie for lie in lies(regex_spec()))


def test_a_member_that_gives_everything_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an eager member of the classic protocol would."""
    give_up = Consumer.give_up

    def everything(consumer: Consumer, partitions: tuple[str, ...], *, lost: bool) -> None:
        give_up(consumer, partitions if lost else consumer.owned, lost=lost)

    monkeypatch.setattr(Consumer, "give_up", everything)
    made = spec()
    plan = Plan(scenario="t", text="", spec=made, settings=Settings(seed=1, until_us=made.until_us))
    (violation,) = fly(plan).invariants["violations"]
    assert violation["invariant"] == "E3"


def test_each_event_has_a_number_of_its_own() -> None:
    """An event that is told twice gets the second number, and its recording cannot be read."""
    lines: list[bytes] = []
    made = spec(*STEPS)
    plan = Plan(scenario="t", text="", spec=made, settings=Settings(seed=1, until_us=made.until_us))
    fly(plan, on_lines=lines.append)
    told = [msgspec.json.decode(line)["seq"] for line in b"".join(lines).splitlines()]
    assert told == list(range(1, len(told) + 1))

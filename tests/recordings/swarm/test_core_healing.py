"""A core is healed and the rest stays broken: how much is judged there, and that the judge sees a group that hangs."""

import msgspec
import pytest

from cluster.broker.controller_channel import QUORUM_FETCH_TIMEOUT_US
from cluster.clients.consumer.coordinator_lookup import CoordinatorLookup
from cluster.commands import Reassign, parse, text_of
from cluster.config import resolve
from cluster.spec import ExpectationSpec, GroupSpec, ProducerSpec, ScenarioSpec, StepSpec, TopicSpec
from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from recordings.swarm.core import CORE, FRESH_FROM_MS, Core, is_fresh
from recordings.swarm.core_liveness import judged
from recordings.swarm.faults import STARTED_MS
from recordings.swarm.generator import LONGEST_STARTUP_US, Swarm, draw
from recordings.swarm.seeds import CONVERGED, fly_once

MINUTE_US = 60_000_000
BREAKS = ("kill", "pause", "isolate", "cut")
SEEDS = (4, pytest.param(12, marks=pytest.mark.slow))


def core_seeds(many: int, first: int = 0) -> list[Swarm]:
    """So many seeds from the first on, of which those that heal a core."""
    return [each for each in (draw(seed, MINUTE_US) for seed in range(first, first + many)) if each.core is not None]


def test_one_seed_in_four_heals_a_core_and_most_of_these_judge_a_group_and_a_producer() -> None:
    cores = core_seeds(200)
    assert 30 <= len(cores) <= 70
    kinds = [{claim.kind for claim in each.judgement.claims} for each in cores if each.judgement is not None]
    both = sum(1 for each in kinds if each >= {"group", "producer"})
    assert both >= 0.6 * len(cores)
    assert all(CORE in each.features for each in cores)


def test_everything_is_judged_or_left_out_with_a_reason() -> None:
    for each in core_seeds(60):
        assert each.judgement is not None
        named = [claim.name for claim in each.judgement.claims if claim.kind != "partition"]
        reasons = dict(said.split(": ", 1) for said in each.judgement.left_out)
        assert all(reasons.values())
        groups = [group.name for group in each.spec.groups]
        producers = [name for producer in each.spec.producers for name in producer.instances()]
        assert sorted([*named, *reasons]) == sorted([*groups, *producers])


def test_no_lag_is_asked_behind_an_application_that_may_still_wait_for_a_broken_broker() -> None:
    asked: dict[bool, int] = {False: 0, True: 0}
    for each in core_seeds(200):
        assert each.judgement is not None
        written = {group.application.writes for group in each.spec.groups} - {None}
        for claim in each.judgement.claims:
            if claim.kind == "group":
                (topics,) = (group.topics for group in each.spec.groups if group.name == claim.name)
                late = any(topic in written for topic in topics)  # its producer waits 30 s, the flight ends 38 s later
                asked[late] += any("lag == 0" in said for said in claim.said)
    assert asked[False] > 0 == asked[True]


def test_fresh_producers_begin_when_the_broken_rest_is_fenced() -> None:
    """Seed 5916: its first metadata named the isolated leader, and it waited 10 s for that connection."""
    session_us = int(str(resolve("broker", {})["broker.session.timeout.ms"])) * 1_000
    another_controller_us = STARTED_MS[0] * 1_000 + LONGEST_STARTUP_US + QUORUM_FETCH_TIMEOUT_US
    assert another_controller_us + session_us < FRESH_FROM_MS * 1_000


def test_the_core_is_a_majority_and_nothing_of_it_is_broken_after_the_healing() -> None:
    for each in core_seeds(60):
        core, brokers = each.core, each.spec.brokers
        assert core is not None
        assert len(brokers) / 2 < len(core.brokers) < len(brokers)
        inside = {*(f"broker-{number}" for number in core.brokers), *core.members, *core.producers}
        inside |= {name for producer in each.spec.producers if is_fresh(producer) for name in producer.instances()}
        broken = set()
        for step in each.spec.steps:
            verb, name = step.text.split()[:2]
            if step.at_us >= each.healed_us and verb in BREAKS and not step.text.endswith("for 1ms"):
                assert name not in inside, step.text
                broken.add(name)
        assert broken >= {broker.name for broker in brokers} - inside
        assert broken >= {name for group in each.spec.groups for name in group.instances()} - inside


@pytest.mark.parametrize(("seeds", "least"), [(4, 1), pytest.param(12, 4, marks=pytest.mark.slow)])
def test_in_some_flights_a_group_and_a_producer_had_a_replica_in_sync_in_the_core(seeds: int, least: int) -> None:
    """The way out that each sentence has is not what makes them hold. Of twelve flights it is a third."""
    cores = core_seeds(80)[:seeds]
    judging = 0
    for each in cores:
        assert each.judgement is not None
        claims = [claim for claim in each.judgement.claims if claim.kind != "partition"]
        asked = tuple(ExpectationSpec(that=f"!({each.judgement.lost(claim)})", at_us=MINUTE_US) for claim in claims)
        spec = msgspec.structs.replace(each.spec, expectations=asked)
        result = fly(Plan(scenario="", text="", spec=spec, settings=Settings(seed=spec.seed, until_us=spec.until_us)))
        held = {claim.kind for claim, found in zip(claims, result.expectations, strict=True) if found["ok"]}
        judging += held == {"group", "producer"}
    assert len(cores) == seeds
    assert judging >= least


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS)
def test_a_member_that_never_looks_for_its_coordinator_again_is_caught(
    seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator was in the broken rest, another is in the core, and the group does not come back."""
    ask = CoordinatorLookup._ask

    def only_once(lookup: CoordinatorLookup) -> None:
        if not lookup._found:
            ask(lookup)

    cores = core_seeds(60, first=100)[:seeds]
    sound = [fly_once(each.spec) for each in cores]
    assert [outcome.found for outcome in sound] == [""] * seeds
    monkeypatch.setattr(CoordinatorLookup, "_ask", only_once)
    hanging = [outcome for outcome in (fly_once(each.spec) for each in cores) if outcome.invariant == CONVERGED]
    assert hanging
    assert any('state == "Stable"' in outcome.found for outcome in hanging)


def spec(*commands: str, least: int = 1, timeout_ms: int = 3_000) -> ScenarioSpec:
    """Three brokers, a topic of one partition on the first two of them, its group and its producer."""
    parsed = [parse(text) for text in commands]
    return ScenarioSpec(
        title="core",
        until_us=MINUTE_US,
        topics=(TopicSpec("t", replication=2, config={"min.insync.replicas": least}),),
        producers=(ProducerSpec("p", ("t",)),),
        groups=(GroupSpec("g", ("t",), members=2, config={"request.timeout.ms": timeout_ms}),),
        steps=tuple(StepSpec(10_000_000, command, text_of(command)) for command in parsed),
    )


def left_out(scenario: ScenarioSpec, *brokers: int) -> str:
    return "; ".join(judged(scenario, Core(brokers, ("g-1",), ("p-1",))).left_out)


def test_what_is_left_out_is_what_the_placement_or_a_timeout_forbids() -> None:
    assert left_out(spec(), 1, 2) == ""
    assert left_out(spec(least=2), 1, 2) == ""
    assert "g: t-0 has 1 of its replicas in the core, and min.insync.replicas is 2" in left_out(spec(least=2), 2, 3)
    assert "p-1: t-0 has 1 of its replicas" in left_out(spec(least=2), 1, 3)
    assert left_out(spec(), 1, 3) == ""
    assert "g: t-1 has 1 of its replicas" in left_out(spec("add partitions t to 2", least=2), 1, 2)
    assert "request.timeout.ms" in left_out(spec(timeout_ms=30_000), 1, 2)


def test_a_core_is_healed_among_the_replicas_that_topics_begin_with() -> None:
    asked = [draw(seed, MINUTE_US, (CORE, "reassign")) for seed in range(20)]
    moves = {
        (each.core is not None, any(isinstance(one.command, Reassign) for one in each.spec.steps)) for each in asked
    }
    assert moves == {(True, False), (False, True)}

"""Random legal behaviour of members, drawn by Hypothesis: a group's rules hold and it becomes whole."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.spec import (
    ApplicationSpec,
    BrokerSpec,
    GroupSpec,
    KeysSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
)
from tests.support.random_flights import fly

MS = 1_000
TROUBLE_MS = (6_000, 25_000)
END_S = 75
NAMES = ("g-1", "g-2", "g-3")
ASSIGNORS = (
    ("range", "cooperative-sticky"),
    ("cooperative-sticky",),
    ("cooperative-sticky", "range"),
    ("sticky",),
    ("roundrobin",),
    ("range",),
)

WHAT = st.one_of(
    st.builds(
        "{} {} for {}ms".format, st.sampled_from(("kill", "stop")), st.sampled_from(NAMES), st.integers(0, 9_000)
    ),
    st.builds("restart {}".format, st.sampled_from(NAMES)),
    st.builds("stall {} for {}ms".format, st.sampled_from(NAMES), st.integers(100, 9_000)),
    st.builds("pause {} for {}ms".format, st.sampled_from(NAMES), st.integers(100, 9_000)),
    st.builds("pause heartbeats of {} for {}ms".format, st.sampled_from(NAMES), st.integers(100, 9_000)),
    st.builds("slow {} to {}ms for 5s".format, st.sampled_from(NAMES), st.sampled_from((5, 100))),
    st.builds("subscribe {} to {}".format, st.sampled_from(NAMES), st.sampled_from(("t0", "t1", "t0,t1"))),
    st.builds("scale g to {}".format, st.integers(1, 5)),
    st.builds("rolling restart g every {}ms down {}ms".format, st.integers(100, 4_000), st.integers(0, 4_000)),
    st.builds("kill broker-{} for {}ms".format, st.integers(1, 3), st.integers(100, 12_000)),
    st.builds("cut {} broker-{} for {}ms".format, st.sampled_from(NAMES), st.integers(1, 3), st.integers(100, 12_000)),
)


def step(at_ms: int, text: str) -> StepSpec:
    command = parse(text)
    return StepSpec(at_ms * MS, command, text_of(command))


@st.composite
def flights(draw: st.DrawFn) -> ScenarioSpec:
    """A small cluster, a group of three, and what happens to its members for half a minute."""
    config: dict[str, Value] = {
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_000,
        "max.poll.interval.ms": draw(st.sampled_from((4_000, 15_000))),
        "request.timeout.ms": 5_000,
        "auto.offset.reset": "earliest",
    }
    group = GroupSpec(
        "g",
        ("t0", "t1"),
        members=3,
        stagger_us=draw(st.sampled_from((0, 1_500_000))),
        static=draw(st.booleans()),
        assignors=draw(st.sampled_from(ASSIGNORS)),
        config=config,
        application=ApplicationSpec(
            per_record_us=draw(st.sampled_from((0, 1_000, 20_000))),
            commit=draw(st.sampled_from(("auto", "after-each-poll", "async"))),
        ),
    )
    steps = [step(draw(st.integers(*TROUBLE_MS)), draw(WHAT)) for _ in range(draw(st.integers(1, 8)))]
    late = [*(f"resume {name}" for name in NAMES), *(f"start {name}" for name in NAMES)]
    steps += [step(38_000, text) for text in late] + [step(45_000, "stop p-1")]
    return ScenarioSpec(
        title="members do what they like",
        until_us=END_S * 1_000 * MS,
        brokers=tuple(BrokerSpec(number) for number in (1, 2, 3)),
        config={
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": draw(st.sampled_from((0, 1_000))),
        },
        network=NetworkSpec(jitter=draw(st.sampled_from((0.0, 0.5)))),
        topics=(TopicSpec("t0", partitions=4), TopicSpec("t1", partitions=3)),
        producers=(ProducerSpec("p", ("t0", "t1"), rate_per_second=10.0, keys=KeysSpec("uniform")),),
        groups=(group,),
        steps=tuple(sorted(steps, key=lambda one: one.at_us)),
    )


def held(spec: ScenarioSpec) -> None:
    fly(spec, 1).check()


QUICK: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": (Phase.generate, Phase.shrink),  # explaining a failure traces every line of every flight
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@pytest.mark.slow
@settings(max_examples=6, **QUICK)
@given(flights())
def test_whatever_members_do_their_group_keeps_its_rules(spec: ScenarioSpec) -> None:
    held(spec)


@pytest.mark.slow
@pytest.mark.timeout(900)  # fifty flights, not one
@settings(max_examples=50, **QUICK)
@given(flights())
def test_whatever_members_do_often(spec: ScenarioSpec) -> None:
    held(msgspec.structs.replace(spec, title="often"))


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
@settings(max_examples=150, **QUICK)
@given(flights())
def test_whatever_members_do_for_long(spec: ScenarioSpec) -> None:
    held(msgspec.structs.replace(spec, title="for long"))

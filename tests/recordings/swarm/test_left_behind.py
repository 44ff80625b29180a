"""The claim of convergence where Kafka keeps a classic member without a session, and where it must not."""

import msgspec
import pytest

from cluster.spec import ExpectationSpec, ScenarioSpec
from recordings.scenarios.loader import parse_scenario
from recordings.swarm.check import check
from recordings.swarm.convergence import converged
from recordings.swarm.seeds import CONVERGED, fly_once

SCENARIO = """
title = "left behind"
seed = 408
until = "50s"
start_jitter = "0s"
[cluster]
brokers = 3
startup = "0s"
[cluster.config]
"group.consumer.migration.policy" = "bidirectional"
"group.consumer.session.timeout.ms" = {session_ms}
"group.consumer.min.session.timeout.ms" = 6000
"offsets.topic.num.partitions" = 1
[[topic]]
name = "t0"
partitions = 2
[[group]]
name = "g0"
topics = ["t0"]
members = 3
config = {{ "group.protocol" = "{first}", "max.poll.interval.ms" = 4000 }}
[[at]]
time = "6s"
do = "set g0 group.protocol {then}"
[[at]]
time = "8s"
do = "kill g0-1 for 7s"
"""


def flown(first: str, then: str, session_ms: int, *faults: str) -> str:
    """The invariant that the flight of a group violates, one of whose members dies while it migrates."""
    text = SCENARIO.format(first=first, then=then, session_ms=session_ms)
    text += "".join(f'[[at]]\ntime = "9s"\ndo = "{fault}"\n' for fault in faults)
    spec = parse_scenario(text, "left-behind.toml").spec
    return fly_once(claimed(spec)).invariant


def claimed(spec: ScenarioSpec) -> ScenarioSpec:
    said = tuple(ExpectationSpec(that=each, at_us=spec.until_us) for each in converged(spec) if "g0" in each)
    return msgspec.structs.replace(spec, expectations=said)


def test_a_member_whose_session_ends_leaves_a_group_that_has_converged() -> None:
    assert flown("consumer", "classic", 6_000) == ""
    assert flown("consumer", "classic", 6_000, "isolate broker-3 for 1s") == ""


@pytest.mark.parametrize("faults", [(), ("isolate broker-3 for 1s",)])
def test_a_member_of_the_new_protocol_that_never_leaves_is_still_caught(faults: tuple[str, ...]) -> None:
    """A session that outlasts the flight stands for one that never ends."""
    assert flown("consumer", "classic", 45_000, *faults) == CONVERGED


def test_a_classic_member_that_never_leaves_is_still_caught_where_no_append_may_fail() -> None:
    assert flown("classic", "consumer", 6_000) == CONVERGED  # its session.timeout.ms is 45 s


@pytest.mark.parametrize(
    ("seed", "features"), [(408, ("consumer_protocol",)), (2058, ("consumer_protocol", "migrating_groups"))]
)
def test_seeds_in_which_kafka_itself_never_converges_hold(seed: int, features: tuple[str, ...]) -> None:
    """408: a JoinGroup that timed out, and its process killed. 2058: ids expire while a lost leave holds a share."""
    assert check(1, 60_000_000, first_seed=seed, features=features).held

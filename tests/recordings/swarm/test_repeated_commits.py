"""A commitSync that a rebalance refuses: who makes it good, and so whose committed lag V1 asks for."""

import msgspec
import pytest

from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.fetcher import Fetcher
from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.spec import (
    ApplicationSpec,
    BrokerSpec,
    CommitPolicy,
    ExpectationSpec,
    GroupSpec,
    KeysSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
)
from recordings.swarm.convergence import converged
from recordings.swarm.core import Core
from recordings.swarm.core_liveness import judged
from recordings.swarm.seeds import CONVERGED, fly_once

EAGER, COOPERATIVE, BOTH = ("range",), ("cooperative-sticky",), ("cooperative-sticky", "range")
READ, COMMITTED = 'delivery.by_group["g"].unread == 0', 'groups["g"].lag == 0'
POSITIONS = {f'members["g-{number}"].lag == 0' for number in (1, 2, 3)}
STEPS = ((10_000_000, "stall g-2 for 7s"), (10_500_000, "restart g-3"))


def scenario(
    assignors: tuple[str, ...], commit: CommitPolicy = "after-each-poll", *, struck: bool = True
) -> ScenarioSpec:
    """A member stalls while another rejoins, and the last records come while the barrier waits for it."""
    parsed = [(at_us, parse(text)) for at_us, text in STEPS] if struck else []
    config: dict[str, Value] = {
        "auto.offset.reset": "earliest",
        "max.poll.interval.ms": 8_000,
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 500,
        "request.timeout.ms": 3_000,
    }
    return ScenarioSpec(
        title="refused",
        until_us=60_000_000,
        brokers=(BrokerSpec(1),),
        topics=(TopicSpec("read", partitions=3, replication=1),),
        producers=(
            ProducerSpec("p", ("read",), limit=300, rate_per_second=20.0, keys=KeysSpec("uniform", distinct=50)),
        ),
        groups=(
            GroupSpec(
                "g",
                ("read",),
                members=3,
                assignors=assignors,
                config=config,
                application=ApplicationSpec(commit=commit),
            ),
        ),
        steps=tuple(StepSpec(at_us, command, text_of(command)) for at_us, command in parsed),
    )


def found(spec: ScenarioSpec, asked: list[str]) -> str:
    """What of this does not hold at the end; "" when all does."""
    ends = tuple(ExpectationSpec(that=that, at_us=59_000_000) for that in asked)
    outcome = fly_once(msgspec.structs.replace(spec, expectations=ends))
    assert outcome.invariant in ("", CONVERGED), outcome.found
    return outcome.found


@pytest.mark.parametrize("assignors", [EAGER, BOTH])
def test_an_eager_member_reads_again_what_it_could_not_commit(assignors: tuple[str, ...]) -> None:
    spec = scenario(assignors)
    assert {READ, COMMITTED, *POSITIONS} <= {*converged(spec)}
    assert found(spec, converged(spec)) == ""


def test_a_cooperative_member_leaves_its_commit_to_its_next_records() -> None:
    """Seed 17250: three records were read while the barrier was open, and their commit was refused."""
    spec = scenario(COOPERATIVE)
    asked = converged(spec)
    assert {READ, *POSITIONS} <= {*asked}
    assert COMMITTED not in asked
    assert found(spec, asked) == ""
    assert found(spec, [COMMITTED]).startswith(COMMITTED)


def test_a_cooperative_member_commits_all_where_nothing_refuses_it() -> None:
    quiet = scenario(COOPERATIVE, struck=False)
    assert COMMITTED in converged(quiet)
    assert found(quiet, converged(quiet)) == ""


@pytest.mark.parametrize("commit", ["auto", "before-processing"])
def test_a_cooperative_member_with_another_policy_repeats_its_commit(commit: CommitPolicy) -> None:
    spec = scenario(COOPERATIVE, commit)
    assert COMMITTED in converged(spec)
    assert found(spec, converged(spec)) == ""


@pytest.mark.parametrize("assignors", [EAGER, COOPERATIVE])
def test_a_healed_core_asks_the_same(assignors: tuple[str, ...]) -> None:
    """What is broken outside the core makes the group rebalance, whatever befell it before."""
    claims = judged(scenario(assignors, struck=False), Core((1,), ("g-1",), ("p-1",))).claims
    said = {one for claim in claims if claim.kind == "group" for one in claim.said}
    assert 'members["g-1"].lag == 0' in said
    assert (COMMITTED in said) == (assignors == EAGER)


def test_an_eager_member_that_commits_nothing_after_a_rebalance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Consumer.commit_sync

    async def once_only(consumer: Consumer) -> bool:
        return consumer.generation > 1 or await commit(consumer)

    monkeypatch.setattr(Consumer, "commit_sync", once_only)
    assert COMMITTED in found(scenario(EAGER), converged(scenario(EAGER)))


def test_a_cooperative_member_that_reads_nothing_after_a_rebalance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Fetcher.send

    def until_rebalanced(fetcher: Fetcher) -> None:
        reader = fetcher._reader
        assert isinstance(reader, Consumer)
        if reader.generation <= 1:
            send(fetcher)

    monkeypatch.setattr(Fetcher, "send", until_rebalanced)
    said = found(scenario(COOPERATIVE), converged(scenario(COOPERATIVE)))
    assert READ in said
    assert any(position in said for position in POSITIONS)

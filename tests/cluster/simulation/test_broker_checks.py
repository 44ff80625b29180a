"""The R invariants over random flights of brokers, and each judge on a cluster that is broken on purpose."""

from collections.abc import Callable
from random import Random

import msgspec
import pytest
import trio

import cluster.broker.replica as replica_module
import cluster.controller.controller as controller_module
from cluster.broker.broker import Broker
from cluster.broker.replica import Replica
from cluster.config import Value
from cluster.controller import elections
from cluster.controller.controller import Controller
from cluster.controller.elections import Election
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.storage.leader_epochs import EpochEnd, LeaderEpochs, Truncation
from cluster.storage.partition_log import PartitionLog
from cluster.view import document
from tests.support.broker_flights import SECOND_US, cluster
from tests.support.checks_broker import judging
from tests.support.checks_log import LogCheck
from tests.support.expected_document import Truth, differences
from tests.support.independent_recorder import watching
from tests.support.random_flights import careless, may_lose, never_whole
from tests.support.slow_cases import mostly_slow, partly_campaign

PRODUCER_STOPS_S, HEALED_S, END_S = 75, 60, 130


def judged(scenario: ScenarioSpec, *, seed: int = 1, converges: bool = False) -> list[str]:
    """What does not hold in a flight, at every step and every second; the first second that finds something ends it."""
    found: list[str] = []
    with watching() as recorder, judging() as judge:
        simulation = Simulation(scenario, seed, sinks=[])

        async def main() -> None:
            async with simulation.running():
                truth, logs = Truth(simulation, recorder), LogCheck(simulation)
                for now_us in range(0, scenario.until_us + 1, SECOND_US):
                    await simulation.timeline.fly(now_us)
                    seen = document(simulation.view, simulation.timeline.now_us)
                    found.extend([*judge.wrong, *judge.disagreements(simulation)])
                    apart = logs.disagreements()  # after an unclean election what both had committed may differ
                    found.extend(words for words in apart if words.partition(":")[0] not in judge.lossy)
                    found.extend(differences(seen, truth.document()))
                    if found:
                        found.insert(0, f"at {now_us // SECOND_US} s")
                        return
                if converges:  # no member will read what was lost or deleted legally
                    lossless = not judge.lossy and not recorder.archive and not may_lose(scenario)
                    whole = await never_whole(simulation, recorder)
                    found.extend(words for words in whole if lossless or "missed" not in words)

        trio.run(main, clock=simulation.timeline)
    return found


# --- random flights ---------------------------------------------------------------------------------------------------


def random_brokers(seed: int) -> ScenarioSpec:
    """Fifty seconds of faults of brokers, elections, crashes and more, then everything is cleared."""
    draws = Random(f"brokers/{seed}")
    topic: dict[str, Value] = {"min.insync.replicas": draws.choice((1, 2))}
    if draws.random() < 0.5:
        topic["flush.messages"] = 1
    if draws.random() < 0.3:
        topic["unclean.leader.election.enable"] = True
    if draws.random() < 0.3:
        topic |= {"retention.ms": 10_000, "internal.segment.bytes": 20_000}
    brokers: dict[str, Value] = {
        "replica.lag.time.max.ms": draws.choice((5_000, 30_000)),
        "log.retention.check.interval.ms": 5_000,
        "controlled.shutdown.enable": draws.random() < 0.8,
    }
    names = [f"broker-{number}" for number in (1, 2, 3)]

    def lasting(text: str) -> str:
        return f"{text} for {draws.choice((300, 2_000, 9_500, 15_000))}ms" if draws.random() < 0.7 else text

    kinds: list[Callable[[], str]] = [
        lambda: lasting(f"crash {draws.choice(names)}"),
        lambda: lasting(f"kill {draws.choice(names)}"),
        lambda: lasting(f"pause {draws.choice(names)}"),
        lambda: lasting("cut {} {}".format(*draws.sample(names, 2))),
        lambda: lasting("cut {} -> {}".format(*draws.sample(names, 2))),
        lambda: f"restart {draws.choice(names)}",
        lambda: f"start {draws.choice(names)}",
        lambda: f"elect preferred orders-{draws.randrange(2)}",
        lambda: f"elect unclean orders-{draws.randrange(2)}",
        lambda: "fail over controller",
        lambda: "move coordinator of g",
        lambda: f"delete records orders-{draws.randrange(2)} before {draws.randrange(500)}",
        lambda: f"add partitions orders to {draws.randint(3, 5)}",
    ]
    steps = [(draws.randint(8_000, 55_000) / 1000, draws.choice(kinds)()) for _ in range(draws.randint(3, 12))]
    steps += [(HEALED_S - 1, "heal")]
    steps += [
        (HEALED_S + place / 10, f"{word} {name}") for place, word in ((0, "resume"), (5, "start")) for name in names
    ]
    steps += [(PRODUCER_STOPS_S, "stop p-1")]
    return cluster(
        *sorted(steps, key=lambda step: step[0]),
        until_s=END_S,
        partitions=2,
        topic=topic,
        brokers=brokers,
        producer={
            "batch.size": draws.choice((500, 16_384)),
            "delivery.timeout.ms": 20_000,
            "metadata.max.age.ms": 10_000,
        },
        consumer={"metadata.max.age.ms": 10_000},
    )


ONCE_WRONG = (31, 91, 118, 123, 124, 175, 195, 219, 245)
# stale fetches, logs that lost groups, records that came to a follower after their leader had lost them, and truth that
# forgot the deleted or never saw them


@pytest.mark.parametrize("seed", mostly_slow([*range(12), *ONCE_WRONG], quick=[0, *ONCE_WRONG[:2]]))
def test_every_invariant_holds_in_random_flights_of_brokers(seed: int) -> None:
    assert not judged(random_brokers(seed), seed=seed, converges=True)


@pytest.mark.parametrize("seed", mostly_slow([*range(6), 27, 28], quick=[27]))
def test_every_invariant_of_brokers_holds_whatever_producers_risk(seed: int) -> None:
    assert not judged(careless(random_brokers(seed), seed), seed=seed, converges=True)


@pytest.mark.parametrize("seed", partly_campaign(range(6, 27), 7))
def test_every_invariant_of_brokers_holds_whatever_producers_risk_in_many_flights(seed: int) -> None:
    assert not judged(careless(random_brokers(seed), seed), seed=seed, converges=True)


@pytest.mark.parametrize("seed", partly_campaign(range(12, 72), 10))
def test_every_invariant_holds_in_many_random_flights_of_brokers(seed: int) -> None:
    assert not judged(random_brokers(seed), seed=seed, converges=True)


# --- broken on purpose ------------------------------------------------------------------------------------------------

DEPOSED = [
    (10.0, "cut broker-1 broker-2"),
    (10.0, "cut broker-1 broker-3"),
    (12.0, "kill broker-1"),
    (29.0, "heal"),
    (30.0, "start broker-1"),
]


def caught(words: str, *steps: tuple[float, str], until_s: float = 50) -> bool:
    """Whether a judge says these words."""
    return any(words in said for said in judged(cluster(*steps, until_s=until_s, producer={"batch.size": 500})))


@pytest.mark.parametrize("steps", [[], DEPOSED, [(10.5, "crash broker-1 for 20s")]])
def test_nobody_complains_about_sound_brokers(steps: list[tuple[float, str]]) -> None:
    assert not judged(cluster(*steps, until_s=60, producer={"batch.size": 500}))


def test_two_leaders_in_one_epoch_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    follow = Replica._follow

    def usurps(replica: Replica, metadata: PartitionMetadata) -> None:
        if replica.partition == "orders-0" and metadata.leader_epoch and replica.host.id == 3:
            replica._lead(metadata)
        else:
            follow(replica, metadata)

    monkeypatch.setattr(Replica, "_follow", usurps)
    assert caught("R1 orders-0", (10, "kill broker-1"))


def test_an_election_without_a_new_epoch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(
        controller: Controller, name: str, metadata: PartitionMetadata, isr: tuple[int, ...], reason: str
    ) -> None:
        controller._elected(name, PartitionMetadata(2, metadata.leader_epoch, metadata.replicas, isr), reason)

    monkeypatch.setattr(Controller, "_elect", forgets)
    assert caught("R2 orders-0", (10, "kill broker-1"))


def test_a_fenced_broker_that_stays_in_sync_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller_module, "isr_without", lambda isr, _: tuple(isr))
    assert caught("R3 orders-0: fenced [3]", (10, "kill broker-3"))


def test_a_high_watermark_that_waits_for_nobody_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    set_isr = Replica.set_isr

    def counts_nobody(replica: Replica, isr: tuple[int, ...]) -> None:
        set_isr(replica, isr)
        replica._in_sync = ()

    monkeypatch.setattr(Replica, "set_isr", counts_nobody)
    assert caught("R4 orders-0: high watermark", until_s=10)


def test_a_leader_that_lacks_committed_records_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(
        kind: str, replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, available: object
    ) -> Election:
        if kind == "ONLINE" and leader == 1 and replicas == (1, 2, 3):
            return Election(3, (3,), clean=True)  # which has been away
        return elections.elect(kind, replicas, isr, leader, available)  # type: ignore[arg-type]

    monkeypatch.setattr(controller_module, "elect", careless)
    assert caught("R5 orders-0: broker-3 leads", (10, "kill broker-3"), (30, "kill broker-1"), (30.1, "start broker-3"))


def test_a_leader_that_shrinks_its_isr_before_the_controller_does_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(broker: Broker, replica: Replica, isr: tuple[int, ...], _: str) -> bool:
        replica.set_isr(isr)
        return replica.host.id != broker.id

    monkeypatch.setattr(Broker, "_alter_isr", hasty)
    cut = [(10.0, "cut broker-3 broker-1"), (10.0, "cut broker-3 broker-2")]
    assert caught("R6 orders-0", (5, "fail over controller"), *cut[:1], until_s=60)


def test_an_in_sync_replica_that_lacks_committed_records_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    append = PartitionLog.append

    def other_records(log: PartitionLog, batch: RecordBatch) -> None:
        append(log, batch)
        if log.partition == "orders-0" and log.appended_records > 100 and not log.producers.entries:  # a follower's
            log.batches.tail[-1] = msgspec.structs.replace(batch, first_serial=-7)

    monkeypatch.setattr(PartitionLog, "append", other_records)
    assert caught("R7 orders-0", until_s=20)


def test_truncating_committed_records_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_far(_: LeaderEpochs, __: EpochEnd, ___: int, high_watermark: int) -> Truncation:
        return Truncation(max(0, high_watermark - 10), complete=True)

    monkeypatch.setattr(replica_module, "follower_truncation", too_far)
    assert caught("R9 orders-0", (10, "kill broker-1"))


def test_a_log_start_above_the_high_watermark_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    advance = PartitionLog.advance_start
    monkeypatch.setattr(PartitionLog, "advance_start", lambda log, offset: advance(log, offset + 10_000))
    assert caught("L1 orders-0", (10, "delete records orders-0 before 20"), until_s=15)

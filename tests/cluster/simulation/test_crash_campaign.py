"""Read, process, write under random crashes: once with transactions, counted how often without.

Two hundred records go in; a group moves them to another topic while members, brokers, hosts, coordinators and the
controller die at random. What arrived is read from the logs of the output, by the identity of each input record; the
view must count the same. `pytest -m slow -s tests/cluster/simulation/test_crash_campaign.py` flies 60 seeds of each
kind (or CRASH_FLIGHTS, from the environment) and prints what it counted.
"""

import os
from collections import Counter
from collections.abc import Iterable
from functools import cache
from random import Random

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.simulation import Simulation
from cluster.spec import (
    ApplicationSpec,
    CommitPolicy,
    GroupSpec,
    KeysSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
)
from cluster.view import document
from tests.support.expected_document import Truth, differences
from tests.support.expected_transactions import log_facts
from tests.support.finished_records import Identity, identity_of
from tests.support.independent_recorder import IndependentRecorder, watching
from tests.support.random_flights import never_whole
from tests.support.scenario_builders import THREE_BROKERS
from tests.support.slow_cases import mostly_slow

MS, SECOND_US = 1_000, 1_000_000
RECORDS, END_S = 200, 75
FIRST_CRASH_MS, LAST_CRASH_MS = 1_500, 16_000
FLIGHTS = int(os.environ.get("CRASH_FLIGHTS", "60"))  # of each kind, in the slow campaign
QUICK = 4


class Counted(msgspec.Struct, frozen=True):
    """What a flight made of its input: how many records were acknowledged, arrived again, never arrived.

    `faults`: commands that were carried out; `aborted`: transactions; `wrong`: what did not hold at the end.
    """

    acknowledged: int
    duplicates: int
    losses: int
    faults: int
    aborted: int
    wrong: list[str]


def crashing(seed: int, commit: CommitPolicy) -> ScenarioSpec:
    """200 records in ten seconds; `g` moves them to `invoices` and dies on the way, `audit` reads what is committed."""
    draws = Random(f"crashes/{seed}")
    members = draws.randint(1, 3)
    config: dict[str, Value] = {
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_000,
        "max.poll.interval.ms": 20_000,  # who waits for a coordinator whose host is gone, waits five seconds longer
        "max.poll.records": draws.choice((3, 10, 500)),
        "request.timeout.ms": 5_000,
    }
    audit: dict[str, Value] = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    application = ApplicationSpec(per_record_us=draws.choice((2, 20, 50)) * MS, commit=commit, writes="invoices")
    return ScenarioSpec(
        title=f"random crashes {seed}",
        until_us=END_S * SECOND_US,
        brokers=THREE_BROKERS,
        config={
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.num.partitions": 1,
            "transaction.version": draws.choice((1, 2)),
            "group.initial.rebalance.delay.ms": 0,
        },
        network=NetworkSpec(latency_us=draws.choice((300, MS, 5 * MS)), jitter=0.2),
        topics=tuple(
            TopicSpec(name, partitions=draws.randint(1, 3), config={"min.insync.replicas": 2})
            for name in ("orders", "invoices")
        ),
        producers=(ProducerSpec("p", ("orders",), rate_per_second=20.0, limit=RECORDS, keys=KeysSpec("uniform")),),
        groups=(
            GroupSpec("g", ("orders",), members=members, config=config, application=application),
            GroupSpec("audit", ("invoices",), config=audit),
        ),
        steps=tuple(_crashes(draws, members)),
    )


def _crashes(draws: Random, members: int) -> list[StepSpec]:
    """Members, brokers' processes and their hosts, coordinators and the controller: one after the other, all return.

    One host at a time: what two lose together may have been acknowledged.
    """
    texts: list[tuple[int, str]] = []
    for _ in range(draws.randint(2, 6)):
        down_ms = draws.choice((300, 2_000, 8_000))
        word = draws.choice(("kill", "kill", "restart"))
        texts.append((_when(draws), f"{word} g-{draws.randint(1, members)} for {down_ms}ms"))
    at_ms = _when(draws)
    while at_ms < LAST_CRASH_MS:
        what = draws.choice(("kill broker-{}", "kill broker-{}", "crash broker-{}"))
        texts.append((at_ms, f"{what.format(draws.randint(1, 3))} for {draws.choice((1_000, 9_500))}ms"))
        at_ms += draws.choice((12_000, 20_000))
    moves = ("move coordinator of g", "fail over controller")
    texts += [(_when(draws), text) for text in moves if draws.random() < 0.3]
    made = [(at, parse(text)) for at, text in sorted(texts)]
    return [StepSpec(at * MS, command, text_of(command)) for at, command in made]


def _when(draws: Random) -> int:
    return draws.randint(FIRST_CRASH_MS, LAST_CRASH_MS)


@cache
def counted(seed: int, commit: CommitPolicy) -> Counted:
    """Fly it, and count what is in the output's logs when everything has healed."""
    scenario = crashing(seed, commit)
    with watching() as recorder:
        refused: list[e.Event] = []
        simulation = Simulation(
            scenario, seed, sinks=[lambda event: refused.append(event) if isinstance(event, e.CommandRefused) else None]
        )
        wrong: list[str] = []

        async def main() -> None:
            async with simulation.running():
                await simulation.timeline.fly(scenario.until_us)
                seen = document(simulation.view, simulation.timeline.now_us)
                wrong.extend(differences(seen, Truth(simulation, recorder).document()))
                wrong.extend(await never_whole(simulation, recorder))

        trio.run(main, clock=simulation.timeline)
    arrived = _arrived(recorder)
    sent = {
        (batch.producer, batch.partition, batch.first_serial + place)
        for name, keys in recorder.acked_batches.items()
        if name.startswith("orders-")
        for key in keys
        for batch in (recorder.sent_batches[key],)
        for place in range(batch.count)
    }
    again, missing = sum(arrived.values()) - len(arrived), len(sent - arrived.keys())
    seen = document(simulation.view, simulation.timeline.now_us)
    told, transactions = seen["delivery"]["by_group"]["audit"], seen["transactions"].values()
    finished = (
        told["delivered"] + told["delivered_unacknowledged"]
    )  # the writer of the first copy may never get its answer
    if (finished, told["duplicated"]) != (len(arrived), again):
        wrong.append(f"the view counts {told}, the logs hold {len(arrived)} records and {again} again")
    aborted = sum(one["aborted"] for one in transactions)
    return Counted(len(sent), again, missing, len(scenario.steps) - len(refused), aborted, wrong)


def _arrived(recorder: IndependentRecorder) -> Counter[Identity]:
    """How often the record made of each input is in the output, as readers of committed data get it."""
    found: Counter[Identity] = Counter()
    for name, leader in recorder.leaders.items():
        if name.startswith("invoices-"):
            log = leader.log
            facts = log_facts(log.batches, leader.high_watermark, log.log_start)
            for batch in log.batches:
                if batch.next_offset <= facts.last_stable_offset and facts.is_for(batch, read_committed=True):
                    found.update(identity_of(batch, offset) for offset in range(batch.base_offset, batch.next_offset))
    return found


@pytest.mark.parametrize("seed", mostly_slow(range(QUICK), quick=(0, 2)))
def test_with_transactions_each_record_arrives_once_whoever_crashes(seed: int) -> None:
    flight = counted(seed, "transaction")
    assert (flight.acknowledged, flight.duplicates, flight.losses, flight.wrong) == (RECORDS, 0, 0, [])
    assert flight.faults > 0


@pytest.mark.parametrize("seed", mostly_slow(range(QUICK), quick=(0, 2)))
def test_without_transactions_no_record_is_missing_whoever_crashes(seed: int) -> None:
    flight = counted(seed, "after-each-poll")
    assert (flight.acknowledged, flight.losses, flight.wrong) == (RECORDS, 0, [])


@pytest.mark.parametrize("seeds", mostly_slow([(0, 2), range(QUICK)], quick=[(0, 2)]))
def test_without_transactions_crashes_do_make_duplicates(seeds: Iterable[int]) -> None:
    """Else the flights above would show nothing."""
    assert sum(counted(seed, "after-each-poll").duplicates for seed in seeds) > 0


@pytest.mark.slow
@pytest.mark.timeout(600)  # about 60 s on a core of its own
def test_the_campaign_counts_no_duplicate_with_transactions_and_tells_how_many_without() -> None:
    found: dict[CommitPolicy, list[Counted]] = {
        commit: [counted(seed, commit) for seed in range(FLIGHTS)] for commit in ("transaction", "after-each-poll")
    }
    for commit, flights in found.items():
        duplicates = sorted(flight.duplicates for flight in flights)
        print(  # noqa: T201 - the count that was asked for
            f"\n{commit}: {len(flights)} flights, {sum(one.faults for one in flights):,} faults, "
            f"{sum(one.aborted for one in flights)} aborted transactions, "
            f"{sum(one.acknowledged for one in flights):,} records in, {sum(one.losses for one in flights)} lost, "
            f"{sum(duplicates):,} duplicated (in {sum(one > 0 for one in duplicates)} flights, "
            f"median {duplicates[len(duplicates) // 2]}, at most {duplicates[-1]})"
        )
        wrong = {seed: one for seed, one in enumerate(flights) if one.wrong or one.losses}
        assert not wrong
    assert not [seed for seed, one in enumerate(found["transaction"]) if one.duplicates]
    assert sum(one.aborted for one in found["transaction"]) > 0
    assert sum(one.duplicates for one in found["after-each-poll"]) > 0

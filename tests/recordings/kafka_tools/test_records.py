"""`describe records`: every batch, against the log that the leader's process holds in the simulation."""

from typing import cast

import pytest
import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view.state import NEVER
from recordings.kafka_tools.leader_logs import LeaderLogs
from recordings.scenarios.loader import load
from tests.support.compacted_flights import FAULTS, all_compacted, compacted, in_transactions
from tests.support.random_delivery_flights import fateful
from tests.support.truncation_scenarios import buffered, deposed
from tests.support.unpacked_logs import batches_of

SECOND_US = 1_000_000
Row = tuple[object, ...]


def in_the_log(simulation: Simulation, partition: str) -> list[Row]:
    """The batches of the log of the broker that took the partition over last, as its process has them."""
    replica = simulation.brokers[simulation.view.partitions[partition].taken_by].replicas[partition]
    rows: list[Row] = []
    for one in batches_of(replica.log):
        if one.next_offset <= replica.log.log_start:
            continue
        kept = range(one.count) if one.remains is None else one.remains.kept
        offsets = tuple(one.base_offset + place for place in kept)
        size = one.bytes if one.remains is None else None
        identity = one.base_offset, one.count, one.producer_id, one.epoch, one.base_sequence, one.leader_epoch, one.keys
        if offsets:
            rows.append(
                (
                    *identity,
                    one.created_us,
                    one.producer,
                    one.first_serial,
                    one.transactional,
                    one.marker,
                    offsets,
                    size,
                )
            )
    return rows


def as_read(logs: LeaderLogs, partition: str) -> list[Row]:
    """The same, as events tell it; a batch that a cleaner went over has no size."""
    rows: list[Row] = []
    for one in logs.logs[partition].left():
        batch = one.appended
        identity = batch.base_offset, batch.count, batch.producer_id, batch.epoch, batch.base_sequence
        writer = batch.producer, batch.first_serial, batch.transactional, batch.marker
        size = None if one.cleaned else batch.bytes
        rows.append((*identity, batch.leader_epoch, batch.keys, batch.created_us, *writer, one.offsets, size))
    return rows


def lacking(truth: list[Row], told: list[Row]) -> list[Row]:
    """The batches with records that the reader does not have; it may have more of them."""
    known = {row[:-2]: set(cast("tuple[int, ...]", row[-2])) for row in told}
    return [row for row in truth if not known.get(row[:-2], set()) >= set(cast("tuple[int, ...]", row[-2]))]


def differences(spec: ScenarioSpec, *, every_s: int = 5, spoilt: bool = False, copied: bool = False) -> list[str]:
    """Fly, and compare every partition's log at many instants; with `spoilt`, truncations stay unread.

    `copied`: replicas copy what their leader's cleaner has left, which no event tells; so the reader may have more.
    """
    names = {f"{topic.name}-{number}" for topic in spec.topics for number in range(64)}
    logs, wrong = LeaderLogs(names), list[str]()

    def read(event: e.Event) -> None:
        if not (spoilt and isinstance(event, e.LeadershipTaken | e.LogTruncated)):
            logs(event)

    simulation = Simulation(spec, spec.seed, sinks=[read])

    async def main() -> None:
        async with simulation.running():
            for now_us in range(0, spec.until_us + 1, every_s * SECOND_US):
                await simulation.timeline.fly(now_us)
                for name, one in simulation.view.partitions.items():
                    if name in names and one.taken_by != NEVER:
                        truth, told = in_the_log(simulation, name), as_read(logs, name)
                        if copied:
                            wrong.extend(f"{now_us // SECOND_US} s {name}: {row}" for row in lacking(truth, told))
                            continue
                        # a cleaner may leave a batch as it was; of such a one the size is unknown, and not wrong
                        sizes = [row[-1] for row in told]
                        truth = [row if size else (*row[:-1], None) for row, size in zip(truth, sizes, strict=False)]
                        first = next((pair for pair in zip(truth, told, strict=False) if pair[0] != pair[1]), None)
                        if first or len(truth) != len(told):
                            wrong.append(f"{now_us // SECOND_US} s {name}: {len(truth)}, {len(told)}: {first}")

    trio.run(main, clock=simulation.timeline)
    return wrong


FLIGHTS = {
    "buffered": buffered(),
    "deposed": deposed(),
    "compacted": compacted(*FAULTS[0], until_s=70),
    "random": fateful(11),
}


@pytest.mark.parametrize("name", FLIGHTS)
def test_every_batch_is_that_of_the_leaders_log(name: str) -> None:
    assert not differences(FLIGHTS[name])


def test_of_the_library() -> None:
    assert not differences(load("unclean-election").spec, every_s=20)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(60))
def test_of_random_flights(seed: int) -> None:
    spec, compacts = fateful(seed), seed % 4 == 0
    assert not differences(all_compacted(spec, seed) if compacts else spec, copied=compacts)


@pytest.mark.campaign
@pytest.mark.parametrize("faults", range(len(FAULTS)))
def test_of_compacted_logs(faults: int) -> None:
    copied = faults in (1, 2)  # a replica comes back behind its leader's cleaner
    assert not differences(compacted(*FAULTS[faults]), copied=copied)
    assert not differences(in_transactions(*FAULTS[faults]), copied=copied)


def test_a_truncation_that_is_not_read_is_caught() -> None:
    assert differences(deposed(), spoilt=True)

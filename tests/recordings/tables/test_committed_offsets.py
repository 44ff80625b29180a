"""Committed offsets that go back, recounted from the raw events by code that shares nothing with the fold."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.protocol.names import ADMIN_CLIENT
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.fold import fold
from console.cli.output import of_recording
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from recordings.swarm.generator import draw
from recordings.tables.committed_offsets import CommittedOffsetRow, committed_offset_rows
from recordings.tables.summary import summarize
from tests.support.library import LIBRARY
from tests.support.slow_cases import mostly_slow, partly_campaign
from tests.support.truncation_scenarios import buffered, deposed

SECOND_US = 1_000_000
QUICK = ("committed-offset-moves-back", "unclean-election", "coordinator-failover", "offset-reset", "poison-pill")
SEEDS = {36: {"late"}, 40: {"truncated"}, 110: {"earliest"}, 303: {"seek"}}
"""Random flights with steps back, and their causes."""
LESSON = "committed-offset-moves-back"


class Step(NamedTuple):
    at_us: int
    group: str
    partition: str
    before: int
    after: int | None
    member: str
    generation: int


def flown(spec: ScenarioSpec, seconds: int | None = None) -> list[e.Event]:
    emitted: list[e.Event] = []
    simulation = Simulation(spec, spec.seed, sinks=[emitted.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(spec.until_us if seconds is None else seconds * SECOND_US)

    trio.run(main, clock=simulation.timeline)
    return emitted


def recounted(events: list[e.Event]) -> list[Step]:
    """Every commit below the last one, and every loaded group that lacks a commit."""
    last: dict[tuple[str, str], int] = {}
    steps = []
    for event in events:
        match event:
            case e.OffsetsCommitted():
                for name, offset in event.offsets.items():
                    before = last.get((event.group, name), -1)
                    if before > offset:
                        steps.append(
                            Step(event.at_us, event.group, name, before, offset, event.member, event.generation)
                        )
                    last[event.group, name] = offset
            case e.GroupLoaded():
                for key in [key for key in last if key[0] == event.group]:
                    before, now = last.pop(key), event.offsets.get(key[1])
                    if now is None or now < before:
                        steps.append(Step(event.at_us, event.group, key[1], before, now, "", -1))
                last |= {(event.group, name): offset for name, offset in event.offsets.items()}
            case e.OffsetsExpired() | e.OffsetsDeleted():
                for name in event.partitions:
                    last.pop((event.group, name), None)
            case e.GroupDeleted():
                last = {key: offset for key, offset in last.items() if key[0] != event.group}
            case _:
                pass
    return steps


def read_again(events: list[e.Event], step: Step) -> int:
    """Offsets from `after` up to `before` that the group finished until a commit reached `before`, or fell again."""
    count, begun = 0, False
    for event in events:
        mine = getattr(event, "group", "") == step.group
        if isinstance(event, e.OffsetsCommitted) and mine and step.partition in event.offsets:
            if begun:
                if event.offsets[step.partition] >= step.before:
                    break
            elif event.at_us == step.at_us and event.offsets[step.partition] == step.after:
                begun = True
        elif begun and isinstance(event, e.RecordsProcessed) and mine and event.partition == step.partition:
            after = -1 if step.after is None else step.after
            count += len([at for at in range(event.first_offset, event.next_offset) if after <= at < step.before])
    return count


def folded(events: list[e.Event]) -> ClusterView:
    view = ClusterView()
    for event in events:
        fold(view, event)
    return view


def same(rows: list[CommittedOffsetRow], steps: list[Step]) -> None:
    found = [
        Step(round(row.at_s * SECOND_US), row.group, row.partition, row.before, row.after, row.member, row.generation)
        for row in rows
    ]
    assert sorted(found) == sorted(steps)


@pytest.mark.parametrize("name", mostly_slow(QUICK, quick=list(QUICK)[::2]))
def test_of_the_library(name: str) -> None:
    events = flown(load(name).spec)
    same(committed_offset_rows(folded(events)), recounted(events))


@pytest.mark.parametrize("name", partly_campaign([name for name in LIBRARY if not name.startswith("reference")], 30))
def test_of_the_whole_library(name: str) -> None:
    events = flown(load(name).spec)
    same(committed_offset_rows(folded(events)), recounted(events))


@pytest.mark.parametrize("seed", mostly_slow(SEEDS, quick=list(SEEDS)[::2]))
def test_of_the_swarm(seed: int) -> None:
    events = flown(draw(seed, 60 * SECOND_US).spec)
    rows, steps = committed_offset_rows(folded(events)), recounted(events)
    same(rows, steps)
    assert {row.cause for row in rows} == SEEDS[seed]
    for row, step in zip(rows, steps, strict=True):
        assert row.read_again == (0 if row.cause == "truncated" else read_again(events, step))


def test_the_seeds_cover_what_moves_a_committed_offset_back() -> None:
    """`test_of_the_swarm` holds that each seed still has its cause."""
    assert set().union(*SEEDS.values()) >= {"seek", "late", "truncated", "earliest"}


@pytest.mark.parametrize("spec", [deposed(), buffered()], ids=["deposed", "buffered"])
def test_of_a_truncated_log(spec: ScenarioSpec) -> None:
    events = flown(spec)
    rows = committed_offset_rows(folded(events))
    same(rows, recounted(events))
    assert all(row.cause in {"truncated", "earliest"} and not row.read_again for row in rows)
    assert len(rows) == (1 if spec.title == "deposed" else 0)


def test_the_lesson_names_the_seek_its_member_and_what_was_read_again() -> None:
    events = flown(load(LESSON).spec)
    (step,) = recounted(events)
    view = folded(events)
    (row,) = committed_offset_rows(view)
    assert (row.partition, row.member, row.cause) == ("orders-1", "billing-2", "seek")
    assert row.read_again == read_again(events, step) > 0
    told = [entry.text for entry in view.log_entries if entry.kind == "offset"]
    moved = f"went back {step.before} → {step.after} by billing-2 of generation 1: after a seek"
    assert told == [f"billing: committed offset of orders-1 {moved}"]
    sought = [entry.text for entry in view.log_entries if entry.event == "positions_reset"]
    assert sought == ["billing-2 seeks orders-1 to 5"]


def test_a_step_ends_when_a_commit_is_as_high_again() -> None:
    events = flown(load(LESSON).spec)
    reader = folded(events).groups["billing"].readers["orders-1"]
    assert reader.step_back is None
    assert reader.committed >= recounted(events)[0].before


def commit(offsets: dict[str, int], at_us: int, member: str = "g-1") -> e.OffsetsCommitted:
    return e.OffsetsCommitted(
        at_us=at_us, group="g", member=member, generation=3, offsets=offsets, session_deadline_us=-1
    )


def test_one_commit_of_many_partitions_is_one_line_and_a_lost_one_is_gone() -> None:
    names = [f"t-{number}" for number in range(3)]
    events: list[e.Event] = [
        e.TopicCreated(topic="t", partitions=3, replication_factor=1, min_insync_replicas=1, internal=False),
        e.GroupDeclared(
            group="g", topics=("t",), assignors=("range",), offset_reset="earliest", read_committed=False,
            coordinator_partition="__consumer_offsets-0",
        ),
        commit(dict.fromkeys(names, 9), 1),
        commit(dict.fromkeys(names, 4), 2),
        commit(dict.fromkeys(names, 9), 3, member=""),
        e.GroupLoaded(
            at_us=4, group="g", broker=2, state="Empty", generation=3, protocol="", leader="", members={},
            assignment={}, session_deadlines_us={}, offsets={"t-0": 9, "t-1": 5},
        ),
        commit({"t-1": 2}, 5, member=""),
        msgspec.structs.replace(commit({"t-1": 1}, 6), generation=-1),
        msgspec.structs.replace(commit({"t-1": 0}, 7, member=ADMIN_CLIENT), generation=-1),
    ]  # fmt: skip
    view = folded(events)
    late = "an older commit that was served late"
    assert [entry.text for entry in view.log_entries if entry.kind == "offset"] == [
        f"g: committed offset of t-0 went back 9 → 4 and 2 more by g-1 of generation 3: {late}",
        "g: committed offset of t-1 went back 9 → 5 and 1 more: as its coordinator loaded the group",
        f"g: committed offset of t-1 went back 5 → 2 by a transaction: {late}",
        "g: committed offset of t-1 went back 2 → 1 by g-1 of generation -1: at its own position, as it calls assign()",
        "g: committed offset of t-1 went back 1 → 0 by an administrator: its offsets were reset",
    ]
    rows = committed_offset_rows(view)
    same(rows, recounted(events))
    assert [(row.partition, row.after) for row in rows if row.cause == "loaded"] == [("t-1", 5), ("t-2", None)]


def test_the_summary_prints_them(tmp_path: Path) -> None:
    path = tmp_path / "back.flight"
    fly(make_plan(load(LESSON), until_us=45 * SECOND_US), record=path)
    found = summarize(path)
    (row,) = found.committed_offsets
    assert row.partition == "orders-1"
    shown = of_recording(found)
    assert "committed offsets that went back" in shown
    assert f"{row.before:,}" in shown

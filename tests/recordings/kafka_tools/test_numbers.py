"""Every number that `describe` prints, against a reader of the journal's lines that shares no code with it."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from recordings.kafka_tools.leader_logs import LeaderLogs
from recordings.kafka_tools.look import LookedAtFlight, configs_of, look
from recordings.kafka_tools.tool_lines import read_tool_line
from recordings.scenarios.loader import load
from tests.support.kafka_tools_recorded import flown
from tests.support.library import LIBRARY
from tests.support.raw_described import RawDescribed
from tests.support.truncation_scenarios import buffered, deposed

SECOND_US = 1_000_000
LOOKS = 12
QUICK = ("hanging-transaction", "unclean-election", "consumer-coordinator-failover")
SLOW = ("add-partitions", "coordinator-failover", "static-restart")
Row = tuple[str, ...]


class Described:
    """A flight's text at an instant, cut into rows."""

    def __init__(self, view: ClusterView, now_us: int, logs: LeaderLogs, spec: ScenarioSpec) -> None:
        self._flight = LookedAtFlight(view, now_us, configs_of(spec, view), logs.logs.__getitem__)

    def text(self, line: str) -> str:
        return look(self._flight, read_tool_line(line)).out

    def rows(self, line: str) -> list[Row]:
        """The rows of a table with one blank or more between its cells, without its titles."""
        return [tuple(row.split()) for row in self.text(line).splitlines() if row.strip()][1:]

    def tabbed(self, line: str) -> list[Row]:
        """The rows of a table with a tab behind each cell, without its titles."""
        return [tuple(cell.strip() for cell in row.split("\t")[:-1]) for row in self.text(line).splitlines()][1:]


def instants(spec: ScenarioSpec, looks: int = LOOKS) -> Iterator[tuple[RawDescribed, Described]]:
    """Both readers after the same events, at instants that are spread over the flight."""
    emitted = flown(spec)
    raw, view = RawDescribed(), ClusterView()
    logs = LeaderLogs({f"{topic.name}-{number}" for topic in spec.topics for number in range(64)})
    step = max(1, len(emitted) // looks)
    ends = [number for number, (one, after) in enumerate(pairwise(emitted), 1) if one.at_us < after.at_us]
    ends = [*[end for end, after in pairwise(ends) if end // step < after // step], len(emitted)]
    for first, end in pairwise([0, *ends]):
        some = emitted[first:end]
        lines: list[dict[str, Any]] = [msgspec.to_builtins(event) for event in some]
        raw.read(lines)
        for event in some:
            fold(view, event)
            logs(event)
        yield raw, Described(view, some[-1].at_us, logs, spec)


def compare(spec: ScenarioSpec) -> int:
    """Compare each table at each instant; returns how many rows were compared."""
    rows = 0
    for raw, described in instants(spec):
        rows += compare_buffers(raw, described)
        rows += compare_groups(raw, described) + compare_topics(raw, described) + compare_producers(raw, described)
        told = {row[0]: row[2:] for row in described.tabbed("kafka-transactions.sh list")}
        known = {name: one for name, one in raw.transactions.items() if name in told}
        assert told == {name: (str(one["producer_id"]), one["state"]) for name, one in known.items()}
        for name, one in known.items():
            (row,) = described.tabbed(f"kafka-transactions.sh describe --transactional-id {name}")
            places = ",".join(one["partitions"])
            assert (row[2], row[3], row[4], row[5], row[8]) == (
                str(one["producer_id"]), str(one["epoch"]), one["state"], str(one["timeout_ms"]), places
            )  # fmt: skip
    return rows


def compare_groups(raw: RawDescribed, described: Described) -> int:
    rows = 0
    told = {row[0]: row[-1] for row in described.rows("kafka-consumer-groups.sh --list --state")}
    for name, group in raw.groups.items():
        if name not in told:
            assert group.state in {"", "Dead"}
            assert not group.members
            assert not group.committed
            continue
        assert told[name] == group.state
        printed = described.rows(f"kafka-consumer-groups.sh --describe --group {name}")
        if "offline" in described.text(f"kafka-consumer-groups.sh --describe --group {name}"):
            continue
        assert {row[1:7] + row[8:] for row in printed} == raw.offsets(name)
        assert len(printed) == len(raw.offsets(name))
        members = described.rows(f"kafka-consumer-groups.sh --describe --group {name} --members")
        assert {(row[1], int(row[-1])) for row in members} == {
            (member_id, len(group.assigned.get(member_id, ()))) for member_id in group.members
        }
        rows += len(printed) + len(members)
    return rows


def compare_buffers(raw: RawDescribed, described: Described) -> int:
    printed = described.rows("kafka-consumer-groups.sh --describe --all-groups --buffered")
    told = {(row[10], f"{row[1]}-{row[2]}"): row[3:9] for row in printed}
    held = {key: tuple(map(int, row[1:])) for key, row in told.items() if row[1] != "-"}
    assert held == raw.held
    positions = {key: row[0] for key, row in told.items()}
    assert all(positions[key] == str(raw.at[key]) for key in raw.held)
    for group, topic, number, *_, paused, member, awaits in printed:
        assert awaits == raw.awaited(member, f"{topic}-{number}", group, paused=paused == "true")
    return len(held)


def compare_topics(raw: RawDescribed, described: Described) -> int:
    text = described.text("kafka-topics.sh --describe")
    partitions = [dict(cell.split(": ") for cell in row[1:].split("\t")) for row in text.splitlines() if row[0] == "\t"]
    for one in partitions:
        log = raw.logs[f"{one['Topic']}-{one['Partition']}"]
        assert one["Leader"] == ("none" if log.leader < 0 else str(log.leader))
        assert [one["Replicas"], one["Isr"]] == [",".join(map(str, ids)) for ids in (log.replicas, log.isr)]
    assert len(partitions) == sum(raw.topics.values())
    return len(partitions)


def compare_producers(raw: RawDescribed, described: Described) -> int:
    rows = 0
    for name, log in raw.logs.items():
        topic, _, number = name.rpartition("-")
        if topic.startswith("__"):
            continue
        line = f"kafka-transactions.sh describe-producers --topic {topic} --partition {number}"
        told = {int(row[0]): (row[1], row[3], row[4], row[5]) for row in described.tabbed(line)}
        assert told == {
            producer_id: (str(epoch), str(sequence), str(last_ms), "None" if start < 0 else str(start))
            for producer_id, (epoch, sequence, last_ms, start) in log.producers().items()
        }
        rows += len(told)
    return rows


@pytest.mark.parametrize("name", QUICK)
def test_of_the_library(name: str) -> None:
    assert compare(load(name).spec) > 50


@pytest.mark.parametrize("spec", [buffered(), deposed()], ids=["buffered", "deposed"])
def test_of_truncated_logs(spec: ScenarioSpec) -> None:
    assert compare(spec) > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_of_longer_flights(name: str) -> None:
    assert compare(load(name).spec) > 50


@pytest.mark.campaign
@pytest.mark.parametrize("name", [name for name in LIBRARY if name not in {*QUICK, *SLOW} and "reference" not in name])
def test_of_the_whole_library(name: str) -> None:
    compare(load(name).spec)


def test_a_wrong_number_is_caught() -> None:
    raw, described = list(instants(load("unclean-election").spec))[-1]
    group = next(iter(raw.groups.values()))
    place = next(iter(group.committed))
    group.committed[place] += 1
    with pytest.raises(AssertionError):
        compare_groups(raw, described)


def _held(name: str, seen: Callable[[RawDescribed], None] = lambda _: None) -> int:
    """How many rows of buffers are right in a flight; `seen` may spoil what was read."""
    rows = 0
    for raw, described in instants(load(name).spec, 200):
        seen(raw)
        rows += compare_buffers(raw, described)
    return rows


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("hanging-transaction", {"records", "transaction", "fetch"}),
        ("paused-by-hand", {"records", "resume()", "fetch"}),
        ("fetcher-buffer", {"poll()", "records"}),
        ("unclean-election", {"records", "leader", "broker"}),
    ],
)
def test_what_the_next_records_wait_for(scenario: str, words: set[str]) -> None:
    line, found = "kafka-consumer-groups.sh --describe --all-groups --buffered", set[str]()
    for raw, described in instants(load(scenario).spec, 60):
        compare_buffers(raw, described)
        found |= {row[11] for row in described.rows(line)}
    assert words <= found


@pytest.mark.slow
def test_buffers_are_those_that_fetches_and_polls_leave() -> None:
    assert _held("fetcher-buffer") > 5
    assert _held("assigned-by-hand") > 0


def test_a_buffer_that_is_told_wrong_is_caught() -> None:
    def spoil(raw: RawDescribed) -> None:
        raw.held = {key: (held[0] + 1, *held[1:]) for key, held in raw.held.items()}

    with pytest.raises(AssertionError):
        _held("fetcher-buffer", spoil)


def test_a_wait_that_is_told_wrong_is_caught() -> None:
    def spoil(raw: RawDescribed) -> None:
        raw.answering = dict.fromkeys(raw.answering, False)

    with pytest.raises(AssertionError):
        _held("fetcher-buffer", spoil)

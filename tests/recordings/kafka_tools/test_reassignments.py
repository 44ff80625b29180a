"""What `kafka-reassign-partitions.sh` prints of a flight, against the raw lines of its journal."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cluster.commands import CommandError
from cluster.view import ClusterView, fold
from recordings.kafka_tools import reassignments
from recordings.kafka_tools.leader_logs import LeaderLogs
from recordings.kafka_tools.look import LookedAtFlight, configs_of, look
from recordings.kafka_tools.orders import orders_of
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.refusals import refusal_of
from recordings.kafka_tools.tool_lines import read_tool_line
from tests.support.kafka_tools_recorded import flown
from tests.support.reassignment_scenario import waiting

TOOL = "kafka-reassign-partitions.sh --bootstrap-server kafka:9092"
WANTED = {"orders-0": [4, 2], "orders-1": [3, 2, 1], "orders-2": [4, 1], "orders-3": [2, 3]}
Line = dict[str, Any]
Instant = tuple[ClusterView, dict[str, Line]]


def instants() -> Iterator[Instant]:
    """After each reassignment event: the view, and of each partition what the lines say of its replicas."""
    view, partitions = ClusterView(), dict[str, Line]()
    for event in flown(waiting()):
        fold(view, event)
        line = msgspec.to_builtins(event)
        if line["kind"] == "leader_elected":
            partitions.setdefault(line["partition"], {"adding": [], "removing": []})["replicas"] = line["replicas"]
        elif line["kind"] == "partition_reassigned":
            partitions[line["partition"]] = line
            yield view, partitions


def of_json(replicas: dict[str, list[int]]) -> str:
    named = []
    for name, brokers in replicas.items():
        topic, _, number = name.rpartition("-")
        named.append({"topic": topic, "partition": int(number), "replicas": brokers})
    return f"--reassignment-json-file '{json.dumps({'version': 1, 'partitions': named})}'"


def printed(view: ClusterView, line: str) -> str:
    flight = LookedAtFlight(view, view.at_us, configs_of(waiting(), view), LeaderLogs(set()).logs.__getitem__)
    return look(flight, read_tool_line(line)).out


def refused(view: ClusterView, line: str) -> Printed | None:
    return refusal_of(view, read_tool_line(line))


def ids(brokers: list[int]) -> str:
    return ",".join(map(str, brokers))


def under_way(partitions: dict[str, Line]) -> list[str]:
    return [name for name in sorted(partitions) if partitions[name]["adding"] or partitions[name]["removing"]]


def false_lists() -> list[str]:
    """Instants at which --list, or the columns of kafka-topics.sh, say other than the lines."""
    found = []
    for view, partitions in instants():
        rows = []
        for name in under_way(partitions):
            one = partitions[name]
            added = f" adding: {ids(one['adding'])}." if one["adding"] else ""
            removed = f" removing: {ids(one['removing'])}." if one["removing"] else ""
            rows.append(f"{name}: replicas: {ids(one['replicas'])}.{added}{removed}")
        head = "Current partition reassignments:" if rows else "No partition reassignments found."
        found += [head] if printed(view, f"{TOOL} --list").splitlines() != [head, *rows] else []
        for row in printed(view, "kafka-topics.sh --describe --topic orders").splitlines()[1:]:
            cells = dict(cell.split(": ", 1) for cell in row.strip().split("\t"))
            one = partitions[f"orders-{cells['Partition']}"]
            shown = cells["Replicas"], cells.get("Adding Replicas"), cells.get("Removing Replicas")
            moves = one["adding"] or one["removing"]
            true = ids(one["replicas"]), *((ids(one[kind]) if moves else None) for kind in ("adding", "removing"))
            found += [row] if shown != true else []
    return found


def test_the_list_and_the_description_are_what_the_lines_say() -> None:
    assert any(under_way(partitions) for _, partitions in instants())
    assert false_lists() == []


def test_a_list_without_those_under_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reassignments, "_active", lambda view: {})
    assert false_lists()


def test_verify_tells_of_each_partition_whether_it_has_arrived() -> None:
    seen = set()
    for view, partitions in instants():
        said = printed(view, f"{TOOL} --verify {of_json(WANTED)}").splitlines()
        assert said[0] == "Status of partition reassignment:"
        for name, words in zip(sorted(WANTED), said[1:], strict=False):
            now = list(partitions[name]["replicas"])
            if name in under_way(partitions):
                true = f"Reassignment of partition {name} is still in progress."
            elif now == WANTED[name]:
                true = f"Reassignment of partition {name} is completed."
            else:
                true = f"There is no active reassignment of partition {name}, but replica set is {ids(now)} rather than"
                true += f" {ids(WANTED[name])}."
            assert words == true
            seen.add(words.replace(name, "")[:40])
        throttles = [words for words in said if "Clearing" in words]
        assert len(throttles) == (0 if under_way(partitions) else 2)
    assert len(seen) >= 3


def test_what_the_tool_refuses_it_refuses_here() -> None:
    for view, partitions in instants():
        active = under_way(partitions)
        more = refused(view, f"{TOOL} --execute {of_json({'orders-0': [1, 2]})}")
        assert (more is not None and "there is an existing partition assignment" in more.out) == bool(active)
        assert refused(view, f"{TOOL} --execute --additional {of_json({'orders-0': [1, 2]})}") is None
        for name in WANTED:
            cancelled = refused(view, f"{TOOL} --cancel {of_json({name: []})}")
            assert (cancelled is None) == (name in active)
        wrong = {"orders-0": [1, 9]}, {"orders-9": [1, 2]}, {"returns-0": [1, 2]}
        said = [refused(view, f"{TOOL} --execute --additional {of_json(one)}") for one in wrong]
        words = ("Unknown broker id 9", "Unable to find partition: orders-9", "Topic returns not found.")
        assert all(one is not None and word in one.out for one, word in zip(said, words, strict=True))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (f"--execute --throttle 5 {of_json(WANTED)}", "--throttle is not understood here: replication has no quotas"),
        (f"--execute {of_json({'orders-0': []})}", "Partition replica list cannot be empty"),
        (f"--execute {of_json({'orders-0': [1, 1]})}", "orders-0 contains multiple entries for 1"),
        (f"--execute {of_json({})}", "Partition reassignment list cannot be empty"),
    ],
)
def test_wrong_options_are_named_in_the_tools_words(options: str, said: str) -> None:
    with pytest.raises(CommandError, match=re.escape(said)):
        orders_of(read_tool_line(f"{TOOL} {options}"))

"""`flightdeck impact` refuses a setting that the cluster would refuse at that instant."""

from pathlib import Path

import pytest

from tests.support.console.command_processes import Flightdeck

SCENARIO = """
title = "one group"
until = "20s"
[cluster]
brokers = 1
[[topic]]
name = "orders"
partitions = 2
replication = 1
[[group]]
name = "billing"
topics = ["orders"]
members = 1
[[at]]
time = "10s"
do = "set billing group.protocol consumer"
"""


@pytest.mark.parametrize(
    ("setting", "at", "reason"),
    [
        ("orders group.protocol consumer", "5s", "group.protocol is a consumer key, not a topic key"),
        ("billing session.timeout.ms abc", "5s", "session.timeout.ms is a whole number of ms"),
        ("billing nope 3", "5s", "unknown consumer configuration key nope"),
        ("billing group.remote.assignor range", "5s", "cannot be set when group.protocol=CLASSIC"),
        ("billing group.remote.assignor range", "15s", ""),
        ("billing session.timeout.ms 20000", "5s", ""),
        ("billing session.timeout.ms 20000", "15s", "cannot be set when group.protocol=CONSUMER"),
    ],
)
def test_a_setting_that_the_cluster_refuses_has_no_impact(
    flightdeck: Flightdeck, tmp_path: Path, setting: str, at: str, reason: str
) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, "utf-8")
    ended = flightdeck("impact", str(tmp_path / "one.toml"), f"set {setting}", "--at", at)
    assert ended.code == (2 if reason else 0), ended.err
    assert reason in ended.err
    assert not reason or not ended.out


def test_the_first_assignment_is_no_rebalance(flightdeck: Flightdeck, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO.partition("[[at]]")[0], "utf-8")
    told = flightdeck("run", str(tmp_path / "one.toml")).out
    assert "0 rebalances; the first assignment: member joined (billing-1)" in told
    assert "the last:" not in told


def test_a_tools_line_is_checked_as_a_step_is(flightdeck: Flightdeck, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, "utf-8")
    one, create = str(tmp_path / "one.toml"), "kafka-topics.sh --create --topic"
    taken = flightdeck("impact", one, f"{create} billing", "--at", "1s")
    assert (taken.code, taken.out) == (2, "")
    assert "billing is already the name of a group" in taken.err
    there = flightdeck("impact", one, f"{create} orders --if-not-exists", "--at", "1s")
    assert there.out.splitlines()[1:] == ["  nothing: orders exists already"]

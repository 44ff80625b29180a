"""Lines of consumers, controllers and leaders: what real clients own by their logs is what their listeners got."""

import json
import re
from pathlib import Path

import pytest
import zstandard

from cluster.view import ClusterView, fold
from cluster.view.logged.state import LogsView
from console.presenters.logged.groups import LoggedGroupsListing
from console.presenters.styled_text import plain
from recordings.journal.reader import Recording
from recordings.log_reading.difference import difference_of_logs
from recordings.log_reading.make import read_logs, reading_of
from recordings.log_reading.other_lines import OTHER_FACTS
from recordings.log_reading.reader import FACTS, NO_EVENT
from recordings.log_reading.sentences import said_by, sentences
from recordings.log_reading.summary import summary_of_logs
from recordings.log_reading.writers import BROKER, COORDINATORS
from tests.fidelity.recorder.raw import raw_of
from tests.support.repository import ROOT

RUNS = ("s02-three-joins", "s09-cooperative", "s23-cooperative-faults", "s81-consumer-joins", "s91-consumer-uniform")


def read(run: str, place: Path) -> tuple[list[str], LogsView]:
    """The lines of a real run, and what the end of its log says."""
    with raw_of(run, "4.3.1").open("rb") as packed:
        lines = zstandard.ZstdDecompressor().stream_reader(packed).read().decode().splitlines()
    (place / "all.log").write_text("\n".join(lines), encoding="utf-8")
    read_logs([place / "all.log"], place / "read")
    view = ClusterView()
    for event in Recording(place / "read", logs=True).events():
        fold(view, event)
    assert view.logs is not None
    return lines, view.logs


@pytest.mark.parametrize("run", RUNS)
def test_what_clients_own_is_what_their_listeners_got(run: str, tmp_path: Path) -> None:
    lines, logs = read(run, tmp_path)
    owned: dict[str, set[str]] = {}
    for line in lines:
        event = json.loads(line) if line.startswith('{"at_ms"') else {}
        if event.get("kind") == "assigned":
            owned.setdefault(event["who"], set()).update(event["partitions"])
        elif event.get("kind") in {"revoked", "lost"}:
            owned.setdefault(event["who"], set()).difference_update(event["partitions"])
    shown = {client: set(held) for group in logs.groups.values() for client, held in group.owned.items()}
    assert any(owned.values())
    assert {client: held for client, held in shown.items() if client in owned} == {
        client: held for client, held in owned.items() if client in shown
    }
    removed = {name for group in logs.groups.values() for name in group.named} - {
        one.name for group in logs.groups.values() for one in group.members.values()
    }
    assert owned.keys() - shown.keys() <= removed


def test_a_controller_that_fences_a_broker_is_in_the_event_log(tmp_path: Path) -> None:
    read("s30-broker-dies", tmp_path)
    view = ClusterView()
    for event in Recording(tmp_path / "read", logs=True).events():
        fold(view, event)
    said = [entry.text for entry in view.log_entries]
    assert "controller fenced broker-3: session expired" in said
    assert any(text.startswith("__consumer_offsets-") and ": ISR " in text for text in said)
    reading = reading_of(tmp_path / "read")
    assert reading.unmatched == 0
    assert reading.others > 100


def test_a_rebalance_has_its_moved_partitions_where_the_leader_logs_its_assignments(tmp_path: Path) -> None:
    _, logs = read("s02-three-joins", tmp_path)
    moved = [one.moved for group in logs.groups.values() if group.group == "g02" for one in group.rebalances]
    assert moved[0] is None  # before the first assignment nothing is known
    assert all(moved[1:])


def test_clients_alone_do_not_tell_how_often_a_group_rebalanced(tmp_path: Path) -> None:
    lines, _ = read("s04-kill", tmp_path)
    (tmp_path / "clients.log").write_text("\n".join(one for one in lines if "GroupCoordinator id=" not in one))
    read_logs([tmp_path / "clients.log"], tmp_path / "clients")
    summary = summary_of_logs(tmp_path / "clients", salvage=False)
    assert summary is not None
    assert [row.rebalances for row in summary.groups if row.group == "g04"] == [None]
    view = ClusterView()
    for event in Recording(tmp_path / "clients", logs=True).events():
        fold(view, event)
    assert view.logs is not None
    row = " ".join(plain(LoggedGroupsListing(view.logs, 0, 160).rows("g04")[0]).split())
    assert row == "g04" + " unknown" * 8
    same = difference_of_logs(tmp_path / "clients", tmp_path / "clients")
    assert same is not None
    assert not same.equal
    one = difference_of_logs(tmp_path / "read", tmp_path / "clients")
    assert one is not None
    assert [group.rebalances for group in one.groups if group.group == "g04"] == [(2, None)]


REGISTERED = (
    "Skipped the become-leader state change for orders-1 with topic id Some(x1), partition registration"
    " PartitionRegistration(replicas=[5, 6], directories=[d, f], isr=[{isr}], removingReplicas=[{moving}],"
    " addingReplicas=[{moving}], elr=[{moving}], lastKnownElr=[{moving}], leader=5, leaderRecoveryState=RECOVERED,"
    " leaderEpoch=3, partitionEpoch=8) and isNew=false since it is already the leader with leader epoch 3."
)


@pytest.mark.parametrize(
    ("isr", "moving", "is_read"),
    [("5, 6", "", True), ("", "", True), ("5", "6, 7", True), ("5,6", "", False), ("5, 6, ", "", False),
     ("5", "6 7", False), ("5", ", ", False)],
)  # fmt: skip
def test_a_registration_with_a_damaged_list_is_not_read(isr: str, moving: str, is_read: bool) -> None:
    said = said_by(BROKER, REGISTERED.format(isr=isr, moving=moving))
    assert (said is not None) == is_read
    assert said is None or said.words["isr"] == isr


def test_every_fact_of_the_table_is_read() -> None:
    assert {one.fact for one in sentences() if one.writer in COORDINATORS} == {
        *FACTS,
        *NO_EVENT,
        "static_member_replaced",
    }
    assert {one.fact for one in sentences() if one.writer not in COORDINATORS} == set(OTHER_FACTS)


def test_the_lines_of_a_real_librdkafka_say_what_its_clients_own(tmp_path: Path) -> None:
    """Recorded from confluent-kafka 2.16.1 with librdkafka's own mock cluster; a-2 does not poll for nine seconds."""
    log = ROOT / "tests" / "fidelity" / "librdkafka" / "2.16.0.log"
    read_logs([log], tmp_path / "read")
    owned: dict[str, set[str]] = {"a-1": set(), "a-2": set()}
    view = ClusterView()
    words = re.compile(r"%7\|\d+\.\d+\|(PARTADD|PARTDEL)\|(a-\d)#.*: (?:add|delete) (\w+) \[(\d)\]")
    for found in filter(None, map(words.match, log.read_text(encoding="utf-8").splitlines())):
        change = owned[found[2]].add if found[1] == "PARTADD" else owned[found[2]].discard
        change(f"{found[3]}-{found[4]}")
    most = 0
    for event in Recording(tmp_path / "read", logs=True).events():
        fold(view, event)
        assert view.logs is not None
        most = max([most, *(len(held) for group in view.logs.groups.values() for held in group.owned.values())])
    assert view.logs is not None
    assert {client: set(held) for client, held in view.logs.groups["billing"].owned.items()} == owned
    assert most == 4
    assert any("leaves billing: Application maximum poll interval" in entry.text for entry in view.log_entries)

"""Coordinators of releases 3.x: other sentences than those of 4.x, the same facts.

Their words are those of `GroupCoordinator.scala` in 3.0 to 3.8; no cluster of theirs was recorded.
"""

import re
from pathlib import Path

import pytest

from cluster import events as e
from recordings.journal.reader import Recording
from recordings.log_reading.make import read_logs
from recordings.log_reading.summary import ReadRebalanceRow, tables_of
from recordings.log_reading.twin_flight import write_twin
from tests.support.repository import ROOT

MEMBER_KILLED = ROOT / "examples" / "member-killed.log"
IN_3_X = (
    (r"INFO \S+ \[[^\]]*\] \[GroupCoordinator id=(\d+) topic=\S+ partition=\d+\] ", r"INFO [GroupCoordinator \1]: "),
    (r"and requesting the member to rejoin", "and request the member to rejoin"),
    (r"(old generation \d+) (.*)\.\n", r"\1 (__consumer_offsets-23) \2\n"),
    (r"group instance id null;", "group instance id None;"),
    (r"heartbeat expiration\.\)", "heartbeat expiration)"),
    (r"(Stabilized group \S+ generation \d+) (.*)\.\n", r"\1 (__consumer_offsets-23) \2\n"),
    (r"removing it from the group\.\n", "removing it from the group\n"),
    (r".* Pending dynamic member .*\n", ""),  # at DEBUG in 3.x
)
"""What 4.x writes → what 3.x writes."""
A, B = "a-1-5855a344-7290-4c5b-bb3a-938795c0ea68", "b-1-60e199f1-a084-4d7b-8fcd-132ecc69ea5f"
STABLE = (
    "Stabilized group g generation {0} (__consumer_offsets-7) with 1 members",
    f"Assignment received from leader {A} for group g for generation {{0}}. \
The group has 1 members, 0 of which are static.",
)
PREPARING = "Preparing to rebalance group g in state PreparingRebalance with old generation 1 \
(__consumer_offsets-7) (reason: {})"
MEMBER = (
    f"MemberMetadata(memberId={B}, groupInstanceId=None, clientId=b-1, clientHost=/10.0.0.7, sessionTimeoutMs=45000, \
rebalanceTimeoutMs=300000, supportedProtocols=List(range))"
)
TIMED_OUT = "consumer poll timeout has expired."


def rows(log: Path, place: Path) -> list[ReadRebalanceRow]:
    reading = read_logs([log], place)
    assert not reading.unmatched
    return tables_of(Recording(place, logs=True).events())[1]


def read_lines(place: Path, *sentences: str) -> list[e.Event]:
    """What these sentences of broker 3 are read as, a second apart."""
    log = place / "server.log"
    lines = [f"[2024-03-01 10:00:{at:02},000] INFO [GroupCoordinator 3]: {one} (k.c.g.GroupCoordinator)\n"
             for at, one in enumerate(sentences)]  # fmt: skip
    log.write_text("".join(lines), encoding="utf-8")
    reading = read_logs([log], place / "read")
    assert not reading.unmatched
    return list(Recording(place / "read", logs=True).events())


def test_the_same_incident_in_the_words_of_3_x_has_the_same_rebalances(tmp_path: Path) -> None:
    text = MEMBER_KILLED.read_text(encoding="utf-8")
    for words, earlier in IN_3_X:
        text = re.sub(words, earlier, text)
    assert "id=1" not in text
    (tmp_path / "3.log").write_text(text, encoding="utf-8")
    then, now = rows(tmp_path / "3.log", tmp_path / "3"), rows(MEMBER_KILLED, tmp_path / "4")
    assert len(now) == 2
    for one, other in zip(then, now, strict=True):
        assert (one.group, one.cause, one.trigger, one.took_s) == (
            other.group,
            other.cause,
            other.trigger,
            other.took_s,
        )
        assert (one.generation, one.members, one.attempts) == (other.generation, other.members, other.attempts)
    twin = write_twin(tmp_path / "3", tmp_path / "twin.toml")
    (group,) = twin.groups
    assert group.rebalances == (2, 2)
    assert group.paired == 2
    assert "g04: 2 members join when they have their ids: their joins are in no line" in twin.inferred


@pytest.mark.parametrize(
    ("reason", "cause", "members"),
    [
        (f"Removing member {B} on LeaveGroup; client reason: {TIMED_OUT}", "poll interval exceeded", [B]),
        (f"Removing member {B} on LeaveGroup", "member left", [B]),
        (f"removing member {B} on heartbeat expiration", "session expired", [B]),
        (f"Removing Set({A}, {B}) on pending sync request expiration", "sync timed out", [A, B]),
        (f"Leader {B} re-joining group during Stable; client reason: not provided", "unknown", [B]),
    ],
)
def test_reasons_of_3_x(reason: str, cause: str, members: list[str], tmp_path: Path) -> None:
    events = read_lines(tmp_path, *(one.format(1) for one in STABLE), PREPARING.format(reason))
    (started,) = [event for event in events if isinstance(event, e.RebalanceStarted)]
    assert (started.cause, started.member_id, started.broker) == (cause, members[0], 3)
    removed = [event.member_id for event in events if isinstance(event, e.MemberRemoved)]
    assert removed == (members if cause == "sync timed out" else [])


def test_departures_and_replacements_of_3_x(tmp_path: Path) -> None:
    events = read_lines(
        tmp_path,
        f"Static member with groupInstanceId=pod-0 and unknown member id joins group g in Stable state. \
Replacing previously mapped member {A} with this groupInstanceId.",
        "Static member which joins during Stable stage and doesn't affect selectProtocol will not trigger rebalance.",
        f"Member {MEMBER} has left group g through explicit `LeaveGroup`; client reason: {TIMED_OUT}",
        f"Group g removed dynamic members who haven't joined: Set({A})",
        "Group g with generation 4 is now empty (__consumer_offsets-7)",
        "Unloading group metadata for g with generation 4",
    )
    (replaced,) = [event for event in events if isinstance(event, e.StaticMemberReplaced)]
    assert (replaced.member, replaced.goes_on) == ("pod-0", True)
    removed = [(event.member_id, event.reason) for event in events if isinstance(event, e.MemberRemoved)]
    assert removed == [(B, "poll interval exceeded"), (A, "poll interval exceeded")]
    assert any(isinstance(event, e.GroupUnloaded) for event in events)

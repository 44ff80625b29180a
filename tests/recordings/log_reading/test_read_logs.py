"""Logs of real brokers and of flights, read back: what happened is found, and what no line tells is unknown."""

import random
import re
from pathlib import Path

import pytest
import zstandard

from recordings.bounded_files import RecordingError
from recordings.journal.reader import Recording
from recordings.log_reading.make import read_logs, reading_of
from recordings.log_reading.summary import summary_of_logs
from recordings.scenarios.loader import library
from tests.fidelity.recorder.raw import raw_of
from tests.support.log_round_trip import (
    causes,
    differing_causes,
    fly_and_read,
    of_producers,
    of_replicas,
    removals,
    rounds,
)
from tests.support.slow_cases import mostly_slow, partly_campaign

RAW_LOGS = sorted(raw_of("", "4.3.1").parent.glob("*.log.zst"))
QUICK = ("first-join", "consumer-protocol-first-join", "zombie-producer")
STABLE = re.compile(
    r"(\d{13}) .*(?:(Stabilized) group (\S+) generation (\d+)|(Preparing) to rebalance group (\S+)"
    r"|(Assignment) received from leader \S+ for group (\S+))"
)
EMPTY = "Group g with generation 1 is now empty."
LINE = "[2026-11-27 05:10:11,{:03}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] {} (o.a.k.G)\n"


def kept(raw: Path, place: Path) -> Path:
    """The log of a real run, unpacked."""
    log = place / raw.stem
    with raw.open("rb") as packed, log.open("wb") as file:
        zstandard.ZstdDecompressor().copy_stream(packed, file)
    return log


def read(place: Path, *texts: str) -> Path:
    """A recording of these logs."""
    logs = []
    for number, text in enumerate(texts):
        logs.append(place / f"{number}.log")
        logs[-1].write_text(text, encoding="utf-8")
    read_logs(logs, place / "read")
    return place / "read"


def check_round_trip(scenario: str, place: Path) -> None:
    flown, told = fly_and_read(scenario, place)
    assert rounds(told) == rounds(flown)
    assert removals(told) == removals(flown)
    assert differing_causes(causes(flown), causes(told)) == []
    assert of_producers(told) == of_producers(flown)
    assert of_replicas(told) == of_replicas(flown)
    assert reading_of(place / "read").sentences == {}


@pytest.mark.parametrize("scenario", QUICK)
def test_the_log_of_a_flight_gives_its_rebalances_back(scenario: str, tmp_path: Path) -> None:
    check_round_trip(scenario, tmp_path)


@pytest.mark.parametrize("raw", mostly_slow(RAW_LOGS[:8], RAW_LOGS[3:4]), ids=lambda raw: raw.name[:3])
def test_every_rebalance_of_a_real_log_is_found(raw: Path, tmp_path: Path) -> None:
    log = kept(raw, tmp_path)
    began: dict[str, int] = {}
    rows, generations = [], {}
    for found in filter(None, map(STABLE.match, log.read_text().splitlines())):
        at_ms = int(found[1])
        if found[5]:
            began.setdefault(found[6], at_ms)
        elif found[2]:
            generations[found[3]] = int(found[4])
        elif found[8] in began:
            rows.append((found[8], generations[found[8]], at_ms - began.pop(found[8])))
    read_logs([log], tmp_path / "read")
    summary = summary_of_logs(tmp_path / "read", salvage=False)
    assert summary is not None
    assert rows
    told = [(row.group, row.generation, row.took_s) for row in summary.rebalances if row.took_s is not None]
    assert sorted(told) == sorted((group, generation, ms / 1000) for group, generation, ms in rows)
    assert all(row.cause for row in summary.rebalances)
    assert summary.reading.unmatched == 0


def test_a_killed_member_as_a_real_broker_logged_it(tmp_path: Path) -> None:
    read_logs([kept(raw_of("s04-kill", "4.3.1"), tmp_path)], tmp_path / "read")
    summary = summary_of_logs(tmp_path / "read", salvage=False)
    assert summary is not None
    assert [(row.generation, row.cause, row.trigger, row.took_s, row.members) for row in summary.rebalances] == [
        (1, "member joined", "g04-1", 6.008, 3),
        (2, "session expired", "g04-2", 1.003, 2),
    ]
    assert summary.groups[0].lag is None
    assert summary.rebalances[0].moved is None


def test_lines_in_any_order_are_read_without_an_error(tmp_path: Path) -> None:
    """A log may begin anywhere, lack lines, or have them in any order."""
    lines = [
        line
        for raw in (RAW_LOGS[7], *(one for one in RAW_LOGS if re.match(r"s(08|9[0-9])", one.name)))
        for line in kept(raw, tmp_path).read_text().splitlines()
        if "GroupCoordinator id=" in line
    ]
    assert len(lines) > 150
    for seed in range(8):
        draw = random.Random(seed)
        some = draw.sample(lines, len(lines) * 2 // 3)
        place = tmp_path / str(seed)
        place.mkdir()
        recording = Recording(read(place, "\n".join(some)), logs=True)
        assert recording.survey().totals.complete


def test_an_unknown_sentence_is_counted_and_shown_and_an_unknown_cause_is_unknown(tmp_path: Path) -> None:
    rebalance = "Preparing to rebalance group a b in state PreparingRebalance with old generation 7 (reason: Because.)."
    path = read(
        tmp_path,
        LINE.format(1, "Group a b was \x1b[31mpainted\x1b[2J 7 times.")
        + LINE.format(2, rebalance) + "\tat x.y.Z(Z.java:1)\n"
        + LINE.format(3, "Stabilized group a b generation 8 with 2 members."),
    )  # fmt: skip
    summary = summary_of_logs(path, salvage=False)
    assert summary is not None
    assert summary.reading.sentences == {"Group a b was painted\x1b[#J # times.": 1}
    (row,) = summary.rebalances
    assert (row.group, row.cause, row.took_s, row.generation) == ("a b", None, None, None)
    assert (summary.groups[0].members, summary.groups[0].generation) == (2, 8)


def test_logs_of_two_brokers_are_merged_and_instants_never_run_backwards(tmp_path: Path) -> None:
    one = LINE.format(5, EMPTY)
    two = LINE.format(1, "Group h with generation 1 is now empty.") + LINE.format(
        0, "Group h with generation 2 is now empty."
    )
    path = read(tmp_path, one, two)
    assert [event.at_us for event in Recording(path, logs=True).events()] == [0, 0, 0, 0, 4000, 4000]
    assert reading_of(path).backwards == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the log is empty"),
        ("nothing\n", "1 line, none of them with a sentence that is read"),
        (LINE.format(1, "Nothing known."), r"no sentence in 1 line .*one a line\), such as `Nothing known\.`"),
        ("Friday [GroupCoordinator id=1 topic=t partition=1] Stabilized\n", "without a known instant"),
        (LINE.format(1, EMPTY).replace("2026-", "9999-"), "without a known instant; .*--pattern takes the lines' own"),
        (LINE.format(1, EMPTY) + "[00:00:01,000] [GroupCoordinator id=1 topic=t partition=1] x\n", "line 2: instants"),
    ],
)  # fmt: skip
def test_a_log_that_tells_nothing_is_refused_with_its_reason(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=reason):
        read(tmp_path, text)


def test_what_needs_a_flight_refuses_a_recording_of_logs(tmp_path: Path) -> None:
    path = read(tmp_path, LINE.format(1, EMPTY))
    with pytest.raises(RecordingError, match="was read from logs"):
        Recording(path)


def test_a_comparison_notices_another_cause() -> None:
    flown = [(1, "g", 1, "session expired", "m")]
    assert differing_causes(flown, [(1, "g", 1, "unknown", "m")])
    assert differing_causes(flown, [(1, "g", 1, "member left", "m")])
    assert not differing_causes(flown, list(flown))
    moved = [(1, "g", 1, "coordinator moved", "m")]
    assert not differing_causes(moved, [(1, "g", 1, "unknown", "m")])
    assert differing_causes(moved, [(1, "g", 1, "member joined", "m")])
    assert differing_causes(moved, [(1, "g", 1, "unknown", "n")])


OTHERS = [name for name in library() if name not in QUICK and not name.startswith("reference-")]


@pytest.mark.parametrize("scenario", partly_campaign(OTHERS, 5))
def test_the_log_of_every_library_flight_gives_its_rebalances_back(scenario: str, tmp_path: Path) -> None:
    check_round_trip(scenario, tmp_path)

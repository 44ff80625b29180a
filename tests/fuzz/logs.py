"""Targets that are logs: lines of real processes, spoilt, and patterns of lines."""

import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random

import zstandard

from cluster.view import ClusterView, fold
from console.cli.outputs.reading import of_read_summary
from console.presenters.event_log import EventLogListing
from console.presenters.list_view import Listing
from console.presenters.logged.details import LoggedDetailsListing
from console.presenters.logged.group import LoggedMembersListing, LoggedRebalancesListing, LoggedStateListing
from console.presenters.logged.groups import LoggedGroupsListing, date_words
from console.presenters.logged.producers import LoggedProducersListing, LoggedTransactionalIdsListing
from console.presenters.styled_text import plain
from console.visible import in_cells, visible
from recordings.bounded_files import RecordingError
from recordings.journal.reader import Recording
from recordings.log_reading.layouts import Layouts
from recordings.log_reading.make import read_logs
from recordings.log_reading.own_pattern import OwnPattern
from recordings.log_reading.summary import ReadSummary, summarize_reading
from tests.fuzz.engine import Target
from tests.fuzz.mutation import mutated_bytes, mutated_text
from tests.support.raw_text import raw_in
from tests.support.repository import ROOT

RAW = ROOT / "tests" / "fidelity" / "raw" / "4.3.1"
RUNS = (
    "s02-three-joins",
    "s07-static-restart",
    "s85-consumer-static",
    "s88-consumer-coordinator",
    "s96-consumer-migration",
    "s45-unclean",
    "s51-delivery-timeout",
    "s53-split",
    "s56-producer-fenced",
    "s60-transaction-coordinator",
)
LINES = 50  # of one input: two thousand inputs are 10⁵ lines
READ = (
    b"GroupCoordinator id=", b"[Consumer ", b"[QuorumController ", b"[Partition ", b"[Producer ", b"[Transaction",
    b"[Broker id=", b"[UnifiedLog ", b"[ReplicaFetcher ",
)  # fmt: skip
TOUCHED = 0.4  # of the lines
POISON = (
    b"\x1b[2J",
    b"\x1b]0;title\x07",
    "\u202e".encode(),
    b"\x00",
    b"\x9b31m",
    b"\xff\xfe",
    b"\r",
    "\u2066".encode(),
)
LAYOUTS = (
    b"[2026-11-27 05:10:11,123] INFO ", b"2026-11-27T05:10:11.123+01:00 WARN ", b"[00:01:07,123] INFO ", b"",
    b'{"@timestamp":"2026-11-27T05:10:11.123Z","message":"', b'{"log":"[2026-11-27 05:10:11,123] INFO ',
    b"2026-11-27T05:10:11.2Z stdout F ", b"[9999-99-99 99:99:99,999] INFO ", b"0000000000000 INFO ",
)  # fmt: skip
PATTERNS = (
    "%d{ISO8601} %p [%t] %m (%c)%n", "%d{yyyy-MM-dd HH:mm:ss.SSS}{UTC} %-5p %c{1.} - %msg%n%ex", "%d{UNIX_MILLIS} %m",
    "[%d] %p %m (%c)%n", "%d{dd/MMM/yyyy HH:mm:ss XXX} %20.20t %m", "%d{ABSOLUTE} %m",
)  # fmt: skip
WIDTHS = (60, 110, 200)


@cache
def lines() -> tuple[bytes, ...]:
    """Lines of real processes that are read."""
    found: list[bytes] = []
    for run in RUNS:
        with (RAW / f"{run}.log.zst").open("rb") as packed:
            text = zstandard.ZstdDecompressor().stream_reader(packed).read()
        found += [line for line in text.splitlines() if any(word in line for word in READ)]
    return tuple(found)


def _log(random: Random) -> bytes:
    """Some neighbouring lines: in order or not, in any layout, some of them spoilt."""
    known = lines()
    first = random.randrange(len(known) - LINES)
    chosen = list(known[first : first + LINES])
    if random.random() < 0.3:
        random.shuffle(chosen)
    return b"\n".join(_spoilt(random, line) if random.random() < TOUCHED else line for line in chosen) + b"\n"


def _spoilt(random: Random, line: bytes) -> bytes:
    what = random.random()
    if what < 0.3:
        place = random.randrange(len(line) + 1)
        return line[:place] + random.choice(POISON) + line[place:]
    if what < 0.5:
        begin = random.choice(LAYOUTS)
        return begin + line.partition(b"] [")[2] + (b'"}' if begin.startswith(b"{") else b"")
    if what < 0.6:
        return line.replace(b"s0", random.choice(POISON), 1) * random.choice((1, 1, 2))
    return mutated_bytes(random, line)


def _feed_log(made: bytes) -> bool:
    """Read it, summarize it, and show it on every list: nothing raw is printed or drawn."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-log-"))
    try:
        (place / "server.log").write_bytes(made)
        read_logs([place / "server.log"], place / "read")
        recording = Recording(place / "read", logs=True)
        assert raw_in(visible(of_read_summary(_summary(recording))), "\n\t") == ""
        view = ClusterView()
        for event in recording.events():
            fold(view, event)
        for listing in _listings(view):
            for key in listing.row_keys():
                for row in listing.rows(key):
                    assert raw_in(in_cells(plain(row))) == ""
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return True


def _summary(recording: Recording) -> ReadSummary:
    summary = summarize_reading(recording)
    assert all(group.lag is None for group in summary.groups)
    return summary


def _listings(view: ClusterView) -> list[Listing]:
    logs, now_us = view.logs, view.at_us
    assert logs is not None
    date_words(logs, now_us)
    shown: list[Listing] = []
    for width in WIDTHS:
        shown += [LoggedGroupsListing(logs, now_us, width), EventLogListing(view, width)]
        shown += [LoggedProducersListing(logs, width), LoggedTransactionalIdsListing(logs, width)]
        for group in list(logs.groups.values())[:5]:
            rebalances = LoggedRebalancesListing(group, now_us, width)
            shown += [LoggedStateListing(group, now_us, width), LoggedMembersListing(group, width), rebalances]
            shown += [LoggedDetailsListing(logs, group, key, now_us, width) for key in rebalances.row_keys()[:3]]
    return shown


def _feed_pattern(made: tuple[str, bytes]) -> bool:
    Layouts(OwnPattern(made[0])).parse(made[1])
    return True


def _pattern(random: Random) -> tuple[str, bytes]:
    words = ("%d", "{ISO8601}", "{HH:mm}", "{yyyy", "%m", "%%", "%-5p", "(", "[", "*", "'", "{UTC}", "%c{1.}", "\\")
    return mutated_text(random, PATTERNS, words), mutated_bytes(random, random.choice(lines()))


LOGS = (
    Target("log", 20, (RecordingError,), _log, _feed_log),
    Target("pattern", 20, (RecordingError,), _pattern, _feed_pattern),
)

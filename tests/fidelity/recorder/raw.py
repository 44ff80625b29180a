"""What a real run left behind, as rows and told facts for the normalisation."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.fidelity.normalisation import Fact, Row, facts, offsets_text, outcome

LINE = re.compile(r"(\d{13}) (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (\S+) \[([^\]]*)\] (.*)$")
CALLBACKS = ("assigned", "revoked", "lost")
THROWN = ("poll_threw", "commit_threw", "producer_threw", "send_failed")
CALLS = ("transactions_initialised", "transaction_committed", "transaction_aborted")


class Run(msgspec.Struct, frozen=True):
    """One run: lines of every log, events of every driver, and from when to when it lasted (ms of the epoch)."""

    begin_ms: float
    end_ms: float
    lines: list[str]
    events: list[dict[str, Any]]
    groups: list[str]


def facts_of(run: Run) -> list[Fact]:
    """The facts of a real run."""
    return facts(_rows(run), [*_told(run), *_outcome(run)])


def _rows(run: Run) -> Iterator[Row]:
    """Log lines as they were written; what follows below a line (a stack trace) is not compared."""
    for line in run.lines:
        found = LINE.match(line)
        if found and run.begin_ms - 50 <= int(found[1]) <= run.end_ms:
            writer = found[4].rpartition("| ")[2]  # kafka-producer-network-thread | NAME
            yield Row(int(found[1]) - run.begin_ms, found[2], found[3], found[5], writer)


def _told(run: Run) -> Iterator[tuple[float, str, str]]:
    for event in run.events:
        at_ms, who, kind = event["at_ms"] - run.begin_ms, event["who"], event["kind"]
        if at_ms < -50:
            continue
        if kind in CALLBACKS:
            yield at_ms, who, f"{kind} [{', '.join(event['partitions'])}]"
        elif kind in THROWN:
            yield at_ms, who, f"{kind} {event['error']}"
        elif kind in CALLS:
            yield at_ms, who, kind
        elif kind == "offsets":
            yield at_ms, who, offsets_text(event["start"], event["stable"], event["end"])


def _outcome(run: Run) -> Iterator[tuple[float, str, str]]:
    """What became of the records, for each group: of those that were acknowledged, and in all."""
    acked = {(event["who"], serial) for event in run.events for serial in event.get("serials", ())}
    if not acked:
        return
    read: dict[str, defaultdict[tuple[str, int], int]] = {group: defaultdict(int) for group in run.groups}
    for event in run.events:
        for producer, serials in event.get("read", {}).items():
            for serial in serials:
                read[event["group"]][producer, serial] += 1
    for group, counts in read.items():
        again = sum(counts.values()) - len(counts)
        yield from outcome(run.end_ms - run.begin_ms, group, len(acked - counts.keys()), again)

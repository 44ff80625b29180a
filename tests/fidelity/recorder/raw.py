"""What a real run left behind, as rows and told facts for the normalisation."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from tests.fidelity.normalisation import (
    DescribedMember,
    Fact,
    LoggedBatch,
    Row,
    committed_text,
    description_text,
    facts,
    log_text,
    offsets_text,
    outcome,
    positions_text,
    records_text,
)
from tests.fidelity.traces import RAW

LINE = re.compile(r"(\d{13}) (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (\S+) \[([^\]]*)\] (.*)$")
BELOW = re.compile(r"\t(?!at )|\{")  # not a stack trace
CONTEXT = re.compile(r"\[[^\]]*\]")
CALLBACKS = ("assigned", "revoked", "lost", "paused", "resumed")
THROWN = ("poll_threw", "commit_threw", "producer_threw", "send_failed")
CALLS = ("transactions_initialised", "transaction_committed", "transaction_aborted")


class Began(msgspec.Struct, frozen=True):
    """What a run needs beside its lines and events; `sources`: the producers whose records reach each group."""

    begin_ms: float
    end_ms: float
    sources: dict[str, list[str]]


class Run(Began, frozen=True):
    """One run: lines of every log, events of every driver, and from when to when it lasted (ms of the epoch)."""

    lines: list[str]
    events: list[dict[str, Any]]


def raw_of(scenario: str, release: str) -> Path:
    """Where a recording's logs are kept."""
    return RAW / release / f"{scenario}.log.zst"


def write_run(path: Path, run: Run) -> None:
    """Keep a run (zstd): its head, its events, and the logs as they were written, for readers of real logs too."""
    head = msgspec.json.encode(Began(run.begin_ms, run.end_ms, run.sources)).decode()
    text = "\n".join([head, *(msgspec.json.encode(event).decode() for event in run.events), *run.lines])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zstandard.ZstdCompressor(level=19).compress(text.encode()))


def read_run(path: Path) -> Run:
    """A run that was kept."""
    head, *others = zstandard.ZstdDecompressor().decompress(path.read_bytes()).decode().split("\n")
    began = msgspec.json.decode(head, type=Began)
    events = [msgspec.json.decode(line) for line in others if line.startswith('{"at_ms":')]
    lines = [line for line in others if not line.startswith('{"at_ms":')]
    return Run(began.begin_ms, began.end_ms, began.sources, lines, events)


def facts_of(run: Run) -> list[Fact]:
    """The facts of a real run."""
    return facts(_rows(run), [*_told(run), *_outcome(run)])


def _rows(run: Run) -> Iterator[Row]:
    """Log lines as they were written, each with what it says below."""
    for first, below in _whole(run.lines):
        if run.begin_ms - 50 <= int(first[1]) <= run.end_ms:
            text = "\n".join([first[5], *(line for line in below if BELOW.match(line))])
            if CONTEXT.fullmatch(first[5].strip()):  # a banner: its first line with words stands for it
                text += next((line.strip(" |*") for line in below if re.search("[a-z]", line)), "")
            writer = first[4].rpartition("| ")[2]  # kafka-producer-network-thread | NAME
            yield Row(int(first[1]) - run.begin_ms, first[2], first[3], text.strip(), writer)


def _whole(lines: Iterable[str]) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Each line that begins with an instant, and the lines that follow it."""
    first: re.Match[str] | None = None
    below: list[str] = []
    for line in lines:
        found = LINE.match(line)
        if found is None:
            below.append(line)
            continue
        if first is not None:
            yield first, below
        first, below = found, []
    if first is not None:
        yield first, below


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
        elif kind == "positions":
            yield at_ms, who, positions_text(event["offsets"], event["paused"])
        elif kind == "log":
            yield at_ms, who, log_text(LoggedBatch(*batch) for batch in event["batches"])
        elif kind == "records":
            yield at_ms, who, records_text(_read(run, who, event["at_ms"]))
        elif kind == "description":
            yield at_ms, who, _description(event)
        elif kind == "committed":
            yield at_ms, who, committed_text(event["state"], event["members"], event["offsets"])


def _description(event: dict[str, Any]) -> str:
    epochs = event["epoch"], event["assignment_epoch"]
    members = [DescribedMember(**{key: each[key] for key in DescribedMember._fields}) for each in event["members"]]
    return description_text(event["state"], epochs, event["assignor"], members)


def _read(run: Run, group: str, until_ms: float) -> dict[str, list[int]]:
    """The records that a group has finished until an instant."""
    found = defaultdict[str, list[int]](list)
    for event in run.events:
        if event.get("group") == group and event["at_ms"] <= until_ms:
            for producer, serials in event["read"].items():
                found[producer] += serials
    return found


def _outcome(run: Run) -> Iterator[tuple[float, str, str]]:
    """What became of the records, for each group: of those that were acknowledged, and in all."""
    acked = {(event["who"], serial) for event in run.events for serial in event.get("serials", ())}
    if not acked:
        return
    read: dict[str, defaultdict[tuple[str, int], int]] = {group: defaultdict(int) for group in run.sources}
    for event in run.events:
        for producer, serials in event.get("read", {}).items():
            for serial in serials:
                read[event["group"]][producer, serial] += 1
    for group, counts in read.items():
        again = sum(counts.values()) - len(counts)
        missing = [record for record in acked - counts.keys() if record[0] in run.sources[group]]
        yield from outcome(run.end_ms - run.begin_ms, group, len(missing), again)

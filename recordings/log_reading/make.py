"""Logs become a recording: the lines of several files merged by their instants, read, and journaled."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import msgspec
from msgspec.structs import force_setattr

from cluster.config import brief
from cluster.events import Event, LogsRead
from cluster.view import ClusterView, fold
from recordings.bounded_files import RecordingError, decoded, read_ours
from recordings.journal.format import Settings, write_json
from recordings.journal.writer import Recorder, new_header, refuse_existing
from recordings.log_reading.lines import LogFile
from recordings.log_reading.merging import Instants, followed, merged
from recordings.log_reading.own_pattern import OwnPattern
from recordings.log_reading.reader import GroupLogReader

READING = "reading.json"
READING_BYTES = 4 << 20
UNMATCHED_KEPT = 100


class LinesRead(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one log: all, those of group coordinators, and those of all writers that have no known instant.

    `clock_us` was added to its instants. `cut_short`: the compressed file is cut off, and its whole lines were read.
    """

    log: str
    lines: int
    coordinator: int
    without_instant: int
    clock_us: int = 0
    cut_short: bool = False


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: a recording keeps it as reading.json.

    `matched` and `unmatched` count lines of group coordinators, `others` those of all other writers that were read,
    `passed_over` (by their writer) those that were not. `sentences`: the unmatched ones, numbers as
    `#`, the most frequent first. `backwards`: lines whose instant is before that of an earlier line; their events are
    at the earlier instant. `repeated`: lines that were there before at their instant, which count once. `began`: the
    first instant, "" if the logs have no date; `lasted_us` until the last one.
    """

    files: list[LinesRead]
    matched: int
    unmatched: int
    others: int = 0
    passed_over: dict[str, int] = {}
    sentences: dict[str, int]
    backwards: int
    repeated: int = 0
    began: str
    lasted_us: int
    events: int


READING_DECODER = msgspec.json.Decoder(Reading)


def read_logs(
    logs: Sequence[Path],
    out: Path,
    *,
    pattern: str | None = None,
    clocks: Mapping[Path, int] | None = None,
    goes_on: Callable[[], bool] | None = None,
    listener: Callable[[ClusterView, Event], object] | None = None,
) -> Reading:
    """Read logs into a new recording.

    `pattern`: that of their lines, in log4j's words. `clocks`: log → µs that are added to its instants. `goes_on`: read
    on while the logs grow, until it says no; it is asked after each line, too. `listener` gets each event, folded.
    Raises RecordingError: unreadable, no line of a coordinator, `out` exists, a pattern that cannot be read.
    """
    refuse_existing(out)
    own, ahead = OwnPattern(pattern) if pattern is not None else None, clocks or {}
    files = [LogFile(path, own=own, ahead_us=ahead.get(path, 0), number=number) for number, path in enumerate(logs)]
    instants, reader = Instants(files), GroupLogReader()
    lines = merged(files) if goes_on is None else followed(files, goes_on)
    events = reader.read(instants.counted(lines))
    first = next(events, None)
    if first is None:
        raise RecordingError(f"{logs[0]}: {_nothing(files, reader)}")
    source = LogsRead(
        logs=tuple(str(path) for path in logs),
        began_us=instants.began_us if instants.began_us and instants.dated else -1,
    )
    sequence = _record(chain(((0, source), first), events), source.logs, out, instants, listener)
    reading = Reading(
        files=[
            LinesRead(
                log=str(one.path), lines=one.lines, coordinator=one.coordinator, without_instant=one.without_instant,
                clock_us=one.ahead_us, cut_short=one.cut_short,
            )
            for one in files
        ],
        matched=reader.matched,
        unmatched=reader.unmatched.total(),
        others=reader.others,
        passed_over=dict(reader.passed_over),
        sentences=dict(reader.unmatched.most_common(UNMATCHED_KEPT)),
        backwards=instants.backwards,
        repeated=instants.repeated,
        began=instants.began,
        lasted_us=instants.at_us,
        events=sequence,
    )  # fmt: skip
    write_json(out / READING, reading)
    return reading


def _record(
    events: Iterator[tuple[int, Event]],
    logs: tuple[str, ...],
    out: Path,
    instants: Instants,
    listener: Callable[[ClusterView, Event], object] | None,
) -> int:
    """Journal the events, numbered; returns their number."""
    view, sequence, complete = ClusterView(), 0, False
    title = Path(logs[0]).name
    header = msgspec.structs.replace(new_header(title, "", Settings(seed=0, until_us=None)), read_from=logs)
    recorder = Recorder(out, header)
    recorder.watch(view)
    try:
        for at_us, event in events:
            sequence += 1
            force_setattr(event, "seq", sequence)
            force_setattr(event, "at_us", at_us)
            fold(view, event)
            recorder(event)
            if listener is not None:
                listener(view, event)
        complete = True
    finally:
        recorder.close(turns=-1, virtual_us=instants.at_us, complete=complete)
    return sequence


def _nothing(files: Sequence[LogFile], reader: GroupLogReader) -> str:
    """Why no event came of the logs."""
    lines = sum(file.lines for file in files)
    if any(file.cut_short for file in files):
        return "the compressed log is cut off, and no whole line in it is one that is read"
    if not lines:
        return "the log is empty" if len(files) == 1 else "the logs are empty"
    if without := sum(file.without_instant for file in files):
        own = files[0].own
        if own is not None:
            does = "does" if without == 1 else "do"
            return f"{_lines(without)} of brokers and clients {does} not fit --pattern `{brief(own.text)}`"
        known = "known is [2026-11-27 05:10:11,123]; --pattern takes the lines' own, as log4j has it"
        return f"{_lines(without)} of brokers or clients without a known instant; {known}"
    if reader.unmatched:
        of_coordinators = _lines(reader.unmatched.total())
        ((often, _),) = reader.unmatched.most_common(1)
        known = f"(those of Kafka 3.0 to 4.3 are, one a line), such as `{brief(often)}`"
        return f"no sentence in {of_coordinators} of group coordinators is known {known}"
    example = "[GroupCoordinator id=1 topic=…] Stabilized …"
    return f"{_lines(lines)}, none of them with a sentence that is read, e.g. `{example}`"


def _lines(number: int) -> str:
    return f"{number:,} line{'s' if number != 1 else ''}"


def reading_of(recording: Path) -> Reading:
    """What a recording keeps of its reading. Raises RecordingError."""
    path = recording / READING
    try:
        return decoded(read_ours(path, READING_BYTES), READING_DECODER)
    except (OSError, RecordingError) as error:
        raise RecordingError(f"{path} is damaged: {error}") from error

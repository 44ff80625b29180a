"""A tool's look at a recording: the view at an instant by its keyframes, and logs by its events."""

from pathlib import Path

from recordings.bounded_files import RecordingError
from recordings.flights.declared import declared_spec
from recordings.journal.format import clock
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.kafka_tools.leader_logs import LeaderLogs
from recordings.kafka_tools.look import LookedAtFlight, configs_of, logs_needed, look
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import ToolLine


def look_at(path: Path, line: ToolLine, at_us: int | None, *, salvage: bool = False) -> tuple[Printed, list[str]]:
    """What a line prints of a recording at an instant (None: its end), and the reader's warnings.

    Raises CommandError, and RecordingError: no recording, a damaged one, or an instant after its end.
    """
    recording = Recording(path, salvage=salvage)
    playback = Playback(recording)
    if at_us is not None and at_us > playback.end_us:
        raise RecordingError(f"{path}: this flight ends at {clock(playback.end_us)}, before the instant asked for")
    playback.seek_us(playback.end_us if at_us is None else at_us)
    view = playback.view
    logs = LeaderLogs(logs_needed(view, line))
    if logs.logs:
        _read(logs, path, playback.seq, salvage=salvage)
    spec, unreadable = declared_spec(recording.header)
    printed = look(LookedAtFlight(view, playback.at_us, configs_of(spec, view), logs.logs.__getitem__), line)
    return printed, [*recording.warnings, *([unreadable] if unreadable else [])]


def _read(logs: LeaderLogs, path: Path, seq: int, *, salvage: bool) -> None:
    """Read the events up to the cursor."""
    for event in Recording(path, salvage=salvage).events():
        if event.seq > seq:
            break
        logs(event)

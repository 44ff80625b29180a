"""A tool's look at a recording: the view at an instant by its keyframes, and producer states by its events."""

from pathlib import Path

from recordings.bounded_files import RecordingError
from recordings.flights.declared import declared_spec
from recordings.journal.format import clock
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.kafka_tools.look import LookedAtFlight, configs_of, look, needs_states, no_states
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.producer_states import PartitionProducers
from recordings.kafka_tools.tool_lines import ToolLine
from recordings.kafka_tools.transaction_tables import StatesOf, searched


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
    states_of: StatesOf = no_states
    if needs_states(line):
        states_of = _states(path, playback, line, salvage=salvage)
    spec, unreadable = declared_spec(recording.header)
    printed = look(LookedAtFlight(view, playback.at_us, configs_of(spec, view), states_of), line)
    return printed, [*recording.warnings, *([unreadable] if unreadable else [])]


def _states(path: Path, playback: Playback, line: ToolLine, *, salvage: bool) -> StatesOf:
    """Read the events up to the cursor for the producer states that the line asks for."""
    states = PartitionProducers(searched(playback.view, line))
    for event in Recording(path, salvage=salvage).events():
        if event.seq > playback.seq:
            break
        states(event)
    return lambda partition: states.of(playback.view, partition)

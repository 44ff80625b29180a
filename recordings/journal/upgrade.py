"""Read recordings of older formats as if they were of the newest one.

Format 1 (before format 2): `fault_started` has neither `fault_kind` nor `targets`, a command's line neither `kind` nor
`targets`. Both follow from the command's text, which is parsed here and nowhere else: no reader of events parses texts.
`command_refused` has other words for three of its reasons; a rerun would else find another flight.
The lines on disk and their hash stay as they are.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from cluster.commands import CommandError, kind_of, parse, targets_of
from cluster.events import CommandRefused, Event, FaultStarted
from recordings.bounded_files import RecordingError, decoded
from recordings.journal.format import JournaledCommand

_STARTED, _REFUSED = b'{"kind":"fault_started"', b'{"kind":"command_refused"'
_DECODER = msgspec.json.Decoder(FaultStarted | CommandRefused)
_ENCODER = msgspec.json.Encoder()

_REASONS = (
    (re.compile(r"LEADER_NOT_AVAILABLE: nobody leads (.+)"), r"LEADER_NOT_AVAILABLE: \1 has no leader"),
    (re.compile(r"nobody sends (\w+) yet"), r"\1 requests are not simulated yet"),
    (re.compile(r"no such link is injured"), "no such link fault is in force"),
)
"""The reasons of refused commands in format 1, and in today's words."""


def upgraded_events(events: Sequence[Event], version: int) -> Sequence[Event]:
    """The events of a recording of this format as the newest format has them. Raises RecordingError."""
    if version > 1 or not any(isinstance(event, FaultStarted | CommandRefused) for event in events):
        return events
    return [_upgraded(event) if isinstance(event, FaultStarted | CommandRefused) else event for event in events]


def upgraded_command(line: JournaledCommand, version: int) -> JournaledCommand:
    """The line of a command as the newest format has it; a text that is no command stays without a kind."""
    if version > 1:
        return line
    try:
        command = parse(line.command)
    except CommandError:  # a reader that needs the command refuses the line
        return line
    return msgspec.structs.replace(line, kind=kind_of(command), targets=targets_of(command))


def upgraded_lines(chunks: Iterator[bytes], version: int) -> Iterator[bytes]:
    """The lines of events (chunks of whole lines) as the newest format writes them. Raises RecordingError."""
    return chunks if version > 1 else map(_upgraded_chunk, chunks)


def _upgraded_chunk(lines: bytes) -> bytes:
    if _STARTED not in lines and _REFUSED not in lines:
        return lines
    return b"".join(_upgraded_line(line) for line in lines.splitlines(keepends=True))


def _upgraded_line(line: bytes) -> bytes:
    if not line.startswith((_STARTED, _REFUSED)):
        return line
    return _ENCODER.encode(_upgraded(decoded(line, _DECODER))) + b"\n"


def _upgraded(event: FaultStarted | CommandRefused) -> FaultStarted | CommandRefused:
    return _with_kind(event) if isinstance(event, FaultStarted) else _in_todays_words(event)


def _in_todays_words(event: CommandRefused) -> CommandRefused:
    for of_format_1, reason in _REASONS:
        if (found := of_format_1.fullmatch(event.reason)) is not None:
            return msgspec.structs.replace(event, reason=found.expand(reason))
    return event


def _with_kind(event: FaultStarted) -> FaultStarted:
    try:
        command = parse(event.text)
    except CommandError as error:
        raise RecordingError(f"the command of fault {event.fault} cannot be read: {error}") from error
    return msgspec.structs.replace(event, fault_kind=kind_of(command), targets=targets_of(command))

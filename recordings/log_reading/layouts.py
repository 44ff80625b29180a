"""The layouts of log lines: where a line has its instant, and where its message.

Read are Kafka's default layout (`[2026-11-27 05:10:11,123] INFO message (logger)`), with `T`, a dot, a zone, or
without brackets too, Strimzi's with the thread at the end, instants of `flightdeck run --log`, milliseconds since
1970, librdkafka's, one JSON object a line, and what Docker and Kubernetes put around a line, journald or Docker
Compose before it. A date without a zone is taken as UTC.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from recordings.log_reading.own_pattern import OwnPattern
from recordings.log_reading.writers import BEGINNINGS

_DATED = re.compile(rb"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?\]? ")
_VIRTUAL = re.compile(rb"\[(\d{2,4}):(\d\d):(\d\d),(\d{3})\] ")
_SINCE_1970 = re.compile(rb"(\d{13}) (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_LIBRDKAFKA = re.compile(rb"%[0-7]\|(\d{10})\.(\d{3})\|")
_CONTAINER = re.compile(rb"(?:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d)) (?:stdout|stderr) [FP] )+")
_LOGGER = re.compile(r" \([\w.$]+(?::\d{1,6})?\)(?: \[[^\[\]]{1,200}\])?$")
_COLOUR = re.compile(rb"\x1b\[[\d;]{0,20}m")

_AFTER_OBJECTS: Final = b" \t\r\n,]"
"""What may stand behind a JSON object; log4j's JSONLayout writes the objects of an array."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MESSAGES: Final = ("log", "message", "msg", "@message", "formattedMessage")
_INSTANTS: Final = ("@timestamp", "timestamp", "time", "ts", "date", "timeMillis")
SECOND_US: Final = 1_000_000


class Parsed(NamedTuple):
    """A line: its instant (µs since 1970, or from midnight if not `dated`; None: in no known form), its message."""

    at_us: int | None
    dated: bool
    message: str


class Layouts:
    """Parses lines of one log; `own`: a pattern of the user's, which every text line then has."""

    def __init__(self, own: OwnPattern | None = None) -> None:
        self._own = own
        self._second: tuple[bytes, int] = (b"", 0)

    def parse(self, line: bytes) -> Parsed:
        """The instant and the message of a line."""
        line = line.removeprefix(_BYTE_ORDER_MARK)
        if b"\x1b[" in line:
            line = _COLOUR.sub(b"", line)
        if line.startswith(b"{"):
            return self._json(line)
        if (found := _CONTAINER.match(line)) is not None:
            inner = self.parse(line[found.end() :])
            return inner if inner.at_us is not None else inner._replace(at_us=iso_us(found[1].decode()), dated=True)
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if self._own is not None:
            parsed = self._own.parse(text)
            return Parsed(None, True, text) if parsed is None else Parsed(*parsed)
        if (behind := self._json_behind(line)) is not None:
            return behind
        at_us, dated = self._instant(line)
        return Parsed(at_us, dated, _LOGGER.sub("", text))

    def _json(self, line: bytes) -> Parsed:
        try:
            fields = msgspec.json.decode(line.rstrip(_AFTER_OBJECTS), type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Parsed(None, True, line.decode("utf-8", "replace"))
        at_us = _json_instant(fields)
        message = _json_message(fields)
        if message is None:
            return Parsed(at_us, True, line.decode("utf-8", "replace").rstrip("\r\n"))
        parsed = self.parse(message.encode("utf-8", "replace"))  # a collector has put a whole line into an object
        return parsed if parsed.at_us is not None else parsed._replace(at_us=at_us, dated=True)

    def _json_behind(self, line: bytes) -> Parsed | None:
        """A line that is a JSON object behind what Docker Compose or kubectl writes first; None for another one."""
        object_begins = line.find(b'{"')
        if object_begins < 0 or not line.rstrip(_AFTER_OBJECTS).endswith(b"}"):
            return None
        parsed = self._json(line[object_begins:])
        if parsed.message.startswith("{"):
            return None
        if parsed.at_us is None and (found := _DATED.search(line, 0, object_begins)) is not None:
            return parsed._replace(at_us=self._dated_us(found), dated=True)
        return parsed

    def _instant(self, line: bytes) -> tuple[int | None, bool]:
        if (found := _DATED.match(line)) is not None:
            return self._dated_us(found if line.startswith(b"[") else self._own_date(line, found)), True
        if (found := _VIRTUAL.match(line)) is not None:
            hours, minutes, seconds, ms = map(int, found.groups())
            return ((hours * 60 + minutes) * 60 + seconds) * SECOND_US + ms * 1_000, False
        if (found := _SINCE_1970.match(line)) is not None:
            return int(found[1]) * 1_000, True
        if (found := _LIBRDKAFKA.match(line)) is not None:
            return int(found[1] + found[2]) * 1_000, True
        begins = BEGINNINGS.search(line)  # behind what journald or Docker Compose puts before a line
        if begins is not None and (found := _DATED.search(line, 0, begins.start())) is not None:
            return self._dated_us(self._own_date(line, found)), True
        return None, True

    def _own_date(self, line: bytes, first: re.Match[bytes]) -> re.Match[bytes]:
        """The date that its writer gave a line: the next one before its sentence, if a collector wrote the first."""
        begins = BEGINNINGS.search(line, first.end())
        return first if begins is None else _DATED.search(line, first.end(), begins.start()) or first

    def _dated_us(self, found: re.Match[bytes]) -> int | None:
        second, fraction, zone = found.groups()
        if second != self._second[0]:
            at_us = iso_us(second.decode())
            if at_us is None:
                return None
            self._second = second, at_us
        return self._second[1] + _micros(fraction) - _zone_us(zone)


def _micros(fraction: bytes | None) -> int:
    return int(fraction[:6].ljust(6, b"0")) if fraction else 0


def _zone_us(zone: bytes | None) -> int:
    """How far a zone's clock is before UTC's, in µs."""
    if zone is None or zone == b"Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (minutes if zone[:1] == b"+" else -minutes) * 60 * SECOND_US


def iso_us(text: str) -> int | None:
    """An ISO 8601 instant in µs since 1970; None for another text. A date without a zone is taken as UTC."""
    try:
        instant = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None
    instant = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    return (instant - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def _json_message(fields: dict[str, Any]) -> str | None:
    """The text of a JSON line: of a field with a usual name, else the one that a writer's line begins in."""
    named = (words for name in _MESSAGES if isinstance(words := fields.get(name), str))
    texts = (words for words in fields.values() if isinstance(words, str))
    return next(named, None) or next(
        (words for words in texts if BEGINNINGS.search(words.encode("utf-8", "replace"))), None
    )


def _json_instant(fields: dict[str, Any]) -> int | None:
    """The instant of a JSON line: log4j2's `instant`, milliseconds, an ISO 8601 text, or seconds since 1970."""
    match fields.get("instant"):
        case {"epochSecond": int(seconds), "nanoOfSecond": int(nanos)}:
            return seconds * SECOND_US + nanos // 1_000
        case _:
            pass
    for name in _INSTANTS:
        value = fields.get(name)
        if isinstance(value, str):
            return iso_us(value) if not value.isdecimal() else _number_us(int(value[:20]))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _number_us(value)
    return None


def _number_us(value: float) -> int:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970: which, is seen from the size."""
    for least, in_us in ((1e17, 1e-3), (1e14, 1), (1e11, 1e3)):
        if value >= least:
            return int(value * in_us)
    return round(value * SECOND_US)

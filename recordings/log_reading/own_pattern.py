"""A pattern of the user's own, in the words of log4j: `%d{ISO8601} %p [%t] %m (%c)%n`.

Needed are the date and the message; what other conversions write is passed over.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cluster.config import brief
from recordings.bounded_files import RecordingError

_CONVERSION = re.compile(r"%(?:%|(-?\d*(?:\.-?\d+)?)([A-Za-z]+)((?:\{[^{}]*\})*))")
_DATES: Final = {"d", "date"}
_MESSAGES: Final = {"m", "msg", "message"}
_NOTHING: Final = {"n", "throwable", "ex", "exception", "xEx", "xThrowable", "rEx", "rThrowable"}
_WORDS: Final = {"p": r"[A-Z]+ *", "level": r"[A-Z]+ *"}
_OTHERS: Final = {
    *("t", "tn", "thread", "threadName", "c", "logger", "C", "class", "F", "file", "L", "line", "M", "method", "l"),
    *("location", "x", "NDC", "X", "mdc", "MDC", "r", "relative", "pid", "processId", "T", "tid", "threadId", "tp"),
    *("threadPriority", "K", "map", "MAP", "marker", "markerSimpleName", "N", "nano", "sn", "sequenceNumber", "u"),
    *("uuid", "host", "fqcn"),
}
_NAMED_DATES: Final = {
    "": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT": "yyyy-MM-dd HH:mm:ss,SSS",
    "ISO8601": "yyyy-MM-dd HH:mm:ss,SSS",
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "ISO8601_OFFSET_DATE_TIME_HH": "yyyy-MM-dd HH:mm:ss,SSSX",
    "ISO8601_OFFSET_DATE_TIME_HHMM": "yyyy-MM-dd HH:mm:ss,SSSX",
    "ISO8601_OFFSET_DATE_TIME_HHCMM": "yyyy-MM-dd HH:mm:ss,SSSX",
    "ISO8601_PERIOD": "yyyy-MM-dd HH:mm:ss.SSS",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
    "ABSOLUTE": "HH:mm:ss,SSS",
    "UNIX": "UNIX",
    "UNIX_MILLIS": "UNIX_MILLIS",
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LETTERS: Final = {
    "yyyy": r"(?P<year>\d{4})", "uuuu": r"(?P<year>\d{4})", "yy": r"(?P<short_year>\d\d)",
    "MM": r"(?P<month>\d\d)", "MMM": r"(?P<month_name>[A-Za-z]{3})", "dd": r"(?P<day>\d\d)", "d": r"(?P<day>\d{1,2})",
    "HH": r"(?P<hour>\d\d)", "H": r"(?P<hour>\d{1,2})", "mm": r"(?P<minute>\d\d)", "ss": r"(?P<second>\d\d)",
    "Z": r"(?P<zone>Z|[+-]\d\d:?\d\d)", "EEE": r"[A-Za-z]{3}", "EEEE": r"[A-Za-z]+",
    "X": r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)", "XX": r"(?P<zone>Z|[+-]\d\d:?\d\d)", "XXX": r"(?P<zone>Z|[+-]\d\d:?\d\d)",
}  # fmt: skip
_PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.")
EXAMPLE: Final = "%d{ISO8601} %p [%t] %m (%c)%n"
SECOND_US: Final = 1_000_000


class OwnPattern:
    """Reads lines of one pattern. Raises RecordingError for a pattern that cannot be read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._zone: tzinfo = UTC
        self._dated = True
        try:
            self._pattern = re.compile(self._expression(text))
        except re.error:
            raise RecordingError(f"--pattern: a part of the date stands twice in `{brief(text)}`") from None

    def parse(self, line: str) -> tuple[int | None, bool, str] | None:
        """The instant of a line (µs; None for an impossible date), whether it has a date, its message.

        None: the line has not the pattern.
        """
        found = self._pattern.match(line)
        return (self._instant(found), self._dated, found["message"]) if found is not None else None

    def _expression(self, text: str) -> str:
        parts: list[str] = []
        seen: set[str] = set()
        end = 0
        for found in _CONVERSION.finditer(text):
            parts.append(_literal(text[end : found.start()]))
            end = found.end()
            if found[2] is None:
                parts.append("%")
                continue
            kind = "date" if found[2] in _DATES else "message" if found[2] in _MESSAGES else found[2]
            if kind in {"date", "message"} and kind in seen:
                raise RecordingError(f"--pattern: %{brief(found[2])} stands twice in `{brief(text)}`")
            seen.add(kind)
            expression = self._conversion(kind, found[3], found[0])
            parts.append(f" *{expression} *?" if found[1] else expression)
        if not {"date", "message"} <= seen:
            raise RecordingError(f"--pattern: `{brief(text)}` needs a date, %d, and a message, %m; e.g. {EXAMPLE}")
        return "".join([*parts, _literal(text[end:])]) + "$"

    def _conversion(self, kind: str, options: str, text: str) -> str:
        if kind == "date":
            return self._date(re.findall(r"\{([^{}]*)\}", options))
        if kind == "message":
            return "(?P<message>.*?)"
        if kind in _NOTHING:
            return ""
        if kind in _WORDS:
            return _WORDS[kind]
        if kind in _OTHERS:
            return ".*?"
        raise RecordingError(f"--pattern: `{brief(text)}` is no conversion of log4j that can be read; e.g. {EXAMPLE}")

    def _date(self, options: list[str]) -> str:
        if len(options) > 1:
            try:
                self._zone = ZoneInfo(options[1])
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise RecordingError(f"--pattern: `{brief(options[1])}` is no time zone, e.g. Europe/Berlin") from None
        name = options[0] if options else ""
        form = _NAMED_DATES.get(name, name)
        self._dated = form != _NAMED_DATES["ABSOLUTE"]
        if form in {"UNIX", "UNIX_MILLIS"}:
            return r"(?P<unix>\d{10})" if form == "UNIX" else r"(?P<unix_ms>\d{13})"
        expression = "".join(map(_letters, _PART.finditer(form)))
        if self._dated and not ("(?P<day>" in expression and "month" in expression and "year>" in expression):
            if "(?P<hour>" not in expression or "(?P<day>" in expression:
                raise RecordingError(f"--pattern: `{brief(form)}` needs year, month and day, or the time alone")
            self._dated = False
        return expression

    def _instant(self, found: re.Match[str]) -> int | None:
        of = found.groupdict()
        if of.get("unix"):
            return int(of["unix"]) * SECOND_US
        if of.get("unix_ms"):
            return int(of["unix_ms"]) * 1_000
        micros = int((of.get("fraction") or "0")[:6].ljust(6, "0"))
        hour, minute, second = (int(of.get(name) or 0) for name in ("hour", "minute", "second"))
        if not self._dated:
            return ((hour * 60 + minute) * 60 + second) * SECOND_US + micros
        name = (of.get("month_name") or "").lower()
        month = _MONTHS.index(name) + 1 if name in _MONTHS else int(of.get("month") or 0)
        year = int(of["year"]) if of.get("year") else 2000 + int(of.get("short_year") or 0)
        try:
            instant = datetime(
                year, month, int(of["day"]), hour, minute, second, tzinfo=_zone_of(of.get("zone")) or self._zone
            )
        except (ValueError, OverflowError):
            return None
        return (instant - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) + micros


def _literal(text: str) -> str:
    """The expression for what stands between conversions."""
    if "%" in text:
        raise RecordingError(
            f"--pattern: the % in `{brief(text)}` begins no conversion (%% is the sign); e.g. {EXAMPLE}"
        )
    return re.escape(text)


def _letters(part: re.Match[str]) -> str:
    """The expression for one part of a date's form."""
    if part[1] is not None:
        return re.escape(part[1].replace("''", "'"))
    if part[2] is None:
        return "[ T]" if part[0] == " " else "[.,]" if part[0] in ",." else re.escape(part[0])
    if part[2] in "Sn":
        return rf"(?P<fraction>\d{{{len(part[0])}}})" if part[2] == "S" else r"(?P<fraction>\d+)"
    if part[0] not in _LETTERS:
        raise RecordingError(
            f"--pattern: `{brief(part[0])}` in a date is not known; known are {', '.join(_LETTERS)} and S"
        )
    return _LETTERS[part[0]]


def _zone_of(text: str | None) -> tzinfo | None:
    if not text:
        return None
    if text == "Z":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return datetime.fromisoformat(f"2000-01-01T00:00:00{text[0]}{digits[:2]}:{digits[2:]}").tzinfo if away else UTC

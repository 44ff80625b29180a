"""What can keep an analysis from its end, each said in one message."""

import re

from recordings.bounded_files import RecordingError


class ReportError(RecordingError):
    """A report cannot be made: the message says why, and what to do about it. Nothing half-written is left."""


class NoJavaError(ReportError):
    """Spark needs Java 17 or newer and none was found; the message says where was looked and what to install."""


class SparkStartError(ReportError):
    """Spark did not start, or the cluster cannot be reached; the message ends with what Spark said last."""


class ReportInterruptedError(ReportError):
    """The user stopped the report (Ctrl-C)."""


UNREADABLE = re.compile(r"\[FAILED_READ_FILE[^\]]*\].*? file (\S+?)\.?(?=\s|$)")
CAUSE = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)+[\w$]+: (.+)$")


def cause_of(error: Exception) -> str:
    """What an error of Spark's says, without its stack of calls: the file that cannot be read, or the last cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    causes = [found[1] for line in lines if (found := CAUSE.match(line))]
    unreadable = next((found[1] for line in lines if (found := UNREADABLE.search(line))), None)
    if unreadable is not None:
        path = unreadable.removeprefix("file://")
        reason = next((cause for cause in reversed(causes) if "FAILED_READ_FILE" not in cause), lines[0])
        reason = re.sub(rf"^(?:file:/*)?{re.escape(path.lstrip('/'))}\s+", "it ", reason)
        return f"the file {path} is damaged ({reason}); `flightdeck export` makes it again"
    return causes[-1] if causes else lines[0]

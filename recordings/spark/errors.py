"""The errors that end a report, each with one message."""

import re

from recordings.bounded_files import RecordingError


class ReportError(RecordingError):
    """A report cannot be made: the message says why, and how to fix it. No partial file is left."""


class NoJavaError(ReportError):
    """Spark needs Java 17 or newer and none was found; the message lists the places searched and what to install."""


class SparkStartError(ReportError):
    """Spark did not start, or the cluster cannot be reached; the message ends with Spark's last lines."""


class ReportInterruptedError(ReportError):
    """The user stopped the report (Ctrl-C)."""


UNREADABLE = re.compile(r"\[FAILED_READ_FILE[^\]]*\].*? file (\S+?)\.?(?=\s|$)")
CAUSE = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)+[\w$]+: (.+)$")


def cause_of(error: Exception) -> str:
    """The message of an error of Spark's, without its stack: the file that cannot be read, or the last cause."""
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

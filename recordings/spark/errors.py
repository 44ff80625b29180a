"""What can keep an analysis from its end, each said in one message."""

from recordings.format import RecordingError


class ReportError(RecordingError):
    """A report cannot be made: the message says why, and what to do about it. Nothing half-written is left."""


class NoJavaError(ReportError):
    """Spark needs Java 17 or newer and none was found; the message says where was looked and what to install."""


class SparkStartError(ReportError):
    """Spark did not start, or the cluster cannot be reached; the message ends with what Spark said last."""


class ReportInterruptedError(ReportError):
    """Somebody stopped the report (Ctrl-C)."""

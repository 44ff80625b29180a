"""What this machine has of what Flightdeck needs, what is missing, and how to get it."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Literal

import msgspec

from recordings.version import VERSION

LIBRARIES = ("trio", "textual", "structlog", "msgspec", "cyclopts", "common-expression-language", "zstandard")
REPORT_LIBRARIES = ("pyspark", "pandas", "pyarrow", "jinja2", "plotly")
OLDEST_PYTHON = (3, 11)
SMALLEST_TERMINAL = (80, 24)
FREE_BYTES_WANTED = 1 << 30  # a long recording, its tables and Spark's scratch files
REINSTALL = "install Flightdeck again: `pip install .` in its directory"

State = Literal["ok", "limited", "missing"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at: what was found, and what to do about it ("" when it is as it should be)."""

    name: str
    state: State
    found: str
    advice: str = ""


def examine(directory: Path, environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Look at versions, Java, the terminal and the free disk of `directory`."""
    return [
        _python(),
        Finding("flightdeck", "ok", VERSION),
        *(_library(name, "flights and the console need it") for name in LIBRARIES),
        *(_library(name, "only `report` needs it") for name in REPORT_LIBRARIES),
        _java(),
        *_terminal(environment),
        _disk(directory),
    ]


def _python() -> Finding:
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return Finding("python", "ok", found)
    return Finding("python", "missing", found, "Python 3.11 or newer is needed")


def _library(name: str, purpose: str) -> Finding:
    try:
        return Finding(name, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, "missing", "not installed", f"{purpose}: {REINSTALL}")


def _java() -> Finding:
    from recordings.spark.errors import NoJavaError  # noqa: PLC0415 - nothing of Spark is read before it is asked for
    from recordings.spark.java import find_java  # noqa: PLC0415

    try:
        java = find_java()
    except NoJavaError as error:
        return Finding("java", "missing", "none that Spark can use (only `report` needs it)", str(error))
    return Finding("java", "ok", f"{java.version} from {java.source} ({java.path})")


def _terminal(environment: Mapping[str, str]) -> Iterator[Finding]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield Finding("terminal", "limited", "none here", "the console needs one; every other command does without")
    else:
        columns, rows = shutil.get_terminal_size()
        small = columns < SMALLEST_TERMINAL[0] or rows < SMALLEST_TERMINAL[1]
        advice = "the console wants 80×24 or more: enlarge the window" if small else ""
        yield Finding("terminal", "limited" if small else "ok", f"{columns}×{rows}", advice)
    yield _colours(environment)
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding == "utf8":
        yield Finding("characters", "ok", "UTF-8")
    else:
        yield Finding(
            "characters", "limited", encoding or "unknown", "screens use UTF-8: set LC_ALL=C.UTF-8, or PYTHONUTF8=1"
        )


def _colours(environment: Mapping[str, str]) -> Finding:
    term = environment.get("TERM", "")
    if environment.get("NO_COLOR"):
        return Finding("colours", "ok", "none, as NO_COLOR asks: the console is monochrome")
    if term in {"", "dumb"}:
        return Finding("colours", "limited", f"TERM={term or '(not set)'}", "the console needs a terminal with colours")
    if environment.get("COLORTERM") in {"truecolor", "24bit"}:
        return Finding("colours", "ok", f"16 million (TERM={term})")
    return Finding("colours", "ok", f"{'256' if '256' in term else '16'} (TERM={term})")


def _disk(directory: Path) -> Finding:
    free = shutil.disk_usage(directory).free
    found = f"{free / (1 << 30):.1f} GiB free in {directory.resolve()}"
    if free >= FREE_BYTES_WANTED:
        return Finding("disk", "ok", found)
    return Finding("disk", "limited", found, "recordings and reports may not fit: record elsewhere, or make room")


MARKS: dict[State, str] = {"ok": "✔", "limited": "▲", "missing": "✖"}


def text_of(findings: list[Finding], write: Callable[[str], object]) -> None:
    """Write a line for each finding, and below it what to do."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        write(f"  {MARKS[finding.state]} {finding.name:{width}}  {finding.found}\n")
        if finding.advice:
            write(f"    {'':{width}}  → {finding.advice}\n")

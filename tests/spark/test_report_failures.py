"""A report that cannot be made says so in one message and leaves nothing behind, whatever kept it from its end."""

import errno
import logging
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock, create_autospec

import pytest
from py4j.java_gateway import GatewayClient  # type: ignore[import-untyped]  # published without types
from pyspark.sql import SparkSession

from console.cli.execution import main
from recordings.bounded_files import RecordingError
from recordings.journal.reader import Recording
from recordings.spark import output_files
from recordings.spark import report as reporting
from recordings.spark.errors import ReportError
from recordings.spark.html_page import HTML
from recordings.spark.report import JSON, report
from recordings.spark.runtime.interrupts import raised_not_logged, temporary_directory
from recordings.spark.runtime.session import stopping
from recordings.tables.export import export
from tests.support.repository import ROOT
from tests.support.slow_cases import partly_campaign
from tests.support.spark.java_homes import FLIGHTDECK, left_over, without_java

pytestmark = pytest.mark.timeout(300)  # a machine that may be busy

NO_JAVA_AT_ALL = "from recordings.spark.runtime import java; java.PIP_JAVA = 'no_such_java'"
# Bytecode that is cut at the limit would break every later process.
FULL_DISK = (
    "import resource, sys; sys.dont_write_bytecode = True; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
)
MAIN = "from console.cli.execution import main; main()"


def failed(
    tmp_path: Path, recording: Path, out: Path, *, environment: dict[str, str] | None = None, before: str = "pass"
) -> list[str]:
    """What the command says on stderr when it fails as it should: with 2, in order, leaving no temporary files."""
    environment = environment or without_java(tmp_path / "machine")
    answer = subprocess.run(
        [sys.executable, "-c", f"{before}; {MAIN}", "report", str(recording), "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    assert (answer.returncode, answer.stdout) == (2, ""), answer.stderr
    assert "Traceback" not in answer.stderr
    assert left_over(environment) == []
    return answer.stderr.splitlines()


def test_without_any_java_it_says_what_to_install(rare: Path, tmp_path: Path) -> None:
    [said] = failed(tmp_path, rare, tmp_path / "out", before=NO_JAVA_AT_ALL)
    assert said.startswith("flightdeck: Spark needs Java 17 or newer")
    assert "pip install" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    said = failed(tmp_path, tmp_path / "nothing", tmp_path / "out")
    assert said[-1].startswith("flightdeck: ")
    assert "not a recording" in said[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "place", "reason"),
    [
        (Path.touch, "way", "is not a directory"),
        (Path.touch, "way/below", "is not a directory"),
        (lambda way: (way / HTML).mkdir(parents=True), "way", f"{HTML} is a directory"),
    ],
    ids=["a file", "below a file", "a directory of its name"],
)
def test_a_place_that_cannot_be_written_is_refused_at_once(
    make: Callable[[Path], None], place: str, reason: str, rare: Path, tmp_path: Path
) -> None:
    make(tmp_path / "way")
    [said] = failed(tmp_path, rare, tmp_path / place)
    assert said.startswith(f"flightdeck: cannot write a report to {tmp_path / place}: ")
    assert reason in said


def test_a_directory_that_may_only_be_read_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(30, "Read-only file system")  # to root no mode of a directory says that

    monkeypatch.setattr(output_files, "TemporaryFile", refuse)
    with pytest.raises(ReportError, match=r"may not be written \(Read-only file system\)"):
        report([tmp_path / "not looked at"], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_disk_that_is_full_before_spark_starts_is_told(eventful: Path, tmp_path: Path) -> None:
    said = failed(tmp_path, eventful, tmp_path / "out", before=FULL_DISK)
    assert said[:-1] == ["  0 %  reading the recordings"]
    assert said[-1].startswith("flightdeck: cannot ")
    assert "File too large" in said[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("fails", "which", "older"),
    [
        ("write_bytes", JSON, False),
        ("write_bytes", JSON, True),
        ("write_bytes", HTML, False),
        ("write_bytes", HTML, True),
        ("replace", JSON, False),
        ("replace", JSON, True),
        ("replace", HTML, False),
    ],
)
def test_a_disk_that_fills_at_the_end_leaves_what_was_there(
    fails: str, which: str, older: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "deep" / "out"
    if older:
        out.mkdir(parents=True)
        for name in (JSON, HTML):
            (out / name).write_text("older")
    before = {path: path.read_text() for path in tmp_path.rglob("*.*")}
    whole = getattr(Path, fails)

    def until_full(self: Path, argument: object) -> object:
        if which in self.name:
            raise OSError(28, "No space left on device")
        return whole(self, argument)

    monkeypatch.setattr(Path, fails, until_full)
    with pytest.raises(ReportError, match="No space left"):
        output_files.write_output(out, {JSON: b"new", HTML: b"new"})
    monkeypatch.undo()
    assert {path: path.read_text() for path in tmp_path.rglob("*.*")} == before
    assert out.exists() == older


def test_an_interrupt_between_the_two_names_comes_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Path.replace

    def interrupt(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupt)
    before = signal.getsignal(signal.SIGINT)
    output_files.write_output(tmp_path, {JSON: b"new", HTML: b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {JSON: b"new", HTML: b"new"}
    assert signal.getsignal(signal.SIGINT) is before


class Interrupted:
    """A connection to Java, in whose first answer Ctrl-C comes."""

    socket = None

    def send_command(self, command: str) -> str:
        raise KeyboardInterrupt(command)


def asks_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the question."""
    client = GatewayClient()
    monkeypatch.setattr(client, "_get_connection", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.send_command("x")


def test_an_interrupt_in_a_question_to_java_prints_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with raised_not_logged():
        asks_java(monkeypatch)
        logging.getLogger().error("of another one")
    assert caplog.messages == ["of another one"]
    asks_java(monkeypatch)
    assert caplog.messages[1:] == ["KeyboardInterrupt while sending command."], "what Py4J prints otherwise"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupt_while_the_temporary_directory_is_made_leaves_none(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(*_: str | None) -> str:
        place = tmp_path / "made"
        place.mkdir()
        signal.raise_signal(number)
        return str(place)

    monkeypatch.setattr(tempfile, "mkdtemp", make)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), temporary_directory("any-"):
            pytest.fail("the interrupt was not heard")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_is_not_sent_to_look_for_local_files(rare: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="give --tables URI"):
        report([rare], tmp_path / "out", master="spark://elsewhere:7077")


@pytest.mark.parametrize(
    ("masters", "what"),
    [
        ("spark://127.0.0.1:{port}", "Spark master"),
        ("spark://127.0.0.1:{port},127.0.0.1:{port}", "Spark master"),
        ("sc://127.0.0.1:{port}/;user_id=me", "Spark Connect server"),
    ],
)
def test_a_master_that_does_not_answer_is_named_at_once(
    masters: str, what: str, rare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export([rare], tmp_path / "tables")
    with socket.socket() as closed:  # bound and not listening: no other process has the port, and it refuses
        closed.bind(("127.0.0.1", 0))
        master = masters.format(port=closed.getsockname()[1])
        with pytest.raises(SystemExit) as left:
            main(["report", str(tmp_path / "tables"), "--out", str(tmp_path / "out"), "--master", master])
    assert left.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said == f"flightdeck: no {what} answers at {master}: Connection refused"
    assert not (tmp_path / "out").exists()


def test_a_java_that_has_ended_hides_no_error() -> None:
    """A signal to the whole process group ends it too: stopping its session must not take the sentence's place."""
    dead = create_autospec(SparkSession, instance=True)
    dead.stop.side_effect = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    with pytest.raises(ReportError, match="Spark stopped"), stopping(dead):
        raise ReportError("Spark stopped while it worked")
    dead.stop.assert_called_once()


def test_what_is_no_master_is_named_without_a_stack(rare: Path, tmp_path: Path) -> None:
    export([rare], tmp_path / "tables")
    command = [*FLIGHTDECK, "report", str(tmp_path / "tables"), "--out", str(tmp_path / "out"), "--master", "nonsense"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert answer.returncode == 2
    said = answer.stderr.splitlines()[-1]
    assert said.startswith("flightdeck: Spark did not start on nonsense: Master must either be yarn or start with")


def test_a_spark_that_goes_away_is_named(rare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> NoReturn:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    monkeypatch.setattr(reporting, "run_queries", gone)
    export([rare], tmp_path / "tables")
    session = create_autospec(SparkSession)
    session.conf = Mock(get=lambda *_: "yarn")
    with pytest.raises(
        ReportError, match=r"^Spark stopped while it worked on yarn \(Connection refused\); nothing was"
    ):
        report([tmp_path / "tables"], tmp_path / "out", master="yarn", spark=session)


STAGES = ("reading the recordings", "starting Spark", "analysing:")
INTERRUPTED = [(number, stage) for number in (signal.SIGINT, signal.SIGTERM) for stage in STAGES]
QUICK = [one for one in INTERRUPTED if one[1] == STAGES[0]]  # the others start Java virtual machines, to be stopped


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "stage"),
    [*QUICK, *partly_campaign([INTERRUPTED[1], INTERRUPTED[4], INTERRUPTED[5], INTERRUPTED[2]], 2)],
    ids=lambda part: part.name if isinstance(part, signal.Signals) else part,
)
def test_an_interrupted_report_ends_in_words_and_leaves_nothing(
    number: signal.Signals, stage: str, eventful: Path, tmp_path: Path
) -> None:
    environment, out = without_java(tmp_path / "machine"), tmp_path / "out"
    command = [*FLIGHTDECK, "report", str(eventful), "--out", str(out)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    ) as process:
        assert process.stderr is not None
        assert any(stage in line for line in process.stderr)
        process.send_signal(number)
        said, complained = process.communicate(timeout=120)  # Java has our stdout too: it has ended as well
    assert (process.returncode, said) == (2, ""), complained
    assert complained.splitlines()[-1] == f"flightdeck: the report was interrupted; nothing was written to {out}"
    assert "Traceback" not in complained
    assert not out.exists()
    assert left_over(environment) == []


def refused(place: Path, spark: SparkSession) -> str:
    """What a report of an export says, which cannot be made."""
    with pytest.raises(RecordingError) as ended:
        report([place], place / "out", spark=spark)
    assert not (place / "out").exists()
    return str(ended.value)


def exported_file(place: Path, table: str) -> Path:
    [file] = (place / "tables" / table).glob("[!s]*.parquet")
    return file


@pytest.mark.slow
def test_a_file_that_spark_cannot_read_is_named(
    eventful: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a place that this machine cannot look at first, and in the middle of a file whose footer is whole."""
    export([eventful], tmp_path)
    file = exported_file(tmp_path, "topic_created")
    whole = file.read_bytes()
    file.write_bytes(whole[:4] + bytes(byte ^ 0xFF for byte in whole[4:200]) + whole[200:])
    assert refused(tmp_path, spark).startswith(f"Spark could not finish: the file {file} is damaged (")
    file.write_bytes(whole[: len(whole) // 2])
    assert refused(tmp_path, spark).startswith(f"the file {file} is damaged (Parquet magic bytes not found")
    monkeypatch.setattr(reporting, "refuse_unfit_files", lambda _: None)
    said = refused(tmp_path, spark)
    assert said.startswith(f"Spark could not finish: the file {file} is damaged (it is not a Parquet file")
    assert "localCheckpoint" not in said


@pytest.mark.slow
def test_tables_without_some_of_the_events_are_refused(eventful: Path, spark: SparkSession, tmp_path: Path) -> None:
    """Else a report would say that records were lost which are only missing from a table."""
    run_id = Recording(eventful).header.run_id
    export([eventful], tmp_path / "some")
    export([eventful], tmp_path / "again")
    exported_file(tmp_path / "some", "records_processed").unlink()
    said = refused(tmp_path / "some", spark)
    assert said.startswith(f"the table `records_processed` at {tmp_path / 'some'} has 0 of ")
    assert said.endswith(
        f"events of flight {run_id}: a file is missing or not whole; `flightdeck export` makes it again"
    )
    with pytest.raises(ReportError, match=f"flight {run_id} is there twice: give one export of it"):
        report([tmp_path / "again", tmp_path / "some"], tmp_path / "out", spark=spark)


def test_an_export_without_a_flight_is_refused(
    eventful: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export([eventful], tmp_path)
    exported_file(tmp_path, "flights").unlink()
    assert refused(tmp_path, spark).startswith(f"{tmp_path} holds no flight: its table `flights` has no file")
    monkeypatch.setattr(reporting, "refuse_unfit_files", lambda _: None)
    assert refused(tmp_path, spark) == f"{tmp_path} holds no flight: the table `flights` has no row"

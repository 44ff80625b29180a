"""A report with alert rules, and with flights to compare with, says what `alerts` and `compare` say of them."""

import subprocess
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from console.cli.execution import main
from recordings.alerts.rules import load_rules
from recordings.alerts.scoring import score
from recordings.alerts.watch import watch
from recordings.alerts.words import sentences
from recordings.bounded_files import RecordingError
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from recordings.spark.analyses.across_flights import Asked
from recordings.spark.compare.compare import compare_sets
from recordings.spark.errors import ReportError
from recordings.spark.html_page import page
from recordings.spark.report import Reported, report
from recordings.spark.report_document import Report
from recordings.tables.export import export
from tests.support.repository import ROOT
from tests.support.spark.java_homes import FLIGHTDECK

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # a Java virtual machine, and a machine that may be busy

SEEDS = (1, 2)
SETS = {"patient": "45000", "hasty": "6000"}
OWN = """
[score]
harm = "3s"
[[rule]]
name = "ten seconds <old>"
kind = "time_lag"
age = "10s"
"""


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("across")
    for name, timeout in SETS.items():
        (home / name).mkdir()
        for seed in SEEDS:
            settings = [(None, "session.timeout.ms", timeout)]
            plan = make_plan(load("dynamic-restart"), seed=seed, until_us=50_000_000, settings=settings)
            fly(plan, record=home / name / f"{seed}.flight")
    (home / "own.toml").write_text(OWN)
    return {name: home / name for name in (*SETS, "own.toml")}


@pytest.fixture(scope="module")
def reported(sets: dict[str, Path], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """The hasty flights, given as their directory."""
    asked = Asked(rules=load_rules(sets["own.toml"]), against=sets["patient"])
    return report([sets["hasty"]], tmp_path_factory.mktemp("out"), spark=spark, asked=asked)


def test_a_directory_is_all_its_recordings(reported: Reported) -> None:
    assert sorted(flight.seed for flight in reported.report.flights) == list(SEEDS)


def test_the_leaderboard_is_that_of_alerts(reported: Reported, sets: dict[str, Path]) -> None:
    rules = load_rules(sets["own.toml"])
    board = score([watch(sets["hasty"] / f"{seed}.flight", rules) for seed in SEEDS], rules)
    assert reported.report.alerts is not None
    assert reported.report.alerts.leaderboard == board
    assert board.faults
    html = reported.html.read_text()
    assert all(sentence.replace("'", "&#39;").replace("<old>", "&lt;old&gt;") in html for sentence in sentences(board))


def test_the_differences_are_those_of_compare(
    reported: Reported, sets: dict[str, Path], tmp_path: Path, spark: SparkSession
) -> None:
    alone = compare_sets(sets["patient"], sets["hasty"], tmp_path / "out", spark=spark)
    found = reported.report.compared
    assert found is not None
    assert msgspec.structs.replace(found, seconds=alone.seconds) == alone
    assert found.different
    html = reported.html.read_text()
    assert "<h1>hasty against patient</h1>" in html
    assert html.index("<h1>2 flights</h1>") < html.index("<h1>hasty against patient</h1>")


def test_the_file_has_both_and_the_page_of_one_flight_has_its_verdict_first(reported: Reported) -> None:
    read = msgspec.json.decode(reported.json.read_bytes(), type=Report, strict=True)
    assert read == reported.report
    html = page(msgspec.structs.replace(read, flights=read.flights[:1]))
    assert html.index('class="headline"') < html.index("<h1>hasty against patient</h1>")
    assert "Which alert finds" not in page(msgspec.structs.replace(read, alerts=None))


def test_the_command_says_both_in_words(sets: dict[str, Path], tmp_path: Path) -> None:
    """In a process of its own: a session that ends would end that of other tests."""
    one, other = (str(sets[name] / "1.flight") for name in ("hasty", "patient"))
    given = ["report", one, "--out", str(tmp_path / "out"), "--alerts", "classic", "--against", other]
    answer = subprocess.run([*FLIGHTDECK, *given], capture_output=True, text=True, check=False, cwd=ROOT)
    assert answer.returncode == 0, answer.stderr
    assert "B against A\n  B costs" in answer.stdout
    assert "Which alert finds the faults?\n  " in answer.stdout


def test_what_cannot_be_answered_is_refused_before_spark_starts(
    sets: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export([sets["hasty"] / "1.flight"], tmp_path / "tables")
    rules, nowhere = load_rules(), "spark://nowhere:1"
    with pytest.raises(ReportError, match="tables holds exported tables: --alerts and --against read recordings"):
        report([tmp_path / "tables"], tmp_path / "out", master=nowhere, asked=Asked(rules=rules))
    with pytest.raises(RecordingError, match="none does not exist, so it is not a recording"):
        report([sets["hasty"]], tmp_path / "out", master=nowhere, asked=Asked(against=tmp_path / "none"))
    for more, reason in (
        (["--alerts", "clasic"], "there is no rule file clasic; `--alerts classic` takes the classic rules"),
        (
            ["--follow", "--alerts", "classic"],
            "--follow takes one recording, without --salvage, --alerts and --against",
        ),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["report", str(sets["hasty"] / "1.flight"), "--out", str(tmp_path / "out"), *more])
        assert ended.value.code == 2
        [said] = capsys.readouterr().err.splitlines()
        assert reason in said
    assert not (tmp_path / "out").exists()

"""The alert laboratory under Spark: the scores of one process and of a second engine, and of hidden faults alone."""

import json
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from recordings.alerts.rules import load_rules
from recordings.alerts.scoring import score
from recordings.alerts.watch import Watched, watch
from recordings.flights.runner import fly, make_plan
from recordings.game.drawing import draw_game
from recordings.journal.reader import Recording
from recordings.spark.alert_lab.alert_lab import HTML, JSON, TABLE, score_flights
from recordings.spark.alert_lab.lab_tasks import LabOrder, LabTask, watched_game

RULES = load_rules()
LEVEL, SEED = 2, 3


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of the games as a recording: there, its noise is known as faults too."""
    path = tmp_path_factory.mktemp("lab") / "game.flight"
    fly(make_plan(draw_game(LEVEL, SEED).scenario, invariants=False), record=path)
    return path


@pytest.fixture(scope="module")
def game() -> Watched:
    """The same game under the eyes of the rules."""
    return watched_game(draw_game(LEVEL, SEED), RULES)


@pytest.mark.slow
def test_spark_scores_as_one_process_does(spark: SparkSession, recorded: Path, game: Watched, tmp_path: Path) -> None:
    """DuckDB's sums over the written outcomes are the leaderboard's: they share no code with it."""
    broken = tmp_path / "none.flight"
    orders = [
        LabOrder(recording=str(recorded)),
        LabOrder(level=LEVEL, seed=SEED),
        LabOrder(recording=str(broken)),
    ]
    result = score_flights(RULES, orders, tmp_path / "out", spark=spark)
    assert [flight.order for flight in result.flights] == orders
    assert [flight.order.recording for flight in result.failed] == [str(broken)]
    assert result.leaderboard == score([watch(recorded, RULES), game], RULES)
    sums = (
        duckdb.connect()
        .execute(
            f"""select rule, count(*) filter (outcome = 'found'), count(*) filter (outcome = 'missed'),
            count(*) filter (outcome = 'hidden'), count(*) filter (outcome = 'false'), median(delay_us)
            from '{tmp_path / "out" / TABLE}' group by rule"""
        )
        .fetchall()
    )
    scores = {
        one.rule: (one.found, one.missed, one.hidden, one.false, one.median_delay_us)
        for one in result.leaderboard.scores
    }
    assert {rule: (*counts, None if delay is None else round(delay)) for rule, *counts, delay in sums} == {
        rule: told for rule, told in scores.items() if any(told[:4])
    }
    assert sum(one.found for one in result.leaderboard.scores) > 3
    assert json.loads((tmp_path / "out" / JSON).read_bytes())["format"] == 1
    assert "none.flight" in (tmp_path / "out" / HTML).read_text()


@pytest.mark.slow
def test_only_hidden_faults_need_an_alert(recorded: Path, game: Watched) -> None:
    """The recording's own log has the hidden fault and the noise; taken for faults, the noise would be missed, too."""
    started = [
        json.loads(line)
        for line in b"".join(Recording(recorded).event_lines()).splitlines()
        if b'"kind":"fault_started"' in line
    ]
    hidden = {(step.text, step.at_us) for step in draw_game(LEVEL, SEED).faults}
    assert len(started) > len(hidden) == 1
    assert {(fault.text, fault.from_us) for fault in game.faults} == hidden
    assert hidden <= {(event["text"], event["at_us"]) for event in started}
    with_noise = watch(recorded, RULES)
    assert len(with_noise.faults) == len(started)
    assert (with_noise.alerts, with_noise.waits) == (game.alerts, game.waits)


def test_a_flight_that_cannot_be_watched_is_a_row_of_its_own(tmp_path: Path) -> None:
    flight = LabTask(RULES, salvage=False).see(LabOrder(recording=str(tmp_path / "gone.flight")))
    assert flight.outcomes is None
    assert "gone.flight does not exist" in (flight.failure or "")

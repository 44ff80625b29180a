"""The eighteen questions in SQL over exported tables (`docs/sql`) have the answers that the fold gives.

DuckDB is a second engine: the queries know the data dictionary, and nothing of the fold.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from recordings.tables.export import export
from recordings.tables.schema import sql_views
from tests.support.question_facts import FACTS, Folded, Row
from tests.support.repository import ROOT

pytestmark = pytest.mark.xdist_group("sql-questions")  # one process: each flight is flown once
SQL = ROOT / "docs" / "sql"
QUICK = {"crash-between-commit-and-answer": 60, "hanging-transaction": 100}
LESSONS = {
    "poll-too-slow": 300,
    "cooperative-join": 110,
    "assignor-upgrade": 130,
    "rolling-restart-static": 180,
    "transaction-abort": 60,
    "stuck-last-stable-offset": 40,
    "committed-offset-moves-back": 130,
    "below-min-isr": 100,
    "add-partitions": 330,
    "consumer-session-expired": 110,
    "coordinator-failover": 200,
    "dynamic-restart": 150,
    "static-twins": 120,
    "zombie-producer": 90,
}
"""Flights of the library, and the seconds after which they are cut: some in the middle of what they show."""
TABLES = {
    1: "join_received",
    2: "group_stabilized",
    3: "heartbeat_answered",
    4: "records_processed",
    5: "partitions_assigned",
    6: "member_started",
    7: "join_barrier_completed",
    8: "join_barrier_completed",
    9: "consumer_fenced",
    10: "member_removed",
    11: "offsets_committed",
    12: "transaction_state_changed",
    13: "offsets_committed",
    14: "records_appended",
    15: "producer_epoch_refused",
    16: "isr_changed",
    17: "topic_created",
    18: "records_appended",
}
"""Question → a table that its answer needs."""

COLUMNS = {
    1: "group generation waited_for waited_s",
    2: "group started_s cause trigger generation took_s members",
    3: "member session_timeout_ms heartbeat_ms max_poll_interval_ms processing_ms",
    5: "group rebalances unowned_partition_s",
    6: "group static session_timeout_ms restarts down_s rebalances",
    7: "group started_s delay_s members more_rebalances",
    8: "group generation assignor members offers votes",
    10: "group member killed_s partitions noticed_s reason unowned_partition_s",
    11: "group partition lag held_back markers aborted",
    12: "partition transactional_id state last_stable_offset open_s left_s waiting",
    13: "group at_s partition before after member generation cause",
    14: "partition transactional_id hanging records open_s found",
    16: "broker leads offline below_min_isr coordinates",
    17: "topic since_s partitions java",
    18: "partition records bytes share skew",
}
"""Question → the columns that are compared with the fold, in the order of its rows; 4, 9 and 15 are summed up first."""

Answers = list[dict[str, Any]]


class Exports:
    """Flights in exported tables, and the fold of each by its run id."""

    def __init__(self, flights: Mapping[str, int], place: Path) -> None:
        recordings = [place / name for name in flights]
        for recording in recordings:
            fly(make_plan(load(recording.name), until_us=flights[recording.name] * 1_000_000), record=recording)
        self.folded = {
            said.run_id: Folded(recording)
            for recording, said in zip(recordings, export(recordings, place / "out"), strict=True)
        }
        self._base = duckdb.connect()
        self._where = f"SET VARIABLE tables = '{place}/out/tables'"
        self._base.execute(self._where)
        self._base.execute((SQL / "tables.sql").read_text("utf-8"))

    def answers(self, question: int, without: str = "") -> dict[str, Answers]:
        """The rows of a question by flight; `without`: a table that has no rows then."""
        [path] = SQL.glob(f"{question:02}-*.sql")
        with self._base.cursor() as base:
            base.execute(self._where)
            if without:
                base.execute(f"CREATE TEMP VIEW {without} AS SELECT * FROM memory.{without} WHERE false")
            found = base.execute(path.read_text("utf-8"))
            names = [column[0] for column in found.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return {run_id: [row for row in rows if row["run_id"] == run_id] for run_id in self.folded}

    def disagreements(self, question: int, without: str = "") -> list[str]:
        """Rows that only one of the two has, in words."""
        found = []
        for run_id, answers in self.answers(question, without).items():
            told = self.folded[run_id]
            rows, facts = Counter(_rows(question, answers, told)), Counter(map(_hashable, FACTS[question](told)))
            where = f"{told.summary.scenario}, question {question}"
            found += [f"{where}, only in SQL: {row}" for row in rows - facts]
            found += [f"{where}, only in the fold: {row}" for row in facts - rows]
        return found


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    return Exports(QUICK, tmp_path_factory.mktemp("quick"))


@pytest.fixture(scope="module")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    return Exports(LESSONS, tmp_path_factory.mktemp("lessons"))


def _us(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)


def _hashable(row: Row) -> Row:
    return tuple(tuple(sorted(each.items())) if isinstance(each, dict) else each for each in row)


def _rows(question: int, answers: Answers, told: Folded) -> Iterator[Row]:
    """The rows in the form of the fold's."""
    completed = {(group, one.generation) for group, one in told.rebalances()}
    if question == 1:
        answers = [one for one in answers if not one["initial"]]
    if question == 18:
        answers = [one for one in answers if one["skew"] is not None]  # nothing was written to the topic
    for row in _of_question(question, answers):
        # the fold keeps what became Stable: a barrier that opened again before is not there
        if question not in {1, 8} or row[:2] in completed:
            yield _hashable(row)


def _of_question(question: int, answers: Answers) -> Iterator[Row]:
    match question:
        case 4:
            again = Counter[str]()
            for one in answers:
                again[one["group"]] += int(one["again"])
            yield from again.items()
        case 9:
            for member, times in Counter(one["fenced"] for one in answers).items():
                others = {one["replaced_by"] for one in answers if one["fenced"] == member}
                yield member, times, tuple(sorted(others))
        case 15:
            for name in {one["transactional_id"]: None for one in answers}:
                mine = [one for one in answers if one["transactional_id"] == name]
                yield name, sum(one["refused"] for one in mine), tuple(sorted({one["fenced_by"] for one in mine}))
        case _:
            yield from ((*(_plain(each, one[each]) for each in COLUMNS[question].split()),) for one in answers)


def _plain(name: str, value: object) -> object:
    """A cell as the fold has it: times in µs, shares in millionths."""
    if isinstance(value, float | Decimal):
        number = float(value)
        return round(number * (1e3 if name.endswith("_ms") else 1e6))
    return value


def test_every_question_has_its_file_and_says_its_columns() -> None:
    questions = re.findall(
        r"^\| (\d+) \| ([^|]+) \|", (ROOT / "docs" / "questions.md").read_text("utf-8"), re.MULTILINE
    )
    files = sorted(path for path in SQL.glob("*.sql") if path.name != "tables.sql")
    assert [path.name[:2] for path in files] == [f"{int(number):02}" for number, _ in questions]
    for path, (number, _) in zip(files, questions, strict=True):
        text = path.read_text("utf-8")
        assert text.startswith(f"-- {number}. "), path.name
        assert "?\n--\n-- A row for each " in text, path.name


def test_the_views_are_the_schema_s() -> None:
    assert (SQL / "tables.sql").read_text("utf-8") == sql_views(), (
        "run `python -m recordings.tables.schema docs/data-dictionary.md docs/sql/tables.sql`"
    )


@pytest.mark.parametrize("question", FACTS)
def test_sql_answers_as_the_fold_does(quick: Exports, question: int) -> None:
    assert quick.disagreements(question) == []


@pytest.mark.slow
@pytest.mark.parametrize("question", FACTS)
def test_sql_answers_as_the_fold_does_in_every_lesson(lessons: Exports, question: int) -> None:
    assert lessons.disagreements(question) == []


@pytest.mark.slow
@pytest.mark.parametrize("question", FACTS)
def test_an_answer_without_a_table_is_noticed(quick: Exports, lessons: Exports, question: int) -> None:
    broken = [line for each in (quick, lessons) for line in each.disagreements(question, TABLES[question])]
    assert broken

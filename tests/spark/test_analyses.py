"""The table of analyses: each is in the JSON, its documentation and the verdict by its line in `ANALYSES` alone."""

from types import GenericAlias
from typing import Any

import msgspec
import pytest
from pyspark.sql import Row

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity
from recordings.spark.analyses.incidents import INCIDENTS
from recordings.spark.analyses.table import ANALYSES
from recordings.spark.queries import queries_of
from recordings.spark.report_document import documentation, flight_struct
from recordings.spark.report_model import FlightReport
from recordings.spark.verdict import verdict
from tests.support.spark.report_samples import CALM


class Fencing(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that the controller fenced."""

    broker: int


def analysis(**more: Any) -> Analysis[Fencing]:  # noqa: ANN401 - any field of an analysis
    fields: dict[str, Any] = {"key": "fencings", "row": Fencing, "queries": {}, "build": lambda _: []}
    return Analysis(**fields | more)


def with_rows(added: Analysis[Fencing]) -> FlightReport:
    """The calm flight as a flight of a report with one more analysis, which found a row."""
    fields = {name: getattr(CALM, name) for name in CALM.__struct_fields__} | {"fencings": [Fencing(broker=2)]}
    return flight_struct([*ANALYSES, added])(**fields)


@pytest.mark.parametrize("known", ANALYSES, ids=lambda analysis: analysis.key)
def test_the_rows_of_an_analysis_stand_under_its_key(known: Analysis[Any]) -> None:
    types = {field.name: field.type for field in msgspec.structs.fields(flight_struct(ANALYSES))}
    assert types[known.key] == GenericAlias(list, known.row)


def test_no_two_analyses_have_one_key() -> None:
    assert len({known.key for known in ANALYSES}) == len(ANALYSES)


def test_a_new_analysis_is_in_the_json_and_its_documentation() -> None:
    flight = with_rows(analysis())
    assert msgspec.json.decode(msgspec.json.encode(flight))["fencings"] == [{"broker": 2}]
    text = documentation(type(flight))
    assert "| `fencings` | list of [Fencing](#fencing) |" in text
    assert "A broker that the controller fenced." in text


def test_an_analysis_finds_its_own_rows() -> None:
    assert analysis().rows_of(with_rows(analysis())) == [Fencing(broker=2)]
    assert analysis().rows_of(CALM) == []


def test_an_earlier_report_has_no_rows_of_a_new_analysis() -> None:
    struct = flight_struct([*ANALYSES, analysis()])
    assert "fencings" not in msgspec.json.decode(msgspec.json.encode(CALM))
    read = msgspec.json.decode(msgspec.json.encode(CALM), type=struct)
    assert msgspec.to_builtins(read)["fencings"] == []


def test_the_verdict_has_a_new_analysis_s_facts_by_gravity_and_its_sentences_last() -> None:
    added = analysis(
        facts=lambda _: [Fact(Gravity.OTHER, "broker-2 fenced"), Fact(Gravity.SENDS_FAILED, "no send answered")],
        sentences=lambda _: ["The controller fenced broker-2."],
    )
    judged = verdict(with_rows(added), [*ANALYSES, added])
    assert judged.level == "eventful"
    assert judged.headline == "No acknowledged record is lost; no send answered; broker-2 fenced."
    assert judged.sentences[-1] == "The controller fenced broker-2."
    assert verdict(CALM).level == "calm"


def test_a_flight_with_an_eventful_answer_is_not_calm() -> None:
    assert verdict(CALM, [*ANALYSES, analysis(eventful=lambda _: True)]).level == "eventful"


def test_a_query_s_name_that_is_taken_is_refused() -> None:
    taken = analysis(queries={"storms": lambda tables: tables.flights})
    with pytest.raises(ValueError, match="two analyses have a query named storms"):
        queries_of([*ANALYSES, taken])


@pytest.mark.parametrize(
    ("text", "kind", "repairs", "lasts_us"),
    [
        ("start broker-1", "start", True, 0),
        ("kill broker-1", "kill", False, 0),
        ("nemesis off", "nemesis", True, 0),
        ("nemesis on", "nemesis", False, 0),
        ("rolling restart billing every 10s down 5s", "rolling_restart", False, 35_000_000),
        ("rolling restart gone every 10s down 5s", "rolling_restart", False, 5_000_000),
        ("a command of an earlier version", "", False, 0),
    ],
)
def test_what_a_command_repairs_and_how_long_it_lasts(text: str, kind: str, repairs: bool, lasts_us: int) -> None:
    row = Row(
        incident=1,
        at_us=0,
        text=text,
        kind=kind,
        targets=["broker-1"],
        source="operator",
        fault=False,
        cleared_us=None,
        refused="",
    )
    [built] = INCIDENTS.build({"incidents": [row], "effects": [], "declared": [Row(group="billing", members=3)]})
    assert (built.kind, built.targets, built.repairs, built.lasts_us) == (kind, ["broker-1"], repairs, lasts_us)

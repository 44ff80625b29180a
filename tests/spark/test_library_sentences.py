"""What the report says of each library flight, and what it must not say (`library_sentences.toml`)."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from recordings.spark.report_model import FlightReport
from recordings.spark.verdict import WORDS
from tests.support.library import LIBRARY
from tests.support.spark.five_readers import FiveReaders

HERE = Path(__file__).parent
SENTENCES: dict[str, dict[str, list[str]]] = tomllib.loads((HERE / "library_sentences.toml").read_text("utf-8"))

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and the whole library


def test_every_scenario_but_the_loads_has_its_sentences() -> None:
    assert sorted(SENTENCES) == [name for name in LIBRARY if not name.startswith("reference")]
    for name, parts in SENTENCES.items():
        assert parts["says"], name
        assert parts["never"], name
        assert set(parts) == {"says", "never"}, name


def told(flight: FlightReport) -> str:
    """What the report says of a flight in words."""
    anomalies: list[Any] = flight.anomalies  # type: ignore[attr-defined]  # an analysis's own list
    lines = (f"{one.anomaly} in {one.subject}: {'allowed' if one.allowed else 'not allowed'}" for one in anomalies)
    return "\n".join([flight.verdict.headline, *flight.verdict.sentences, *lines])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_the_report_says_what_is_true_of_it_and_nothing_false(name: str, whole_fleet: FiveReaders) -> None:
    text, verdict = told(whole_fleet.reported(name)), whole_fleet.reported(name).verdict
    assert "not allowed" not in text, "the library's clusters are sound"
    spoken = (re.sub("“[^”]*”", "command", line) for line in (verdict.headline, *verdict.sentences))
    assert [line for line in spoken if len(line.split()) > WORDS] == []
    missing = [part for part in SENTENCES[name]["says"] if part not in text]
    false = [part for part in SENTENCES[name]["never"] if part in text]
    assert not missing, text
    assert not false, text

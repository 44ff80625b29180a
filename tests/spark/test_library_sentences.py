"""What the report says of each library flight, and what it must not say (`library_sentences.toml`)."""

import tomllib
from pathlib import Path

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_the_report_says_what_is_true_of_it_and_nothing_false(name: str, whole_fleet: FiveReaders) -> None:
    said = whole_fleet.reported(name).verdict
    text = "\n".join([said.headline, *said.sentences])
    missing = [part for part in SENTENCES[name]["says"] if part not in text]
    false = [part for part in SENTENCES[name]["never"] if part in text]
    assert not missing, text
    assert not false, text

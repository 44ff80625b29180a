"""Every flight of the library, described in the shape of Kafka's tools and imported: the same topics and groups."""

import pytest

from recordings.importing.make import Imported
from recordings.scenarios.loader import Scenario, load, parse_scenario
from tests.support.import_round_trip import described, flown, imported, in_scenario, in_view
from tests.support.library import LIBRARY
from tests.support.slow_cases import mostly_slow

QUICK = ("static-restart", "uniform-vs-range", "rolling-restart-static")
DIFFERENT: dict[str, str] = {}
"""Flights whose description does not tell everything, with the reason."""
CASES = [name for name in LIBRARY if name not in ("reference-l", "reference-xl")]  # they fly for minutes


def there_and_back(scenario: Scenario) -> tuple[set[object], Imported]:
    view = flown(scenario)
    return set(in_view(view)), imported(described(view, scenario.spec))


@pytest.mark.parametrize("name", mostly_slow(CASES, QUICK))
def test_what_the_tools_tell_of_a_flight_comes_back(name: str) -> None:
    there, back = there_and_back(load(name))
    assert (there == set(in_scenario(back.spec))) is (name not in DIFFERENT), DIFFERENT.get(name)


def test_the_comparison_sees_a_partition_and_a_member_that_are_missing() -> None:
    scenario = load("static-restart")
    view = flown(scenario)
    texts = described(view, scenario.spec)
    without_member = [text.replace("#PARTITIONS", "#PARTITIONS", 1) for text in texts]
    without_member[3] = "\n".join(texts[3].splitlines()[:-1])
    fewer = [text.replace("PartitionCount: ", "PartitionCount: 1") for text in texts]
    assert set(in_scenario(imported(without_member).spec)) != set(in_view(view))
    assert set(in_scenario(imported(fewer).spec)) != set(in_view(view))


@pytest.mark.parametrize("name", QUICK)
def test_what_comes_back_flies_at_once(name: str) -> None:
    _, back = there_and_back(load(name))
    again = flown(parse_scenario(back.text.replace("[cluster]", 'until = "30s"\n\n[cluster]', 1), "again.toml"))
    for group in back.spec.groups:
        assert again.groups[group.name].state == "Stable"
        assert len(again.groups[group.name].members) == group.members

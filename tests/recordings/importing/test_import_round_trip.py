"""Every flight of the library, described in the shape of Kafka's tools and imported: the same topics and groups."""

import pytest

from recordings.importing.make import Imported
from recordings.scenarios.loader import Scenario, load, parse_scenario
from tests.support.import_round_trip import described, flown, imported, in_scenario, in_view
from tests.support.library import LIBRARY
from tests.support.slow_cases import partly_campaign

QUICK = ("static-restart", "uniform-vs-range", "rolling-restart-static")
OTHERS = [name for name in LIBRARY if name not in QUICK and not name.startswith("reference")]  # those fly for minutes


def there_and_back(scenario: Scenario) -> tuple[set[object], Imported]:
    view = flown(scenario)
    return set(in_view(view)), imported(described(view, scenario.spec))


@pytest.mark.parametrize("name", [*QUICK, *partly_campaign(OTHERS, 14)])
def test_what_the_tools_tell_of_a_flight_comes_back(name: str) -> None:
    there, back = there_and_back(load(name))
    assert there == set(in_scenario(back.spec))


def test_the_comparison_sees_a_partition_and_a_member_that_are_missing() -> None:
    scenario = load("static-restart")
    view = flown(scenario)
    texts = described(view, scenario.spec)
    without_member = list(texts)
    without_member[3] = "\n".join(texts[3].splitlines()[:-1])
    fewer = [text.replace("PartitionCount: ", "PartitionCount: 1") for text in texts]
    assert set(in_scenario(imported(without_member).spec)) != set(in_view(view))
    assert set(in_scenario(imported(fewer).spec)) != set(in_view(view))
    other_leader = [text.replace("Replicas: 1,2,3", "Replicas: 2,1,3", 1) for text in texts]
    assert other_leader != texts
    assert set(in_scenario(imported(other_leader).spec)) != set(in_view(view))


@pytest.mark.parametrize("name", QUICK)
def test_what_comes_back_flies_at_once(name: str) -> None:
    _, back = there_and_back(load(name))
    again = flown(parse_scenario(back.text.replace("[cluster]", 'until = "30s"\n\n[cluster]', 1), "again.toml"))
    for group in back.spec.groups:
        assert again.groups[group.name].state == "Stable"
        assert len(again.groups[group.name].members) == group.members

"""What docs/scenario-format.md and the README show of a scenario is what happens."""

import re

import pytest

from console.cli.output import of_flight
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import ScenarioErrors, parse_scenario
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "scenario-format.md").read_text()
EXAMPLE, *FRAGMENTS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
PRINTED, MISTAKE = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[:2]


@pytest.mark.slow
def test_the_example_is_judged_as_the_page_says() -> None:
    flown = fly(make_plan(parse_scenario(EXAMPLE, "example.toml")))
    printed = of_flight(flown, None)
    assert PRINTED in printed, printed
    assert (flown.held, flown.accidental) == (True, True)


def test_the_mistake_is_reported_as_the_page_says() -> None:
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(EXAMPLE.replace('after = "kill billing-2"', 'after = "kill billing-3"', 1), "scenario.toml")
    assert str(caught.value) == MISTAKE.strip()


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_what_the_page_shows_of_a_file_is_read(fragment: str) -> None:
    """Each fragment stands in the example, before its tables."""
    head, tables = EXAMPLE.split("\n\n", 1)
    parse_scenario(f"{head}\n{fragment}\n{tables}", "fragment.toml")


@pytest.mark.slow
def test_the_scenario_of_the_readme_holds_and_not_by_accident() -> None:
    (example,) = re.findall(r"```toml\n(title.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    flown = fly(make_plan(parse_scenario(example, "example.toml")))
    assert flown.expectations
    assert (flown.held, flown.accidental) == (True, False)

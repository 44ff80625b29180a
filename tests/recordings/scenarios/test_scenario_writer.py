"""What is written as a scenario file is read back to the same spec."""

import msgspec
import pytest

from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import library, load, parse_scenario
from recordings.scenarios.writer import write_scenario
from recordings.swarm.generator import draw
from tests.support.minimal_scenario import MINIMAL


def without_lines(spec: ScenarioSpec) -> ScenarioSpec:
    expectations = tuple(msgspec.structs.replace(each, line=0) for each in spec.expectations)
    return msgspec.structs.replace(spec, expectations=expectations)


@pytest.mark.parametrize("name", [name for name in library() if name != "your-own-assignor"])  # its code is elsewhere
def test_every_scenario_of_the_library_is_written_as_it_was_read(name: str) -> None:
    spec = load(name).spec
    assert without_lines(parse_scenario(write_scenario(spec), "again.toml").spec) == without_lines(spec)


@pytest.mark.parametrize("title", ['"quoted" \\ and\ttabs', "a\x7fb", "a\x00\x1fb", "ümlaut 🛫"])
def test_every_text_is_written_as_it_was_read(title: str) -> None:
    spec = msgspec.structs.replace(load("first-flight").spec, title=title)
    assert parse_scenario(write_scenario(spec), "again.toml").spec.title == title


@pytest.mark.parametrize("seed", range(40))
def test_every_random_cluster_is_a_scenario_file(seed: int) -> None:
    spec = draw(seed, 60_000_000).spec
    assert without_lines(parse_scenario(write_scenario(spec), "swarm.toml").spec) == spec


def test_a_step_after_an_event_is_written_as_it_was_read() -> None:
    text = f'{MINIMAL}[[at]]\ntime = "1s"\ndo = "kill billing-1"\nafter_event = 700\n'
    spec = parse_scenario(text, "steps.toml").spec
    assert spec.steps[0].after_event == 700
    assert without_lines(parse_scenario(write_scenario(spec), "again.toml").spec) == spec

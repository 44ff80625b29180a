"""A playback script is read whole, or every mistake in it is told with its line."""

from pathlib import Path

import pytest

from recordings.journal.script import Script, ScriptStep, load_script, parse_script
from recordings.scenarios.loader import ScenarioErrors

TEXT = """
title = "How a silent member is noticed"

[[step]]
at = "60s"
do = "group billing"
say = "billing-2 has just died"
shot = "silence.svg"

[[step]]
expect = "groups.billing.members == 4"
"""


def test_a_script_is_its_steps_in_order(tmp_path: Path) -> None:
    expected = Script(
        "How a silent member is noticed",
        (
            ScriptStep(at_us=60_000_000, do="group billing", say="billing-2 has just died", shot="silence.svg", line=4),
            ScriptStep(expect="groups.billing.members == 4", line=10),
        ),
    )
    assert parse_script(TEXT, "tour.toml") == expected
    path = tmp_path / "tour.toml"
    path.write_text(TEXT)
    assert load_script(path) == expected


def test_every_mistake_is_told_with_its_line() -> None:
    text = """
titel = "x"
[[step]]
at = 60
[[step]]
shoot = "a.svg"
[[step]]
shot = "../a.svg"
[[step]]
expect = "group.billing.members == 4"
[[step]]
"""
    with pytest.raises(ScenarioErrors) as caught:
        parse_script(text, "tour.toml")
    told = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in told] == [
        "tour.toml:1", "tour.toml:2", "tour.toml:4", "tour.toml:6", "tour.toml:8", "tour.toml:10", "tour.toml:11",
    ]  # fmt: skip
    assert "did you mean title?" in told[1]
    assert 'needs a unit and quotation marks: "30s"' in told[2]
    assert "did you mean shot?" in told[3]
    assert "'../a.svg' is not the name of a picture" in told[4]
    assert "did you mean groups?" in told[5]
    assert "the step does nothing" in told[6]


@pytest.mark.parametrize(("text", "reason"), [("title = ", "not TOML"), ('title = "x"', "at least one [[step]]")])
def test_what_is_no_script(text: str, reason: str) -> None:
    with pytest.raises(ScenarioErrors) as caught:
        parse_script(text, "tour.toml")
    assert reason in str(caught.value)


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioErrors, match="No such file"):
        load_script(tmp_path / "tour.toml")

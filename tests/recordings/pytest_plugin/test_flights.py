"""The `flight` fixture: steps, commands, sentences, events, golden files, and what its failures say."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from cluster.events import kind_of
from recordings.flights.runner import fly, make_plan
from recordings.pytest_plugin.flights import Flights
from recordings.scenarios.loader import ScenarioErrors, parse_scenario
from tests.support.minimal_scenario import SMALL
from tests.support.repository import ROOT


@pytest.fixture
def flights(tmp_path: Path) -> Iterator[Flights]:
    begun = Flights(tmp_path, update_golden=False)
    yield begun
    begun.close()


def test_a_flight_in_steps_is_the_flight_of_the_command(flights: Flights) -> None:
    flown = fly(make_plan(parse_scenario(SMALL, "small")))
    stepped = flights(SMALL).fly_to("1s").fly_for("500ms").wait_for("groups.billing.members == 2", within="10s")
    assert stepped.now_us < 8_000_000
    assert stepped.expect_scenario().sha256 == flown.journal_sha256
    assert stepped.view == flown.view


def test_a_scenario_is_a_text_a_name_or_a_file_beside_the_test(flights: Flights, tmp_path: Path) -> None:
    (tmp_path / "beside.toml").write_text(SMALL)
    texts = flights(SMALL, until="2s", seed=5), flights("beside.toml", until="2s", seed=5)
    assert texts[0].fly_to_end().sha256 == texts[1].fly_to_end().sha256
    assert flights("first-flight", until="0s").fly_to_end().view["topics"]
    with pytest.raises(ScenarioErrors, match="did you mean first-flight"):
        flights("first-fligt")


def test_commands_and_settings_change_the_flight(flights: Flights) -> None:
    small = flights(SMALL, settings=["billing:session.timeout.ms=6000"]).fly_to("5s").do("kill billing-1")
    small.expect("!members['billing-1'].alive").wait_for("groups.billing.members == 1", within="12s")
    small.expect_event("member_removed", member="billing-1", reason="session expired", count=1)
    assert [kind_of(event) for event in small.events("member_removed")] == ["member_removed"]
    assert small.delivery("billing")["lost"] == 0
    with pytest.raises(AssertionError, match=r"kill billing-9: .*did you mean billing-"):
        small.do("kill billing-9")
    with pytest.raises(AssertionError, match=r"refused at .* s: kill billing-1: billing-1 is not running"):
        small.do("kill billing-1")


def test_failures_say_what_was_found(flights: Flights) -> None:
    small = flights(SMALL).fly_to("1s")
    with pytest.raises(
        AssertionError, match=r"not so at 1 s: groups.billing.members == 7\n  found: groups.billing.members = "
    ):
        small.expect("groups.billing.members == 7")
    with pytest.raises(AssertionError, match=r"not within 300ms, at 1.3 s: groups.billing.members == 7\n  found: "):
        small.wait_for("groups.billing.members == 7", within="300ms")
    with pytest.raises(
        AssertionError, match=r"(?s)expected 1 times .*member_started, member='no'\n  it happened 0 times\n.*2"
    ):
        small.expect_event("member_started", member="no", count=1)
    with pytest.raises(ValueError, match="did you mean member_started"):
        small.events("member_startd")
    with pytest.raises(ValueError, match="did you mean groups"):
        small.expect("group.billing.members == 2")
    wrong = flights(SMALL.replace("members == 2", "members == 7"))
    with pytest.raises(
        AssertionError, match=r"(?s)1 of 1 expectations .* did not hold\n  ✖ groups.billing.members == 7: "
    ):
        wrong.expect_scenario()


def test_a_golden_flight_differs_in_words(tmp_path: Path) -> None:
    writes, reads = Flights(tmp_path, update_golden=True), Flights(tmp_path, update_golden=False)
    try:
        with pytest.raises(AssertionError, match="--flightdeck-update-golden"):
            reads(SMALL).fly_to("1s").expect_golden("small")
        writes(SMALL).fly_to("4s").expect_golden("small")
        reads(SMALL).fly_to("4s").expect_golden("small")
        with pytest.raises(AssertionError) as failed:
            reads(SMALL, settings=["billing:session.timeout.ms=9000"]).fly_to("4s").expect_golden("small")
        words = str(failed.value)
        assert "first difference: event " in words
        assert "member_declared: session_timeout_ms differs" in words
        assert "session_timeout_ms=45000" in words
        assert "session_timeout_ms=9000" in words
        with pytest.raises(AssertionError, match="golden  has no more events"):
            reads(SMALL).fly_to("5s").expect_golden("small")
        (tmp_path / "golden" / "small.golden").write_bytes(b"no")
        with pytest.raises(ValueError, match="not a golden flight"):
            reads(SMALL).expect_golden("small")
    finally:
        writes.close()
        reads.close()


def _pytest(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user's project does, with the plugin of the package, or of this checkout if none is installed."""
    installed = any(each.name == "flightdeck" for each in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "recordings.pytest_plugin.plugin"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-q", "--color=no", *words]
    return subprocess.run(
        [*command, "-c", "/dev/null", f"--rootdir={directory}", str(directory)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        check=False,
    )


@pytest.mark.slow
def test_the_example_project_and_the_test_of_the_page_pass(tmp_path: Path) -> None:
    project = Path(shutil.copytree(ROOT / "examples" / "pytest", tmp_path / "project"))
    (scenario,) = re.findall(r'"""\n(title.*?)"""', (project / "test_billing.py").read_text(), re.DOTALL)
    (page,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "pytest.md").read_text(), re.DOTALL)
    (project / "billing.toml").write_text(scenario)
    (project / "test_page.py").write_text(page)
    ended = _pytest(project)
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_failure_is_short_and_has_no_line_of_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        f'SMALL = """{SMALL}"""\ndef test_own(flight):\n    flight(SMALL).expect("groups.billing.members == 7")\n'
        'def test_not_flying():\n    import sys\n    assert "cluster.simulation" in sys.modules\n'
    )
    ended = _pytest(tmp_path, "-p", "no:randomly")
    assert "E       AssertionError: not so at 0 s: groups.billing.members == 7" in ended.stdout, ended.stdout
    assert "recordings/pytest_plugin" not in ended.stdout


@pytest.mark.slow
def test_a_pytest_that_flies_nothing_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import sys\ndef test_own():\n    assert not {'trio', 'cluster', 'msgspec'} & set(sys.modules)\n"
    )
    ended = _pytest(tmp_path)
    assert "1 passed" in ended.stdout, ended.stdout


def test_the_package_installs_the_plugin() -> None:
    assert 'flightdeck = "recordings.pytest_plugin.plugin"' in (ROOT / "pyproject.toml").read_text()

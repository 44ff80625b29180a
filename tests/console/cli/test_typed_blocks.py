"""Pages with commands whose output they do not show: all are run as they are typed, on files of the reader's own."""

import io
import sys
from pathlib import Path

import pytest

from tests.support.console.command_processes import Flightdeck
from tests.support.console.typed_block import StandIn, blocks, commands_of, to_be_run
from tests.support.console.typed_pages import BY_SPARK, NOT_RUN, STAND_INS
from tests.support.console.typed_runs import run_page
from tests.support.repository import ROOT

HERE = [name for name in STAND_INS if name not in BY_SPARK]
PAGES = {path.relative_to(ROOT / "docs").as_posix(): path.read_text("utf-8") for path in ROOT.glob("docs/**/*.md")}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", HERE)
def test_what_a_page_tells_to_type_works(
    name: str, flightdeck: Flightdeck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # each question takes its usual answer
    assert run_page(name, flightdeck, monkeypatch)


def test_every_page_with_such_commands_is_run() -> None:
    assert sorted(name for name, page in PAGES.items() if blocks(page)) == sorted(STAND_INS)


def test_each_command_that_is_not_run_is_on_a_page() -> None:
    lines = [line for page in PAGES.values() for block in blocks(page) for line in block.splitlines()]
    assert [text for text in NOT_RUN if not any(line.startswith(text) for line in lines)] == []
    assert all(NOT_RUN.values())


PAGE = """
```sh
for seed in 1 2; do
  flightdeck run RECORDING --seed $seed \\
    --set "a=b c"   # twice
done
flightdeck lint *.yaml > found.sarif
pip install x
```

```toml title="rules.toml"
[[rule]]
```
"""


def test_a_shell_reads_what_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b.yaml", "printed"):
        Path(name).touch()
    (block,) = to_be_run(PAGE, [StandIn("RECORDING", "x.flight", "the reader's own")], ["pip"])
    run = ["run", "x.flight", "--seed", "1", "--set", "a=b c"]
    assert commands_of(block, {}) == [
        (run, None),
        ([*run[:3], "2", *run[4:]], None),
        (["lint", "a.yaml", "b.yaml"], tmp_path / "found.sarif"),
    ]
    assert len(commands_of(blocks(PAGE)[0], {"pip": Path("printed")})) == 3


def test_a_stand_in_that_no_page_needs_any_more_is_found() -> None:
    with pytest.raises(AssertionError, match="no block of the page has 'FLIGHT'"):
        to_be_run(PAGE, [StandIn("FLIGHT", "x.flight", "renamed")], [])


def test_a_command_that_nothing_stands_for_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=r"kafka-topicz\.sh"):
        commands_of("kafka-topicz.sh --describe\nflightdeck run x", {})


@pytest.mark.parametrize("wrong", ["run no-such-scenario", "lint no-such-file.yaml", "export incident.flight"])
def test_a_command_that_fails_is_found(
    wrong: str, flightdeck: Flightdeck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.support.console.typed_runs.to_be_run", lambda *_: [f"flightdeck {wrong}"])
    with pytest.raises(AssertionError, match=f"flightdeck {wrong}"):
        run_page("game.md", flightdeck, monkeypatch)

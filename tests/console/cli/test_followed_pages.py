"""Pages that show a terminal: a reader who types their commands sees what they show.

A block that is followed is one of ```` ```console ````; test_typed_blocks.py has commands whose output is not shown. A
page's commands share a folder; flights that two pages record alike are flown once.
"""

import re
import shutil
from pathlib import Path

import pytest

from console.cli.main import COMMANDS
from tests.support.console.command_processes import Ended, Flightdeck
from tests.support.console.console_page import Shown, files, is_what_one_sees, programs, shown
from tests.support.repository import ROOT
from tests.support.slow_cases import mostly_slow

PAGES = {
    path.relative_to(ROOT / "docs").as_posix(): path.read_text("utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if "```console\n" in path.read_text("utf-8")
}
QUICK = ("tutorial.md", "describe.md", "raster.md", "read.md", "runbooks.md")
"""Pages that take a second or two beside the tutorial's flights; the others are slow."""
WHAT_IF = "rerun"
"""It takes as long as all other commands of the tutorial."""
ENDS_WITH_1 = {"diff", WHAT_IF}
"""Commands of the pages that end with 1: two flights differ, and the what-if breaks an expectation."""
KAFKA_REFUSES = "Error: "
"""What a tool of Kafka's prints first when it fails; its exit code is 1."""
PRESSED = re.compile(r"^\| `(\S+(?:` `\S+)?)` \| [^|]+ \| ([^|]*)\|$", re.MULTILINE)
QUOTED = re.compile("“([^”]+)”")
PROGRESS = re.compile(r" *\d+ %")
pytestmark = pytest.mark.xdist_group("followed-pages")  # one process: each flight is flown once
Flown = dict[tuple[str, ...], tuple[Ended, Path]]


@pytest.fixture(scope="module")
def flown() -> Flown:
    """Recorded flights, by the command that recorded them, and where they are."""
    return {}


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flightdeck: Flightdeck, flown: Flown) -> Flightdeck:
    """The command line, for one who stands at the top of a copy of the repository."""
    for folder in ("docs", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)

    def typed(*words: object) -> Ended:
        line = tuple(map(str, words))
        if line[0] != "run" or line[-2] != "--record" or line[1].endswith(".toml"):
            return flightdeck(*line)
        if line in flown:
            shutil.copytree(flown[line][1], line[-1])
        else:
            flown[line] = flightdeck(*line), tmp_path / line[-1]
        return flown[line][0]

    return typed


def follow(reader: Flightdeck, page: str, steps: list[Shown]) -> None:
    for name, text in files(page).items():
        Path(name).write_text(text)
    for words, output in steps:
        ended = reader(*words[1:])
        assert is_what_one_sees(output, ended.out), f"{' '.join(words)} prints:\n{ended.out}"
        assert [line for line in ended.err.splitlines() if not PROGRESS.match(line)] == [], words
        assert ended.code == int(words[1] in ENDS_WITH_1 or output.startswith(KAFKA_REFUSES)), words


@pytest.mark.timeout(600)  # a page has several flights, and the machine may be busy
@pytest.mark.parametrize("page", mostly_slow(PAGES, QUICK))
def test_what_is_typed_prints_what_the_page_shows(reader: Flightdeck, page: str) -> None:
    follow(reader, PAGES[page], [step for step in shown(PAGES[page]) if step.words[1] != WHAT_IF])


@pytest.mark.slow
def test_the_python_of_a_page_prints_what_it_shows(reader: Flightdeck, capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGES["sql/README.md"]
    follow(reader, page, shown(page))
    ((program, output),) = programs(page)
    exec(compile(program, "docs/sql/README.md", "exec"), {})
    assert is_what_one_sees(output, capsys.readouterr().out)


@pytest.mark.timeout(600)  # two flights, and their comparison, on a machine that may be busy
@pytest.mark.slow
def test_the_what_if_prints_what_the_page_shows(reader: Flightdeck) -> None:
    steps = shown(PAGES["tutorial.md"])
    (what_if,) = [step for step in steps if step.words[1] == WHAT_IF]
    assert what_if.words[2] == steps[0].words[-1]
    follow(reader, PAGES["tutorial.md"], [steps[0], what_if])


def script_of(page: str) -> str:
    """The keys that a page tells its reader to press, as a script that looks for each text of its last column."""
    steps = ['[[step]]\nat = "30s"\n']
    for keys, seen in PRESSED.findall(page):
        texts = QUOTED.findall(seen) or [""]
        steps += [f'[[step]]\ndo = "press {keys.replace("` `", " ")}"\n' + (f'shows = "{texts[0]}"\n' if seen else "")]
        steps += [f'[[step]]\nshows = "{text}"\n' for text in texts[1:]]
    return 'title = "keys of a page"\n' + "".join(steps)


def test_the_keys_of_the_tutorial_show_what_it_says(reader: Flightdeck) -> None:
    first = shown(PAGES["tutorial.md"])[0]
    assert reader(*first.words[1:]).code == 0
    Path("keys.toml").write_text(script_of(PAGES["tutorial.md"]))
    played = reader("play", first.words[-1], "--headless", "--script", "keys.toml")
    assert (played.code, played.err, played.out) == (0, "", "7 steps of keys.toml: all expectations held\n")


def test_every_command_of_the_pages_is_one_and_nothing_else_is_typed() -> None:
    typed = [words for page in PAGES.values() for words, _ in shown(page)]
    assert all(words[0] == "flightdeck" and words[1] in COMMANDS for words in typed)


@pytest.mark.parametrize("wrong", ["9,601 produced", "9,600 produced\nmore", ""])
def test_a_page_that_is_out_of_date_is_found(wrong: str) -> None:
    printed = "session-expired in 3.1 s\n9,600 produced\n"
    assert is_what_one_sees("session-expired in … s\n9,600 produced\n", printed)
    assert is_what_one_sees("…\n9,600 produced\n", printed)
    assert not is_what_one_sees(f"session-expired in … s\n{wrong}\n", printed)
    assert not is_what_one_sees(f"…\n{wrong}x\n…\n", printed)

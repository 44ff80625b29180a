"""Every command in every page is one that the command line takes, and every scenario in a page can be read."""

import re
import shlex
import tomllib
from collections.abc import Iterator

import pytest
from cyclopts import CycloptsError

from console.cli.main import COMMANDS, app
from recordings.scenarios.loader import parse_scenario
from tests.support.repository import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINE = re.compile(r"^(?:\$ )?(flightdeck (?!COMMAND).*)$")
BEHIND = {"&&", ">", "|", "2>&1"}
INLINE = re.compile(r"`flightdeck ([a-z]\w*)")


def blocks(text: str, *languages: str) -> Iterator[str]:
    yield from (block for language, block in BLOCK.findall(text) if language in languages)


def commands(text: str) -> Iterator[str]:
    for block in blocks(text, "", "sh", "bash", "shell", "console"):
        for line in block.replace("\\\n", " ").splitlines():
            if (match := LINE.match(line.strip())) is not None:
                yield match[1]


def refused(line: str) -> str:
    """Why the command line does not take a command; what a shell does with it, and shell variables, are left out."""
    words = shlex.split(line.replace("$seed", "1"), comments=True)[1:]
    own = next((place for place, word in enumerate(words) if word in BEHIND), len(words))
    try:
        app.parse_args(words[:own], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return str(error)
    return ""


def test_every_command_of_every_page_is_taken() -> None:
    found = [(page.name, line) for page in PAGES for line in commands(page.read_text("utf-8"))]
    assert len(found) > 60
    assert [(page, line, why) for page, line in found if (why := refused(line))] == []


def test_commands_that_are_named_in_a_sentence_are_there() -> None:
    named = {(page.name, word) for page in PAGES for word in INLINE.findall(page.read_text("utf-8"))}
    assert len(named) > 40
    assert sorted((page, word) for page, word in named if word not in COMMANDS) == []


def test_every_whole_scenario_of_every_page_can_be_read() -> None:
    texts = [text for page in PAGES for text in blocks(page.read_text("utf-8"), "toml")]
    whole = [text for text in texts if text.startswith("title =") and "[[topic]]" in text]
    assert len(whole) > 3
    for text in whole:
        parse_scenario(text, "page.toml")


def test_every_piece_of_toml_is_toml() -> None:
    for page in PAGES:
        for text in blocks(page.read_text("utf-8"), "toml"):
            tomllib.loads(text)


@pytest.mark.parametrize(
    "line", ["flightdeck run x --sede 1", "flightdeck rnu x", "flightdeck run", "flightdeck play x --speed"]
)
def test_a_command_that_is_none_is_found(line: str) -> None:
    assert list(commands(f"```sh\n{line} # as in a page\n```\n")) == [f"{line} # as in a page"]
    assert refused(line) != ""

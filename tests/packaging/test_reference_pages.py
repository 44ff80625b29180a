"""The pages that a site build makes of tables are complete, and docs/verified.md names what is there."""

import importlib
import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cluster.commands.forms import COMMANDS
from cluster.config.config import ELSEWHERE
from cluster.config.keys import CONFIG_KEYS
from cluster.config.other_keys import NOT_BUILT, WITHOUT_EFFECT
from cluster.spec.setting_fields import FIELDS
from console.cli.main import app
from console.command_line import USAGES
from console.settings.settings_file import MOST_COMMANDS, ConsoleSettings
from recordings.journal.script import parse_script
from recordings.scenarios.loader import LIBRARY
from tests.support.repository import ROOT

ROW = re.compile(r"^\| .* \|$", re.MULTILINE)
KEYS = [
    *(key.name for key in CONFIG_KEYS),
    *(name for scope in WITHOUT_EFFECT.values() for names in scope.values() for name in names),
    *(name for scope in NOT_BUILT.values() for name in scope),
    *ELSEWHERE,
    *FIELDS,
]
LISTED = {
    "settings.md": KEYS,
    "commands.md": [*(form.usage for form in COMMANDS), *(usage for usage, _ in USAGES.values())],
    "course.md": [path.stem for path in LIBRARY.glob("*.toml")],
}
NAMED: dict[str, tuple[str, Callable[[Any], list[tuple[str, str]]]]] = {
    "scenario-keys.md": ("scenario_keys", lambda made: [(key.table, key.name) for key in made.scenario_keys()]),
    "recordings.md": ("recording_files", lambda made: list(made.file_fields())),
    "view-fields.md": ("view_fields", lambda made: [field[:2] for field in made.view_fields()]),
}
"""Pages with a sentence for each name: their module, and what the code has."""


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], str]]:
    """The pages' makers; mkdocs finds the module beside its hook, and so does this."""
    monkeypatch.syspath_prepend(str(ROOT / "build_hook"))
    module: Any = importlib.import_module("reference_pages")
    found: dict[str, Callable[[], str]] = module.PAGES
    return found


def fewer(text: str, names: Iterable[str]) -> list[str]:
    """The names that stand in a page less often, as code, than the tables have them."""
    wanted = list(names)
    shown = re.findall(r"`((?:[^`\n])+)`", text.replace(r"\|", "|"))
    return sorted({name for name in wanted if shown.count(name) < wanted.count(name)})


@pytest.mark.parametrize("name", LISTED)
def test_a_page_has_all_of_its_table(pages: dict[str, Callable[[], str]], name: str) -> None:
    text = pages[name]()
    assert len(LISTED[name]) > 50
    assert fewer(text, LISTED[name]) == []
    lost = LISTED[name][7]
    assert fewer(text.replace(f"`{lost}`".replace("|", r"\|"), "", 1), LISTED[name]) == [lost]


@pytest.mark.parametrize("name", NAMED)
def test_every_name_has_its_sentence(pages: dict[str, Callable[[], str]], name: str) -> None:
    module, of_code = NAMED[name]
    made: Any = importlib.import_module(module)
    texts = tomllib.loads(made.TEXTS.read_text("utf-8"))
    named = [(table, key) for table, sentences in texts.items() for key in sentences]
    assert sorted(named) == sorted(of_code(made))
    assert fewer(pages[name](), [key or table for table, key in named]) == []
    assert [text for sentences in texts.values() for text in sentences.values() if not text.endswith(".")] == []


def test_the_script_of_the_page_of_recordings_is_one(pages: dict[str, Callable[[], str]]) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", pages["recordings.md"](), re.DOTALL)
    assert len(parse_script(text, "script.toml").steps) == 1


def test_the_command_line_s_page_has_every_command_and_option(pages: dict[str, Callable[[], str]]) -> None:
    text = pages["command-line.md"]()
    help_texts = [app, *(app[name] for name in app if not name.startswith("-"))]
    assert len(help_texts) > 25
    for each in help_texts:
        options = [name for one in each.assemble_argument_collection() for name in one.names if name.startswith("--")]
        assert [name for name in options if f"`{name}" not in text and f", {name}" not in text] == [], each.name


def test_the_page_of_the_keymap_has_every_remembered_setting() -> None:
    page = (ROOT / "docs" / "keymap.md").read_text("utf-8").partition("## What the console remembers")[2]
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(ConsoleSettings.__struct_fields__)
    assert f"the last {MOST_COMMANDS} command lines" in page


def test_rows_have_as_many_cells_as_their_table(pages: dict[str, Callable[[], str]]) -> None:
    braces = re.findall(r"\{[^}]*\}?", pages["commands.md"]())
    assert [one for one in braces if not re.fullmatch(r"\{[^{}]+ \\\| [^{}]+\}", one)] == []  # `{X \| flat-out}` alone
    for name, made in pages.items():
        for block in made().split("\n\n"):
            rows = ROW.findall(block)
            assert len({len(re.split(r"(?<!\\)\|", row)) for row in rows}) <= 1, (name, block[:200])


def test_what_the_page_of_proofs_names_is_there() -> None:
    page = (ROOT / "docs" / "verified.md").read_text("utf-8")
    paths = re.findall(r"`(tests/[\w./]+)`", page)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []

"""docs/lint.md has the rules and the facts as they are, and its example is what one sees."""

import re
from pathlib import Path

from recordings.lint.reading.facts import comments_of
from tests.support.console.command_processes import in_a_process
from tests.support.lint_page import PAGE, with_tables


def test_the_page_has_every_rule_and_fact() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page), "run `python -m tests.support.lint_page`"


def test_a_stale_page_is_found() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("| `unclean-election` | error |", "| `unclean-election` | note |")
    assert page != with_tables(page)


def test_the_example_is_what_is_printed(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (configuration,) = re.findall(r"`billing.properties`[^\n]*\n\n```properties\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "billing.properties"
    file.write_text(configuration)
    ended = in_a_process("lint", file, "--fact", "restart=60s")
    assert (ended.code, ended.out.replace(f"{tmp_path}/", "")) == (1, printed)


def test_the_comment_that_the_page_shows_gives_facts() -> None:
    (comment,) = re.findall(r"```properties\n(# flightdeck: .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    facts, ignored = comments_of(comment, "billing.properties")
    assert (sorted(facts), ignored) == (["per-record", "restart", "sink"], frozenset())

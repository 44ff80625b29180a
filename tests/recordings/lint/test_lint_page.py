"""docs/lint.md has the rules and the facts as they are."""

from tests.support.lint_page import PAGE, with_tables


def test_the_page_has_every_rule_and_fact() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page), "run `python -m tests.support.lint_page`"


def test_a_stale_page_is_found() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("| `unclean-election` | error |", "| `unclean-election` | note |")
    assert page != with_tables(page)

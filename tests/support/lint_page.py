"""`python -m tests.support.lint_page` writes the tables of docs/lint.md from the rules and the facts."""

import re
from pathlib import Path

from recordings.lint.parts import FACTS
from recordings.lint.rules import LintRule, rules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lint.md"
MARKED = re.compile(r"(<!-- (rules|facts) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """The page with both tables as they are now."""
    tables = {"rules": rules_table(), "facts": facts_table()}
    return MARKED.sub(lambda match: f"{match[1]}{tables[match[2]]}{match[3]}", page)


def rules_table() -> str:
    """A row for each rule, in the order of `rules.toml`."""
    head = "| rule | | of | fires when | why it matters | source | to see it |\n|---|---|---|---|---|---|---|\n"
    return head + "".join(f"{_row(rule)}\n" for rule in rules())


def _row(rule: LintRule) -> str:
    says = re.sub(r"\{([a-z_]+)\}", r"_\1_", rule.says)
    proof = ", ".join(part for part in (f"`{rule.source}`", rule.kip) if part)
    kinds = ", ".join(kind for kind in rule.kinds if kind != "client")
    return f"| `{rule.name}` | {rule.severity} | {kinds} | {says} | {rule.reason} | {proof} | `{rule.lesson}` |"


def facts_table() -> str:
    """A row for each fact."""
    return "| fact | |\n|---|---|\n" + "".join(f"| `{name}` | {means} |\n" for name, means in FACTS.items())


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

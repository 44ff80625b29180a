"""`flightdeck lint`: configurations and scenarios checked without a flight."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from console.cli.errors import BAD_INPUT, HELD, NOT_HELD, UsageError, print_error
from console.cli.streams import json_of, print_text
from console.visible import visible_line

if TYPE_CHECKING:
    from recordings.lint.linter import LintFinding, LintReport

Facts = Annotated[
    list[str] | None,
    Parameter(
        name="--fact",
        help="NAME=VALUE: what a configuration does not say: restart=30s, per-record=200ms, sink=outside,"
        " pod-names=changing, instances=4, partitions=12, worker-threads=8, retries-take=2m, replication-factor=3,"
        " brokers=3; may be repeated. A comment `# flightdeck: restart=30s` in the file says the same.",
        negative="",
    ),
]
Least = Annotated[
    Literal["error", "warning", "note"], Parameter(help="The least severity that is reported.", negative="")
]
Ignored = Annotated[list[str] | None, Parameter(name="--ignore", help="A rule that does not fire.", negative="")]


def lint(
    files: Annotated[
        list[Path],
        Parameter(help="Files of Kafka, Spring or Quarkus (.properties, .yaml, .yml), and scenarios (.toml)."),
    ],
    /,
    *,
    format: Annotated[  # noqa: A002 - the option's name
        Literal["text", "json", "sarif"], Parameter(help="Lines, one JSON object, or SARIF 2.1.0.")
    ] = "text",
    fact: Facts = None,
    ignore: Ignored = None,
    at_least: Least = "note",
) -> int:
    """Check configurations without a flight: what contradicts, what Kafka refuses, what hurts later."""
    facts, ignored = _facts(fact), _rules(ignore)
    from recordings.lint.linter import lint as lint_files

    report = lint_files(files, facts, ignored, at_least)
    if format == "sarif":
        from recordings.lint.sarif import sarif_of

        print_text(json_of(sarif_of(report)))
    elif format == "json":
        print_text(json_of(report))
    elif text := _text_of(report):
        print_text(text)
    for error in report.errors:
        print_error("\n".join(map(visible_line, error.splitlines())))
    for file in report.without_kafka:
        print_error(visible_line(f"note: {file}: it configures nothing of Kafka"))
    if report.errors:
        return BAD_INPUT
    return NOT_HELD if report.findings else HELD


def _facts(texts: list[str] | None) -> dict[str, str]:
    """The facts of `--fact`. Raises UsageError."""
    from recordings.lint.reading.facts import FactError, checked_fact

    facts = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError("--fact: write it like restart=30s")
        try:
            facts[name] = checked_fact(name, value)
        except FactError as error:
            raise UsageError(f"--fact: {error}") from None
    return facts


def _rules(names: list[str] | None) -> list[str]:
    """The rules of `--ignore`. Raises UsageError."""
    from cluster.config import nearest
    from recordings.lint.rules import rules

    known = [rule.name for rule in rules()]
    for name in names or ():
        if name not in known:
            near = nearest(name, known)
            raise UsageError(f"--ignore: there is no rule {name!r}" + (f" (did you mean {near}?)" if near else ""))
    return list(names or ())


def _text_of(report: "LintReport") -> str:
    """Each finding in a few lines, and their number."""
    lines = [line for finding in report.findings for line in _lines(finding)]
    return "\n".join([*lines, *_closing(report)])


def _lines(finding: "LintFinding") -> list[str]:
    where = visible_line(f"{finding.file}:{finding.line}")
    proof = ", ".join(part for part in (finding.kip, finding.source) if part)
    lines = [f"{where}: {finding.severity}: {finding.message}", f"    {visible_line(finding.key)}"]
    if finding.suggestion:
        lines[-1] += f" → {finding.suggestion}"
    return [
        *lines,
        f"    {finding.reason}",
        f"    {finding.rule} ({proof}); to see it: flightdeck --scenario {finding.lesson}",
        "",
    ]


def _closing(report: "LintReport") -> list[str]:
    """How many files were read and what was found; nothing of no file."""
    read = len(report.files) - len(report.errors)
    if not read:
        return []
    counts = [
        f"{count} {word}{'s' if count != 1 else ''}"
        for word in ("error", "warning", "note")
        if (count := sum(finding.severity == word for finding in report.findings))
    ]
    files = f"{read} file{'s' if read != 1 else ''}"
    return [f"{files}: {', '.join(counts) if counts else 'nothing found'}"]

"""Findings as SARIF 2.1.0, the format that code hosts and editors read."""

import urllib.parse
from pathlib import PurePath
from typing import Any, Final

from recordings.lint.linter import LintFinding, LintReport
from recordings.lint.rules import LintRule, rules
from recordings.version import VERSION

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_of(report: LintReport) -> dict[str, Any]:
    """A SARIF log with one run. Files that could not be read are notifications of its invocation."""
    order = {rule.name: place for place, rule in enumerate(rules())}
    invocation: dict[str, Any] = {"executionSuccessful": not report.errors}
    if report.errors:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": error}} for error in report.errors
        ]
    driver = {"name": "flightdeck", "version": VERSION, "rules": [_rule(rule) for rule in rules()]}
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, order[finding.rule]) for finding in report.findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: LintRule) -> dict[str, Any]:
    properties = {"source": rule.source, "lesson": rule.lesson} | ({"kip": rule.kip} if rule.kip else {})
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.name.replace("-", " ")},
        "fullDescription": {"text": rule.reason},
        "help": {"text": f"{rule.reason} `flightdeck --scenario {rule.lesson}` shows it."},
        "defaultConfiguration": {"level": rule.severity},
        "properties": properties,
    }


def _result(finding: LintFinding, index: int) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": _uri(finding.file)}, "region": {"startLine": max(1, finding.line)}}
    text = finding.message + (f" Instead: {finding.suggestion}." if finding.suggestion else "")
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": place, "logicalLocations": [{"fullyQualifiedName": finding.key}]}],
        "properties": {"key": finding.key, "suggestion": finding.suggestion},
    }


def _uri(file: str) -> str:
    """A file's name as a URI reference: relative as it was given, absolute with its scheme."""
    path = PurePath(file)
    quoted = urllib.parse.quote(path.as_posix(), errors="surrogateescape")
    return f"file://{quoted}" if path.is_absolute() else quoted

"""Linting some files together: their parts, every rule over each, and what was found in the order of the lines."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from cluster.config import brief
from recordings.lint.parts import Part, Setting
from recordings.lint.reading.facts import with_facts
from recordings.lint.reading.files import LintFile, read_file
from recordings.lint.reading.lint_input import LintInputError
from recordings.lint.rules import SEVERITIES, LintRule, Severity, rules
from recordings.lint.world import Hit, World
from recordings.scenarios.loader import ScenarioErrors


class LintFinding(msgspec.Struct, frozen=True):
    """A rule that fired: where, what it says, why it matters, and what to write instead.

    `key` is spelled as in the file; no value of the file is quoted. `lesson` is the scenario of the library that shows
    the harm.
    """

    file: str
    line: int
    key: str
    rule: str
    severity: Severity
    message: str
    suggestion: str
    reason: str
    source: str
    kip: str
    lesson: str


class LintReport(msgspec.Struct, frozen=True):
    """What was found in some files, which could not be read, with the reason, and which say nothing of Kafka."""

    files: tuple[str, ...]
    findings: tuple[LintFinding, ...]
    errors: tuple[str, ...]
    without_kafka: tuple[str, ...] = ()


def lint(
    paths: Sequence[Path],
    facts: Mapping[str, str] | None = None,
    ignored: Iterable[str] = (),
    at_least: Severity = "note",
) -> LintReport:
    """Lint files together: what brokers allow is taken from a broker's file among them, else from Kafka's defaults.

    `facts` hold for all of them and come before what a file says; `ignored` rules do not fire, nor those below
    `at_least`.
    """
    given = {name: Setting(value, "", 0, f"--fact {name}") for name, value in (facts or {}).items()}
    read: dict[Path, LintFile] = {}
    errors = []
    for path in dict.fromkeys(paths):
        try:
            read[path] = read_file(path)
        except (LintInputError, ScenarioErrors) as error:
            errors.append(str(error))
    worlds = [[path] for path in read if path.suffix.lower() == ".toml"]
    worlds.append([path for path in read if path.suffix.lower() != ".toml"])
    below = SEVERITIES[SEVERITIES.index(at_least) + 1 :]
    off = frozenset([*ignored, *(rule.name for rule in rules() if rule.severity in below)])
    findings = list[LintFinding]()
    for world in worlds:
        findings += _findings_of({path: read[path] for path in world}, given, off)
    names = tuple(str(path) for path in dict.fromkeys(paths))
    return LintReport(names, tuple(findings), tuple(errors), tuple(str(path) for path in read if _is_bare(read[path])))


def _is_bare(file: LintFile) -> bool:
    """Whether a file has no key of Kafka's: every rule holds of it, and that says nothing."""
    return not any(part.settings or part.unknown or part.frame == "scenario" for part in file.parts)


def _findings_of(
    files: Mapping[Path, LintFile], facts: Mapping[str, Setting], ignored: frozenset[str]
) -> list[LintFinding]:
    """What the rules find in files that belong together; each place once, although several profiles may have it."""
    parts = {path: [with_facts(part, facts) for part in file.parts] for path, file in files.items()}
    world = World([part for of_file in parts.values() for part in of_file])
    found: dict[tuple[str, int, str, str], LintFinding] = {}
    for path, of_file in parts.items():
        off = ignored | files[path].ignored
        active = [rule for rule in rules() if rule.name not in off]
        for part in of_file:
            for finding in findings_of(part, world, active):
                found.setdefault((finding.file, finding.line, finding.key, finding.rule), finding)
    order = {str(path): place for place, path in enumerate(files)}
    return sorted(found.values(), key=lambda each: (order.get(each.file, 0), each.line, each.rule, each.key))


def findings_of(part: Part, world: World, active: Iterable[LintRule]) -> Iterable[LintFinding]:
    """What these rules find in one part."""
    for rule in active:
        for hit in rule.hits(part, world):
            yield _finding(rule, hit, part)


def _finding(rule: LintRule, hit: Hit, part: Part) -> LintFinding:
    place = hit.setting or part.place(hit.keys)
    if not place.file:  # a fact of the command line
        place = Setting(None, part.file, part.line, place.written)
    return LintFinding(
        file=place.file,
        line=place.line,
        key=brief(place.written or next(iter(hit.keys), "")),
        rule=rule.name,
        severity=rule.severity,
        message=rule.says.format_map(hit.words),
        suggestion=rule.suggest.format_map(hit.words) if "${" not in rule.suggest else rule.suggest,
        reason=rule.reason,
        source=rule.source,
        kip=rule.kip,
        lesson=rule.lesson,
    )

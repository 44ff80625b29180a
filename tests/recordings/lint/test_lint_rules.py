"""Each rule flags its case, lets pass what nearly does what it forbids, and has a flight that shows the harm."""

import re
from pathlib import Path

import pytest

from recordings.lint.kafka_keys import all_names, kafka_keys
from recordings.lint.linter import lint
from recordings.lint.rules import CONDITIONS, LintRule, rules
from recordings.scenarios.loader import LIBRARY, library

CASES = Path(__file__).with_name("cases")
PLACES = re.compile(r"\{[a-z_]+\}")
MOST_WORDS = 20
by_name = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)


def files_of(rule: LintRule, side: str) -> list[Path]:
    return sorted((CASES / rule.name / side).iterdir())


@by_name
def test_a_rule_flags_what_it_forbids_and_nothing_else_fires(rule: LintRule) -> None:
    report = lint(files_of(rule, "flagged"))
    assert report.errors == ()
    assert {finding.rule for finding in report.findings} == {rule.name}


@by_name
def test_what_nearly_breaks_a_rule_passes_every_rule(rule: LintRule) -> None:
    report = lint(files_of(rule, "passes"))
    assert report.errors == ()
    assert [(finding.rule, finding.line) for finding in report.findings] == []


@by_name
def test_a_finding_has_its_place_and_its_sentences_are_filled(rule: LintRule) -> None:
    for finding in lint(files_of(rule, "flagged")).findings:
        assert finding.line >= 1
        assert finding.key
        assert PLACES.search(finding.message + finding.suggestion) is None


@by_name
def test_a_rule_has_a_flight_that_shows_the_harm(rule: LintRule) -> None:
    assert rule.lesson in library()


@by_name
def test_a_rule_says_where_it_comes_from_in_short_sentences(rule: LintRule) -> None:
    assert rule.source
    assert rule.kip == "" or re.fullmatch(r"KIP-[0-9]+", rule.kip)
    for sentence in re.split(r"(?<=[.;:])\s", f"{rule.says} {rule.reason}"):
        assert len(sentence.split()) <= MOST_WORDS


FIRE_IN_THEIR_LESSON = {
    "session-shorter-than-restart", "static-id-of-changing-pods", "static-id-of-several", "retries-outlast-interval",
    "auto-commit-with-workers", "retries-reorder", "linger-is-zero", "transactional-id-of-several",
    "round-robin-partitioner", "offsets-expire-early",
}  # fmt: skip
"""Rules whose lesson is a scenario that they flag; of the others the harm comes from a command, or a key is refused."""


@by_name
def test_a_rule_fires_in_its_lesson_where_the_scenario_declares_the_harm(rule: LintRule) -> None:
    fired = {finding.rule for finding in lint([LIBRARY / f"{rule.lesson}.toml"]).findings}
    assert (rule.name in fired) == (rule.name in FIRE_IN_THEIR_LESSON)


def test_no_scenario_of_the_library_is_taken_for_one_that_kafka_would_refuse() -> None:
    refused = {"keys-of-the-other-protocol", "idempotence-needs-acks", "too-many-in-flight", "impossible-value"}
    report = lint([LIBRARY / f"{name}.toml" for name in library()])
    assert report.errors == ()
    assert not refused & {finding.rule for finding in report.findings}


@pytest.mark.parametrize(("servers", "fenced"), [("a:9092", 2), ("b:9092", 0)])
def test_clients_of_two_clusters_do_not_meet(tmp_path: Path, servers: str, fenced: int) -> None:
    files = []
    for name, brokers in (("production", "a:9092"), ("test", servers)):
        files.append(tmp_path / f"{name}.properties")
        files[-1].write_text(f"bootstrap.servers={brokers}\ntransactional.id=mover\n")
    assert len(lint(files).findings) == fenced


def test_there_are_at_least_thirty_rules_and_each_name_is_given_once() -> None:
    names = [rule.name for rule in rules()]
    assert len(set(names)) == len(names) >= 30
    assert {path.name for path in CASES.iterdir()} == set(names)


def test_a_rule_has_either_a_comparison_or_a_condition() -> None:
    assert {rule.name for rule in rules() if not rule.compare} == set(CONDITIONS)


def test_comparisons_name_keys_that_their_kinds_have() -> None:
    for rule in rules():
        for left, _, right in rule.compare:
            keys = [left, *([right] if isinstance(right, str) else [])]
            for kind in rule.kinds:
                assert kind != "client"
                assert all(key in kafka_keys(kind) for key in keys), (rule.name, kind)
        assert all(key in all_names() for key in rule.written)

"""The runner of test vectors itself: what it runs, what it refuses, and what it says about what it skipped."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.protocol.release_rules import CHANGED_BY, ReleaseRules
from tests.oracles.rules import under
from tests.oracles.schemas import DEFAULT_DIRECTORY, Vector, VectorsError, read_directory, runner_for
from tests.support.repository import ROOT

MURMUR2 = {"id": "foobar", "key_utf8": "foobar", "hash": -790332482, "partition_for": {"6": 0}}


def write(directory: Path, schema: str, *vectors: dict[str, Any], name: str = "some.json") -> None:
    (directory / name).write_text(json.dumps({"schema": schema, "vectors": vectors}), encoding="utf-8")


def run_pytest(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/oracles",
        "-p",
        "no:cacheprovider",
        "-v",
        "--oracles",
        str(directory),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_one_test_for_each_vector_and_every_skip_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path, "murmur2", MURMUR2, {**MURMUR2, "id": "wrong", "hash": 1})
    prose = {"steps": [{"t_ms": 0, "situation": "somehow", "call": "join", "expect": {}}]}
    other = {"schema": "scenario", "default_config": {}, "vectors": [{"id": "one", **prose}, {"id": "two", **prose}]}
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    ended = run_pytest(tmp_path)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    assert "test_vector[foobar] PASSED" in ended.stdout
    assert "test_vector[wrong] FAILED" in ended.stdout
    assert "1 passed, 1 failed, 2 skipped\nskipped 2: a situation that cannot be set up: somehow\n" in ended.stdout


def test_a_directory_without_vectors_ends_the_session(tmp_path: Path) -> None:
    ended = run_pytest(tmp_path)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "holds no vectors" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_unknown_schema_is_an_error_that_names_file_and_schema(tmp_path: Path) -> None:
    write(tmp_path, "murmur3", MURMUR2)
    with pytest.raises(VectorsError, match=r"some\.json: unknown schema 'murmur3'; known: assignment, "):
        read_directory(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "murmur2"}', '{"schema": "murmur2", "vectors": [{}]}'])
def test_a_file_of_another_kind_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "some.json").write_text(text, encoding="utf-8")
    with pytest.raises(VectorsError, match=r"some\.json: not a vector file"):
        read_directory(tmp_path)


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="is not a directory"):
        read_directory(tmp_path / "nowhere")


def test_the_words_after_a_schema_are_its_explanation(tmp_path: Path) -> None:
    write(tmp_path, "mixed: kind=single -> assignment", {"id": "one", "kind": "single"})
    assert [vector.schema for vector in read_directory(tmp_path)] == ["mixed"]


BEFORE_AND_SINCE = {
    "fence_raises_epoch_once": [("v-txn-fenced-twice", "v-txn-fenced-once")],
    "fence_rotates_exhausted_producer_id": [("v-txn-fence-keeps-the-last-epoch", "v-txn-fence-moves-on")],
    "pending_checked_first": [
        ("v-txn-added-to-a-move-of-another-epoch", "v-txn-added-too-early"),
        ("v-txn-ended-during-a-move-of-another-id", "v-txn-ended-too-early"),
    ],
    "empty_commit_is_invalid": [("v-txn-committing-nothing-fences", "v-txn-committing-nothing")],
    "unknown_producer_begins_at_zero": [("v-ps-unknown-producer-of-version-2", "v-ps-unknown-producer-is-refused")],
    "marker_epoch_is_newer": [("v-ps-marker-of-the-same-epoch-ends", "v-ps-marker-of-the-same-epoch-is-late")],
    "late_marker_keeps_verification": [
        ("v-ps-marker-ends-the-next-verification", "v-ps-marker-spares-the-next-verification")
    ],
}
"""Variants that show each rule as it was before, and the same steps as the release has it."""

BY_THE_SNAPSHOT = {before: rule for rule, pairs in BEFORE_AND_SINCE.items() for before, _ in pairs}

VARIANTS = read_directory(DEFAULT_DIRECTORY.parent / "variants")


@pytest.mark.parametrize("vector", VARIANTS, ids=[vector.id for vector in VARIANTS])
def test_any_file_of_a_schema_is_judged(vector: Vector) -> None:
    """Vectors of our own with other names and numbers, and with words of the vocabulary that Kafka's do not use."""
    assert vector.run() == BY_THE_SNAPSHOT.get(vector.id, "")


OWN = read_directory(DEFAULT_DIRECTORY)


def test_the_given_vectors_pass_under_the_release_but_for_these_rules() -> None:
    """By rule, never by vector: how many contradict the release, and which change did it."""
    judged = [vector for vector in OWN if vector.schema in ("txn_scenario", "producer_state", "log_transactions")]
    rules = Counter(rule for vector in judged if (rule := vector.run()))
    assert rules == {"empty_commit_is_invalid": 1}
    assert set(CHANGED_BY) == set(ReleaseRules._fields)


@pytest.mark.parametrize("rule", ReleaseRules._fields)
def test_each_rule_has_vectors_that_fail_under_the_other_one(rule: str) -> None:
    """The vector of before fails under the release, that of the release fails with this rule as it was before."""
    by_id = {vector.id: vector for vector in VARIANTS}
    assert BEFORE_AND_SINCE[rule]
    for before, since in BEFORE_AND_SINCE[rule]:
        for name, rules in ((before, ReleaseRules()), (since, ReleaseRules(**{rule: False}))):
            vector = by_id[name]
            with under(rules), pytest.raises(AssertionError):
                runner_for(vector.schema)(vector.vector, vector.document)
        assert by_id[before].run() == rule
        assert by_id[since].run() == ""


@pytest.mark.slow
def test_the_runner_says_which_rule_a_file_of_others_needed(tmp_path: Path) -> None:
    """Outside the project, too: every rule that applied, with the change that made it."""
    by_id = {vector.id: vector for vector in VARIANTS}
    for schema in ("txn_scenario", "producer_state"):
        vectors = [by_id[before].vector for before in BY_THE_SNAPSHOT if by_id[before].schema == schema]
        write(tmp_path, schema, *vectors, name=f"{schema}.json")
    ended = run_pytest(tmp_path)
    assert ended.returncode == pytest.ExitCode.OK, ended.stdout + ended.stderr
    for rule, pairs in BEFORE_AND_SINCE.items():
        assert f"passed {len(pairs)} under the rule before the release's: {CHANGED_BY[rule]}\n" in ended.stdout


def test_a_vector_that_neither_release_nor_snapshot_agrees_with_fails() -> None:
    (twice,) = (vector for vector in VARIANTS if vector.id == "v-txn-fenced-twice")
    wrong = json.loads(json.dumps(twice.vector))
    wrong["steps"][0]["expect"]["after"]["producer_epoch"] = 7
    with pytest.raises(AssertionError, match="epoch is 5, not 7"):
        twice._replace(vector=wrong).run()


@pytest.mark.parametrize("schema", ["scenario", "leader_election", "leader_epoch", "kip848_reconciliation"])
def test_a_runner_fails_a_vector_that_is_wrong(schema: str) -> None:
    """Any number in what is expected, changed by one, is a failure of that vector."""
    for vector in (vector for vector in VARIANTS if vector.schema == schema):
        expected = list(_numbers(vector.vector))
        for place in expected:
            wrong = json.loads(json.dumps(vector.vector))
            *way, last = place
            inner = wrong
            for step in way:
                inner = inner[step]
            inner[last] += 1
            with pytest.raises(AssertionError):
                vector._replace(vector=wrong).run()


@pytest.mark.parametrize("name", ["v-target-order", "v-target-replaced", "v-target-range"])
def test_a_target_with_one_partition_elsewhere_is_wrong(name: str) -> None:
    """Also where the order is not the project's: sizes, or what stays, differ."""
    (vector,) = (vector for vector in VARIANTS if vector.id == name)
    for number, step in enumerate(vector.vector["steps"]):
        for giver in step["expect"].get("assignment", {}):
            wrong = json.loads(json.dumps(vector.vector))
            target = wrong["steps"][number]["expect"]["assignment"]
            taker = next(member for member in target if member != giver)
            target[taker].append(target[giver].pop())
            with pytest.raises(AssertionError):
                vector._replace(vector=wrong).run()


def _numbers(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - it is JSON
    """Where numbers stand in what a vector expects; a skipped assignment and the like are no numbers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, (*way, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _numbers(inner, (*way, index))
    elif isinstance(value, int) and not isinstance(value, bool) and any(str(key).startswith("expect") for key in way):
        yield way


def test_the_projects_own_vectors_have_one_id_each() -> None:
    ids = [vector.id for vector in read_directory(DEFAULT_DIRECTORY)]
    assert len(ids) == len(dict.fromkeys(ids))

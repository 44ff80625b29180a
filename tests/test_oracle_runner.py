"""The runner of test vectors itself: what it runs, what it refuses, and what it says about what it skipped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.outcome import Skip
from tests.oracles.schemas import DEFAULT_DIRECTORY, VectorsError, read_directory, runner_for

ROOT = Path(__file__).parent.parent
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
    write(tmp_path, "kip848_reconciliation", {"id": "one"}, {"id": "two"}, name="other.json")
    ended = run_pytest(tmp_path)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    assert "test_vector[foobar] PASSED" in ended.stdout
    assert "test_vector[wrong] FAILED" in ended.stdout
    assert "1 passed, 1 failed, 2 skipped\nskipped 2: KIP-848 groups are not built\n" in ended.stdout


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


def test_a_schema_that_is_not_built_is_skipped_with_its_reason() -> None:
    with pytest.raises(Skip, match="KIP-848 groups are not built"):
        runner_for("kip848_reconciliation")


def test_the_projects_own_vectors_have_one_id_each() -> None:
    ids = [vector.id for vector in read_directory(DEFAULT_DIRECTORY)]
    assert len(ids) == len(dict.fromkeys(ids))

"""Which module judges which schema, and how a directory of vector files becomes a list of vectors.

A schema whose module does not exist yet is skipped with that as the reason, so a runner is added by adding its file.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracles.outcome import Skip
from tests.oracles.rules import judge

Run = Callable[[dict[str, Any], dict[str, Any]], None]

DEFAULT_DIRECTORY = Path(__file__).parent / "vectors"

RUNNERS: dict[str, str] = {
    "murmur2": "run_murmur2",
    "coordinator_partition": "run_coordinator_partition",
    "partitioner": "run_partitioner",
    "assignment": "run_assignment",
    "rack_assignment": "run_rack_assignment",
    "sticky_scenario": "run_sticky_scenario",
    "target_assignment": "run_target_assignment",
    "mixed": "run_mixed",
    "producer_state": "run_producer_state",
    "log_transactions": "run_log_transactions",
    "leader_epoch": "run_leader_epoch",
    "leader_election": "run_leader_election",
    "scenario": "run_group_coordinator",
    "txn_scenario": "run_transaction_coordinator",
    "kip848_reconciliation": "run_reconciliation",
}
"""Schema to module of this package."""


class VectorsError(Exception):
    """The directory cannot be run: it is empty or holds a file that is no vector file of a known schema."""


class Vector(NamedTuple):
    """One vector and where it comes from."""

    id: str
    schema: str
    vector: dict[str, Any]
    document: dict[str, Any]

    def run(self) -> str:
        """Judge it; returns the rule that it needs as the snapshot had it, or "". Raises AssertionError or Skip."""
        runner = runner_for(self.schema)
        return judge(lambda: runner(self.vector, self.document))


def runner_for(schema: str) -> Run:
    """The function that judges vectors of `schema`; raises Skip when there is none yet."""
    name = f"{__package__}.{RUNNERS[schema]}"
    if importlib.util.find_spec(name) is None:
        raise Skip(f"schema {schema} waits for {RUNNERS[schema]}.py")
    run: Run = importlib.import_module(name).run
    return run


def read_directory(directory: Path) -> list[Vector]:
    """Every vector of every *.json file in `directory`, in the order of file names; raises VectorsError."""
    if not directory.is_dir():
        raise VectorsError(f"{directory} is not a directory")
    vectors = [vector for path in sorted(directory.glob("*.json")) for vector in _read_file(path)]
    if not vectors:
        raise VectorsError(f"{directory} holds no vectors (*.json)")
    return vectors


def _read_file(path: Path) -> list[Vector]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        # "mixed: kind=single -> …": the word before the colon is the schema, the rest explains it
        schema = document["schema"].partition(":")[0]
        vectors = [Vector(vector["id"], schema, vector, document) for vector in document["vectors"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise VectorsError(f"{path}: not a vector file: {type(error).__name__}: {error}") from error
    if schema not in RUNNERS:
        known = ", ".join(sorted(RUNNERS))
        raise VectorsError(f"{path}: unknown schema {schema!r}; known: {known}")
    return vectors

"""assignor_differential.json: seeded inputs that were run through the Java assignors, of two kinds."""

from __future__ import annotations

from typing import Any

from tests.oracles import run_assignment, run_sticky_scenario

KINDS = {"single": run_assignment.run, "sticky_scenario": run_sticky_scenario.run}


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    KINDS[vector["kind"]](vector, document)

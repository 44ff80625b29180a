"""`until EXPRESSION`, and what it costs when the expression is too expensive."""

import pytest

from cluster.view import ClusterView
from console.run_until import EVALUATION_INTERVAL_US, UntilCondition
from recordings.cel.evaluation import Program


def test_an_expression_beyond_its_budget_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    run = Program.run

    def counted(self: Program, document: dict[str, object]) -> object:
        nonlocal asked
        asked += 1
        return run(self, document)

    monkeypatch.setattr(Program, "run", counted)
    expensive = "[1]" + ".map(x, [x, x, x, x, x, x, x, x, x, x])" * 12
    now_us = 0
    conditions = [
        UntilCondition(text, ClusterView(), lambda: now_us) for text in (f"{expensive} == {expensive}", "now_ms < 0")
    ]
    for condition, times in zip(conditions, (1, 5), strict=True):
        asked = now_us = 0
        for _ in range(5):
            assert condition() is False
            now_us += EVALUATION_INTERVAL_US
        assert asked == times

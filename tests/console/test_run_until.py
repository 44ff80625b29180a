"""`until EXPRESSION`, and what it costs when the expression is too expensive."""

import pytest

from cluster.view import ClusterView
from console.run_until import LOOK_US, Watch
from recordings.cel.evaluation import Program


class Clock:
    now_us = 0


def test_an_expression_beyond_its_budget_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    run = Program.run

    def counted(self: Program, document: dict[str, object]) -> object:
        nonlocal asked
        asked += 1
        return run(self, document)

    monkeypatch.setattr(Program, "run", counted)
    expensive = "[1]" + ".map(x, [x, x, x, x, x, x, x, x, x, x])" * 12
    clock = Clock()
    watches = [Watch(text, ClusterView(), clock) for text in (f"{expensive} == {expensive}", "now_ms < 0")]
    for watch, times in zip(watches, (1, 5), strict=True):
        asked = clock.now_us = 0
        for _ in range(5):
            assert watch() is False
            clock.now_us += LOOK_US
        assert asked == times

"""How the tests are spread over processes, so that one process's death is one failed test and nothing more.

xdist's own scheduler hands out again all that the dead process had done, waits for it, and the run never ends.
"""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

PATIENCE_S = 10


class Spread(LoadGroupScheduling):  # type: ignore[misc]  # published without types
    """Groups stay together, and what a dead process had left goes to the others: without the test that ended it."""

    def remove_node(self, node: WorkerController) -> str | None:
        left = self.assigned_work.pop(node)
        ended_by = next(_unfinished(left), None)
        if ended_by is None:
            return None
        for scope, unit in left.items():
            rest = {test: False for test, finished in unit.items() if not finished and test != ended_by}
            if rest:
                self.workqueue[scope] = rest
        for other in self.assigned_work:
            self._reschedule(other)
        return ended_by


def _unfinished(left: dict[str, dict[str, bool]]) -> Iterator[str]:
    return (test for unit in left.values() for test, finished in unit.items() if not finished)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread | None:
    """In place of xdist's own, where groups are asked for."""
    return Spread(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_testnodedown(node: WorkerController, error: object | None) -> None:
    """Say how a process of tests ended that should not have."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if error and isinstance(process, subprocess.Popen):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        sys.stderr.write(f"\n[{node.gateway.id}] ended {_told(process.returncode)}\n")


def _told(code: int | None) -> str:
    if code is None:
        return "its connection, and is still alive"
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"

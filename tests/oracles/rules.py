"""Under which release a vector is judged: 4.3.1, and the snapshot's rule where that one decided otherwise.

The vectors come from tests of October 2024. One that fails under the release is judged again with one rule of
`cluster.protocol.release_rules` as the snapshot had it, then with another: no rule is chosen by a vector's id. The
summary shows which one it took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cluster.protocol.release_rules import ReleaseRules
from tests.oracles.outcome import Skip

IN_FORCE: ContextVar[ReleaseRules] = ContextVar("in force", default=ReleaseRules())  # noqa: B039 - it is immutable


@contextmanager
def under(rules: ReleaseRules) -> Iterator[None]:
    """Judge under these rules."""
    before = IN_FORCE.set(rules)
    try:
        yield
    finally:
        IN_FORCE.reset(before)


def judge(run: Callable[[], None]) -> str:
    """Run a vector; returns the rule that it needs as the snapshot had it, "" under the release. Raises as `run`."""
    try:
        run()
    except AssertionError:
        for rule in ReleaseRules._fields:
            try:
                with under(ReleaseRules(**{rule: False})):
                    run()
            except (AssertionError, Skip):
                continue
            return rule
        raise
    return ""

"""Burrow's evaluation, held to the cases of its own tests and of its issues."""

import tomllib
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recordings.alerts.burrow import StoredCommit, Window, status_of

CASES = tomllib.loads((Path(__file__).parent / "burrow_cases.toml").read_text(encoding="utf-8"))["case"]
SECOND = 1_000_000

Judge = Callable[[Sequence[StoredCommit], Sequence[int], int, int], str]


def judged(case: dict[str, Any], judge: Judge) -> str:
    commits = [StoredCommit(offset, at_ms * 1_000, lag if lag >= 0 else None) for offset, at_ms, lag in case["commits"]]
    return judge(commits, case["log_ends"], case["lag"], case["now"] * SECOND)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_case_has_burrows_status(case: dict[str, Any]) -> None:
    assert judged(case, status_of) == case["status"]


def without_present_lag(commits: Sequence[StoredCommit], log_ends: Sequence[int], lag: int, now_us: int) -> str:
    return status_of(commits, log_ends, lag or 1, now_us)


def without_log_ends(commits: Sequence[StoredCommit], log_ends: Sequence[int], lag: int, now_us: int) -> str:
    return status_of(commits, [], lag, now_us)


def zero_lag_first(commits: Sequence[StoredCommit], log_ends: Sequence[int], lag: int, now_us: int) -> str:
    return "OK" if any(one.lag == 0 for one in commits) else status_of(commits, log_ends, lag, now_us)


def stops_a_second_early(commits: Sequence[StoredCommit], log_ends: Sequence[int], lag: int, now_us: int) -> str:
    return status_of(commits, log_ends, lag, now_us + SECOND)


def warns_of_a_larger_lag(commits: Sequence[StoredCommit], log_ends: Sequence[int], lag: int, now_us: int) -> str:
    said = status_of(commits, log_ends, lag, now_us)
    known = [one.lag for one in commits if one.lag is not None]
    return "WARN" if said == "OK" and lag and known[0] and known[-1] > known[0] else said


def rewind_is_not_seen(commits: Sequence[StoredCommit], log_ends: Sequence[int], lag: int, now_us: int) -> str:
    kept = [b for a, b in pairwise([commits[0], *commits]) if b.offset >= a.offset]
    return status_of(kept, log_ends, lag, now_us)


@pytest.mark.parametrize(
    "broken",
    [
        without_present_lag,
        without_log_ends,
        zero_lag_first,
        stops_a_second_early,
        warns_of_a_larger_lag,
        rewind_is_not_seen,
    ],
)
def test_a_broken_evaluator_fails_a_case(broken: Judge) -> None:
    assert any(judged(case, broken) != case["status"] for case in CASES)


def test_commits_between_two_refreshes_hide_a_growing_lag() -> None:
    """A consumer that is ever slower is OK: its lag falls until the next log end comes (#155, #453, #738)."""
    window, often = Window(10, 0), Window(10, 0)
    for second in range(120):
        if second % 10 == 0:
            window.refreshed(1_000 * second)
        often.refreshed(1_000 * second)
        for each in (window, often):
            each.committed(100 * second, second * SECOND)
    assert window.status(120 * SECOND) == "OK"
    assert often.status(120 * SECOND) == "WARN"


def test_a_commit_within_the_minimum_distance_replaces_the_last_one_and_keeps_its_instant() -> None:
    window = Window(10, 5 * SECOND)
    window.refreshed(100)
    for second, offset in ((0, 10), (3, 20), (6, 30)):
        window.committed(offset, second * SECOND)
    assert list(window.commits) == [StoredCommit(20, 0, 80), StoredCommit(30, 6 * SECOND, 70)]


def test_a_commit_before_the_first_log_end_is_dropped() -> None:
    window = Window(10, 0)
    window.committed(10, 0)
    assert not window.commits
    assert window.status(SECOND) == "OK"


def test_an_incomplete_window_is_ok_below_the_minimum() -> None:
    window = Window(4, 0)
    window.refreshed(100)
    window.committed(10, 0)
    assert window.status(SECOND) == "STOP", "one commit is a window of no length"
    assert window.status(SECOND, minimum_complete=0.5) == "OK"

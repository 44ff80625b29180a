"""Reads `rolling restart of billing: 2 of 5 members stopped, next in 11 s`, whole or cut, against an operation."""

import re

from cluster import events as e
from tests.console.judge.cluster_books import OperationBook
from tests.console.judge.spoken import DURATION, says

NAMED = {"deployment": "rollout of {} (Deployment)", "statefulset": "rollout of {} (StatefulSet)"}
SAID = re.compile(
    rf"(?P<name>.+?)(?:: (?P<asked>\d+) of (?P<all>\d+) (?P<noun>members|brokers) stopped"
    rf"(?:(?:,| ·) next in (?P<left>{DURATION}))?)?(?: · (?P<others>\d+) more under way)?(?:…| {{2,}}.*)?"
)


def name_of(one: OperationBook) -> str:
    """The operation as a sentence names it."""
    begun = one.begun
    if isinstance(begun, e.RollingRestartStarted):
        return f"rolling restart of {begun.group}"
    return NAMED.get(begun.workload, "rolling restart of {}").format(begun.target)


def operation_says(text: str, one: OperationBook, now_us: int, others: int = 0) -> bool:
    """Whether a text is true of an operation; a table may cut it short."""
    words, cut, _ = text.partition("…")
    words = words if cut else re.split(r" {2,}", text)[0]
    if cut:
        whole = f"{name_of(one)}: {one.asked_by(now_us)} of {_size(one)} "
        return whole.startswith(words) or words.startswith(whole)
    match = SAID.fullmatch(words.rstrip())
    if match is None or match["name"] != name_of(one):
        return False
    counted = match["asked"] is None or (int(match["asked"]), int(match["all"])) == (one.asked_by(now_us), _size(one))
    next_us = one.next_us(now_us)
    left = match["left"] is None or (next_us is not None and says(match["left"], next_us - now_us))
    nouns = {None, "brokers" if getattr(one.begun, "target", "") == "brokers" else "members"}
    return counted and left and match["noun"] in nouns and match["others"] in {None, str(others)}


def _size(one: OperationBook) -> int:
    begun = one.begun
    return len(begun.members if isinstance(begun, e.RollingRestartStarted) else begun.replaced)

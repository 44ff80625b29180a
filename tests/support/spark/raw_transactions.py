"""Transactions from the raw lines of a journal, one pass, no event class and no view."""

from collections.abc import Iterable
from statistics import median
from typing import Any

UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
ENDS = {"CompleteCommit": "committed", "CompleteAbort": "aborted"}

Line = dict[str, Any]


class _Id:
    """One transactional id: its transaction under way, and those that have ended."""

    def __init__(self) -> None:
        self.under_way: Line | None = None
        self.ended: list[Line] = []

    def end(self, outcome: str, at_us: int) -> None:
        if self.under_way is not None:
            self.ended.append(self.under_way | {"outcome": outcome, "until_us": at_us})
            self.under_way = None


def raw_transactions(lines: Iterable[Line], end_us: int) -> dict[str, Line]:
    """Each transactional id with counts by outcome and fencing, the median and longest duration (µs)."""
    ids: dict[str, _Id] = {}
    for line in lines:
        if line["kind"] == "transaction_state_changed":
            _state_changed(ids.setdefault(line["transactional_id"], _Id()), line)
        elif line["kind"] == "transaction_fenced":
            one = ids.setdefault(line["transactional_id"], _Id())
            if one.under_way is not None:
                one.under_way["fenced_by"] = line["reason"]
    found = {}
    for name, one in ids.items():
        one.end("open_at_end", end_us)
        if one.ended:
            found[name] = _sums(one.ended)
    return found


def _state_changed(one: _Id, line: Line) -> None:
    at_us, state = line["at_us"], line["state"]
    goes_on = state in UNDER_WAY or state in ENDS
    if one.under_way is not None and not (goes_on and line["start_us"] == one.under_way["start_us"]):
        one.end("lost", at_us)  # the log of its coordinator knows nothing of it any more
    if state in ENDS:
        one.end(ENDS[state], at_us)
    elif state in UNDER_WAY:
        if one.under_way is None:
            one.under_way = {"start_us": line["start_us"], "from_us": at_us, "fenced_by": "", "partitions": 0}
        one.under_way["partitions"] = max(one.under_way["partitions"], len(line["partitions"]))


def _sums(ended: list[Line]) -> Line:
    took = [each["until_us"] - each["from_us"] for each in ended]
    longest = max(range(len(ended)), key=lambda place: (took[place], -place))
    outcomes = [each["outcome"] for each in ended]
    return {
        **{name: outcomes.count(name) for name in ("committed", "aborted", "lost", "open_at_end")},
        "timed_out": sum(each["fenced_by"] == "timeout" for each in ended),
        "superseded": sum(each["fenced_by"] == "InitProducerId" for each in ended),
        "p50_us": median(took),
        "longest_us": took[longest],
        "longest_from_us": ended[longest]["from_us"],
        "most_partitions": max(each["partitions"] for each in ended),
    }

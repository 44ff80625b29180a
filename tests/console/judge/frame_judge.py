"""Judges the frame of every screen: the header's numbers and the marks on the flight strip."""

import re

from cluster import events as e
from tests.console.judge.books import Books
from tests.console.judge.grammar import Verdict
from tests.console.judge.spoken import counts, instant

STARTS = {
    "✖": (e.FaultStarted, e.BrokerStopped, e.BrokerStateChanged, e.BrokerFenced, e.MemberStopped, e.LogTruncated,
          e.RecordsLost, e.ApplicationFailed, e.ConsumerFenced, e.RecordSkipped, e.RecordDeadLettered, e.RecordFailed,
          e.ProducerStateChanged, e.RebalanceListenerReturned,
          e.TransactionFenced, e.TransactionOffsetsRefused, e.TransactionMarkerRefused, e.ProducerEpochRefused),
    "▲": (e.LeaderElected, e.ControllerElected, e.GroupLoaded),
    "↻": (e.RebalanceStarted, e.ConsumerGroupEpochBumped),
    "▪": (e.FaultEnded, e.BrokerStarted, e.BrokerStateChanged, e.RecordsRecovered),
    "●": (e.GroupStabilized, e.ConsumerGroupStateChanged),
    "◂": (e.OffsetsCommitted, e.GroupLoaded),
    "·": (e.TransactionStateChanged, e.HangingTransactionAborted),
}  # fmt: skip
MOVING = {"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}
HEAVY = {e.FaultStarted: "✖", e.RebalanceStarted: "✖▲↻", e.GroupStabilized: "✖▲↻▪◂●"}


def judge_header(books: Books, text: str, at_us: int, verdict: Verdict) -> None:
    """Brokers, groups, lag and faults in numbers."""
    cluster, groups = books.cluster, books.groups.values()
    up = sum(one.serves and not (one.frozen or one.fenced or one.stopping) for one in cluster.brokers.values())
    clock = re.search(r"\d\d:\d\d:\d\d\.\d+", text)
    if clock is not None:
        digits = len(clock[0].partition(".")[2])
        step = 10 ** (6 - digits)
        verdict.claim(instant(clock[0]) // step == at_us // step, "header", f"{clock[0]} at {at_us}")
    if match := re.search(r"brokers (\d+)/(\d+) (●|✖)", text):
        well = match[3] == "●"
        truth = (int(match[1]), int(match[2])) == (up, len(cluster.brokers)) and well == (up == len(cluster.brokers))
        verdict.claim(truth, "header", match[0])
    moving = sum(one.state in MOVING for one in groups)
    stable = sum(one.state == "Stable" for one in groups)
    truths = {"↻": moving, "●": stable, "○": len(books.groups) - moving - stable}
    if match := re.search(r"groups((?: \d+ [↻●○])+)", text):
        said = {glyph: int(number) for number, glyph in re.findall(r"(\d+) (.)", match[1])}
        verdict.claim(said == {glyph: number for glyph, number in truths.items() if number}, "header", match[0])
    if match := re.search(r"lag +([\d.]+[kMG]?)", text):
        lag = sum(books.lag(one) for one in groups)
        verdict.claim(counts(match[1], lag), "header", f"{match[0]}, not {lag}")
    if match := re.search(r"faults (\d+)", text):
        verdict.claim(int(match[1]) == len(cluster.faults), "header", match[0])


def judge_strip(books: Books, strip: str, at_us: int, total_us: int, verdict: Verdict) -> None:
    """Each mark has an event within the time of its cell, and each fault and rebalance has a mark."""
    cells = strip[1:-1]
    here = cells.index("┃")
    verdict.claim(here == min(len(cells) - 1, at_us * len(cells) // total_us), "strip", f"now stands in cell {here}")
    found: dict[int, set[type[e.Event]]] = {}
    for ms, events in books.cluster.by_ms.items():
        for event in events:
            index = min(len(cells) - 1, event.at_us * len(cells) // total_us)
            found.setdefault(index, set()).add(type(event))
            heavy = HEAVY.get(type(event))
            if heavy is not None and index != here:
                verdict.claim(cells[index] in heavy, "strip", f"{type(event).__name__} at {ms} ms is {cells[index]!r}")
    for index, cell in enumerate(cells):
        if cell in STARTS:
            verdict.claim(bool(found.get(index, set()) & set(STARTS[cell])), "strip", f"{cell} in cell {index}")
        else:
            on = cell == "┅" and index > here  # leads on to the live instant
            verdict.claim(on or cell in "┃─┈╌", "strip", f"unknown mark {cell!r}")


def judge_scale(scale: str, total_us: int, verdict: Verdict) -> None:
    """Each label of the strip's scale begins at the cell of its instant; the last one may end at the edge."""
    cells = scale[1:-1]
    for label in re.finditer(r"\S+", cells):
        at_us = 1_000_000 * sum(int(part) * 60**place for place, part in enumerate(reversed(label[0].split(":"))))
        index = min(len(cells) - 1, at_us * len(cells) // total_us)
        moved = label.end() == len(cells) and index >= label.start()
        verdict.claim(abs(index - label.start()) <= 1 or moved, "scale", f"{label[0]} in cell {label.start()}")

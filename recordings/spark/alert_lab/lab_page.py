"""`alerts.html`: the leaderboard of alert rules as a picture and tables, on one page without network or script."""

import shlex
from statistics import quantiles
from typing import Final, NamedTuple

from markupsafe import Markup

from recordings.alerts.scoring import FALSE, FOUND, MISSED, ClassScore, RuleScore
from recordings.alerts.words import seconds, sentences
from recordings.spark.alert_lab.lab_result import LabResult
from recordings.spark.charts import Tick
from recordings.spark.formatting import clock, duration, many
from recordings.spark.page_templates import rendered, single_page

WIDTH: Final = 1160
LEFT, RIGHT, TOP, ROW = 280, 60, 14, 34
SECOND_US: Final = 1_000_000
STEPS_S: Final = (5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
MOST_TICKS: Final = 10


class DelayBox(NamedTuple):
    """The delays of a rule in the picture: all of them as dots, the middle half as a bar, the median as a line."""

    y: int
    rule: str
    dots: list[float]
    low: float
    middle: float
    high: float
    text: str


class Example(NamedTuple):
    """One flight that shows an outcome of a rule."""

    rule: str
    outcome: str
    what: str
    flight: str
    command: str


def delays(result: LabResult) -> tuple[list[DelayBox], list[Tick]]:
    """The picture: for each rule, in the order of the leaderboard, how long after a fault its first alert comes."""
    scores = result.leaderboard.scores
    every = {one.rule: sorted(delay for each in one.by_class for delay in each.delays_us) for one in scores}
    longest_us = max((delay for found in every.values() for delay in found), default=SECOND_US)
    across = (WIDTH - LEFT - RIGHT) / longest_us
    boxes = []
    for place, (rule, found) in enumerate(every.items()):
        low, middle, high = _quartiles(found)
        first, median, last = (round(LEFT + each * across, 1) for each in (low, middle, high))
        dots = [round(LEFT + each * across, 1) for each in found]
        text = f"{len(found)} found, median {duration(middle)}" if found else "none found"
        boxes.append(DelayBox(TOP + ROW * place + ROW // 2, rule, dots, first, median, last, text))
    step_us = next((each for each in STEPS_S if longest_us <= each * SECOND_US * MOST_TICKS), STEPS_S[-1]) * SECOND_US
    ticks = [Tick(round(LEFT + at * across, 1), duration(at)) for at in range(0, longest_us + 1, step_us)]
    return boxes, ticks


def _quartiles(found: list[int]) -> tuple[float, float, float]:
    if len(found) < 2:
        return (found[0],) * 3 if found else (0, 0, 0)
    low, middle, high = quantiles(found, n=4, method="inclusive")
    return low, middle, high


def classes(result: LabResult) -> list[str]:
    """Every class of faults, by name."""
    return sorted({each.fault_class for one in result.leaderboard.scores for each in one.by_class})


def cell(one: RuleScore, fault_class: str) -> tuple[str, float]:
    """`7 of 9` faults of a class that a rule finds, and the share; without such a fault `–`."""
    found: ClassScore | None = next((each for each in one.by_class if each.fault_class == fault_class), None)
    if found is None or not (found.delays_us or found.missed):
        return "–", 0.0
    every = len(found.delays_us) + found.missed
    return f"{len(found.delays_us)} of {every}", round(len(found.delays_us) / every, 3)


def examples(result: LabResult) -> list[Example]:
    """For each rule its slowest alert, a fault that it misses, and a false alert."""
    found = []
    for one in result.leaderboard.scores:
        shown = result.examples(one.rule)
        for outcome in (FOUND, MISSED, FALSE):
            if outcome not in shown:
                continue
            flight, each = shown[outcome]
            order = flight.order
            what = f"{each.fault or each.group} at {clock(each.at_us)}"
            what += f": {seconds(each.delay_us)} later, {each.why}" if each.delay_us is not None else ""
            what += f": {each.why}" if outcome == FALSE else ""
            game = f"flightdeck game --level {order.level} --seed {order.seed}"
            command = shlex.join(["flightdeck", "play", order.recording]) if order.recording else game
            label = "slowest alert" if outcome == FOUND else "missed" if outcome == MISSED else "false alert"
            found.append(Example(one.rule, label, what, order.name, command))
    return found


def page(result: LabResult) -> str:
    """The whole page. Every text of a rule or a recording is escaped."""
    return single_page("Alert rules", "alert laboratory", sections(result))


def sections(result: LabResult) -> Markup:
    """The answer, the leaderboard and what it rests on, as sections of a page."""
    boxes, ticks = delays(result)
    bottom = TOP + ROW * len(boxes)
    return rendered(
        "alerts.html.j2",
        result=result,
        board=result.leaderboard,
        sentences=sentences(result.leaderboard),
        boxes=boxes,
        ticks=ticks,
        classes=classes(result),
        cell=cell,
        examples=examples(result),
        seconds=seconds,
        many=many,
        box=(WIDTH, bottom + 30, LEFT, TOP, WIDTH - RIGHT, bottom),
    )

"""`sweep.html`: a sweep's frontier as a picture and a table, on one page that needs neither network nor script."""

import shlex
from collections.abc import Sequence
from math import ceil, log10
from typing import NamedTuple

import msgspec

from recordings.comparison.amounts import amount, spoken
from recordings.comparison.bill import MEASURES, Measure
from recordings.planning.order_statistics import SHOWN as CONFIDENCE
from recordings.planning.order_statistics import enough_for
from recordings.spark.charts import Tick
from recordings.spark.formatting import SECOND_US, many
from recordings.spark.page_templates import rendered, single_page
from recordings.spark.sweep.frontier import Frontier, SweptPoint

WIDTH, HEIGHT = 1160, 460
LEFT, RIGHT, TOP, BOTTOM = 96, 24, 16, 52
TICKS = 6
SHOWN = 500
BY_FIELD = {measure.field: measure for measure in MEASURES}


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep as far as it was flown. `flown_now`: the flights of this run; the others were kept by earlier ones.

    `run_as`: what `flightdeck run` takes for each scenario, its name in the library or its file.
    """

    title: str
    scenarios: list[str]
    run_as: list[str]
    seeds: list[int]
    fixed: list[str]
    until_us: int | None
    rounds: int
    flown_now: int
    seconds: float
    frontier: Frontier


class Dot(NamedTuple):
    """A point of the picture."""

    x: float
    y: float
    title: str
    best: bool


class Scatter(NamedTuple):
    """The picture: every judged point by two measures, and the frontier as a line."""

    dots: list[Dot]
    line: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    x_name: str
    y_name: str


def replay(swept: Swept, point: SweptPoint) -> str:
    """The command that flies a point's median flight again, and records it."""
    if point.seed is None:
        return ""
    words = ["flightdeck", "run", swept.run_as[point.point.scenario], "--seed", str(point.seed)]
    words += [word for text in (*swept.fixed, *point.settings) for word in ("--set", text)]
    if swept.until_us is not None:
        words += ["--until", _duration(swept.until_us)]
    return shlex.join([*words, "--record", f"{point.scenario}-seed-{point.seed}.flight"])


def _duration(us: int) -> str:
    """As a command takes it: `90s`."""
    seconds, rest = divmod(us, SECOND_US)
    return f"{us}us" if rest else f"{seconds}s"


def sentences(swept: Swept) -> list[str]:
    """What the sweep found, in words: how many points are on the frontier, and between which ends."""
    frontier = swept.frontier
    judged = [each for each in frontier.points if each.measures]
    failed = len(frontier.points) - len(judged)
    x, y = (BY_FIELD[axis] for axis in frontier.axes)
    if not judged:
        return ["No point is judged: in each of them a flight failed."]
    best = frontier.best
    on = f"{many(len(best), 'point')} of {len(judged)} {'is' if len(best) == 1 else 'are'} on the frontier"
    found = [f"{on} of {_named(x)} and {_named(y)}."]
    if _costs(best[0], x, y) == _costs(best[-1], x, y):
        least = "No other point costs less in either" if len(best) == 1 else "They cost the same"
        found.append(f"{least}: {_costs(best[0], x, y)}.")
    else:
        found.append(f"Least {x.name}: {_costs(best[0], x, y)}. Least {y.name}: {_costs(best[-1], x, y)}.")
    if failed:
        are, them = ("is", "it") if failed == 1 else ("are", "them")
        found.append(f"{many(failed, 'point')} {are} not judged: flights of {them} failed.")
    return found


def spread(swept: Swept) -> str:
    """What stands beside a median: its interval, or all flights, where these are too few for an interval."""
    fewest, flights = enough_for(CONFIDENCE), len(swept.seeds)
    if flights == 1:
        return "One flight for each point: the seed alone may make a difference."
    if flights < fewest:
        return f"Medians, with the least and the most of {flights} flights: fewer than {fewest} have no interval."
    return f"Medians, with their {f'{CONFIDENCE:.0%}'.replace('%', ' %')} interval where it is wider."


def estimate(point: SweptPoint, field: str) -> str:
    """The median of a measure, and its interval if it is one."""
    one, measure = point.measures[field], BY_FIELD[field]
    middle, low, high = (amount(measure, round(value)) for value in (one.median, one.low, one.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def scatter(frontier: Frontier) -> Scatter:
    """The picture's geometry."""
    x, y = (BY_FIELD[axis] for axis in frontier.axes)
    judged = [each for each in frontier.points if each.measures]
    most_x, most_y = (max((one.measures[axis].median for one in judged), default=0) or 1 for axis in frontier.axes)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(one: SweptPoint) -> tuple[float, float]:
        across, up = (one.measures[axis].median for axis in frontier.axes)
        return round(LEFT + wide * across / most_x, 1), round(TOP + high * (1 - up / most_y), 1)

    dots = [Dot(*place(one), f"{', '.join(one.settings)}: {_costs(one, x, y)}", one.on_frontier) for one in judged]
    line = " ".join(f"{across},{up}" for across, up in map(place, frontier.best))
    return Scatter(
        dots=sorted(dots, key=lambda one: one.best),
        line=line,
        x_ticks=[Tick(round(LEFT + wide * at / most_x, 1), label) for at, label in _steps(most_x, x)],
        y_ticks=[Tick(round(TOP + high * (1 - at / most_y), 1), label) for at, label in _steps(most_y, y)],
        x_name=_named(x),
        y_name=_named(y),
    )


def page(swept: Swept) -> str:
    """The whole page. Every text of a scenario is escaped."""
    frontier = swept.frontier
    ranked = sorted(
        (each for each in frontier.points if each.measures),
        key=lambda each: (not each.on_frontier, *(each.measures[axis].median for axis in frontier.axes)),
    )
    sections = rendered(
        "sweep.html.j2",
        swept=swept,
        sentences=sentences(swept),
        picture=scatter(frontier),
        fields=[BY_FIELD[field] for field in frontier.differing],
        ranked=ranked[:SHOWN],
        left_out=max(0, len(ranked) - SHOWN),
        failed=[each for each in frontier.points if each.failed],
        estimate=estimate,
        spread=spread(swept),
        replay=lambda point: replay(swept, point),
        many=many,
        box=(WIDTH, HEIGHT, LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM),
    )
    return single_page(swept.title, "sweep", sections)


def _named(measure: Measure) -> str:
    return measure.name if measure.unit == measure.name else f"{measure.name} ({measure.unit})"


def _costs(one: SweptPoint, x: Measure, y: Measure) -> str:
    return " and ".join(spoken(measure, round(one.measures[measure.field].median)) for measure in (x, y))


def _steps(most: float, measure: Measure) -> Sequence[tuple[float, str]]:
    """Round values from 0 up to the largest, and their labels: of a duration in seconds, else in whole numbers."""
    unit = 1e6 if measure.field.endswith("_us") else 1
    rough = most / unit / TICKS
    power = 10 ** ceil(log10(rough)) / 10 if rough > 0 else 1
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
    step = step if unit > 1 else max(1, step)
    return [(number * step * unit, f"{number * step:,g}") for number in range(int(most / unit / step) + 1)]

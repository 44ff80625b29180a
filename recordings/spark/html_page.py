"""`report.html`: the report's data as one page that needs nothing else, neither a network nor a script, to be read."""

from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from recordings.spark import charts
from recordings.spark import formatting as figures
from recordings.spark.lag_causes import notable
from recordings.spark.rebalance_narrative import story
from recordings.spark.report_model import HEAT_ROWS, Flight, Rebalance, Report
from recordings.spark.verdict import cause_in_words, loses_records, lost_from_logs

TEMPLATES = Path(__file__).parent / "templates"
DETAILED_FLIGHTS = 12
CASES = 300


def page(report: Report) -> str:
    """The whole page. Everything that comes from a recording is escaped."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "count": figures.count,
        "duration": figures.duration,
        "partition_time": figures.partition_time,
        "clock": figures.clock,
        "cause": cause_in_words,
        "notable": notable,
        "loses_records": loses_records,
        "lost_from_logs": lost_from_logs,
        "phases": charts.phases,
        "story": story,
    }
    environment.globals |= {
        "report": report,
        "timeline": charts.timeline,
        "heat_map": charts.heat_map,
        "case_file": charts.case_file,
        "series_of": _series,
        "followed": _followed,
        "errors": _errors,
        "width": charts.WIDTH,
        "left": charts.LEFT,
        "plot": charts.PLOT,
        "row": charts.ROW,
        "levels": charts.LEVELS,
        "case_width": charts.CASE_WIDTH,
        "case_left": charts.CASE_LEFT,
        "heat_rows": HEAT_ROWS,
        "detailed": DETAILED_FLIGHTS,
        "cases": CASES,
        "css": Markup(_text("report.css")),
        "js": Markup(_text("report.js")),
    }
    return environment.get_template("report.html.j2").render()


def _followed(flight: Flight, place: int) -> list[Rebalance]:
    """The rebalances that began after an incident and before the next."""
    incidents = flight.incidents
    until_us = incidents[place + 1].at_us if place + 1 < len(incidents) else flight.virtual_us
    return [each for each in flight.rebalances if incidents[place].at_us <= each.started_us < until_us]


def _errors(counts: dict[str, int]) -> str:
    """`NOT_LEADER_OR_FOLLOWER 3, NETWORK_EXCEPTION 1`: a map of Spark's has no order."""
    worst = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{error} {figures.count(number)}" for error, number in worst)


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _series(flight: Flight) -> Markup:
    """What the page's script reads under the cursor: JSON that cannot end its element."""
    data = {
        "width": charts.WIDTH,
        "left": charts.LEFT,
        "plot": charts.PLOT,
        "virtual_us": max(1, flight.virtual_us),
        "groups": [
            {
                "group": group.group,
                "seconds": group.series.seconds_per_point,
                "lag": group.series.lag,
                "age": group.series.time_lag_us,
            }
            for group in flight.groups
        ],
    }
    return Markup(msgspec.json.encode(data).decode().replace("<", "\\u003c"))

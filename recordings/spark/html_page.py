"""`report.html`: the report as one page that needs neither a network nor a script."""

from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from recordings.spark import charts
from recordings.spark import formatting as figures
from recordings.spark.analyses.log_losses import loses_records, lost_from_logs
from recordings.spark.lag_causes import is_significant
from recordings.spark.rebalance_causes import cause_in_words
from recordings.spark.rebalance_narrative import narrative
from recordings.spark.report_document import Report
from recordings.spark.report_model import HEAT_ROWS, FlightReport, Rebalance

TEMPLATES = Path(__file__).parent / "templates"
DETAILED_FLIGHTS = 12
CASES = 300


def page(report: Report) -> str:
    """The whole page. Every text of a recording is escaped."""
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
        "is_significant": is_significant,
        "loses_records": loses_records,
        "lost_from_logs": lost_from_logs,
        "phases": charts.phases,
        "narrative": narrative,
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


def _followed(flight: FlightReport, place: int) -> list[Rebalance]:
    """The rebalances that began after an incident and before the next."""
    incidents = flight.incidents
    until_us = incidents[place + 1].at_us if place + 1 < len(incidents) else flight.virtual_us
    return [each for each in flight.rebalances if incidents[place].at_us <= each.started_us < until_us]


def _errors(counts: dict[str, int]) -> str:
    """`NOT_LEADER_OR_FOLLOWER 3, NETWORK_EXCEPTION 1`."""
    return ", ".join(f"{error} {figures.count(number)}" for error, number in figures.by_count(counts))


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _series(flight: FlightReport) -> Markup:
    """The data that the page's script shows under the cursor: JSON that cannot end its element."""
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

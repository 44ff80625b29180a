"""`report.html`: the report as one page that needs neither a network nor a script."""

import msgspec
from jinja2 import Template
from markupsafe import Markup

from recordings.spark import charts
from recordings.spark import formatting as figures
from recordings.spark.alert_lab import lab_page
from recordings.spark.analyses.log_losses import loses_records, lost_from_logs
from recordings.spark.compare import compare_page
from recordings.spark.lag_causes import is_significant
from recordings.spark.page_templates import environment, text_of
from recordings.spark.rebalance_causes import cause_in_words
from recordings.spark.rebalance_narrative import narrative
from recordings.spark.report_document import Report
from recordings.spark.report_model import HEAT_ROWS, FlightReport, Rebalance

HTML = "report.html"
DETAILED_FLIGHTS = 12
"""More have pages of their own: a flight in detail has about a hundred kilobytes."""
CASES = 300
LANE_WORDS = {
    "availability": [
        ("--harm", 1, "partitions without a live leader"),
        ("--eventful", 0.4, "below min.insync.replicas"),
    ],
    "producer": [
        ("--eventful", 0.4, "producer waits for more than 1 s"),
        ("--harm", 1, "batches fail"),
        ("--rebalance", 1, "send() throws"),
    ],
    "transactions": [("--age", 0.35, "transaction open for 1 s"), ("--age", 1, "and holds the last stable offset")],
}
"""The legend of the lanes: colour, opacity, meaning."""


def pages(report: Report, refresh_s: int | None = None) -> dict[str, str]:
    """`report.html`, and, of more flights than one page shows in detail, a page `flights/NUMBER.html` for each.

    `refresh_s`: a page reloads itself so often; None: never.
    """
    template = _template(report, refresh_s)
    flights = report.flights
    if len(flights) <= DETAILED_FLIGHTS:
        return {HTML: template.render(shown=flights, back="", detail_of=lambda place: f"#flight-{place + 1}")}
    names = [f"flights/{number:04}.html" for number in range(1, len(flights) + 1)]
    found = {HTML: template.render(shown=[], back="", detail_of=lambda place: names[place])}
    for name, flight in zip(names, flights, strict=True):
        found[name] = template.render(shown=[flight], back=f"../{HTML}", detail_of=lambda _: "")
    return found


def page(report: Report) -> str:
    """The page of a report that has room for all its flights, or its table. Every text of a recording is escaped."""
    return pages(report)[HTML]


def _template(report: Report, refresh_s: int | None) -> Template:
    made = environment()
    made.filters |= {
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
    made.globals |= {
        "report": report,
        "refresh_s": refresh_s,
        "timeline": charts.timeline,
        "lane_words": LANE_WORDS,
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
        "shared_settings": shared_settings(report.flights),
        "settings_differ": len({tuple(flight.settings) for flight in report.flights}) > 1,
        "cases": CASES,
        "alerts": "" if report.alerts is None else lab_page.sections(report.alerts),
        "compared": "" if report.compared is None else compare_page.sections(report.compared),
        "css": text_of("report.css"),
        "js": text_of("report.js"),
    }
    return made.get_template("report.html.j2")


def shared_settings(flights: list[FlightReport]) -> list[str]:
    """The settings that every flight was started with, in the order of the first."""
    first = flights[0].settings if flights else []
    return [setting for setting in first if all(setting in flight.settings for flight in flights)]


def _followed(flight: FlightReport, place: int) -> list[Rebalance]:
    """The rebalances that began after an incident and before the next."""
    incidents = flight.incidents
    until_us = incidents[place + 1].at_us if place + 1 < len(incidents) else flight.virtual_us
    return [each for each in flight.rebalances if incidents[place].at_us <= each.started_us < until_us]


def _errors(counts: dict[str, int]) -> str:
    """`NOT_LEADER_OR_FOLLOWER 3, NETWORK_EXCEPTION 1`."""
    return ", ".join(f"{error} {figures.count(number)}" for error, number in figures.by_count(counts))


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

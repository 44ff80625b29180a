"""Nothing false is said of two flights beside each other, and the judge finds each false presenter."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec
import pytest

from console.presenters.comparing import raster, verdict
from console.presenters.comparing.bill import BillListing
from console.presenters.comparing.raster import ComparedRasterListing, most_lag_us
from console.presenters.list_view import Listing
from console.presenters.raster.axis import axis_for
from console.presenters.raster.listing import axis_width, label_width
from console.presenters.raster.picture import RasterSubject
from console.presenters.styled_text import plain
from recordings.flights.beside import FlightsBeside, fork_beside
from recordings.flights.fork import ForkPoint
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load
from tests.console.judge.comparison_judge import ComparisonJudge, Line
from tests.console.judge.false_comparisons import FALSE_COMPARISONS
from tests.console.judge.grammar import Verdict
from tests.support.slow_cases import mostly_slow

WIDTH = 120
FORKS = {
    "first-flight": (14, 30, "kill billing-1"),
    "eager-vs-cooperative": (12, 30, "kill eager-1"),
    "coordinator-failover": (20, 40, "stop broker-2"),
    "linger-and-batch": (20, 40, "stop broker-1"),
}
Forked = tuple[FlightsBeside, ComparisonJudge]


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Forked]:
    @lru_cache(maxsize=len(FORKS))
    def make(name: str) -> Forked:
        at_s, until_s, command = FORKS[name]
        room = tmp_path_factory.mktemp(name)
        plan = make_plan(load(name), until_us=until_s * 1_000_000)
        fly(plan, record=room / "a.flight")
        point = ForkPoint(at_us=at_s * 1_000_000, commands=(command,))
        found = fork_beside(room / "a.flight", point, None, room / "b.flight", bool)
        diff, detail = found.diff, found.diff.a.course.detail
        assert detail is not None
        flights = lines_of(room / "a.flight"), lines_of(room / "b.flight")
        return found, ComparisonJudge(flights, (diff.a.label, diff.b.label), diff.until_us, detail.step_us)

    return make


def lines_of(path: Path) -> list[Line]:
    return [msgspec.json.decode(line) for line in b"".join(Recording(path).event_lines()).splitlines()]


def text_of(listing: Listing) -> str:
    return "\n".join(
        [plain(listing.note()), plain(listing.header()), *(plain(listing.rows(key)[0]) for key in listing.row_keys())]
    )


def false_claims(forked: Forked) -> list[str]:
    found, judge = forked
    diff = found.diff
    assert diff.a.course.detail is not None
    assert diff.b.course.detail is not None
    details = diff.a.course.detail, diff.b.course.detail
    said = Verdict(diff.until_us)
    for share in range(5):
        cursor_us = diff.until_us * share // 4
        judge.bill(text_of(BillListing(diff, cursor_us, WIDTH)), cursor_us, said)
    judge.sentence(verdict.verdict_words(diff), ("the recorded flight", "the fork"), said)
    judge.parting(verdict.parting_words(diff), said)
    axis, label = axis_for(diff.until_us, axis_width(WIDTH)), label_width(WIDTH) + 2
    for group in details[0].view.groups:
        most_us = max(most_lag_us(detail.samples, group) for detail in details)
        for side, detail in enumerate(details):
            subject = RasterSubject(detail.view, detail.view.groups[group], group)
            listing = ComparedRasterListing(
                subject, axis, WIDTH, room=12, grid=None, most_us=0, samples=detail.samples, most_lag_us=most_us
            )
            listing.parting_us = verdict.parting_us(diff)
            judge.mark(plain(listing.header())[label:], (axis.first_us, axis.cell_us), said)
            if most_us:
                row, note = plain(listing.rows(raster.LAG)[0])[label:], plain(listing.note())
                judge.lag(row, side, group, (axis.first_us, axis.cell_us), note.rpartition("time lag up to ")[2], said)
    assert said.claims > 20
    return said.false


@pytest.mark.parametrize("name", mostly_slow(FORKS, quick=list(FORKS)[:1]))
def test_nothing_false_is_said_of_a_fork(name: str, forked: Callable[[str], Forked]) -> None:
    assert false_claims(forked(name)) == []


@pytest.mark.parametrize("false_comparison", FALSE_COMPARISONS, ids=lambda one: one.__name__)
def test_a_false_comparison_is_found(
    false_comparison: Callable[[pytest.MonkeyPatch], None],
    forked: Callable[[str], Forked],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    false_comparison(monkeypatch)
    assert false_claims(forked("first-flight"))

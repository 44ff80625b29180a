"""The page and its pictures: nothing overlaps, nothing is fetched, nothing from a recording is taken for markup."""

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from recordings.spark import charts
from recordings.spark.html_page import CASES, DETAILED_FLIGHTS, HTML, page, pages
from recordings.spark.report_cluster_model import Availability, HeldBack, LogLoss, ProducerDelays, Spell
from recordings.spark.report_document import FORMAT, Report, documentation
from recordings.spark.report_model import FlightReport, Heat, Incident
from recordings.spark.verdict import verdict
from tests.support.spark.report_samples import CALM, INCIDENT, PRODUCER, REBALANCE, SECOND_US, with_incidents

replace = msgspec.structs.replace
DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "report.md"


def made(*flights: FlightReport) -> str:
    judged = [replace(flight, verdict=verdict(flight)) for flight in flights]
    return page(Report(format=FORMAT, flightdeck="0", spark="4", flights=judged))


class Elements(HTMLParser):
    """Every element's attributes, and that each is closed where it should be."""

    VOID = frozenset({"meta", "br", "line", "rect", "circle", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    "flights", [[], [CALM], [with_incidents()], [with_incidents(), replace(CALM, run_id="other")]], ids=len
)
def test_the_page_is_whole_and_fetches_nothing(flights: list[FlightReport]) -> None:
    text = made(*flights) if flights else page(Report(format=FORMAT, flightdeck="0", spark="4", flights=[]))
    elements = Elements(text)
    assert not elements.open
    for _, attributes in elements.seen:
        for name in ("src", "href"):
            assert not re.match(r"\s*(https?:)?//", attributes.get(name) or "")
    assert "http://" not in text
    assert "https://" not in text


def test_the_verdict_comes_before_any_picture() -> None:
    text = made(with_incidents())
    assert text.index("billing up to 41 s behind") < text.index("<svg")


def test_what_comes_from_a_recording_is_never_markup() -> None:
    bad = '<script>alert(1)</script>"><img src=x>'
    incident = replace(INCIDENT, text=bad)
    group = replace(with_incidents().groups[0], group=bad)
    text = made(replace(with_incidents(), title=bad, lesson=bad, incidents=[incident], groups=[group], warnings=[bad]))
    assert "<script>alert" not in text
    assert "<img" not in text
    assert not Elements(text).open


def test_each_of_many_flights_has_its_detail() -> None:
    """On one page while there is room, else on a page of its own, which the table links to, and which links back."""
    few = [replace(CALM, run_id=f"flight-{number}") for number in range(DETAILED_FLIGHTS)]
    assert made(*few).count('<article class="flight"') == DETAILED_FLIGHTS
    assert made(*few).count('href="#flight-') == DETAILED_FLIGHTS
    many = [*few, replace(CALM, run_id="the-last", title="The last one")]
    found = pages(Report(format=FORMAT, flightdeck="0", spark="4", flights=many))
    table = found.pop(HTML)
    assert '<article class="flight"' not in table
    links = [attributes["href"] for tag, attributes in Elements(table).seen if tag == "a"]
    assert links == list(found)
    assert len(found) == DETAILED_FLIGHTS + 1
    for text in found.values():
        assert text.count('<article class="flight"') == 1
        assert f'href="../{HTML}"' in text
    assert "<h1>The last one</h1>" in list(found.values())[-1]


def test_settings_are_shown_where_flights_differ() -> None:
    both = replace(CALM, run_id="a", settings=["x=1", "acks=all"])
    text = made(both, replace(both, run_id="b", settings=["x=2", "acks=all"]))
    assert "All with <code>acks=all</code>." in text
    table = text[text.index("<tbody>") : text.index("</tbody>")]
    assert [cell for cell in ("x=1", "x=2", "acks=all") if cell in table] == ["x=1", "x=2"]
    alike = made(both, replace(both, run_id="b"))
    assert "<th>settings</th>" not in alike
    assert "All with" not in made(CALM, replace(CALM, run_id="b"))


def test_of_very_many_rebalances_the_first_have_case_files() -> None:
    rebalances = [replace(REBALANCE, rebalance=number, attendance=[]) for number in range(CASES + 5)]
    assert made(replace(with_incidents(), rebalances=rebalances)).count('<details class="case">') == CASES


def test_the_page_shows_what_a_log_lost() -> None:
    """A flight in which every group had processed it is no “order broken”, and its table not a row of noughts."""
    lossy = replace(CALM, run_id="lossy", log_losses=[LogLoss(topic="orders", records=4_321)])
    text = made(lossy, CALM)
    assert '<div class="level">data loss</div>' in text
    assert '<td class="n bad">4,321</td>' in text
    assert '<div class="value bad">4,321</div>' in text
    assert "4,321" not in made(CALM)
    assert "order broken" not in text


def test_the_documentation_of_the_json_is_the_one_in_the_docs() -> None:
    assert DOCUMENTATION.read_text(encoding="utf-8") == documentation(), (
        "run `python -m recordings.spark.report_document docs/report.md`"
    )


def crowd(count: int, every_us: int) -> FlightReport:
    incidents: list[Incident] = [
        replace(INCIDENT, at_us=number * every_us, text=f"kill member-{number} of something long")
        for number in range(count)
    ]
    return replace(with_incidents(), incidents=incidents)


def test_lanes_stand_between_commands_and_groups() -> None:
    """One for each topic, producer and partition with something in it, and none in a calm flight."""
    down = Availability(
        topic="orders", without_leader=2, without_leader_us=16 * SECOND_US, longest_without_leader_us=8 * SECOND_US,
        below_min_isr=0, below_min_isr_us=0, longest_below_min_isr_us=0,
        without_leader_spells=[Spell(from_us=30 * SECOND_US, until_us=38 * SECOND_US, partitions=2)],
    )  # fmt: skip
    delays = ProducerDelays(seconds_per_cell=1, waiting=[30, 31, 32, 40], failed=[33], refused=[])
    held = HeldBack(
        partition="payments-0", producer="gateway-1", from_us=20 * SECOND_US, until_us=None, outcome=None,
        first_offset=7, waiting=93, held_from_us=25 * SECOND_US, groups=["ledger"],
    )  # fmt: skip
    short = replace(held, from_us=SECOND_US, until_us=SECOND_US + 900_000, held_from_us=None)
    flight = replace(
        with_incidents(),
        availability=[down],
        producers=[replace(PRODUCER, delays=delays), replace(PRODUCER, producer="calm-1")],
        held_back=[short, held],
    )
    picture = charts.timeline(flight)
    assert [lane.name for lane in picture.lanes] == ["orders", "checkout-1", "payments-0"]
    assert [kind for kind, _ in picture.lanes[1].bands] == ["waiting", "waiting", "failed"]
    titles = [band.title for lane in picture.lanes for _, band in lane.bands]
    assert titles == [
        "0:30 2 partitions without a live leader for 8 s",
        "0:30 batches wait for more than 1 s, until 0:33",
        "0:40 batches wait for more than 1 s, until 0:41",
        "0:33 batches fail, until 0:34",
        "0:20 transaction of gateway-1, 40 s, open at the end",
        "0:20 transaction of gateway-1, 40 s: it holds the last stable offset, 93 offsets behind it at its end",
    ]
    x = picture.lanes[0].bands[0][1].x
    assert x == pytest.approx(charts.LEFT + charts.PLOT / 2)
    assert picture.labels_height <= picture.lanes[0].y < picture.lanes[-1].y < picture.panels[0].top
    for title in titles:
        assert title in made(flight)
    assert not charts.timeline(CALM).lanes


@pytest.mark.parametrize("every_us", [1, 300_000, 2 * SECOND_US])
def test_labels_of_incidents_never_overlap_and_stay_inside(every_us: int) -> None:
    picture = charts.timeline(crowd(30, every_us))
    assert len(picture.incidents) == 30
    shown = [band for band in picture.incidents if band.label]
    assert shown
    for band in shown:
        assert band.label_x + len(band.label) * charts.LETTER <= charts.WIDTH
        for other in shown:
            if other is not band and other.row == band.row:
                apart = abs(other.label_x - band.label_x)
                assert apart >= min(len(band.label), len(other.label)) * charts.LETTER


@pytest.mark.parametrize("span_us", [1, 900, 40_000, SECOND_US, 90 * SECOND_US, 600 * SECOND_US, 86_400 * SECOND_US])
def test_ticks_are_few_round_and_inside(span_us: int) -> None:
    ticks = charts.time_ticks(0, span_us, 100, 500)
    assert 1 <= len(ticks) <= charts.TICKS_AT_MOST + 1
    assert all(100 <= tick.at <= 600 for tick in ticks)
    assert len({tick.label for tick in ticks}) == len(ticks) or span_us < 10_000


@pytest.mark.parametrize(("value", "top"), [(0, 1), (1, 1), (669, 1_000), (1_100, 2_000), (2_400, 2_500), (10, 10)])
def test_scales_end_at_round_numbers(value: int, top: int) -> None:
    assert charts.nice_top(value) == top


def test_heat_maps_join_neighbours_and_leave_out_nothing() -> None:
    heat = Heat(seconds_per_cell=1, partitions=["a", "b"], rows=[[0, 5, 5, 0], [100, 0, 0, 100]])
    picture = charts.heat_map(heat)
    cells = "".join(picture.levels)
    assert cells.count("M") == 3
    assert picture.levels[-1].count("M") == 2
    assert charts.heat_map(Heat(seconds_per_cell=1, partitions=[], rows=[])).most == "0"


def test_a_case_file_spans_from_the_first_who_stopped_to_the_last_who_was_ready() -> None:
    picture = charts.case_file(REBALANCE, 60 * SECOND_US)
    assert [band.label for band in picture.phases] == ["joining", "assigning", "syncing"]
    lanes = {lane.member: lane for lane in picture.lanes}
    assert lanes["billing-1"].stopped is not None
    assert lanes["billing-9"].stopped is None
    assert lanes["billing-9"].synced is None
    for band in (*picture.phases, lanes["billing-1"].stopped):
        assert charts.CASE_LEFT <= band.x < band.x + band.width <= charts.CASE_WIDTH


def test_members_of_the_consumer_protocol_give_up_partitions_and_reach_their_targets() -> None:
    slow, quick = REBALANCE.attendance
    slow = replace(slow, joined_us=None, synced_us=None, asked_us=30 * SECOND_US, reached_us=31_006_000)
    quick = replace(quick, asked_us=30_100_000, gave_up_us=30_200_000, reached_us=30_200_000)
    new = replace(REBALANCE, protocol="consumer", assigned_us=None, attendance=[slow, quick])
    picture = charts.case_file(new, 60 * SECOND_US)
    assert [band.label for band in picture.phases] == ["Assigning", "Reconciling"]
    lanes = {lane.member: lane for lane in picture.lanes}
    first, second = lanes["billing-1"].gives_up, lanes["billing-9"].gives_up
    assert first is not None
    assert second is not None
    assert first.title == "revoking partitions: 1 s"  # it had not when the rebalance ended
    assert second.title == "revoking partitions: 100 ms"
    assert lanes["billing-1"].reached is not None
    assert lanes["billing-1"].synced is None


def test_a_rebalance_that_never_ended_is_drawn_to_the_end_of_the_flight() -> None:
    open_ended = replace(REBALANCE, ended_us=None, ends="unfinished", closed_us=None, assigned_us=None, attendance=[])
    picture = charts.timeline(replace(with_incidents(), rebalances=[open_ended]))
    [band] = picture.panels[0].rebalances
    assert band.x + band.width == pytest.approx(charts.LEFT + charts.PLOT)
    assert charts.case_file(open_ended, 60 * SECOND_US).phases == []

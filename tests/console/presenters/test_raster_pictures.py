"""A saved raster says what the screen says: text line by line, SVG rectangle by rectangle."""

from collections import deque
from functools import lru_cache
from itertools import groupby
from xml.etree import ElementTree as ET

from cluster.view import ClusterView, fold
from cluster.view.ownership.history import LEAST_RUNS
from console.presenters.activity_lanes import PHASES
from console.presenters.raster.axis import axis_for
from console.presenters.raster.grid import MOVING, NO_OWNER_YET, SEVERAL, UNOWNED, RasterGrid, raster_grid
from console.presenters.raster.listing import RasterListing, axis_width
from console.presenters.raster.picture import (
    CELL_PX,
    GAP_STROKE,
    LABEL_PX,
    LANES_LEGEND,
    MOVE_STROKE,
    PHASE_FILLS,
    PHASE_WORDS,
    ROWS,
    SHARED_FILL,
    WIDTH,
    Picture,
    RasterSubject,
    svg_of,
    text_of,
)
from console.presenters.styled_text import plain
from console.themes.palettes import PRINT_HUES
from tests.support.console import synthetic

NAME = "{http://www.w3.org/2000/svg}"
NOW_US = 90_000_000


@lru_cache(maxsize=1)
def view() -> ClusterView:
    return synthetic.view_at(90.0)


def picture(*groups: str) -> Picture:
    subjects = [RasterSubject(view(), view().groups[name], name) for name in groups]
    return Picture("first-flight · seed 7", subjects, axis_for(NOW_US, axis_width(WIDTH)))


def test_the_text_has_the_rows_of_the_screen() -> None:
    shown = picture("billing")
    said = text_of(shown)
    listing = RasterListing(view(), view().groups["billing"], shown.axis, WIDTH, room=ROWS)
    for key in listing.row_keys():
        assert plain(listing.rows(key)[0]).rstrip() in said
    assert said.startswith("first-flight · seed 7 · billing · ownership over time\n0:00.0 to 1:30.0, ")
    assert "members: A billing-1, B billing-2, C billing-3, D billing-4" in said
    assert all(len(line) <= WIDTH for line in said.splitlines())


def test_the_svg_has_a_rectangle_for_each_stretch_of_each_row() -> None:
    shown = picture("billing")
    root = ET.fromstring(svg_of(shown, PRINT_HUES))
    grid = RasterGrid(view(), view().groups["billing"], shown.axis, ROWS)
    fills = {SEVERAL: {SHARED_FILL}, MOVING: {MOVE_STROKE}, UNOWNED: {GAP_STROKE}}
    labels = {text.text: float(text.get("y") or 0) for text in root.iter(f"{NAME}text")}
    drawn = [
        (float(rect.get("x") or 0), float(rect.get("y") or 0), float(rect.get("width") or 0), rect.get("fill"))
        for rect in root.iter(f"{NAME}rect")
    ]
    for key, row in grid.rows.items():
        here = {(x, width): fill for x, y, width, fill in drawn if labels[key] - 12 <= y <= labels[key] + 2}
        column = 0
        for sign, cells in groupby(row.cells):
            length = len(list(cells))
            place = (LABEL_PX + column * CELL_PX, length * CELL_PX)
            column += length
            if sign == NO_OWNER_YET:
                assert place not in here
            else:
                assert here[place] in fills.get(sign, set(PRINT_HUES)), (key, column)
    assert drawn[0][3] == "#ffffff", "print is on white"


def test_every_sign_of_a_poll_loop_is_explained() -> None:
    assert set(PHASE_FILLS.values()) == {PHASE_FILLS[phase] for phase in PHASE_WORDS}
    assert all(f"{glyph} " in LANES_LEGEND for phase, (glyph, *_) in PHASES.items() if phase)
    assert LANES_LEGEND in text_of(picture("billing")).splitlines()
    root = ET.fromstring(svg_of(picture("billing"), PRINT_HUES))
    texts = {text.text: text.get("y") for text in root.iter(f"{NAME}text")}
    assert {texts[words] for words in PHASE_WORDS.values()} == {texts["poll loops, kept for 2 minutes:"]}


def test_two_groups_have_one_axis_and_one_scale_of_cost() -> None:
    shown = picture("billing", "audit")
    said = text_of(shown)
    assert "billing and audit" in said.splitlines()[0]
    assert "first difference" in said
    scales = [line for line in said.splitlines() if line.strip().startswith("0:00 ")]
    assert len(scales) == 2
    assert len(set(scales)) == 1
    assert shown.most_us == max(view().groups[name].history.unowned_us(NOW_US) for name in ("billing", "audit"))
    root = ET.fromstring(svg_of(shown, PRINT_HUES))
    heights = [
        max(float(point.split(",")[1]) for point in (area.get("points") or "").split())
        - min(float(point.split(",")[1]) for point in (area.get("points") or "").split())
        for area in root.iter(f"{NAME}polygon")
    ]
    costs = [view().groups[name].history.unowned_us(NOW_US) for name in ("billing", "audit")]
    assert heights[0] > heights[1]
    assert abs(heights[1] / heights[0] - costs[1] / costs[0]) < 0.01


def test_names_are_escaped() -> None:
    subject = RasterSubject(view(), view().groups["billing"], "<billing> & co")
    root = ET.fromstring(svg_of(Picture("a <b>", [subject], axis_for(NOW_US, 60)), PRINT_HUES))
    assert "a <b> · <billing> & co · ownership over time" in [text.text for text in root.iter(f"{NAME}text")]


def test_a_grid_that_goes_on_is_one_made_anew() -> None:
    """The axis grows, gets longer cells, slides, and the group rebalances, with a partition a row and with three."""
    for span_us, room in ((0, ROWS), (20_000_000, ROWS), (0, 3), (20_000_000, 3)):
        now, grid, made, events = ClusterView(), None, 0, deque(synthetic.events(90.0))
        for at_us in range(25_000_000, 90_000_000, 300_000):
            while events and events[0].at_us <= at_us:
                fold(now, events.popleft())
            group, axis = now.groups["billing"], axis_for(at_us, 80, span_us)
            shown = raster_grid(now, group, axis, room, grid)
            made += shown is not grid
            grid = shown
            anew = RasterGrid(now, group, axis, room)
            assert list(grid.rows.values()) == list(anew.rows.values()), (span_us, at_us)
        assert 0 < made < 12, "nearly all of the 217 frames continue the one before"


def test_a_grid_whose_history_was_coarsened_is_made_anew() -> None:
    """Beyond its room the history divides older time into cells: cells that were drawn before are no longer true."""
    now = ClusterView()
    for event in synthetic.events(25.0):
        fold(now, event)
    group = now.groups["billing"]
    name, codes = next((name, runs[1::2]) for name, runs in group.history.runs.items() if len(set(runs[1::2])) > 1)
    grid, made, kept = None, 0, group.history.runs
    for number in range(2 * LEAST_RUNS):
        at_us = 25_000_000 + 10_000 * number
        group.history.note(name, at_us, sorted(set(codes))[number % 2])
        if number % 2_000 == 0:
            axis = axis_for(at_us, 80, 600_000_000)
            shown = raster_grid(now, group, axis, ROWS, grid)
            made += shown is not grid
            grid = shown
            assert grid.rows == RasterGrid(now, group, axis, ROWS).rows
    assert group.history.runs is not kept, "the history was never coarsened"
    assert made > 1

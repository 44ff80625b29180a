"""A raster for a post-mortem: one or several groups on one axis, as text or as SVG on white."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from cluster.view.ownership.history import NEVER
from cluster.view.state import ACTIVITY_US, ClusterView, GroupView
from console.presenters.activity_lanes import phases_of
from console.presenters.awaited_members import members_of
from console.presenters.formatting import duration, partition_seconds
from console.presenters.members import identity
from console.presenters.raster.axis import LABEL, TimeAxis, scale, short_clock
from console.presenters.raster.comparison import difference_words, most_unowned_us
from console.presenters.raster.grid import MOVING, SEVERAL, UNOWNED, RasterGrid, owner_place
from console.presenters.raster.lanes import RasterLanesListing
from console.presenters.raster.listing import LEGEND, RasterListing, owner_signs
from console.presenters.styled_text import plain, runs_of_signs

ROWS = 60
MEMBERS = 60
WIDTH = 140
"""The width of a saved text in cells."""
CELL_PX, ROW_PX, LABEL_PX, FONT_PX = 8, 15, 150, 11
INK, QUIET, RULE, BAND = "#243140", "#566778", "#9aa6b2", "#eef2f6"
SHARED_FILL, GAP_STROKE, MOVE_STROKE = "#cfd6dd", "#c0320f", "#6a3fc2"
PHASE_FILLS = {
    "reading": "#7fb8bd", "busy": "#9aa6b2", "late": "#e0a64a", "stalled": "#e0a64a", "paused": "#e0a64a",
    "joining": "#b9a6e6", "syncing": "#9c82dc", "revoking": "#6a3fc2", "reconciling": "#6a3fc2", "dead": "#dfe3e8",
}  # fmt: skip

LANES_WORDS = f"poll loops, kept for {ACTIVITY_US // 60_000_000} minutes:"
LANES_LEGEND = f"{LANES_WORDS} ━ polls  ▓ processes  ▒ no poll()  ‖ frozen  ░ joins  ═ syncs  ▚ revokes  × down"
PHASE_WORDS = {
    "reading": "polls", "busy": "processes", "late": "late, no poll() or frozen", "joining": "joins",
    "syncing": "syncs", "revoking": "revokes", "dead": "down",
}  # fmt: skip
"""The word for each colour of a lane in the SVG."""


class RasterSubject(NamedTuple):
    """A group of a flight; `name` is said of it: the group, or the recording's name and the group."""

    view: ClusterView
    group: GroupView
    name: str


class Picture(NamedTuple):
    """What is saved: `title` names scenario and seed, all subjects share the axis of time.

    `above`, `below`: further lines below the heading, and at the end.
    """

    title: str
    subjects: Sequence[RasterSubject]
    axis: TimeAxis
    above: Sequence[str] = ()
    below: Sequence[str] = ()

    @property
    def most_us(self) -> int:
        """The full height of each cost."""
        return most_unowned_us([subject.group for subject in self.subjects], self.axis.now_us)

    def heading(self) -> list[str]:
        """What the picture shows, and where two subjects part."""
        names = " and ".join(subject.name for subject in self.subjects)
        end_us = min(self.axis.end_us, self.axis.now_us)
        span = f"{short_clock(self.axis.first_us)} to {short_clock(end_us)}, {duration(self.axis.cell_us)} a cell"
        lines = [f"{self.title} · {names} · ownership over time", span]
        if len(self.subjects) == 2:
            one, other = self.subjects
            histories = one.group.history, other.group.history
            lines.append(plain(difference_words((one.name, other.name), *histories, self.axis.now_us)))
        return [*lines, *self.above]


def _subject_words(subject: RasterSubject, grid: RasterGrid, now_us: int) -> str:
    shared = f", {grid.size} a row" if grid.size > 1 else ""
    cost = partition_seconds(subject.group.history.unowned_us(now_us))
    return f"{subject.name}: {grid.count} partitions{shared}, {cost} partition-seconds unowned"


def text_of(picture: Picture) -> str:
    """The picture as text: a line for each row, with the members' letters above."""
    lines = picture.heading()
    for subject in picture.subjects:
        view, group, _ = subject
        listing = RasterListing(view, group, picture.axis, WIDTH, room=ROWS, most_us=picture.most_us)
        lanes = RasterLanesListing(view, group, picture.axis, WIDTH)
        letters = (f"{identity(place)[0]} {one.member}" for place, one in enumerate(members_of(view, group.group)))
        rows = [listing.header(), *(listing.rows(key)[0] for key in listing.row_keys())]
        rows += [lanes.rows(key)[0] for key in lanes.row_keys()[:MEMBERS]]
        lines += ["", _subject_words(subject, listing.grid, picture.axis.now_us), f"members: {', '.join(letters)}", ""]
        lines += [plain(row).rstrip() for row in rows]
    below = ["", *picture.below] if picture.below else []
    return "\n".join([*lines, "", plain(LEGEND), LANES_LEGEND, *below, ""])


def svg_of(picture: Picture, hues: Sequence[str]) -> str:
    """The picture as SVG on white, for a page or for print; `hues`: the members' colours."""
    parts: list[str] = []
    y = 0
    for words in picture.heading():
        y += ROW_PX + 3
        parts.append(_text(8, y, words, INK, bold=not parts))
    for subject in picture.subjects:
        block = _Block(picture, subject, hues, y + ROW_PX)
        parts += block.drawn()
        y = block.y
    y += ROW_PX + 4
    parts.append(_text(8, y, "letter: owner · grey: several owners · violet: moving · red line: unowned", QUIET))
    parts.append(_text(8, y + ROW_PX, "vertical lines: a barrier opens or closes · height: partition-seconds", QUIET))
    y += 2 * ROW_PX
    parts += _lanes_legend(y)
    for words in picture.below:
        y += ROW_PX
        parts.append(_text(8, y, words, INK, spaced=True))
    width, height = LABEL_PX + picture.axis.width * CELL_PX + 40, y + ROW_PX * bool(picture.below)
    font = f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{FONT_PX}"'
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    top = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>', _rect(0, 0, width, height, "#ffffff")]
    return "\n".join([*top, *parts, "</svg>", ""])


def _text(x: float, y: float, words: str, fill: str, *, bold: bool = False, spaced: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    weight += ' xml:space="preserve"' if spaced else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}"{weight}>{escape(words, quote=False)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{more}/>'


def _lanes_legend(y: float) -> list[str]:
    """What the colours of the poll loops stand for, in one line."""
    x, parts = 8, [_text(8, y, LANES_WORDS, QUIET)]
    x += 210
    for phase, words in PHASE_WORDS.items():
        parts += [_rect(x, y - 7, CELL_PX, 5, PHASE_FILLS[phase]), _text(x + CELL_PX + 4, y, words, QUIET)]
        x += CELL_PX * (3 + len(words))
    return parts


class _Block:
    """One subject: its rows, its members' poll loops, its cost, and the barriers through all of them."""

    def __init__(self, picture: Picture, subject: RasterSubject, hues: Sequence[str], y: int) -> None:
        self.axis, self.subject, self.hues, self.y = picture.axis, subject, hues, y
        self.most_us = picture.most_us or 1
        self.grid = RasterGrid(subject.view, subject.group, picture.axis, ROWS)
        self.signs = owner_signs(subject.view, subject.group)

    def drawn(self) -> list[str]:
        """The elements from top to bottom; `y` is below them then."""
        self.y += ROW_PX
        head = [_text(8, self.y, _subject_words(self.subject, self.grid, self.axis.now_us), INK, bold=True)]
        self.y += ROW_PX
        head += self._times()
        top = self.y + 4
        body = [element for key in self.grid.rows for element in self._row(key)]
        body += self._lanes()
        bands, rules = self._barriers(top, self.y + ROW_PX * 2)
        return [*head, *bands, *body, *self._cost(), *rules]

    def _x(self, at_us: int) -> float:
        """The place of an instant, exactly and not by cells."""
        return LABEL_PX + (at_us - self.axis.first_us) * CELL_PX / self.axis.cell_us

    def _times(self) -> list[str]:
        text = scale(self.axis)
        starts = [
            column for column in range(len(text)) if text[column] != " " and text[column - 1 : column] in {"", " "}
        ]
        return [_text(LABEL_PX + at * CELL_PX, self.y, text[at : at + LABEL].split()[0], QUIET) for at in starts]

    def _row(self, key: str) -> list[str]:
        self.y += ROW_PX
        parts, top = [_text(8, self.y, key, INK)], self.y - ROW_PX + 4
        for start, end, sign in runs_of_signs(self.grid.rows[key].cells):
            x, width = LABEL_PX + start * CELL_PX, (end - start) * CELL_PX
            place = owner_place(sign)
            if place >= 0:
                letter, hue = self.signs[place]
                fill = self.hues[int(hue.rpartition("-")[2]) % len(self.hues)] if hue.startswith("hue-") else QUIET
                parts.append(_rect(x, top, width, ROW_PX - 2, fill, ' fill-opacity="0.3"'))
                parts.append(_text(x + 1, self.y, letter, fill, bold=True))
            elif sign == SEVERAL:
                parts.append(_rect(x, top, width, ROW_PX - 2, SHARED_FILL))
            elif sign == MOVING:
                stroke = f' fill-opacity="0.15" stroke="{MOVE_STROKE}" stroke-dasharray="2 2"'
                parts.append(_rect(x, top, width, ROW_PX - 2, MOVE_STROKE, stroke))
            elif sign == UNOWNED:
                parts.append(_rect(x, top + ROW_PX - 4, width, 1.5, GAP_STROKE))
        return parts

    def _lanes(self) -> list[str]:
        parts, (view, group, _) = [], self.subject
        self.y += ROW_PX // 2
        for place, member in enumerate(members_of(view, group.group)[:MEMBERS]):
            self.y += ROW_PX
            letter, hue = identity(place)
            parts.append(_text(8, self.y, letter, self.hues[int(hue.rpartition("-")[2]) % len(self.hues)], bold=True))
            parts.append(_text(22, self.y, member.member, INK))
            axis = self.axis
            phases = phases_of(member, axis.now_us, axis.first_us, axis.cell_us, axis.known)
            for start, end, phase in runs_of_signs(phases):
                if phase:
                    x, width = LABEL_PX + start * CELL_PX, (end - start) * CELL_PX
                    parts.append(_rect(x, self.y - 7, width, 5, PHASE_FILLS[phase]))
        return parts

    def _cost(self) -> list[str]:
        history, axis = self.subject.group.history, self.axis
        self.y += ROW_PX * 2
        points = [f"{LABEL_PX},{self.y}"]
        for column in range(axis.known):
            at_us = min(axis.start_of(column + 1), axis.now_us)
            height = history.unowned_us(at_us) * (ROW_PX * 2 - 6) / self.most_us
            points.append(f"{self._x(at_us):g},{self.y - height:g}")
        points.append(f"{self._x(min(axis.end_us, axis.now_us)):g},{self.y}")
        words = _text(8, self.y, "unowned, adding up", INK)
        return [words, f'<polygon points="{" ".join(points)}" fill="{GAP_STROKE}" fill-opacity="0.25"/>']

    def _barriers(self, top: float, bottom: float) -> tuple[list[str], list[str]]:
        """The bands of open barriers, and their edges as lines."""
        bands, rules, axis = [], [], self.axis
        last_us = min(axis.end_us, axis.now_us)
        for one in self.subject.group.history.barriers:
            end_us = last_us if one.to_us == NEVER else one.to_us
            if end_us < axis.first_us or one.from_us > last_us:
                continue
            low, high = max(one.from_us, axis.first_us), min(end_us, last_us)
            bands.append(_rect(self._x(low), top, self._x(high) - self._x(low), bottom - top, BAND))
            for at_us in (one.from_us, one.to_us):
                if axis.first_us <= at_us <= last_us:
                    x = self._x(at_us)
                    rules.append(f'<path d="M{x:g} {top:g}V{bottom:g}" stroke="{RULE}" stroke-width="0.8"/>')
            if one.to_us != NEVER:
                rules.append(_text(self._x(high) + 2, top + 2, str(one.generation), RULE))
        return bands, rules

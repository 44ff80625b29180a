"""A line is repainted where it changed, and nowhere else."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from console.presenters.styled_text import Line
from console.widgets.canvas import NEAR, _differences

SPANS = st.lists(st.tuples(st.text("ab", max_size=9), st.sampled_from(["plain", "muted"])), max_size=6)


def cells(line: Line) -> list[tuple[str, str]]:
    return [(character, tone) for text, tone in line for character in text]


def padded(line: Line, width: int) -> Line:
    return (*line, (" " * (width - len(cells(line))), "plain"))


@given(SPANS, SPANS, st.integers(0, 3))
def test_the_regions_hold_every_changed_cell_and_begin_and_end_with_one(old: Line, new: Line, more: int) -> None:
    width = max(len(cells(tuple(old))), len(cells(tuple(new)))) + more
    before, after = padded(tuple(old), width), padded(tuple(new), width)
    regions = _differences((before, False), (after, False), 4, width)
    changed = {x for x, (cell, other) in enumerate(zip(cells(before), cells(after), strict=True)) if cell != other}
    painted = {x for region in regions for x in range(region.x, region.right)}
    assert changed <= painted
    assert all({region.x, region.right - 1} <= changed for region in regions)
    assert all(region.y == 4 and region.height == 1 for region in regions)
    for region in regions:
        inside = sorted(changed & set(range(region.x, region.right)))
        assert all(later - sooner <= NEAR + 1 for sooner, later in pairwise(inside))
    for sooner, later in pairwise(regions):
        assert later.x - sooner.right > NEAR

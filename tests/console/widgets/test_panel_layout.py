"""Who gets how many lines: nothing that matters is folded away while there is room for it, and titles do not lie."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster import events as e
from console.app import FlightdeckApp
from console.widgets.panel import Panel
from console.widgets.panel_layout import SizeHint, share_heights
from tests.support.console import synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def crowd(number: int, seconds: float = 90.0) -> StillFlight:
    """The still flight with so many members in `billing`."""
    source = StillFlight(seconds)
    for place in range(len(synthetic.BILLING) + 1, number + 1):
        source._waiting.append(synthetic.declared("billing", f"billing-{place}", ("orders", "payments")))
        source._waiting.append(e.MemberStarted(group="billing", member=f"billing-{place}", at_us=synthetic.us(seconds)))
    return source


def panels(seat: Seat) -> dict[str, Panel]:
    screen = seat.app.flight_screen()
    assert screen is not None
    return screen.board.panels


@pytest.mark.parametrize("members", [5, 12])
@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)], ids=str)
def test_owners_and_members_are_both_in_sight(size: tuple[int, int], members: int) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        assert re.search(r"orders +A\S A\S", panels(seat)["ownership"].plain_text())
        assert "▸ A" in panels(seat)["members"].plain_text()
        await seat.press("G")
        said = panels(seat)["members"].plain_text()
        assert re.search(rf"▸ \w (\S )?billing-{members} ", said), said
        if "billing-1 " not in said:
            assert re.search(rf"[0-9]+–{members} of {members}", said), said
        assert re.search(r"orders +A\S A\S", panels(seat)["ownership"].plain_text())

    sit(script, app=FlightdeckApp(source=crowd(members)), size=size)


@pytest.mark.parametrize("panel", ["2", "3", "4", "5"])
@pytest.mark.parametrize("size", [(60, 16), (80, 24), (100, 30)], ids=str)
def test_whatever_has_the_focus_shows_rows_and_no_title_counts_rows_that_are_not_drawn(
    size: tuple[int, int], panel: str
) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        await seat.press(panel)
        for shown in panels(seat).values():
            title, *rest = shown.plain_text().split("\n")
            if re.search(r"[0-9]+–[0-9]+ of ", title):
                assert any(rest), title
            if shown.has_focus:
                assert any(rest), title

    sit(script, app=FlightdeckApp(source=crowd(5)), size=size)


def test_a_folded_panel_says_how_much_it_holds() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        assert re.search(r"5 events ─+ folded: 1[0-9]$", panels(seat)["events"].plain_text())

    sit(script, app=FlightdeckApp(source=crowd(5)), size=(80, 24))


def test_a_member_in_one_line_keeps_its_state_and_its_clocks() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        said = panels(seat)["members"].plain_text()
        assert re.search(r"C ◀ billing-3 .* 42 s .* 5\.8 s", said), said
        await seat.press("M")
        assert "◀ awaited" in panels(seat)["members"].plain_text()

    sit(script, app=FlightdeckApp(source=crowd(5, 20.0)), size=(80, 24))


SIZE_HINTS = st.lists(
    st.builds(SizeHint, st.integers(1, 40), st.integers(1, 6), st.just(value=False), st.just(0)), min_size=1, max_size=6
)


@given(size_hints=SIZE_HINTS, focused=st.integers(0, 5), height=st.integers(6, 80))
def test_lines_are_given_once_and_to_those_who_asked(size_hints: list[SizeHint], focused: int, height: int) -> None:
    focused = min(focused, len(size_hints) - 1)
    heights = share_heights(size_hints, focused, height)
    assert sum(heights) <= height
    assert all(1 <= lines <= max(1, size_hint.most) for lines, size_hint in zip(heights, size_hints, strict=True))
    pairs = list(zip(heights, size_hints, strict=True))
    short = [size_hint for lines, size_hint in pairs if 1 < lines < min(size_hint.least, size_hint.most)]
    assert len(short) <= 1
    if short:  # what nothing else can use
        assert sum(heights) == height
        assert all(lines in {1, one.most} for lines, one in pairs if one is not short[0])
    if sum(size_hint.most for size_hint in size_hints) <= height:
        assert heights == [size_hint.most for size_hint in size_hints]
    least = min(size_hints[focused].most, size_hints[focused].least)
    assert heights[focused] >= least or height - len(size_hints) + 1 < least

"""The headline: its words, its lengths, its place beside the breadcrumb."""

import pytest

from console.presenters import chrome
from console.presenters.exceptions.headline import GLYPHS, RANKING, Headline, headline
from console.presenters.styled_text import ERROR, OK, WARN, length, plain
from tests.support.console import synthetic
from tests.support.console.synthetic import us

WORST = Headline(
    WARN, ("billing waits for billing-3: stalled · barrier closes within 4:56", "billing waits for billing-3")
)


def said(seconds: float) -> str:
    found = headline(synthetic.view_at(seconds), us(seconds), 9_000_000)
    return f"{GLYPHS[found.tone]} {found.forms[0]}"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (2.9, "↻ billing: initial rebalance delay · barrier closes within 2.1 s"),
        (20.0, "▲ billing waits for billing-3, stalled 5.8 s · barrier closes within 4:54"),
        (90.0, "✖ payments-4 and 2 more have no live leader"),
    ],
)
def test_the_worst_exception_is_said(seconds: float, words: str) -> None:
    assert said(seconds).startswith(words)


def test_errors_come_before_warnings() -> None:
    tones = [one.tone for one in RANKING]
    assert tones[: tones.count(ERROR)] == [ERROR] * tones.count(ERROR)
    assert len({one.name for one in RANKING}) == len(RANKING)


def test_a_narrow_line_drops_the_breadcrumb_before_the_words() -> None:
    at_120 = plain(chrome.crumbs(["overview", "billing"], 120, (), WORST))
    assert at_120.startswith(f" overview › billing  ▲ {WORST.forms[0]}")
    at_80 = plain(chrome.crumbs(["overview", "billing"], 80, (), WORST))
    assert at_80.startswith(f" billing  ▲ {WORST.forms[0]}")
    at_72 = plain(chrome.crumbs(["overview", "billing"], 72, (), WORST))
    assert at_72.startswith(f"  ▲ {WORST.forms[0]}")
    assert plain(chrome.crumbs(["overview", "billing"], 60, (), WORST)).startswith(
        " overview › billing  ▲ billing waits"
    )
    assert plain(chrome.crumbs(["overview"], 24, (), WORST)).startswith(" ▲ billing waits for b…")


def test_a_calm_line_keeps_the_breadcrumb() -> None:
    calm = Headline(OK, ("all groups Stable, all partitions in sync",))
    assert plain(chrome.crumbs(["overview", "billing"], 30, (), calm)).startswith(" overview › billing ")


@pytest.mark.parametrize("width", range(0, 130, 7))
def test_a_line_is_as_wide_as_the_screen(width: int) -> None:
    assert length(chrome.crumbs(["overview", "billing"], width, (), WORST)) == width

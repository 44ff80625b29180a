"""A sign that fills time or a log, or stands on one, means one thing in whatever picture it is.

No such sign: the glyph before the name of a state, and the arrowhead that ends a line of a conversation.
"""

from collections.abc import Iterable

from console.presenters import chrome, states
from console.presenters.activity_lanes import PHASES
from console.presenters.comparing import verdict
from console.presenters.event_log import MARKS
from console.presenters.game import debrief
from console.presenters.library import SHOWN
from console.presenters.partitions import ruler
from console.presenters.raster import grid
from console.presenters.raster.listing import SIGNS

SAME = {"late": "busy", "reconciling": "revoking"}
"""Phases that differ in tone only: processing that is late, and revocation by either protocol."""
IN_RASTER = {grid.NO_OWNER_YET: "no owner yet", grid.SEVERAL: "several owners", grid.MOVING: "rebalance"}
"""Of a cell of the raster; `rebalance`, as the event: partitions move."""


def drawn() -> list[tuple[str, str]]:
    """Every sign of the tables, with its meaning."""
    return [
        *((glyph, SAME.get(phase, phase)) for phase, (glyph, *_) in PHASES.items() if phase),
        *((glyph, IN_RASTER[state]) for state, (glyph, _) in SIGNS.items() if state != grid.UNOWNED),
        *((glyph, kind) for kind, (glyph, *_) in MARKS.items()),
        (ruler.HELD, "held back"),
        (ruler.UNREPLICATED, "not replicated"),
        (ruler.COMMITTED, "committed offset"),
        (ruler.POSITION, "position"),
        (ruler.SPAN, "from one offset to another"),
        (verdict.PARTING, "first divergence"),
        (debrief.FOUND, "diagnosed"),
        (SHOWN[0], "under way"),
        (states.TRANSACTION["Ongoing"].glyph, "under way"),
        (states.CONTROLLER, "controller"),
        (chrome.LEADS_ON, "up to the live instant"),
    ]


def ambiguous(signs: Iterable[tuple[str, str]]) -> set[str]:
    """The signs that have more than one meaning."""
    meanings: dict[str, set[str]] = {}
    for sign, meaning in signs:
        meanings.setdefault(sign, set()).add(meaning)
    return {sign for sign, found in meanings.items() if len(found) > 1}


def test_each_sign_has_one_meaning() -> None:
    assert not ambiguous(drawn())


def test_a_second_meaning_is_found() -> None:
    assert ambiguous([*drawn(), (PHASES["stalled"][0], "held back")]) == {"▒"}

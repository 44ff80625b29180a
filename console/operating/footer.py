"""The footer: the keys that matter at a place, as many as fit into the width."""

from collections.abc import Sequence

from console.actions import Action, find
from console.app_interface import AppInterface
from console.presenters.styled_text import ACCENT, FAINT, MUTED, Line, joined, length, line, linked
from console.screens.catalogue import SCREENS

FOOTER_LIVE = (
    *("time.pause", "time.step", "time.slower", "time.faster", "act.fault", "act.command", "list.filter"),
    "console.help",
)
FOOTER_RECORDED = (
    *("time.pause", "time.previous", "time.next", "act.why", "time.back", "time.on", "time.go", "act.fork"),
    *("time.slower", "time.faster", "list.filter"),
)
"""The footer's actions by importance: on a narrow terminal the last ones are missing."""
FOOTER_ALWAYS = ("act.command", "console.help")
"""In every footer, at every width."""


def in_footer(place: Sequence[str], *, recorded: bool, viewing: bool = False) -> list[Action]:
    """The footer's actions: those of a place (their ids), or those of a live flight, a recording, a live one's past."""
    live = (*FOOTER_LIVE, *(f"go.{each.place}" for each in SCREENS if each.in_footer))
    ids = (*(("time.live",) if viewing else ()), *(place or (FOOTER_RECORDED if recorded else live)))
    return [find(each) for each in (*ids, *(each for each in FOOTER_ALWAYS if each not in ids))]


def footer(app: AppInterface, width: int, place: Sequence[str], enter: str) -> Line:
    """The footer's keys, as many as fit into the width; an action that is impossible now is faint.

    `place`: the actions of the place; `enter`: what that key does there, or empty.
    """
    clock, keys = app.flight.clock, app.keys_by_action()
    parts: dict[str, Line] = {"": line(("enter", ACCENT), (f" {enter}", MUTED))} if enter else {}
    for action in in_footer(place, recorded=clock.recorded, viewing=clock.live_us is not None):
        tone = FAINT if action.reason(app) else MUTED
        label = "resume" if action.id == "time.pause" and clock.phase == "paused" else action.label
        key, name = linked(keys[action.id], "action", action.id), linked(f" {label}", "action", action.id)
        parts[action.id] = line((key, FAINT if tone == FAINT else ACCENT), (name, tone))
    apart = ("   " if width >= 100 else "  ", FAINT)
    droppable = [each for each in parts if each and each not in FOOTER_ALWAYS]
    while droppable and length(joined(parts.values(), apart)) > width - 2:
        del parts[droppable.pop()]
    return line(" ", *joined(parts.values(), apart))

"""One table of actions: keys, footer, help and palette all read it; each has a name of its own to be remapped by.

`does` names the app's method `action_…`; `reason` says, for the app as it stands, why the action cannot be done now.
"""

from collections.abc import Callable
from typing import NamedTuple

from textual.binding import Binding, BindingType

from console.app_interface import AppInterface
from console.flight import ONLY_RECORDED

Reason = Callable[[AppInterface], str | None]


def _always(_: AppInterface) -> str | None:
    return None


def _steerable(app: AppInterface) -> str | None:
    return app.flight.why_not_controllable()


def _recorded(app: AppInterface) -> str | None:
    return None if app.flight.seekable is not None else ONLY_RECORDED


def _has_thing(app: AppInterface) -> str | None:
    if app.selected_thing() is None:
        return "nothing is selected that can be injured"
    return app.flight.why_read_only()


def _has_member(app: AppInterface) -> str | None:
    thing = app.selected_thing()
    if thing is None or thing.kind != "member":
        return "select a member first"
    return app.flight.why_read_only() or app.flight.why_not_controllable()


def _has_list(app: AppInterface) -> str | None:
    return None if app.focused_panel() is not None else "there is no list here"


class Action(NamedTuple):
    """Something a person can do: `keys` are Textual's names, `shown` is what the footer and help print."""

    id: str
    keys: str
    shown: str
    label: str
    help: str
    section: str
    does: str
    reason: Reason = _always
    footer: bool = False


TIME, PLACES, ACTING, LISTS, CONSOLE = "time", "places", "acting", "lists", "console"
SECTIONS = (TIME, PLACES, ACTING, LISTS, CONSOLE)

ACTIONS: tuple[Action, ...] = (
    Action("time.pause", "space", "space", "pause", "stop time, or let it go on", TIME, "pause", _steerable, True),
    Action("time.step", "full_stop", ".", "step", "one turn, then stand still", TIME, "step", _steerable, True),
    Action("time.slower", "less_than_sign", "<", "slower", "the next lower speed", TIME, "slower", _steerable, True),
    Action(
        "time.faster", "greater_than_sign", ">", "faster", "the next higher speed", TIME, "faster", _steerable, True
    ),
    Action("time.back", "left_square_bracket", "[", "event back", "one event back", TIME, "events(-1)", _recorded),
    Action("time.on", "right_square_bracket", "]", "event on", "one event further on", TIME, "events(1)", _recorded),
    Action(
        "time.previous",
        "left_curly_bracket",
        "{",
        "previous",
        "the rebalance or fault before this",
        TIME,
        "landmark(-1)",
        _recorded,
    ),
    Action(
        "time.next",
        "right_curly_bracket",
        "}",
        "next",
        "the rebalance or fault after this",
        TIME,
        "landmark(1)",
        _recorded,
    ),
    Action("time.go", "t", "t", "time", "go to an instant: 12m30s, 1:20.5, -10s", TIME, "go_to_time", _recorded),
    Action("act.fault", "f", "f", "fault", "what can be done to the selected thing", ACTING, "fault", _has_thing, True),
    Action("act.command", "colon", ":", "command", "the command line", ACTING, "command_line", _always, True),
    Action("act.stall", "p", "p", "stall poll", "stall the member's poll loop for 1m", ACTING, "stall", _has_member),
    Action("act.silence", "h", "h", "hold heartbeats", "pause its heartbeats for 1m", ACTING, "silence", _has_member),
    Action(
        "list.filter", "slash", "/", "filter", "show only rows that match; ! inverts", LISTS, "filter", _has_list, True
    ),
    Action("go.back", "escape", "esc", "back", "cancel, clear the filter, or go back", PLACES, "go_back"),
    Action("go.last", "minus", "-", "last place", "go to where you were before", PLACES, "last_place"),
    Action("go.next-panel", "tab", "tab", "next panel", "focus the next panel", PLACES, "next_panel"),
    Action(
        "go.previous-panel",
        "shift+tab",
        "shift+tab",
        "previous panel",
        "focus the one before",
        PLACES,
        "previous_panel",
    ),
    Action("go.maximize", "M", "M", "maximize", "the focused panel alone, and back", PLACES, "maximize", _has_list),
    Action("go.hangar", "H", "H", "hangar", "scenarios to start and recordings to play", PLACES, "hangar"),
    Action("go.transactions", "X", "X", "transactions", "transactional ids and who waits", PLACES, "transactions"),
    *(
        Action(f"go.panel-{n}", str(n), str(n), f"panel {n}", f"focus panel {n}", PLACES, f"panel({n})")
        for n in range(1, 7)
    ),
    Action("console.help", "question_mark,f1", "?", "help", "all keys and commands", CONSOLE, "help", _always, True),
    Action(
        "console.screens.palette", "ctrl+p", "ctrl+p", "palette", "find any action or thing by name", CONSOLE, "palette"
    ),
    Action("console.theme", "T", "T", "theme", "dark, light, high contrast, monochrome", CONSOLE, "next_theme"),
    Action("console.quit", "q,ctrl+c", "q", "quit", "leave", CONSOLE, "leave"),
)
"""Every action of the application; what moves in a list is the panel's (`widgets.panel`)."""

IN_PLAYBACK = ("time.pause", "time.back", "time.on", "time.previous", "time.next", "time.go", "act.command")
"""What the footer shows of a recording, before help."""

MOVES: tuple[tuple[str, str], ...] = (
    ("↑ ↓ k j", "select the row above or below"),
    ("PgUp PgDn", "a page up or down"),
    ("g G", "the first or the last row"),
    ("enter", "open the selected row"),
    ("click, twice", "select, open; the wheel scrolls"),
)


def bindings() -> list[BindingType]:
    """Textual's bindings for the table; `ctrl+c` works everywhere, whatever has the focus."""
    made: list[BindingType] = []
    for action in ACTIONS:
        keys = ",".join(key for key in action.keys.split(",") if key != "ctrl+c")
        at_once = action.id in {"act.command", "list.filter"}  # what is typed after them belongs to the line
        made.append(Binding(keys, action.does, action.label, show=False, id=action.id, priority=at_once))
    made.append(Binding("ctrl+c", "leave", "quit", show=False, id="console.interrupt", priority=True))
    return made


def find(action_id: str) -> Action:
    """The action of this name."""
    return next(action for action in ACTIONS if action.id == action_id)


def in_footer(*, recorded: bool) -> list[Action]:
    """The most useful actions of a live flight, or of a recording."""
    if recorded:
        return [*map(find, IN_PLAYBACK), find("console.help")]
    return [action for action in ACTIONS if action.footer]

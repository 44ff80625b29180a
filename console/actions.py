"""The table of actions. Keys, footer, help and palette derive from it; the id is for remapping keys.

`does` names the method `action_…` of the application; with `screen.` before it, of the screen on top.
`reason` returns why the action is impossible now, or None.
The actions that open screens come from `console.screens.catalogue.SCREENS`.
"""

from collections.abc import Callable
from typing import NamedTuple

from textual.binding import Binding, BindingType

from console.app_interface import AppInterface
from console.flight import ONLY_RECORDED
from console.forking.fork_line import NO_COMPARISON
from console.presenters.help import Shortcut
from console.screens.catalogue import SCREENS
from console.screens.comparison import ComparisonScreen
from console.screens.flight_screen import NO_LIBRARY, NO_RASTER
from console.screens.library import LibraryScreen
from console.screens.raster import RasterScreen
from console.widgets.panel import Panel
from console.widgets.panel_layout import Board

Reason = Callable[[AppInterface], str | None]


def _always(_: AppInterface) -> str | None:
    return None


def _steerable(app: AppInterface) -> str | None:
    return app.flight.why_not_controllable()


def _recorded(app: AppInterface) -> str | None:
    return None if app.flight.seekable is not None else ONLY_RECORDED


def _viewing_past(app: AppInterface) -> str | None:
    return None if app.flight.clock.live_us is not None else "the screens show no past of a live flight"


def _live(app: AppInterface) -> str | None:
    return app.flight.why_read_only()


def _has_target(app: AppInterface) -> str | None:
    return None if app.selected_target() is not None else "no fault applies to the selection"


def _has_member(app: AppInterface) -> str | None:
    target = app.selected_target()
    if target is None or target.kind != "member":
        return "select a member first"
    return app.flight.why_read_only() or app.flight.why_not_controllable()


def _has_rebalance(app: AppInterface) -> str | None:
    return app.why_no_remedies()


def _has_raster(app: AppInterface) -> str | None:
    return None if app.place() in {RasterScreen.place, ComparisonScreen.place} else NO_RASTER


def _has_comparison(app: AppInterface) -> str | None:
    if app.place() != ComparisonScreen.place:
        return "open the comparison first: go comparison"
    return None if app.forking.beside is not None else NO_COMPARISON


def _has_library(app: AppInterface) -> str | None:
    return None if app.place() == LibraryScreen.place else NO_LIBRARY


def _has_list(app: AppInterface) -> str | None:
    return None if app.focused_panel() is not None else "no list on this screen"


class Action(NamedTuple):
    """An action of the user: `keys` are Textual's names of keys, `shown` is the key as footer and help print it."""

    id: str
    keys: str
    shown: str
    label: str
    help: str
    section: str
    does: str
    reason: Reason = _always
    on_screen: bool = False
    """Whether the key is a screen's own binding, and does something else, or nothing, at other places."""


PANEL_ID = "go.panel-"
NUMBERED = 7
"""Panels with a larger number have no key."""
TIME, PLACES, ACTING, LISTS, RASTER, CONSOLE = "time", "places", "acting", "lists", "ownership over time", "console"
COMPARISON, LIBRARY = "comparison", "library"
SECTIONS = (TIME, PLACES, ACTING, LISTS, RASTER, COMPARISON, LIBRARY, CONSOLE)

ACTIONS: tuple[Action, ...] = (
    Action("time.pause", "space", "space", "pause", "pause or resume virtual time", TIME, "pause", _steerable),
    Action("time.step", "full_stop", ".", "step", "one scheduler step, then pause", TIME, "step", _steerable),
    Action("time.slower", "less_than_sign", "<", "slower", "the next lower speed", TIME, "speed(-1)", _steerable),
    Action("time.faster", "greater_than_sign", ">", "faster", "the next higher speed", TIME, "speed(1)", _steerable),
    Action("time.reverse", "b", "b", "backwards", "play backwards, or forwards again", TIME, "speed(0)", _recorded),
    Action("time.quiet", "e", "e", "skip quiet", "play only near rebalances, faults", TIME, "skip_quiet", _recorded),
    Action("time.back", "left_square_bracket", "[", "event back", "one event back", TIME, "events(-1)", _recorded),
    Action("time.on", "right_square_bracket", "]", "event on", "one event forward", TIME, "events(1)", _recorded),
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
    Action("time.live", "L", "L", "live", "back to live, where commands act", TIME, "screen.live", _viewing_past),
    Action("time.go", "t", "t", "time", "go to an instant: 12m30s, 1:20.5, -10s", TIME, "go_to_time", _recorded),
    Action("act.fault", "f", "f", "fault", "inject a fault into the selection", ACTING, "fault", _has_target),
    Action("act.command", "colon", ":", "command", "the command line", ACTING, "command_line"),
    Action(
        "act.stall",
        "p",
        "p",
        "stall poll",
        "stall the member's poll loop for 1m",
        ACTING,
        "screen.on_member('stall {} for 1m')",
        _has_member,
    ),
    Action(
        "act.silence",
        "h",
        "h",
        "hold heartbeats",
        "pause its heartbeats for 1m",
        ACTING,
        "screen.on_member('pause heartbeats of {} for 1m')",
        _has_member,
    ),
    Action("act.fork", "F", "F", "fork", "fork from here; end a fork that runs", ACTING, "screen.fork"),
    Action("act.undo", "u", "u", "undo", "undo: go back before the last command", ACTING, "undo", _live),
    Action("act.why", "w", "w", "why?", "why the selection makes no progress; why SUBJECT", ACTING, "why"),
    Action(
        "act.remedies",
        "R",
        "R",
        "remedies",
        "settings that would have changed the rebalance",
        ACTING,
        "screen.remedies",
        _has_rebalance,
    ),
    Action(
        "list.filter",
        "slash",
        "/",
        "filter",
        "show rows that match: text !text ~text /regex/",
        LISTS,
        "filter",
        _has_list,
    ),
    Action("raster.zoom", "z", "z", "zoom", "another span of time", RASTER, "screen.raster('zoom')", _has_raster),
    Action("raster.beside", "c", "c", "compare", "with another group", RASTER, "screen.raster('beside')", _has_raster),
    Action("raster.save", "ctrl+s", "ctrl+s", "save", "as text and SVG", RASTER, "screen.raster('save')", _has_raster),
    Action(
        "raster.group", "a", "a", "another group", "the next group's", RASTER, "screen.raster('group')", _has_raster
    ),
    Action("comparison.swap", "x", "x", "swap", "A and B", COMPARISON, "screen.comparison('swap')", _has_comparison),
    Action(
        "comparison.divergence",
        "d",
        "d",
        "divergence",
        "go to the first divergence",
        COMPARISON,
        "screen.comparison('divergence')",
        _has_comparison,
    ),
    Action(
        "comparison.keep",
        "K",
        "K",
        "keep",
        "keep the fork as a recording",
        COMPARISON,
        "screen.comparison('keep')",
        _has_comparison,
    ),
    Action(
        "comparison.open",
        "o",
        "o",
        "open",
        "play the flight of the chosen raster",
        COMPARISON,
        "screen.comparison('open')",
        _has_comparison,
    ),
    *(
        Action(
            one.id or "",
            one.key,
            one.key,
            one.description,
            one.tooltip,
            LIBRARY,
            f"screen.{one.action}",
            _has_library,
            on_screen=True,
        )
        for one in LibraryScreen.BINDINGS
        if isinstance(one, Binding)
    ),
    Action("go.back", "escape", "esc", "back", "cancel, clear the filter, or go back", PLACES, "go_back"),
    Action(
        "go.earlier",
        "backspace,alt+left",
        "backspace",
        "earlier place",
        "the previous place; alt+left too",
        PLACES,
        "visited(-1)",
    ),
    Action(
        "go.later",
        "equals_sign,alt+right",
        "=",
        "later place",
        "forward again; alt+right too",
        PLACES,
        "visited(1)",
    ),
    Action("go.last", "minus", "-", "last place", "go to the place before this", PLACES, "visited(0)"),
    Action("go.links", "l", "l", "links", "the names and instants on the screen: go to one", PLACES, "links"),
    Action("go.preset", "P", "P", "panels", "all panels, those for on-call, for learning", PLACES, "screen.preset"),
    Action("go.next-panel", "tab", "tab", "next panel", "focus the next panel", PLACES, "screen.next_panel"),
    Action(
        "go.previous-panel",
        "shift+tab",
        "shift+tab",
        "previous panel",
        "focus the previous panel",
        PLACES,
        "screen.previous_panel",
    ),
    Action(
        "go.maximize", "M", "M", "maximize", "the focused panel alone, or all", PLACES, "screen.maximize", _has_list
    ),
    *(
        Action(
            f"go.{screen.place}",
            screen.key,
            screen.key,
            screen.place,
            screen.help,
            PLACES,
            f"open_screen('{screen.place}')",
        )
        for screen in SCREENS
        if screen.key
    ),
    *(
        Action(
            f"go.panel-{n}",
            str(n),
            str(n),
            f"panel {n}",
            f"focus panel {n}; again: hide it",
            PLACES,
            f"screen.panel({n})",
        )
        for n in range(1, NUMBERED + 1)
    ),
    Action(
        "console.help", "question_mark,f1", "?", "help", "the keys of this place; again: everything", CONSOLE, "help"
    ),
    Action(
        "console.screens.palette", "ctrl+p", "ctrl+p", "palette", "find any action or place by name", CONSOLE, "palette"
    ),
    Action("console.theme", "T", "T", "theme", "dark, light, contrast, mono, the terminal's", CONSOLE, "next_theme"),
    Action("console.quit", "q,ctrl+c", "q", "quit", "leave", CONSOLE, "leave"),
)
"""Every action of the application; the keys that move in a list are bindings of `widgets.panel`."""

MOVES = (
    Shortcut("↑ ↓ k j", "", "select the row above or below"),
    Shortcut("PgUp PgDn", "", "a page up or down"),
    Shortcut("g G", "", "the first or the last row"),
    Shortcut("enter", "", "open the selected row; an event's row: show its instant"),
    Shortcut("n N", "", "the next or the previous row that the filter shows"),
    Shortcut("s S", "", "sort by the next column, reverse; a click on a title too"),
    Shortcut("y", "", "copy the name of the row, the row, all rows"),
    Shortcut("click, twice", "", "select; open the row, or the name or time under the mouse"),
)
"""The keys of a list, for the help."""


OPENS_LINE = {"act.command", "list.filter", "time.go", "act.fork"}
"""Actions that happen at once, before the keys that are typed next: those belong to the input line."""

CELLS = (Shortcut("← →", "", "the cell before or after; shift: ten cells"),)
"""The keys of a raster, for the help."""


def bindings() -> list[BindingType]:
    """Textual's bindings for the table; `ctrl+c` works with any focus."""
    made: list[BindingType] = []
    for action in ACTIONS:
        if action.on_screen:
            continue
        keys = ",".join(key for key in action.keys.split(",") if key != "ctrl+c")
        at_once = action.id in OPENS_LINE
        made.append(Binding(keys, action.does, action.label, show=False, id=action.id, priority=at_once))
    made.append(Binding("ctrl+c", "leave", "quit", show=False, id="console.interrupt", priority=True))
    return made


def default_keys() -> dict[str, str]:
    """The default keys, in Textual's names, of everything that a keymap may map: actions and the moves in a list."""
    moves = {binding.id: binding.key for binding in Panel.BINDINGS if isinstance(binding, Binding) and binding.id}
    return {**moves, **{action.id: action.keys for action in ACTIONS}}


def shortcuts(keys: dict[str, str]) -> dict[str, list[Shortcut]]:
    """The lines of the help, by section; `keys` are the keys in force by the action's id."""
    lines = {
        section: [
            Shortcut(keys[each.id], each.label, each.help)
            for each in ACTIONS
            if each.section == section and not each.id.startswith(PANEL_ID)
        ]
        for section in SECTIONS
    }
    panels = " ".join(keys[each.id] for each in ACTIONS if each.id.startswith(PANEL_ID))
    lines[PLACES].append(Shortcut(panels, "panel", "focus a panel by its number"))
    lines[LISTS] += MOVES
    lines[RASTER] += CELLS
    return lines


def _numbers(app: AppInterface) -> list[int]:
    """The numbers of the panels beside the focused one, hidden or not, that have a key."""
    panel = app.focused_panel()
    board = panel.parent if panel is not None else None
    beside = board.panels.values() if isinstance(board, Board) else ()
    return sorted(one.number for one in beside if one.display and 0 < one.number <= NUMBERED)


def possible_shortcuts(app: AppInterface) -> tuple[dict[str, list[Shortcut]], list[Shortcut]]:
    """What can be done here and now, by section, the keys of this place first; what cannot, with its reason."""
    keys = app.keys_by_action()
    possible: dict[str, list[Shortcut]] = {
        each: [] for each in (LIBRARY, RASTER, COMPARISON, ACTING, LISTS, TIME, PLACES)
    }
    impossible: list[Shortcut] = []
    for action in ACTIONS:
        reason = action.reason(app)
        if reason is not None:
            impossible.append(Shortcut(keys[action.id], action.label, reason))
        elif not action.id.startswith(PANEL_ID):
            possible.setdefault(action.section, []).append(Shortcut(keys[action.id], action.label, action.help))
    possible[LISTS] += MOVES
    numbers = " ".join(keys[f"{PANEL_ID}{number}"] for number in _numbers(app))
    if numbers:
        possible[PLACES].append(Shortcut(numbers, "panel", "focus this panel; twice: hide it"))
    if possible[RASTER]:
        possible[RASTER] += CELLS
    return {section: lines for section, lines in possible.items() if lines}, impossible


def find(action_id: str) -> Action:
    """The action of this id."""
    return next(action for action in ACTIONS if action.id == action_id)

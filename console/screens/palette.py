"""The command palette (`ctrl+p`): every action with its key, every place, command, theme and fault of the target."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from cluster.commands import COMMANDS, is_built
from console.actions import ACTIONS
from console.app_interface import AppInterface
from console.command_line import known_places, typed_prefix
from console.presenters.fault_menu import fault_menu_entries
from console.screens.catalogue import PLACES
from console.themes.names import DESCRIPTIONS


class Entry(NamedTuple):
    """An entry of the palette: its name, its effect in words, and the function that does it."""

    name: str
    words: str
    do: Callable[[], object]


class ConsoleProvider(Provider):
    """Actions, places, commands, themes, and the faults of the selected target."""

    @property
    def console(self) -> AppInterface:
        """The application, as `AppInterface`."""
        return cast("AppInterface", self.app)

    async def discover(self) -> Hits:
        """The actions, for an empty query."""
        for entry in self._actions():
            yield DiscoveryHit(entry.name, entry.do, help=entry.words)

    async def search(self, query: str) -> Hits:
        """Every entry whose name matches the query."""
        matcher = self.matcher(query)
        for entry in (*self._actions(), *self._places(), *self._faults(), *self._commands(), *self._themes()):
            score = matcher.match(entry.name)
            if score > 0:
                yield Hit(score, matcher.highlight(entry.name), entry.do, help=entry.words)

    def _actions(self) -> Iterator[Entry]:
        app = self.console
        keys = app.keys_by_action()
        for action in ACTIONS:
            if action.id == "console.screens.palette":
                continue
            reason = action.reason(app)
            words = f"{keys[action.id]}  {action.help}" + (f" – not now: {reason}" if reason else "")
            yield Entry(action.label, words, partial(app.run_action, action.does))

    def _places(self) -> Iterator[Entry]:
        for place in known_places(self.console.flight.names(), PLACES):
            yield Entry(f"go {place}", "show it", partial(self.console.go, place))

    def _faults(self) -> Iterator[Entry]:
        app = self.console
        target = app.selected_target()
        if target is None:
            return
        why_not = app.flight.why_read_only()
        for fault in fault_menu_entries(app.flight.view, app.flight.names(), target):
            reason = why_not or fault.reason
            words = f"not now: {reason}" if reason else fault.effect
            yield Entry(fault.text, words, partial(app.execute_line, fault.text))

    def _commands(self) -> Iterator[Entry]:
        """Every cluster command; one with arguments opens the command line."""
        app = self.console
        why_not = app.flight.why_read_only()
        for form in COMMANDS:
            if not is_built(form.command):
                continue
            prefix = typed_prefix(form)
            complete = prefix == form.usage
            do = partial(app.execute_line, prefix) if complete else partial(app.open_line, ":", f"{prefix} ")
            yield Entry(form.usage, f"not now: {why_not}" if why_not else form.hint, do)

    def _themes(self) -> Iterator[Entry]:
        for name, words in DESCRIPTIONS.items():
            yield Entry(f"theme: {words}", "colours of the whole console", partial(self.console.theming.choose, name))

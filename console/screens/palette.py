"""What the palette (`ctrl+p`) finds: every action with its key, every place, every injury of what is selected."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from cluster.commands import COMMANDS, is_built
from console import command_line as command_text
from console.actions import ACTIONS
from console.app_interface import AppInterface
from console.presenters.fault_menu import fault_menu_entries
from console.themes import DESCRIPTIONS


class Entry(NamedTuple):
    """Something that can be found: its name, what it does in words, and the deed."""

    name: str
    words: str
    do: Callable[[], object]


class ThingsProvider(Provider):
    """Actions, places, themes, and what can be done to the selected thing."""

    @property
    def console(self) -> AppInterface:
        """The application, by its own type."""
        return cast("AppInterface", self.app)

    async def discover(self) -> Hits:
        """Before anything is typed: the actions."""
        for entry in self._actions():
            yield DiscoveryHit(entry.name, entry.do, help=entry.words)

    async def search(self, query: str) -> Hits:
        """Everything whose name is like the query."""
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
        for place in command_text.places(self.console.flight.names()):
            yield Entry(f"go {place}", "show it", partial(self.console.go, place))

    def _faults(self) -> Iterator[Entry]:
        app = self.console
        thing = app.selected_thing()
        if thing is None:
            return
        why_not = app.flight.why_read_only()
        for fault in fault_menu_entries(app.flight.view, app.flight.names(), thing):
            reason = why_not or fault.reason
            words = f"not now: {reason}" if reason else fault.effect
            yield Entry(fault.text, words, partial(app.give, fault.text))

    def _commands(self) -> Iterator[Entry]:
        """Every command of the cluster, with its arguments; one that has any is begun on the command line."""
        app = self.console
        why_not = app.flight.why_read_only()
        for form in COMMANDS:
            if not is_built(form.command):  # type: ignore[arg-type]
                continue
            begun = command_text.begin(form)
            whole = begun == form.usage
            do = partial(app.give, begun) if whole else partial(app.open_line, ":", f"{begun} ")
            yield Entry(form.usage, f"not now: {why_not}" if why_not else form.hint, do)

    def _themes(self) -> Iterator[Entry]:
        for name, words in DESCRIPTIONS.items():
            yield Entry(
                f"theme: {words}", "colours of the whole console", partial(setattr, self.console, "theme", name)
            )

"""The command palette (`ctrl+p`): actions, places, objects, scenarios, recordings, commands, themes, faults.

The faults are those of the selection on the screen below. What is impossible now stays, with its reason.
"""

from collections.abc import Callable, Iterator
from functools import partial
from inspect import isawaitable
from typing import Any, NamedTuple, TypeVar, cast

from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.css.query import NoMatches
from textual.worker import Worker, WorkType

from cluster.commands import COMMANDS, Form, Slot, is_built
from console.actions import ACTIONS
from console.app_interface import AppInterface
from console.command_line import known_places, producer_place
from console.presenters.fault_menu import fault_menu_entries
from console.presenters.styled_text import PlaceLink
from console.screens.catalogue import PLACES
from console.themes.names import DESCRIPTIONS

T = TypeVar("T")


NOT_NOW = "not now: "
FORKS = "forks from this instant: "
"""Of commands of a flight that is read-only: they go to a second flight beside it."""


class Entry(NamedTuple):
    """An entry of the palette: its name, its effect in words, and the function that does it."""

    name: str
    words: str
    do: Callable[[], object]


def typed_prefix(form: Form) -> str:
    """The fixed words of a form before its first argument."""
    words: list[str] = []
    for part in form.required:
        if isinstance(part, Slot):
            break
        words.append(part)
    return " ".join(words)


class ConsolePalette(CommandPalette):
    """Textual's palette, whose search may outlive its list: it may be taken off the screen, or the console may end."""

    def run_worker(self, work: WorkType[Any], *options: Any, **named: Any) -> Worker[Any]:  # noqa: ANN401 - Textual's
        """Run the search; that its list is gone ends it without an error."""

        async def search() -> None:
            try:
                begun = work() if callable(work) else work
                if isawaitable(begun):
                    await begun
            except NoMatches:
                if self.query(CommandList):
                    raise

        return super().run_worker(search, *options, **named)


class ConsoleProvider(Provider):
    """Everything that the console can do or show, by name."""

    @property
    def console(self) -> AppInterface:
        """The application, as `AppInterface`."""
        return cast("AppInterface", self.app)

    async def startup(self) -> None:
        """Read what lies on disk once, when the palette is opened."""
        self._on_disk = [*self._scenarios(), *self._recordings()]

    async def discover(self) -> Hits:
        """The faults of the selection and the actions, for an empty query; what cannot be done now comes last."""
        for entry in sorted((*self._faults(), *self._actions()), key=lambda entry: NOT_NOW in entry.words):
            yield DiscoveryHit(entry.name, entry.do, help=entry.words)

    async def search(self, query: str) -> Hits:
        """Every entry whose name matches the query."""
        matcher = self.matcher(query)
        for entry in self._entries():
            score = matcher.match(entry.name)
            if score > 0:
                yield Hit(score, matcher.highlight(entry.name), entry.do, help=entry.words)

    def _entries(self) -> Iterator[Entry]:
        yield from self._faults()
        yield from self._actions()
        yield from self._places()
        yield from self._subjects()
        yield from self._on_disk
        yield from self._commands()
        yield from self._themes()

    def _actions(self) -> Iterator[Entry]:
        app = self.console
        keys = app.keys_by_action()
        for action in ACTIONS:
            if action.id == "console.screens.palette":
                continue
            reason = action.reason(app)
            words = f"{keys[action.id]}  {action.help}" + (f" – {NOT_NOW}{reason}" if reason else "")
            yield Entry(action.label, words, partial(app.run_action, action.does))

    def _places(self) -> Iterator[Entry]:
        names, producers = self.console.flight.names(), self.console.flight.view.producers
        kinds = {**dict.fromkeys(names.members(), "member"), **dict.fromkeys(names.groups, "group")}
        without = {producer_place(member) for member in names.members() if member not in producers}
        for place in known_places(names, PLACES):
            if place in without:  # only the application of some members has a producer
                continue
            kind = kinds.get(place, "")
            yield Entry(f"go {place}", f"{kind}: show it" if kind else "show it", partial(self.console.go, place))

    def _subjects(self) -> Iterator[Entry]:
        """What has no place of its own: `why?` answers on it."""
        app = self.console
        names, view = app.flight.names(), app.flight.view
        placed = set(known_places(names, PLACES))
        kinds = {
            "producer": [name for name in names.clients() if name not in names.members()],
            "broker": names.brokers,
            "topic": names.topics,
        }
        for kind, found in kinds.items():
            for name in found:
                if name not in placed:
                    do = partial(app.execute_line, f"why {name}")
                    yield Entry(f"why {name}", f"{kind}: its state, and why it makes no progress", do)
        for identity, transaction in view.transactions.items():
            show = partial(app.follow, PlaceLink("transaction", identity))
            yield Entry(f"transactional id {identity}", f"{transaction.state}: show it among all ids", show)

    def _scenarios(self) -> Iterator[Entry]:
        from recordings.scenarios.loader import library  # noqa: PLC0415 - not needed before the palette is opened

        begin = partial(self._warned, self.console.start_scenario)
        for name in library():
            yield Entry(f"run {name}", "scenario: fly it live", partial(begin, name))

    def _recordings(self) -> Iterator[Entry]:
        from recordings.journal.catalogue import SAMPLES, find_recordings  # noqa: PLC0415

        begin = partial(self._warned, self.console.play_recording)
        for found in find_recordings([self.console.directory, SAMPLES]):
            about = f"recording of {found.scenario}, seed {found.seed}"
            words = f"{NOT_NOW}{found.failure}" if found.failure else about
            yield Entry(f"play {found.path.name}", words, partial(begin, found.path))

    def _warned(self, begin: Callable[[T], str], what: T) -> None:
        """Begin another flight, or say why not: a recording in progress is asked about first."""
        self.console.warn(begin(what))

    def _faults(self) -> Iterator[Entry]:
        app = self.console
        target = app.selected_target()
        if target is None:
            return
        forks = app.flight.why_read_only() is not None
        for fault in fault_menu_entries(app.flight.view, app.flight.names(), target):
            words = f"{NOT_NOW}{fault.reason}" if fault.reason else f"{FORKS if forks else ''}{fault.effect}"
            do = (
                partial(app.open_line, ":", f"fork do {fault.text}") if forks else partial(app.execute_line, fault.text)
            )
            yield Entry(fault.text, words, do)

    def _commands(self) -> Iterator[Entry]:
        """Every cluster command; one with arguments opens the command line, and so does one that forks."""
        app = self.console
        forks = app.flight.why_read_only() is not None
        for form in COMMANDS:
            if not is_built(form.command):
                continue
            prefix = typed_prefix(form)
            complete = prefix == form.usage
            typed = prefix if complete else f"{prefix} "
            if forks:
                yield Entry(form.usage, FORKS + form.hint, partial(app.open_line, ":", f"fork do {typed}"))
            else:
                do = partial(app.execute_line, typed) if complete else partial(app.open_line, ":", typed)
                yield Entry(form.usage, form.hint, do)

    def _themes(self) -> Iterator[Entry]:
        for name, words in DESCRIPTIONS.items():
            yield Entry(f"theme: {words}", "colours of the whole console", partial(self.console.theming.choose, name))

"""Lists that open over a screen: the fault menu, the help, the report of a failure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cluster.commands import COMMANDS, is_built
from cluster.events import Event
from console.flight import SIMULATION_FAILED
from console.presenters import states
from console.presenters.fault_menu import CommandTarget, MenuEntry
from console.presenters.formatting import clock
from console.presenters.list_view import Listing, holds
from console.presenters.styled_text import ACCENT, ERROR, FAINT, MUTED, PLAIN, STRONG, Line, fit, line, wrapped

STATES = {
    "lag": states.LAG,
    "states of a group": states.GROUP,
    "states of a member": states.MEMBER,
    "states of a producer": states.PRODUCER,
    "states of a transactional id": states.TRANSACTION,
    "states of a broker": states.BROKER,
    "states of a group of the new protocol": states.CONSUMER_GROUP,
    "states of its members at the coordinator": states.MEMBER_AT_COORDINATOR,
    "states of its members as clients": states.CONSUMER_MEMBER,
}


class FaultMenuListing(Listing):
    """The fault menu of a target; refused commands stay, with their reason. `forks`: each flies another flight."""

    def __init__(self, target: CommandTarget, faults: Sequence[MenuEntry], width: int, *, forks: bool = False) -> None:
        super().__init__(width)
        self.forks = forks
        self.title = f"{target.kind} {target.name}"
        self.faults = {fault.text: fault for fault in faults}
        self.column = max((len(fault.text) for fault in faults), default=0) + 1

    def note(self) -> Line:
        """The keys of the menu."""
        keys = "enter forks from this instant" if self.forks else "enter executes · e edits"
        return line((f"{keys} · esc", FAINT))

    def row_keys(self) -> list[str]:
        """The commands' texts."""
        return list(self.faults)

    def rows(self, key: str) -> tuple[Line]:
        """A command with its effect, or with the reason why it is refused."""
        fault = self.faults[key]
        room = max(10, min(self.column, self.width * 55 // 100))
        if fault.reason:
            words = line("  ", *fit(line((key, FAINT)), room), (" ✖ ", FAINT), (fault.reason, MUTED))
        else:
            words = line("  ", *fit(line((key, PLAIN)), room), " ", (fault.effect, MUTED))
        return (fit(words, self.width),)


class TextListing(Listing):
    """Lines of text to read and scroll; a filter searches them."""

    def __init__(self, title: str, lines: Sequence[Line], width: int, keys: str = "/ finds · esc closes") -> None:
        super().__init__(width)
        self.title, self.lines, self.keys = title, lines, keys

    def note(self) -> Line:
        """The keys of the list."""
        return line((self.keys, FAINT))

    def row_keys(self) -> list[str]:
        """One key for each line; lines cannot be selected."""
        return [f"#{place}" for place in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(line("  ", *self.lines[int(key[1:])]), self.width),)

    def matches(self, key: str, pattern: str) -> bool:
        """Whether the line holds the pattern."""
        return holds("".join(text for text, _ in self.lines[int(key[1:])]), pattern)


class Shortcut(NamedTuple):
    """A line of the help: the key in force, the action's label, its effect."""

    key: str
    label: str
    effect: str


COLUMN_CELLS = 54
"""The least width of a column of the help."""
KEY_CELLS = 12


def place_help(
    possible: Mapping[str, Sequence[Shortcut]],
    impossible: Sequence[Shortcut],
    glossary: Sequence[str],
    said: Sequence[str],
    width: int,
) -> list[Line]:
    """The keys that do something here and now, the states of the place, then what is impossible and why; in columns.

    `glossary`: titles of `STATES`; `said`: the last notices, newest first.
    """
    number = max(1, width // COLUMN_CELLS)
    room = width // number
    here = [
        (section, [row for key, _, effect in keys for row in _shortcut(key, effect, room)])
        for section, keys in possible.items()
    ]
    meanings = [(title, [row for each in STATES[title].items() for row in _state(*each, room)]) for title in glossary]
    refused = [row for reason, keys in _by_reason(impossible).items() for row in _refused(keys, reason, room)]
    notices = [line("  ", (message, MUTED)) for message in said]
    listed = [*here, *meanings, ("not now", refused), ("last notices", notices)]
    blocks = [[line((title, ACCENT)), *rows] for title, rows in listed]
    return in_columns([block for block in blocks if len(block) > 1], number, room)


def in_columns(blocks: Sequence[Sequence[Line]], number: int, width: int) -> list[Line]:
    """Blocks of lines in columns of a width, filled one after the other; a block is not divided."""
    total = sum(len(block) + 1 for block in blocks)
    columns: list[list[Line]] = [[]]
    for block in blocks:
        full = len(columns[-1]) + len(block) // 2 > -(-total // number)
        if full and len(columns) < number:
            columns.append([])
        columns[-1] += [*([()] if columns[-1] else []), *block]
    height = max(map(len, columns))
    padded = [[*column, *([()] * (height - len(column)))] for column in columns]
    return [line(*(span for cell in row for span in fit(cell, width))) for row in zip(*padded, strict=True)]


def _shortcut(key: str, effect: str, width: int) -> list[Line]:
    return wrapped(line((f"  {key:<{KEY_CELLS}} ", STRONG), (effect, PLAIN)), width - 1, indent=KEY_CELLS + 3)


def _by_reason(impossible: Sequence[Shortcut]) -> dict[str, list[str]]:
    """The keys that a reason makes impossible, by reason."""
    keys: dict[str, list[str]] = {}
    for key, _, reason in impossible:
        keys.setdefault(reason, []).append(key)
    return keys


def _refused(keys: Sequence[str], reason: str, width: int) -> list[Line]:
    return wrapped(line("  ", (f"{'  '.join(keys)}  ", FAINT), (reason, MUTED)), width - 1, indent=4)


def _state(name: str, state: states.State, width: int) -> list[Line]:
    said = line((f"  {state.glyph} ", state.tone), (f"{name} ", STRONG), (state.meaning, MUTED))
    return wrapped(said, width - 1, indent=4)


def help_lines(shortcuts: Mapping[str, Sequence[Shortcut]], usages: Iterable[tuple[str, str]]) -> list[Line]:
    """All keys by section, all commands with their syntax, all states with their meaning.

    `usages`: syntax and effect of the console's own commands.
    """
    lines: list[Line] = []
    for section, keys in shortcuts.items():
        lines.append(line((section, ACCENT)))
        lines += [
            line((f"  {key:<12}", STRONG), (f"{label:<17}", PLAIN), (effect, MUTED)) for key, label, effect in keys
        ]
        lines.append(())
    lines.append(line(("commands of the console", ACCENT)))
    lines += [_usage(usage, hint) for usage, hint in usages]
    lines += [(), line(("commands to the cluster; scenarios use the same text", ACCENT))]
    lines += [_usage(form.usage, form.hint) for form in COMMANDS if is_built(form.command)]
    for title, table in STATES.items():
        lines += [(), line((title, ACCENT))]
        lines += [
            line((f"  {state.glyph} ", state.tone), (f"{name:<22}", PLAIN), (state.meaning, MUTED))
            for name, state in table.items()
        ]
    return lines


def _usage(usage: str, hint: str) -> Line:
    return line((f"  {usage:<46} ", PLAIN), (hint, MUTED))


def failure_lines(failure: str, width: int, what: str = SIMULATION_FAILED, last: Sequence[Event] = ()) -> list[Line]:
    """The failure that ended a flight, in a few words (`what`) and at length, and the flight's last events."""
    lines = [line((f"✖ The flight is over: {what}.", ERROR)), ()]
    for paragraph in failure.splitlines():
        lines += wrapped(line(paragraph), width - 4)
    lines += [(), line(("The screens show the state after the last event. q quits; no other data is lost.", MUTED))]
    if last:
        lines += [(), line((f"the last {len(last)} events", ACCENT))]
        for event in last:
            fields = msgspec.json.encode(event).decode()
            lines += wrapped(line((f"{clock(event.at_us, 6)}  ", MUTED), (fields, PLAIN)), width - 4)
    return lines

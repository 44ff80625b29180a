"""What a player can accuse: the words of a fault's command and its targets, without durations.

`stall billing-3` is right if the hidden fault's command is a stall of billing-3. The cluster's own grammar reads the
text, so names, suggestions and columns of errors are those of the commands.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.commands import Command, CommandError, Names, complete, kind_of, parse, targets_of
from cluster.config import nearest


class Accusable(NamedTuple):
    """A kind of fault: its words, the end that makes a command, the targets for people, the journal's kinds."""

    words: str
    end: str
    targets: str
    kinds: tuple[str, ...]


ACCUSABLE = (
    Accusable("kill", "", "MEMBER, PRODUCER or BROKER", ("kill",)),
    Accusable("pause", "", "MEMBER, PRODUCER or BROKER", ("pause",)),
    Accusable("stall", "", "MEMBER", ("stall",)),
    Accusable("slow", " to 1s", "MEMBER, or BROKER PROCESS", ("slow_member", "slow_link")),
    Accusable("pause heartbeats of", "", "MEMBER", ("pause_heartbeats",)),
    Accusable("pause partitions of", "", "MEMBER", ("pause_partitions",)),
    Accusable("slow dependency of", " to 1s", "GROUP", ("slow_dependency",)),
    Accusable("fail dependency of", "", "GROUP", ("fail_dependency",)),
    Accusable("abandon transaction of", "", "PRODUCER", ("abandon_transaction",)),
    Accusable("isolate", "", "BROKER", ("isolate",)),
    Accusable("slow disk of", " to 1s", "BROKER", ("slow_disk",)),
    Accusable("fill disk of", "", "BROKER", ("fill_disk",)),
    Accusable("cut", "", "BROKER PROCESS", ("cut",)),
)
"""Every kind of fault that a game can hide; longer words come before the shorter ones that they begin with."""

ENDS = ("for", "to", "->")  # what a command may say after its targets, and an accusation does not


class Accusation(NamedTuple):
    """A kind of fault, as the journal names it, and its targets; `text` is its canonical text."""

    kind: str
    targets: tuple[str, ...]
    text: str

    def fits(self, fault: Command) -> bool:
        """Whether it is this fault, whatever the order of its targets."""
        return self.kind == kind_of(fault) and set(self.targets) == set(targets_of(fault))


def read_accusation(text: str, names: Names | None = None, column: int = 0) -> Accusation:
    """Parse an accusation that begins at a column of its line. Raises CommandError with a suggestion."""
    text = " ".join(text.split())
    fitting = [row for row in ACCUSABLE if f"{text} ".startswith(f"{row.words} ")]
    if not fitting:
        known = [row.words for row in ACCUSABLE]
        raise CommandError(f"no fault is called `{text}`" if text else "name a fault", column, nearest(text, known))
    row = max(fitting, key=lambda each: len(each.words))
    said = text.split()
    if text == row.words:
        raise CommandError(f"name its target: {row.words} {row.targets}", column + len(text))
    surplus = next((word for word in ENDS if word in said[len(row.words.split()) :]), None)
    if surplus is not None:
        at = column + len(" ".join(said[: said.index(surplus)])) + 1
        raise CommandError(f"a diagnosis ends with its target: {row.words} {row.targets}", at)
    try:
        command = parse(text + row.end, names)
    except CommandError as error:
        raise CommandError(error.message, min(error.column, len(text)) + column, error.suggestion) from None
    return accusation_of(command)


def accusation_of(fault: Command) -> Accusation:
    """The right accusation of a fault."""
    kind, targets = kind_of(fault), targets_of(fault)
    words = next(row.words for row in ACCUSABLE if kind in row.kinds)
    return Accusation(kind, targets, " ".join((words, *targets)))


def completions_of(text: str, names: Names) -> Sequence[str]:
    """The words that may follow an unfinished accusation."""
    *before, last = text.split(" ")
    rows = [row.words.split() for row in ACCUSABLE]
    words = dict.fromkeys(row[len(before)] for row in rows if row[: len(before)] == before and len(row) > len(before))
    if before:
        targets = {*names.processes(), *names.groups}
        words |= dict.fromkeys(word for word in complete(text, names) if word in targets and word not in before)
    return [word for word in words if word.startswith(last) and word != last]

"""The commands of a game: how they are typed, read and completed on the console's command line."""

from typing import NamedTuple

from cluster.commands import CommandError, Names
from recordings.game.accusations import completions_of, read_accusation

GAME_USAGES = {
    "diagnose": ("diagnose FAULT TARGET", "in a game: accuse the hidden fault, as diagnose stall billing-3"),
    "give": ("give up", "in a game: end it without a diagnosis"),
}


class Diagnose(NamedTuple):
    """Accuse a fault in a game; the text is its kind and its targets."""

    text: str


class GiveUp(NamedTuple):
    """End a game without a diagnosis."""


def read_diagnose(rest: str, column: int, names: Names) -> Diagnose:
    """Parse what follows `diagnose`. Raises CommandError."""
    return Diagnose(read_accusation(rest, names, column + 1).text)


def read_give_up(rest: str, column: int) -> GiveUp:
    """Parse what follows `give`. Raises CommandError."""
    if rest != "up":
        raise CommandError(f"the command is `{GAME_USAGES['give'][0]}`", column, "up")
    return GiveUp()


def diagnose_completions(rest: str, names: Names) -> list[str]:
    """The words that may follow `diagnose`."""
    return list(completions_of(rest, names))

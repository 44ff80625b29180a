"""The referee of a game: which diagnoses are right, and when the game is over.

A player's diagnosis is a `mark` in the journal, `diagnose stall billing-3` or `give up`: it changes nothing in the
cluster, and a recording holds everything that the score needs. The referee reads commands only.
"""

from typing import NamedTuple

from cluster.commands import Command, CommandError, Mark
from recordings.game.accusations import Accusation, accusation_of, read_accusation

DIAGNOSE = "diagnose "
GIVE_UP = "give up"
HIDDEN, PLAYER = "game", "operator"
"""The sources of a hidden fault and of a player's command."""


class HiddenFault(NamedTuple):
    """A fault that was given, and when it was diagnosed; None: not yet."""

    at_us: int
    truth: Accusation
    found_us: int | None = None


class WrongAccusation(NamedTuple):
    """A diagnosis that fits no hidden fault in force."""

    at_us: int
    text: str


class Referee:
    """Takes a flight's commands in their order; `expected` is the number of hidden faults.

    `over_us`: when the last fault was found or the player gave up, in µs; None while the game goes on.
    """

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.faults: list[HiddenFault] = []
        self.wrong: list[WrongAccusation] = []
        self.over_us: int | None = None
        self.gave_up = False

    def take(self, command: Command, source: str, at_us: int) -> str:
        """Take the next command; returns the answer to a diagnosis, or an empty text."""
        if self.over_us is not None:
            return ""
        if source == HIDDEN:
            self.faults.append(HiddenFault(at_us, accusation_of(command)))
        match command:
            case Mark(said) if source == PLAYER and said == GIVE_UP:
                self.over_us, self.gave_up = at_us, True
                return "you gave up"
            case Mark(said) if source == PLAYER and said.startswith(DIAGNOSE):
                return self._judge(said.removeprefix(DIAGNOSE), at_us)
            case _:
                return ""

    def _judge(self, text: str, at_us: int) -> str:
        try:
            accused = read_accusation(text)
        except CommandError:  # a mark written by hand
            return ""
        for place, fault in enumerate(self.faults):
            if fault.truth.kind == accused.kind and set(fault.truth.targets) == set(accused.targets):
                if fault.found_us is not None:
                    return f"found already: {fault.truth.text}"
                self.faults[place] = fault._replace(found_us=at_us)
                return self._found(fault, at_us)
        self.wrong.append(WrongAccusation(at_us, accused.text))
        return f"wrong: {accused.text}"

    def _found(self, fault: HiddenFault, at_us: int) -> str:
        found = sum(one.found_us is not None for one in self.faults)
        if found == self.expected:
            self.over_us = at_us
        return f"right: {fault.truth.text}" + (f" ({found} of {self.expected} faults)" if self.expected > 1 else "")

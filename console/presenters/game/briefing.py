"""The briefing of a game: its level, faults to diagnose, and what the player has said so far."""

from console.game.game import Game
from console.presenters.formatting import clock, duration
from console.presenters.list_view import Listing
from console.presenters.styled_text import ACCENT, ERROR, MUTED, OK, PLAIN, STRONG, Line, fit, line, wrapped
from recordings.game.accusations import ACCUSABLE
from recordings.game.levels import FULL, WRONG

NO_GAME: Line = line(("no game here: `flightdeck game` starts one", MUTED))


class NoGameListing(Listing):
    """The panel of a flight that is no game."""

    title = "game"
    vacant = NO_GAME


class BriefingListing(Listing):
    """How the game is played, line by line."""

    title = "briefing"

    def __init__(self, game: Game, now_us: int, width: int) -> None:
        super().__init__(width)
        level, referee = game.scenario.level, game.referee
        found = sum(one.found_us is not None for one in referee.faults)
        hidden = f"{len(game.scenario.faults)} {'fault is' if len(game.scenario.faults) == 1 else 'faults are'} hidden"
        left_us = max(0, level.length_us - now_us)
        said: list[Line] = [
            line((f"level {level.number}: {level.title} ", STRONG), (f"· {hidden} · {found} found", PLAIN)),
            line((f"the flight ends in {duration(left_us)}; virtual time counts, a pause does not", MUTED)),
            line((f"{FULL} points for all faults at once, a quarter at the end, ", MUTED), (f"{WRONG} less", PLAIN),
                 (" for each wrong accusation", MUTED)),
            line(("lost records and unowned partition-seconds cost points, too", MUTED)),
            line(("short disturbances are noise, not faults to diagnose", MUTED)),
            line((":diagnose FAULT TARGET", ACCENT), (" accuses, ", MUTED), (":give up", ACCENT), (" ends", MUTED)),
        ]  # fmt: skip
        self.lines = [row for one in said for row in wrapped(one, width - 3, 2)]

    def row_keys(self) -> list[str]:
        """Lines cannot be selected."""
        return [f"#{place}" for place in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(line("  ", *self.lines[int(key[1:])]), self.width),)


class AccusableListing(Listing):
    """Every fault that can be accused, with its targets."""

    title = "faults to diagnose"

    def row_keys(self) -> list[str]:
        """The words of each fault."""
        return [row.words for row in ACCUSABLE]

    def rows(self, key: str) -> tuple[Line]:
        """One fault."""
        row = next(row for row in ACCUSABLE if row.words == key)
        return (fit(line((f"  {row.words} ", PLAIN), (row.targets, MUTED)), self.width),)


class DiagnosesListing(Listing):
    """What the player has said so far, in order."""

    title = "your diagnoses"
    vacant = line(("no diagnosis yet", MUTED))

    def __init__(self, game: Game, width: int) -> None:
        super().__init__(width)
        right = [(one.found_us, True, one.truth.text) for one in game.referee.faults if one.found_us is not None]
        wrong = [(one.at_us, False, one.text) for one in game.referee.wrong]
        self.said = sorted([*right, *wrong])

    def row_keys(self) -> list[str]:
        """Lines cannot be selected."""
        return [f"#{place}" for place in range(len(self.said))]

    def rows(self, key: str) -> tuple[Line]:
        """One diagnosis."""
        at_us, right, text = self.said[int(key[1:])]
        sign, word, tone = ("●", "right", OK) if right else ("✖", "wrong", ERROR)
        return (fit(line((f"  {clock(at_us, 3)} ", MUTED), (f"{sign} {word}: ", tone), (text, PLAIN)), self.width),)

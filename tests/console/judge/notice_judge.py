"""Judges notices and the refusals of the command line: what they say of the flight is what its events say.

A notice that no rule knows is a fault; `NO_CLAIM` has those that say nothing of the flight.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from cluster import events as e
from recordings.journal.reader import Recording
from tests.console.judge.books import Books
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.spoken import instant

LANDMARKS = (
    e.RebalanceStarted, e.FaultStarted, e.ConsumerGroupEpochBumped, e.BrokerStopped, e.BrokerPaused, e.BrokerFenced,
    e.MemberStopped, e.MemberPaused,
)  # fmt: skip
"""Without one of these there is neither a rebalance nor a fault."""
NO_CLAIM = (
    r"theme: .*",
    r"select a member first",  # the marked row: test_help_is_judged.py
    r"copied .*",
    r"rows are not ordered by .*",
)
VIEWING = "the screens show the past, and commands act on the live flight: L returns to it"
NEW_CLOCK = r"\d\d:\d\d:\d\d\.\d+"
ALREADY = r"already true(?:, so time stops here| at this instant): groups\.(\S+)\.(state|generation) = (\S+)"


class Told(msgspec.Struct):
    """What was told, and how things stood: the typed line or key, the screens' instant before and after it.

    `live_us`: the live instant, while the past of a live flight is shown. `events`: all of the flight, those after the
    shown instant too. `ended`: its time is over, or the recording's.
    """

    words: str
    typed: str
    before_us: int
    shown_us: int
    live_us: int | None
    ended: bool
    events: Sequence[e.Event]
    recorded: bool = False
    end_us: int = 0


class NoticeJudge:
    """One notice."""

    def __init__(self, told: Told, verdict: Verdict) -> None:
        self.told, self.verdict = told, verdict

    def judge(self) -> None:
        """Judge it by the first sentence that it is."""
        sentences: Sentences = (
            *self._of_time(),
            *self._of_recordings(),
            (ALREADY, self._already),
            (r"undone: (.+)", lambda m: self._undone(m[1])),
            *((pattern, lambda _: True) for pattern in NO_CLAIM),
            (r"((?:set|seek|start|kill|scale|reassign) .+?): (.+)", lambda m: self._refused(m[1], m[2])),
        )
        self.verdict.read(f"notice after `{self.told.typed}`", self.told.words, sentences)

    def _of_time(self) -> Iterator[tuple[str, Callable[["re.Match[str]"], bool]]]:
        told = self.told
        live, past = not told.recorded, told.live_us is not None
        yield rf"the recording ends at ({NEW_CLOCK})", self._ends
        yield r"the recording ends here: .+", lambda _: told.recorded and not self._after(told.shown_us)
        yield r"the recording begins here: .+", lambda _: told.recorded and told.shown_us == 0
        yield r"the past ends here: L returns to live", lambda _: live and self._past_ends()
        yield r"there is no event before this: \] moves on", lambda _: told.shown_us == 0
        yield r"there is no rebalance or fault (after|before) this", lambda m: not self._landmarks(m[1])
        yield r"no match (?:in the rest of the recording|up to the live instant)", lambda _: not self._matches()
        yield r"this is the live instant", lambda _: live and not past
        yield r"the flight has ended; the screens show its final state", lambda _: live and told.ended
        yield re.escape(VIEWING), lambda _: live and past
        backwards = r"a live flight runs forwards; only recordings play backwards: the speed stays (\S+|flat out)"
        yield backwards, lambda _: live and told.typed.startswith(":speed -")

    def _of_recordings(self) -> Iterator[tuple[str, Callable[["re.Match[str]"], bool]]]:
        told = self.told
        yield r"a recording is read-only", lambda _: told.recorded
        yield r"this is already a recording: (.+)", lambda m: told.recorded and Path(m[1]).is_dir()
        yield r"recording to (.+), from the beginning", lambda m: told.typed == f":record {m[1]}" and self._kept(m[1])

    def _ends(self, match: "re.Match[str]") -> bool:
        """The end is that of the recording's time, not before its last event, and the screens show it."""
        told = self.told
        return told.recorded and instant(match[1]) == told.end_us // 1_000 * 1_000 and told.shown_us == told.end_us

    def _after(self, at_us: int) -> list[e.Event]:
        return [one for one in self.told.events if one.at_us > at_us]

    def _past_ends(self) -> bool:
        """Nothing happened between the shown and the live instant; a line that is refused there is given later."""
        live_us = self.told.live_us
        later = [one for one in self._after(self.told.shown_us) if not isinstance(one, e.CommandRefused)]
        return live_us is not None and all(one.at_us > live_us for one in later)

    def _landmarks(self, side: str) -> list[e.Event]:
        """Rebalances and faults on a side of the shown instant."""
        shown_us = self.told.shown_us
        there = self._after(shown_us) if side == "after" else [one for one in self.told.events if one.at_us < shown_us]
        return [one for one in there if isinstance(one, LANDMARKS)]

    def _matches(self) -> list[e.Event]:
        """Events of the kind that `step KIND` looked for, after the instant at which it began."""
        word, _, kind = self.told.typed.partition(" ")
        names = {"".join(part.title() for part in kind.split("_"))} if word == ":step" else set()
        assert names, self.told.typed
        return [one for one in self._after(self.told.before_us) if type(one).__name__ in names]

    def _already(self, match: "re.Match[str]") -> bool:
        """The group was in that state, or generation, at the shown instant."""
        books = Books()
        for event in self.told.events:
            if event.at_us <= self.told.shown_us:
                books.note(event)
        group = books.groups[match[1]]
        return str(getattr(group, match[2])) == match[3].strip('"')

    def _undone(self, words: str) -> bool:
        """The flight that goes on knows nothing of the command: no event tells of it."""
        return not any(isinstance(one, e.FaultStarted) and one.text == words for one in self.told.events)

    def _kept(self, path: str) -> bool:
        """The recording begins with the flight's first event, and has every one up to the notice."""
        kept = [one for one in Recording(Path(path)).events() if one.at_us <= self.told.before_us]
        return bool(kept) and kept == [one for one in self.told.events if one.at_us <= self.told.before_us]

    def _refused(self, text: str, reason: str) -> bool:
        """The cluster refused this command, for this reason, and it had been given here."""
        given = self.told.typed == f":{text}"
        refusals = (one for one in self.told.events if isinstance(one, e.CommandRefused))
        return given and any((one.text, one.reason) == (text, reason) for one in refusals)


def false_notices(told: Iterable[Told]) -> list[str]:
    """Each notice that is not true."""
    verdict = Verdict(0)
    for one in told:
        NoticeJudge(one, verdict).judge()
    assert verdict.claims
    return verdict.false

"""What an answer consists of, and the facts that questions read."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from cluster.view.state import NEVER, LogEntry, ProducerView
from console.presenters.event_log import ENDS, with_commands
from console.presenters.exceptions.facts import ClusterFacts
from console.presenters.formatting import countdown
from console.presenters.producers.limits import ProducerLimits, limits_of
from console.presenters.styled_text import ERROR, MOVING, OK, WARN

GLYPHS = {ERROR: "✖", WARN: "▲", MOVING: "↻", OK: "●"}
MOST_FACTS, MOST_ENDS = 6, 2


class Subject(NamedTuple):
    """What is asked about: its kind (a key of `questions.QUESTIONS`) and its name."""

    kind: str
    name: str


class WhyFact(NamedTuple):
    """A fact of the view, and the instant of the event behind it."""

    at_us: int
    text: str


class WhyAnswer(NamedTuple):
    """What holds, the facts behind it, what ends it and by when, and what an operator may do."""

    verdict: str
    tone: str
    facts: tuple[WhyFact, ...] = ()
    ends: str = ""
    may: tuple[str, ...] = ()


class WhyFacts(ClusterFacts):
    """A view at an instant, with its event log by subject."""

    def limits(self, producer: ProducerView) -> ProducerLimits | None:
        """The limits in force for a producer, if its configuration is known."""
        return limits_of(self.view, self.configs, producer)

    @cached_property
    def _entries(self) -> dict[str, list[LogEntry]]:
        """Subject or target → its lines, newest first; a process's end and the command that ended it are one line."""
        found: dict[str, list[LogEntry]] = {}
        for entry in reversed(list(with_commands(self.view.log_entries))):
            for name in {entry.subject, *entry.targets}:
                found.setdefault(name, []).append(entry)
        return found

    def last(self, subject: str, *events: str) -> tuple[WhyFact, ...]:
        """The newest line of a subject, of these kinds of events; empty without one."""
        for entry in self._entries.get(subject, ()):
            kinds = {entry.event, "fault_started"} if entry.event in ENDS and entry.targets else {entry.event}
            if not kinds.isdisjoint(events):
                return (WhyFact(entry.at_us, entry.text),)
        return ()

    def lines(self, subject: str, *events: str) -> tuple[WhyFact, ...]:
        """The newest line of a subject for each of these kinds of events."""
        return tuple(fact for event in events for fact in self.last(subject, event))


Question = Callable[[WhyFacts, str], WhyAnswer | None]
"""Finds what is wrong with the named subject, or nothing."""


def fault_ends(facts: WhyFacts, name: str, *timers: str) -> str:
    """When the faults of a process end by themselves, then the timers that end its condition, if any."""
    known = [one for one in facts.view.faults.values() if name in one.targets and one.ends_at_us != NEVER]
    soonest = sorted(known, key=lambda one: one.ends_at_us)
    words = [f"{one.text} ends in {countdown(one.ends_at_us - facts.now_us)}" for one in soonest]
    return "; ".join([*words[:MOST_ENDS], *(timer for timer in timers if timer)])


def in_order(*facts: WhyFact) -> tuple[WhyFact, ...]:
    """The first facts, each once, by their instants."""
    return tuple(sorted(dict.fromkeys(one for one in facts[:MOST_FACTS] if one.at_us != NEVER)))

"""When and where the screens first showed a hidden fault: found by drawing them again, second by second.

The events are those that the player got. A symptom is a headline that names a target, or an answer of `w` on a target,
or on a group of it, that finds something wrong.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cluster.events import Event
from cluster.view import ClusterView, fold
from console.presenters.exceptions.headline import headline
from console.presenters.producers.limits import configs_of
from console.presenters.styled_text import OK
from console.presenters.why.answers import WhyFacts
from console.presenters.why.questions import answers, subject_named
from recordings.game.concealment import Concealment
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario

if TYPE_CHECKING:
    from cluster.spec import ScenarioSpec
    from recordings.game.referee import HiddenFault
    from recordings.game.score import PlayedGame

SECOND_US = 1_000_000
HEADLINE = "headline"


class Symptom(NamedTuple):
    """The first instant (a whole second, in µs) at which a place said something of a fault, and what it said."""

    at_us: int
    fault: int
    place: str
    words: str


def symptoms_of(path: Path, played: "PlayedGame") -> list[Symptom]:
    """The first symptoms of each hidden fault, by their instants. Raises RecordingError."""
    recording = Recording(path)
    header = recording.header
    spec = parse_scenario(header.scenario_text, header.scenario, recorded=True).spec
    search = _Search(spec, played)
    shown = Concealment(spec, search.take)
    for event in recording.events():
        if event.at_us > played.over_us:
            break
        shown(event)
    search.look_up_to(played.over_us)
    return sorted(search.found.values())


class _Search:
    """Folds the shown events, and looks at every whole second once all its events are folded."""

    def __init__(self, spec: "ScenarioSpec", played: "PlayedGame") -> None:
        self.faults = played.faults
        self.found: dict[tuple[int, str], Symptom] = {}
        self._view = ClusterView()
        self._session_us, self._configs = spec.broker_session_us, configs_of(spec)
        first_us = min((fault.at_us for fault in played.faults), default=0)
        self._next_us = (first_us // SECOND_US + 1) * SECOND_US

    def take(self, event: Event) -> None:
        self.look_up_to(event.at_us - 1)
        fold(self._view, event)

    def look_up_to(self, at_us: int) -> None:
        while self._next_us <= at_us:
            for place, words, names in self._said(self._next_us):
                self._note(self._next_us, place, words, names)
            self._next_us += SECOND_US

    def _said(self, now_us: int) -> Iterator[tuple[str, str, set[str]]]:
        """What each place says at an instant, and of which names."""
        names = {name for fault in self.faults for name in self._concerned(fault)}
        words = headline(self._view, now_us, self._session_us, self._configs).forms[0]
        yield HEADLINE, words, {name for name in names if _mentions(words, name)}
        facts = WhyFacts(self._view, now_us, self._session_us, self._configs)
        for name in sorted(names):
            subject = subject_named(self._view, name)
            answer = answers(facts, subject)[0] if subject is not None else None
            if answer is not None and answer.tone != OK:
                yield f"why {name}", answer.verdict, {name}

    def _note(self, at_us: int, place: str, words: str, names: set[str]) -> None:
        for number, fault in enumerate(self.faults):
            concerned = names & self._concerned(fault)
            if concerned and fault.at_us < at_us <= (fault.found_us or at_us):
                self.found.setdefault((number, place), Symptom(at_us, number, place, words))

    def _concerned(self, fault: "HiddenFault") -> set[str]:
        """The targets of a fault, the members of a group among them, and the groups of members."""
        view, targets = self._view, set(fault.truth.targets)
        groups = {view.members[name].group for name in targets if name in view.members}
        members = {one.member for one in view.members.values() if one.group in targets}
        return targets | groups | members


def _mentions(words: str, name: str) -> bool:
    """Whether a sentence names a process, and not one whose name begins alike."""
    return any(word.strip(":,.()").removesuffix("'s") == name for word in words.split())

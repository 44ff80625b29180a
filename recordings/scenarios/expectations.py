"""The expectations of a scenario, judged while it flies.

Expressions on the view document are evaluated at checkpoints: 0, the end of every whole virtual second, every instant
that an expectation names, the end. Events are counted as they happen. A flight that ends early leaves expectations
unjudged (`ok` is None) rather than failed: those whose instant or deadline it did not reach, and every count.

A window begins at `from`, or at the instant at which a step of the scenario gives the command of `after`. Commands of
an operator or the nemesis begin none, so that a file means the same in every flight. An expression that must hold `by`
an instant and holds already where its window begins proves nothing of later events: it is `ok`, and `already`.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, TypedDict

from cluster.config import spoken_duration
from cluster.events import Event, kind_of
from cluster.spec import ExpectationSpec, ScenarioSpec
from recordings.scenarios.predicates import Predicate

SECOND_US = 1_000_000


class Result(TypedDict, total=False):
    """One expectation's outcome, as `run --json` prints it: `that` or `event`, and the other three.

    `ok`: None when it was not judged. `at_s`: the second of the decision. `found`: the values found, in words.
    `already`: only there, and true, for an expression with `by` that held where its window begins.
    """

    that: str
    event: str
    ok: bool | None
    at_s: float | None
    found: str
    already: bool


class Expectations:
    """The expectations of one flight: parse once, `judge` at checkpoints, `see` every event, then `results`.

    `needs`: the roots of the view document that any of them names; `kinds`: the kinds of event that any of them counts.
    Raises PredicateError for an expression that cannot be evaluated, and IndexError for an `after` that no step gives
    (`recordings.scenarios.loader` finds both before a flight).
    """

    def __init__(self, spec: ScenarioSpec) -> None:
        self._all = [
            _Sentence(each, _begins_us(spec, each)) if each.that is not None else _Count(each, _begins_us(spec, each))
            for each in spec.expectations
        ]
        self._sentences = [each for each in self._all if isinstance(each, _Sentence)]
        self._counts: dict[str, list[_Count]] = {}
        for each in self._all:
            if isinstance(each, _Count):
                self._counts.setdefault(each.kind, []).append(each)
        self.needs = frozenset(root for sentence in self._sentences for root in sentence.predicate.needs)
        self.kinds = frozenset(self._counts)
        named = [instant for sentence in self._sentences for instant in sentence.instants]
        self._named_us = sorted(dict.fromkeys(named))

    def checkpoints(self, until_us: int) -> list[int]:
        """The instants at which to judge a flight that ends at `until_us`, in order, its start and end among them."""
        named = [instant for instant in self._named_us if instant <= until_us]
        return sorted({*range(0, until_us + 1, SECOND_US), *named, until_us})

    def next_checkpoint_us(self, after_us: int) -> int:
        """The first checkpoint after an instant, without the end of the flight: for flights without an end."""
        second = (after_us // SECOND_US + 1) * SECOND_US
        place = bisect_right(self._named_us, after_us)
        return min([second, *self._named_us[place : place + 1]])

    def needs_at(self, now_us: int) -> frozenset[str]:
        """The roots of the document that are still needed at a checkpoint: none, once all is decided."""
        return frozenset(root for each in self._sentences if each.is_open(now_us) for root in each.predicate.needs)

    def judge(self, document: Mapping[str, Any], now_us: int) -> None:
        """Evaluate every undecided expression of this checkpoint, on a document with the roots of `needs_at`."""
        for sentence in self._sentences:
            if sentence.is_open(now_us):
                sentence.ask(document, now_us)

    def see(self, event: Event) -> None:
        """Count an event."""
        for count in self._counts.get(kind_of(event), ()):
            count.see(event)

    def results(self, flown_until_us: int, shortened: bool) -> list[Result]:
        """The outcome of each expectation, in the file's order.

        `flown_until_us`: the last instant flown and judged; `shortened`: the flight ended before the file's `until`.
        """
        return [
            each.result(flown_until_us)
            if isinstance(each, _Sentence)
            else each.result(flown_until_us, shortened=shortened)
            for each in self._all
        ]


def _begins_us(spec: ScenarioSpec, expectation: ExpectationSpec) -> int:
    """Where an expectation's window begins."""
    if expectation.after is not None:
        return spec.given_us(expectation.after)[expectation.nth - 1]
    return expectation.from_us or 0


class _Sentence:
    """One `that`: true by an instant, at an instant, or always in a window."""

    def __init__(self, spec: ExpectationSpec, begins_us: int) -> None:
        assert spec.that is not None
        self.spec, self.begins_us = spec, begins_us
        self.predicate = Predicate(spec.that)
        self.instants = [us for us in (spec.by_us, spec.at_us, begins_us, spec.to_us) if us is not None]
        self.ok: bool | None = None
        self.already = False
        self.decided_us: int | None = None
        self.found = ""

    def is_open(self, now_us: int) -> bool:
        """Whether it is still undecided and concerns this instant."""
        if self.ok is not None:
            return False
        if self.spec.at_us is not None:
            return now_us == self.spec.at_us
        last = self.spec.by_us if self.spec.by_us is not None else self.spec.to_us
        return now_us >= self.begins_us and (last is None or now_us <= last)

    def ask(self, document: Mapping[str, Any], now_us: int) -> None:
        """Evaluate it; while it is undecided, the last values found are kept."""
        answer = self.predicate.ask(document)
        self.found = answer.found
        if self.spec.at_us is not None or answer.holds is not self.spec.always:
            self.ok, self.decided_us = answer.holds, now_us
            self.already = self.spec.by_us is not None and now_us == self.begins_us

    def result(self, flown_until_us: int) -> Result:
        """The outcome when the flight is over."""
        spec, ok, at_us = self.spec, self.ok, self.decided_us
        assert spec.that is not None
        if ok is None:
            wanted_us = next(us for us in (spec.by_us, spec.at_us, self.begins_us) if us is not None)
            if flown_until_us < wanted_us:
                return Result(that=spec.that, ok=None, at_s=None, found=_not_judged(flown_until_us, wanted_us))
            ok = spec.always
            end_us = spec.to_us if spec.to_us is not None else flown_until_us
            at_us = min(end_us, flown_until_us) if spec.always else wanted_us
        result = Result(that=spec.that, ok=ok, at_s=_seconds(at_us), found=self.found)
        if self.already:
            result["already"] = True
        return result


class _Count:
    """One `event`: it happens, or happens this often, in a window and with certain fields."""

    def __init__(self, spec: ExpectationSpec, begins_us: int) -> None:
        assert spec.event is not None
        self.spec, self.kind, self.begins_us = spec, spec.event, begins_us
        self.times = 0
        self.first_us: int | None = None
        self.last_us: int | None = None

    def see(self, event: Event) -> None:
        """Count an event of the kind if its instant and fields match."""
        spec = self.spec
        last_us = spec.by_us if spec.by_us is not None else spec.to_us
        if event.at_us < self.begins_us or (last_us is not None and event.at_us > last_us):
            return
        if all(_is(getattr(event, field), wanted) for field, wanted in spec.where.items()):
            self.times += 1
            self.first_us = event.at_us if self.first_us is None else self.first_us
            self.last_us = event.at_us

    def result(self, flown_until_us: int, *, shortened: bool) -> Result:
        """The outcome when the flight is over."""
        spec = self.spec
        found = "it happened once" if self.times == 1 else f"it happened {self.times} times"
        if spec.count is not None:
            if shortened:
                reason = f"{_not_judged(flown_until_us, None)}; until then {found} of {spec.count}"
                return Result(event=self.kind, ok=None, at_s=None, found=reason)
            return Result(event=self.kind, ok=self.times == spec.count, at_s=_seconds(self.last_us), found=found)
        deadline_us = next((us for us in (spec.by_us, spec.to_us) if us is not None), None)
        too_short = shortened if deadline_us is None else flown_until_us < deadline_us
        if not self.times and too_short:
            reason = f"{_not_judged(flown_until_us, deadline_us)}; until then it did not happen"
            return Result(event=self.kind, ok=None, at_s=None, found=reason)
        ok = self.times > 0
        return Result(event=self.kind, ok=ok, at_s=_seconds(self.first_us), found=found)


def _not_judged(flown_until_us: int, wanted_us: int | None) -> str:
    """Why an expectation was not judged; `wanted_us` is its instant, None for the scenario's end."""
    wanted = spoken_duration(wanted_us) if wanted_us is not None else "the scenario does"
    return f"not judged: the flight ended at {spoken_duration(flown_until_us)}, before {wanted}"


def _is(value: object, wanted: object) -> bool:
    """Whether a field has the wanted value, or, when it is a list or map, has it among its elements or keys."""
    return wanted in value if isinstance(value, tuple | list | dict) else value == wanted


def _seconds(us: int | None) -> float | None:
    return us / SECOND_US if us is not None else None

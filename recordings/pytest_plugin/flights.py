"""What the `flight` fixture gives a test: flights to step through, to give commands, and to assert on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cluster.commands import CommandError, parse
from cluster.config import nearest, parse_duration
from cluster.events import EVENT_KINDS, CommandRefused, Event, kind_of
from cluster.invariants import Invariants
from cluster.simulation import Simulation
from cluster.view import document
from recordings.flights.runner import Plan, make_plan
from recordings.journal.writer import JournalHash
from recordings.pytest_plugin import golden
from recordings.pytest_plugin.stepped_flight import SteppedFlight
from recordings.scenarios.expectations import Expectations, Result
from recordings.scenarios.loader import Scenario, load, parse_scenario, parse_setting
from recordings.scenarios.predicates import Predicate, PredicateError

SECOND_US = 1_000_000
LOOK_US = 100_000
SHOWN_EVENTS = 5


class Flights:
    """Begins flights, and ends them when their test is over."""

    def __init__(self, directory: Path, *, update_golden: bool) -> None:
        self._directory, self._update_golden = directory, update_golden
        self._flights: list[TestFlight] = []

    def __call__(
        self, scenario: str | Path, *, seed: int | None = None, settings: Sequence[str] = (), until: str | None = None
    ) -> "TestFlight":
        """Begin a flight at 0 s: a scenario of the library, a file (also beside the test), or a TOML text.

        `settings` are those of `--set`, `until` is another end. Raises ScenarioErrors and SettingError.
        """
        plan = make_plan(
            self._load(scenario),
            seed=seed,
            until_us=None if until is None else parse_duration(until),
            settings=[parse_setting(text) for text in settings],
        )
        begun = TestFlight(plan, self._directory, update_golden=self._update_golden)
        self._flights.append(begun)
        return begun

    def _load(self, scenario: str | Path) -> Scenario:
        if isinstance(scenario, str) and "\n" in scenario:
            return parse_scenario(scenario, "the test's scenario")
        beside = self._directory / scenario
        return load(beside if beside.is_file() else scenario)

    def close(self) -> None:
        """End every flight."""
        for begun in self._flights:
            begun.close()


class TestFlight:
    """One flight. Its methods fail the test with AssertionError, in the words of `flightdeck run`.

    Invariants are checked at every event: a broken one fails the call that flies over it.
    """

    __test__ = False  # not a class of tests

    def __init__(self, plan: Plan, directory: Path, *, update_golden: bool) -> None:
        self._plan, self._directory, self._update_golden = plan, directory, update_golden
        self._all: list[Event] = []
        self._lines: list[bytes] = []
        self._expectations = Expectations(plan.spec)
        self._journal = JournalHash(self._lines.append)
        self._simulation = simulation = Simulation(
            plan.spec, plan.settings.seed, sinks=[self._journal, self._all.append]
        )
        if self._expectations.kinds:
            simulation.sinks.append(self._expectations.see)
        simulation.sinks.append(Invariants(plan.spec, simulation.view, simulation.log_of))
        self._checkpoint_us = 0
        self._stepped = SteppedFlight(simulation, plan.scenario)

    # --- time ---------------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """The instant up to which it was flown, in virtual µs."""
        return self._simulation.timeline.now_us

    def fly_to(self, time: str) -> "TestFlight":
        """Fly to an instant, such as "30s", all of it included."""
        self._fly(parse_duration(time))
        return self

    def fly_for(self, time: str) -> "TestFlight":
        """Fly on for a duration."""
        self._fly(self.now_us + parse_duration(time))
        return self

    def fly_to_end(self) -> "TestFlight":
        """Fly to the end of the scenario."""
        self._fly(self._end_us)
        return self

    def wait_for(self, sentence: str, within: str = "60s") -> "TestFlight":
        """Fly until a sentence holds: CEL over the view document, looked at now and every 100 ms of virtual time."""
        __tracebackhide__ = True
        predicate = self._predicate(sentence)
        last_us = self.now_us + parse_duration(within)
        while not (answer := predicate.ask(self._document(predicate))).holds:
            if self.now_us >= last_us:
                raise AssertionError(f"not within {within}, at {self._now}: {sentence}\n  found: {answer.found}")
            self._fly(min((self.now_us // LOOK_US + 1) * LOOK_US, last_us))
        return self

    @property
    def _end_us(self) -> int:
        until_us = self._plan.settings.until_us
        return self._plan.spec.until_us if until_us is None else until_us

    @property
    def _now(self) -> str:
        return f"{self.now_us / SECOND_US:g} s"

    def _fly(self, to_us: int) -> None:
        while self._checkpoint_us <= min(to_us, self._end_us):
            self._stepped.fly_to(self._checkpoint_us)
            self._judge(self._checkpoint_us)
        self._stepped.fly_to(to_us)

    def _judge(self, at_us: int) -> None:
        expectations = self._expectations
        expectations.judge(document(self._simulation.view, at_us, expectations.needs_at(at_us)), at_us)
        following_us = expectations.next_checkpoint_us(at_us)
        self._checkpoint_us = min(following_us, self._end_us) if at_us < self._end_us else self._end_us + 1

    # --- commands -----------------------------------------------------------------------------------------------------

    def do(self, *commands: str) -> "TestFlight":
        """Give commands now, as an operator does: `kill billing-1 for 3s`. A refused one fails the test."""
        __tracebackhide__ = True
        for text in commands:
            try:
                command = parse(text, self._simulation.names())
            except CommandError as error:
                raise AssertionError(f"{text}: {error}") from None
            before = len(self._all)
            self._simulation.timeline.submit(command)
            self._stepped.fly_to(self.now_us)
            refused = [event for event in self._all[before:] if isinstance(event, CommandRefused)]
            if refused:
                raise AssertionError(f"refused at {self._now}: {refused[0].text}: {refused[0].reason}")
        return self

    # --- what there is ------------------------------------------------------------------------------------------------

    @property
    def view(self) -> Mapping[str, Any]:
        """The view document now: what `flightdeck run --json` prints as `view`."""
        return document(self._simulation.view, self.now_us)

    def delivery(self, group: str) -> Mapping[str, int]:
        """The delivery ledger of a group: acknowledged, delivered, lost, unread, skipped, duplicated and others."""
        counts: Mapping[str, int] = document(self._simulation.view, self.now_us, ("delivery",))["delivery"]["by_group"][
            group
        ]
        return counts

    def events(self, kind: str, **fields: object) -> list[Event]:
        """The events of a kind so far that have these fields."""
        if kind not in EVENT_KINDS:
            near = nearest(kind, EVENT_KINDS)
            raise ValueError(f"no event is called {kind}" + (f" (did you mean {near}?)" if near else ""))
        of_kind = [event for event in self._all if kind_of(event) == kind]
        return [event for event in of_kind if all(getattr(event, key) == value for key, value in fields.items())]

    # --- what must hold -----------------------------------------------------------------------------------------------

    def expect(self, sentence: str) -> "TestFlight":
        """Assert that a sentence of CEL holds now."""
        __tracebackhide__ = True
        predicate = self._predicate(sentence)
        answer = predicate.ask(self._document(predicate))
        if not answer.holds:
            raise AssertionError(f"not so at {self._now}: {sentence}\n  found: {answer.found}")
        return self

    def expect_event(self, kind: str, *, count: int | None = None, **fields: object) -> "TestFlight":
        """Assert that an event has happened: exactly `count` times, or at least once."""
        __tracebackhide__ = True
        found = self.events(kind, **fields)
        if len(found) == count or (count is None and found):
            return self
        wanted = ", ".join([kind, *(f"{key}={value!r}" for key, value in fields.items())])
        times = "once or more" if count is None else f"{count} times"
        others = self.events(kind)
        lines = [f"expected {times} by {self._now}: {wanted}", f"  it happened {len(found)} times"]
        lines += [f"  {_line(event)}" for event in (found or others)[:SHOWN_EVENTS]]
        if not found:
            lines.insert(2, f"  {kind} with other fields: {len(others)}")
        raise AssertionError("\n".join(lines))

    def expect_scenario(self) -> "TestFlight":
        """Fly to the end, and assert that every expectation of the scenario holds."""
        __tracebackhide__ = True
        if self.now_us < self._end_us:
            self.fly_to_end()
        results: list[Result] = self._expectations.results(self._end_us, shortened=False)
        failed = [result for result in results if result["ok"] is False]
        if failed:
            lines = [f"  ✖ {result.get('that') or result.get('event')}: {result.get('found')}" for result in failed]
            head = f"{len(failed)} of {len(results)} expectations of {self._plan.scenario} did not hold"
            raise AssertionError("\n".join([head, *lines]))
        return self

    def expect_golden(self, name: str) -> "TestFlight":
        """Assert that the flight so far is the one in `golden/NAME.golden` beside the test, event by event."""
        __tracebackhide__ = True
        path = self._directory / "golden" / f"{name}.golden"
        self._journal.flush()
        lines = b"".join(self._lines)
        if self._update_golden:
            golden.write_golden(path, self._plan.scenario, self._plan.settings.seed, self.now_us, lines)
            return self
        if not path.is_file():
            raise AssertionError(f"{path} is missing: `pytest --flightdeck-update-golden` writes it")
        words = golden.difference(path, self.now_us, lines)
        if words is not None:
            raise AssertionError(f"{name} is another flight: {words}\n`pytest --flightdeck-update-golden` renews it")
        return self

    @property
    def sha256(self) -> str:
        """The hash of all events so far: `journal_sha256` of `flightdeck run --json`, when flown as far."""
        return self._journal.sha256

    def close(self) -> None:
        """End the flight; what it has brought stays readable."""
        self._stepped.close()

    def _predicate(self, sentence: str) -> Predicate:
        try:
            return Predicate(sentence)
        except PredicateError as error:
            raise ValueError(f"{sentence}: {error}") from None

    def _document(self, predicate: Predicate) -> Mapping[str, Any]:
        return document(self._simulation.view, self.now_us, predicate.needs)


def _line(event: Event) -> str:
    fields = {key: value for key, value in msgspec.to_builtins(event).items() if key not in ("kind", "seq", "at_us")}
    return f"{event.at_us / SECOND_US:f} s  " + ", ".join(f"{key}={value}" for key, value in fields.items())

"""The score of alert rules: whether and how soon a rule fires for each fault that hurts a group, and false alerts.

A fault hurts a group that it concerns if a record waits for `harm` between its start and `grace` after its end.
A rule finds it if an alert of such a group begins in that time; an alert that has begun before hides it, and the fault
counts neither as found nor as missed. An alert is false if no such fault explains it and no record waits for `harm`
while it fires. docs/alerts.md has examples.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

import msgspec

from recordings.alerts.rules import RuleSet
from recordings.alerts.watch import Alert, Watched, WatchedFault

FOUND: Final = "found"
MISSED: Final = "missed"
HIDDEN: Final = "hidden"
FALSE: Final = "false"
UNEXPLAINED: Final = "unexplained"


class ClassScore(msgspec.Struct, kw_only=True):
    """A rule's faults of one class. `delays_us`: from the start of each found fault to the first alert."""

    fault_class: str
    delays_us: list[int] = []
    missed: int = 0
    hidden: int = 0


class RuleScore(msgspec.Struct, kw_only=True):
    """A rule over all recordings. `unexplained`: alerts on real waits without a fault; they count in no favour."""

    rule: str
    found: int = 0
    missed: int = 0
    hidden: int = 0
    false: int = 0
    unexplained: int = 0
    median_delay_us: int | None = None
    by_class: list[ClassScore] = []


class Leaderboard(msgspec.Struct, kw_only=True):
    """The rules, the best one first: fewest missed and false together, then found, then the shorter delay.

    `harmless`: faults that hurt no group. No rule needs to find them.
    """

    recordings: int
    faults: int
    harmless: int
    scores: list[RuleScore]


class RuleOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule made of one fault, or one alert that answers no fault.

    `outcome`: found, missed or hidden, of a fault; false or unexplained, of an alert. `at_us`: when the fault or alert
    begins. `fault_class` and `fault` are "" for an alert; `group` and `why` are the alert's, "" for a missed fault.
    """

    rule: str
    outcome: str
    at_us: int
    delay_us: int | None = None
    fault_class: str = ""
    fault: str = ""
    group: str = ""
    why: str = ""


class FlightOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """What all rules made of one flight. `faults` hurt a group, `harmless` ones none."""

    recording: str
    faults: int
    harmless: int
    outcomes: list[RuleOutcome]


def score(flights: Sequence[Watched], rules: RuleSet) -> Leaderboard:
    """Score every rule over the flights, each of which these rules have watched."""
    return leaderboard([outcomes_of(flight, rules) for flight in flights], rules)


def outcomes_of(flight: Watched, rules: RuleSet) -> FlightOutcomes:
    """What every rule made of one flight, in the order of the rules."""
    hurting = [(one, groups) for one in flight.faults if (groups := _hurt_groups(flight, one, rules))]
    return FlightOutcomes(
        recording=flight.recording,
        faults=len(hurting),
        harmless=len(flight.faults) - len(hurting),
        outcomes=[each for rule in rules.rules for each in _outcomes(rule.name, flight, hurting, rules)],
    )


def leaderboard(flights: Sequence[FlightOutcomes], rules: RuleSet) -> Leaderboard:
    """All rules with their sums over these flights."""
    tallies = {rule.name: _Tally(rule.name) for rule in rules.rules}
    for flight in flights:
        for outcome in flight.outcomes:
            tallies[outcome.rule].add(outcome)
    return Leaderboard(
        recordings=len(flights),
        faults=sum(flight.faults for flight in flights),
        harmless=sum(flight.harmless for flight in flights),
        scores=sorted((tally.result() for tally in tallies.values()), key=_rank),
    )


def class_of(fault: WatchedFault) -> str:
    """What was done to what: `kill of consumer`."""
    return f"{fault.kind} of {fault.hits}"


def _rank(one: RuleScore) -> tuple[int, int, int, str]:
    delay_us = one.median_delay_us if one.median_delay_us is not None else 1 << 62
    return one.missed + one.false, -one.found, delay_us, one.rule


def _span(fault: WatchedFault, flight: Watched, rules: RuleSet) -> tuple[int, int]:
    return fault.from_us, (flight.end_us if fault.to_us is None else fault.to_us + rules.grace_us)


def _waits(flight: Watched, group: str, from_us: int, to_us: int, rules: RuleSet) -> bool:
    waits = flight.waits.get(group, ())
    return any(from_us <= at_us <= to_us and wait_us >= rules.harm_us for at_us, wait_us in waits)


def _hurt_groups(flight: Watched, fault: WatchedFault, rules: RuleSet) -> frozenset[str]:
    span = _span(fault, flight, rules)
    return frozenset(group for group in fault.groups if _waits(flight, group, *span, rules))


def _outcomes(
    rule: str, flight: Watched, hurting: Sequence[tuple[WatchedFault, frozenset[str]]], rules: RuleSet
) -> Iterator[RuleOutcome]:
    """What one rule made of the faults, then of the alerts that answer none of them."""
    alerts = [one for one in flight.alerts if one.rule == rule]
    spans = [(groups, *_span(fault, flight, rules)) for fault, groups in hurting]
    for (fault, _), (groups, from_us, to_us) in zip(hurting, spans, strict=True):
        yield _of_fault(rule, fault, [one for one in alerts if one.group in groups], from_us, to_us)
    for alert in alerts:
        if any(alert.group in groups and from_us <= alert.from_us <= to_us for groups, from_us, to_us in spans):
            continue
        until_us = flight.end_us if alert.to_us is None else alert.to_us
        waits = _waits(flight, alert.group, alert.from_us, until_us, rules)
        outcome = UNEXPLAINED if waits else FALSE
        yield RuleOutcome(rule=rule, outcome=outcome, at_us=alert.from_us, group=alert.group, why=alert.why)


def _of_fault(rule: str, fault: WatchedFault, alerts: Sequence[Alert], from_us: int, to_us: int) -> RuleOutcome:
    """Whether the alerts of the groups that a fault hurts find it."""
    begun = [one for one in alerts if from_us <= one.from_us <= to_us]
    first = min(begun, key=lambda one: one.from_us, default=None)
    before = next((one for one in alerts if one.from_us < from_us and (one.to_us is None or one.to_us > from_us)), None)
    by = first or before
    return RuleOutcome(
        rule=rule,
        outcome=FOUND if first is not None else HIDDEN if before is not None else MISSED,
        at_us=from_us,
        delay_us=None if first is None else first.from_us - from_us,
        fault_class=class_of(fault),
        fault=fault.text,
        group="" if by is None else by.group,
        why="" if by is None else by.why,
    )


class _Tally:
    """The sums of one rule."""

    def __init__(self, rule: str) -> None:
        self._score = RuleScore(rule=rule)
        self._classes: dict[str, ClassScore] = {}

    def add(self, outcome: RuleOutcome) -> None:
        """Count one outcome."""
        if outcome.outcome == FALSE:
            self._score.false += 1
        elif outcome.outcome == UNEXPLAINED:
            self._score.unexplained += 1
        else:
            known = self._classes.setdefault(outcome.fault_class, ClassScore(fault_class=outcome.fault_class))
            if outcome.delay_us is not None:
                known.delays_us.append(outcome.delay_us)
            elif outcome.outcome == HIDDEN:
                known.hidden += 1
            else:
                known.missed += 1

    def result(self) -> RuleScore:
        """The sums."""
        one, classes = self._score, sorted(self._classes.values(), key=lambda each: each.fault_class)
        delays = [delay for each in classes for delay in each.delays_us]
        one.by_class = classes
        one.found, one.missed = len(delays), sum(each.missed for each in classes)
        one.hidden = sum(each.hidden for each in classes)
        one.median_delay_us = round(median(delays)) if delays else None
        return one

"""The score of alert rules: whether and how soon a rule fires for each fault that hurts a group, and false alerts.

A fault hurts a group that it concerns if a record waits for `harm` between its start and `grace` after its end.
A rule finds it if an alert of such a group begins in that time; an alert that has begun before hides it, and the fault
counts neither as found nor as missed. An alert is false if no such fault explains it and no record waits for `harm`
while it fires. docs/alerts.md has examples.
"""

from collections.abc import Sequence
from statistics import median

import msgspec

from recordings.alerts.rules import RuleSet
from recordings.alerts.watch import Alert, Watched, WatchedFault


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


def score(flights: Sequence[Watched], rules: RuleSet) -> Leaderboard:
    """Score every rule over the flights, each of which these rules have watched."""
    tallies = [_Tally(rule.name) for rule in rules.rules]
    faults = harmless = 0
    for flight in flights:
        hurting = [(one, groups) for one in flight.faults if (groups := _hurt_groups(flight, one, rules))]
        faults += len(hurting)
        harmless += len(flight.faults) - len(hurting)
        for tally in tallies:
            tally.add(flight, hurting, rules)
    scores = sorted((tally.result() for tally in tallies), key=_rank)
    return Leaderboard(recordings=len(flights), faults=faults, harmless=harmless, scores=scores)


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


class _Tally:
    def __init__(self, rule: str) -> None:
        self._score = RuleScore(rule=rule)
        self._classes: dict[str, ClassScore] = {}

    def add(self, flight: Watched, hurting: Sequence[tuple[WatchedFault, frozenset[str]]], rules: RuleSet) -> None:
        """Count one flight."""
        alerts = [one for one in flight.alerts if one.rule == self._score.rule]
        spans = [(groups, *_span(fault, flight, rules)) for fault, groups in hurting]
        for (fault, _), (groups, from_us, to_us) in zip(hurting, spans, strict=True):
            of_groups = [one for one in alerts if one.group in groups]
            self._fault(fault, of_groups, from_us, to_us)
        for alert in alerts:
            if any(alert.group in groups and from_us <= alert.from_us <= to_us for groups, from_us, to_us in spans):
                continue
            until_us = flight.end_us if alert.to_us is None else alert.to_us
            if _waits(flight, alert.group, alert.from_us, until_us, rules):
                self._score.unexplained += 1
            else:
                self._score.false += 1

    def _fault(self, fault: WatchedFault, alerts: Sequence[Alert], from_us: int, to_us: int) -> None:
        name = class_of(fault)
        known = self._classes.setdefault(name, ClassScore(fault_class=name))
        begun = [one.from_us for one in alerts if from_us <= one.from_us <= to_us]
        if begun:
            known.delays_us.append(min(begun) - from_us)
        elif any(one.from_us < from_us and (one.to_us is None or one.to_us > from_us) for one in alerts):
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

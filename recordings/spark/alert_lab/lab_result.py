"""What the laboratory found, as `alerts.json` holds it."""

from collections import defaultdict
from typing import Final

import msgspec

from recordings.alerts.rules import RuleSet
from recordings.alerts.scoring import FOUND, Leaderboard, RuleOutcome
from recordings.spark.alert_lab.lab_tasks import LabFlight

FORMAT: Final = 1


class LabResult(msgspec.Struct, frozen=True, kw_only=True):
    """The rules, their leaderboard, and every flight. `seconds`: it took in reality."""

    format: int = FORMAT
    flightdeck: str
    rules: RuleSet
    leaderboard: Leaderboard
    flights: list[LabFlight]
    seconds: float

    @property
    def judged(self) -> list[LabFlight]:
        """The flights that count."""
        return [flight for flight in self.flights if flight.outcomes is not None]

    @property
    def failed(self) -> list[LabFlight]:
        """The flights that count nowhere."""
        return [flight for flight in self.flights if flight.outcomes is None]

    def examples(self, rule: str) -> dict[str, tuple[LabFlight, RuleOutcome]]:
        """For each outcome of a rule one flight that shows it: of found faults the slowest one, else the first."""
        known: dict[str, list[tuple[LabFlight, RuleOutcome]]] = defaultdict(list)
        for flight in self.judged:
            for outcome in flight.outcomes.outcomes if flight.outcomes is not None else ():
                if outcome.rule == rule:
                    known[outcome.outcome].append((flight, outcome))
        return {
            name: max(found, key=lambda each: each[1].delay_us or 0) if name == FOUND else found[0]
            for name, found in known.items()
        }

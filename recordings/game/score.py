"""The score of a played game, from its recording alone: the time to each diagnosis, wrong accusations, the damage.

The damage is the bill of the flight (`recordings/comparison/bill.py`) from the first hidden fault to the game's end.
"""

from pathlib import Path
from typing import NamedTuple

from cluster.commands import parse
from recordings.bounded_files import RecordingError
from recordings.comparison.bill import Bill, Scope, payers
from recordings.comparison.meter import BillMeter
from recordings.game.drawing import hidden_steps
from recordings.game.levels import FULL, WRONG
from recordings.game.referee import HiddenFault, Referee, WrongAccusation
from recordings.journal.format import JournaledCommand
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario


class DamageRule(NamedTuple):
    """What a measure of the bill costs: points for each `per` of it, and at most `most` points."""

    name: str
    unit: str
    scope: Scope
    field: str
    per: int
    points: int
    most: int

    def counted(self, amount: int) -> str:
        """`1 record`, `1,200 records`."""
        return f"{amount:,} {self.unit.removesuffix('s') if amount == 1 else self.unit}"


DAMAGE_RULES = (
    DamageRule("unread", "partition-seconds", Scope.GROUP, "unread_partition_us", 1_000_000, 1, 200),
    DamageRule("no live leader", "partition-seconds", Scope.CLUSTER, "leaderless_partition_us", 1_000_000, 1, 100),
    DamageRule("lost", "records", Scope.GROUP, "lost", 1, 5, 150),
    DamageRule("failed", "records", Scope.PRODUCER, "failed", 1, 2, 150),
    DamageRule("re-read", "records", Scope.GROUP, "reread", 1, 1, 100),
)
"""What damage costs, in the order in which it is shown."""


class ScoreTerm(NamedTuple):
    """A term of a score: its name, what it counts in words, and its points, below zero for a cost."""

    name: str
    source: str
    points: int


class PlayedGame(NamedTuple):
    """A game as its recording has it. `over_us`: its end in µs. `terms` add up to the score, never below 0."""

    title: str
    seed: int
    faults: tuple[HiddenFault, ...]
    wrong: tuple[WrongAccusation, ...]
    gave_up: bool
    over_us: int
    length_us: int
    terms: tuple[ScoreTerm, ...]

    @property
    def score(self) -> int:
        """The points."""
        return max(0, sum(term.points for term in self.terms))

    @property
    def solved(self) -> bool:
        """Whether every hidden fault was found."""
        return all(fault.found_us is not None for fault in self.faults) and bool(self.faults)


def played_game(path: Path) -> PlayedGame:
    """Read the game that a recording holds. Raises RecordingError, and ScenarioErrors for an unreadable scenario."""
    recording = Recording(path)
    header = recording.header
    spec = parse_scenario(header.scenario_text, header.scenario, recorded=True).spec
    expected = len(hidden_steps(spec))
    if not expected:
        raise RecordingError(f"{path} is not a game: its scenario hides no fault")
    referee, end_us = Referee(expected), recording.survey().totals.virtual_us
    for line in recording.survey().commands:
        referee.take(parse(line.command), line.source, line.at_us)
    over_us = end_us if referee.over_us is None else referee.over_us
    terms = [_found(fault, expected, spec.until_us) for fault in referee.faults]
    terms += [ScoreTerm("wrong accusation", one.text, -WRONG) for one in referee.wrong]
    if referee.faults:
        terms += _damage(recording, referee.faults[0].at_us, over_us)
    ended = (referee.gave_up, over_us, spec.until_us)
    return PlayedGame(
        spec.title, header.settings.seed, tuple(referee.faults), tuple(referee.wrong), *ended, tuple(terms)
    )


def points_for(full: int, took_us: int, limit_us: int) -> int:
    """The points of a diagnosis: all of them at once, a quarter of them at the end of the flight."""
    return full - 3 * full * min(took_us, limit_us) // (4 * max(1, limit_us))


def _found(fault: HiddenFault, faults: int, length_us: int) -> ScoreTerm:
    if fault.found_us is None:
        return ScoreTerm("not found", fault.truth.text, 0)
    took_us = fault.found_us - fault.at_us
    words = f"{fault.truth.text}, after {took_us / 1_000_000:.1f} s"
    return ScoreTerm("found", words, points_for(FULL // faults, took_us, length_us - fault.at_us))


def _damage(recording: Recording, from_us: int, over_us: int) -> list[ScoreTerm]:
    before, after = bills_at(recording, from_us, over_us)
    terms = []
    for rule in DAMAGE_RULES:
        amount = max(0, _amount(after, rule) - _amount(before, rule)) // rule.per
        terms.append(ScoreTerm(rule.name, rule.counted(amount), -min(rule.most, amount * rule.points)))
    return terms


def _amount(bill: Bill, rule: DamageRule) -> int:
    return sum(int(getattr(one, rule.field)) for one in payers(bill, rule.scope).values())


def bills_at(recording: Recording, from_us: int, over_us: int) -> tuple[Bill, Bill]:
    """The bills of a flight up to two instants. Raises RecordingError for a damaged recording."""
    meter = BillMeter()
    before: Bill | None = None
    for entry in recording.entries():
        if isinstance(entry, JournaledCommand):
            continue
        if entry.at_us > from_us and before is None:
            before = meter.bill(from_us)
        if entry.at_us > over_us:
            break
        meter(entry)
    after = meter.bill(over_us)
    return before or after, after

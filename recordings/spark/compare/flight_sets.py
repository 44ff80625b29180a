"""Which flights are compared with which: two sets of recordings, paired by scenario and seed.

The same seed draws the same arrivals, delays and faults for both flights of a pair (common random numbers), so that
what differs within a pair is the change under test.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from recordings.comparison.pairing import NotComparableError
from recordings.journal.catalogue import recordings_at
from recordings.journal.reader import Recording
from recordings.tables.export import is_exported


class SetFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A recording of a set: its directory, and what its header says that it is."""

    recording: Path
    scenario: str
    seed: int


class FlightSet(msgspec.Struct, frozen=True, kw_only=True):
    """A recording, or all recordings of a directory. `name`: in sentences and tables."""

    name: str
    flights: list[SetFlight]


class FlightPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two flights of one seed, the first of set A."""

    scenario: str
    scenario_b: str
    seed: int
    a: Path
    b: Path


class PairedSets(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs by scenario and seed, and the recordings that have no counterpart."""

    pairs: list[FlightPair]
    only_a: list[Path]
    only_b: list[Path]


def find_sets(a: Sequence[Path], b: Sequence[Path]) -> tuple[FlightSet, FlightSet]:
    """The sets at two lists of places, under different names. Raises RecordingError: no recording there, or damaged."""
    names = [_name(places) for places in (a, b)]
    first, second = names if all(names) and len(set(names)) == len(names) else ("A", "B")
    return (
        FlightSet(name=first, flights=[flight for place in a for flight in _flights(place)]),
        FlightSet(name=second, flights=[flight for place in b for flight in _flights(place)]),
    )


def _name(places: Sequence[Path]) -> str:
    """The name of the one place, or of the directory that holds them all; "" if none does."""
    [*homes] = {place.resolve() for place in places} if len(places) == 1 else {one.resolve().parent for one in places}
    return homes[0].name.removesuffix(".flight") if len(homes) == 1 else ""


def _flights(place: Path) -> list[SetFlight]:
    found = recordings_at(place)
    if not found and is_exported(place):
        raise NotComparableError(f"{place} holds exported tables: compare reads recordings; give their directory")
    if not found:
        raise NotComparableError(f"{place} holds no recording: give a recording, or a directory of recordings")
    return [_flight(path) for path in found]


def _flight(path: Path) -> SetFlight:
    header = Recording(path).header
    return SetFlight(recording=path, scenario=header.scenario, seed=header.settings.seed)


def pair_sets(a: FlightSet, b: FlightSet) -> PairedSets:
    """Pair the flights of two sets. Raises NotComparableError: a seed twice in a set, or none in both.

    Two single flights are a pair, whatever they are. Sets of one scenario each are paired by the seed alone: the
    change under test may be in the scenario's file.
    """
    if len(a.flights) == len(b.flights) == 1:
        return PairedSets(pairs=[_pair(a.flights[0], b.flights[0])], only_a=[], only_b=[])
    by_seed_alone = all(len({flight.scenario for flight in each.flights}) == 1 for each in (a, b))
    left, right = (_by_key(each, by_seed_alone=by_seed_alone) for each in (a, b))
    common = sorted(left.keys() & right.keys())
    if not common:
        raise NotComparableError(
            f"no flight of {a.name} has the scenario and seed of one of {b.name} ({_seeds(a)}; {_seeds(b)}):"
            " fly both sets with the same seeds"
        )
    return PairedSets(
        pairs=[_pair(left[key], right[key]) for key in common],
        only_a=[left[key].recording for key in sorted(left.keys() - right.keys())],
        only_b=[right[key].recording for key in sorted(right.keys() - left.keys())],
    )


def _pair(a: SetFlight, b: SetFlight) -> FlightPair:
    return FlightPair(scenario=a.scenario, scenario_b=b.scenario, seed=a.seed, a=a.recording, b=b.recording)


def _by_key(flights: FlightSet, *, by_seed_alone: bool) -> dict[tuple[str, int], SetFlight]:
    found: dict[tuple[str, int], SetFlight] = {}
    for flight in flights.flights:
        key = ("" if by_seed_alone else flight.scenario, flight.seed)
        if key in found:
            raise NotComparableError(
                f"{flights.name} holds two flights of {flight.scenario} with seed {flight.seed}"
                f" ({found[key].recording} and {flight.recording}): a set has one flight for each seed"
            )
        found[key] = flight
    return found


def _seeds(flights: FlightSet) -> str:
    """`hasty has seeds 1 to 8`, `calm has seed 3`."""
    seeds: Sequence[int] = sorted({flight.seed for flight in flights.flights})
    several = f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{flights.name} has {several if len(seeds) > 1 else f'seed {seeds[0]}'}"

"""Of which flights all readers must say the same: the library, the swarm's, and ones with a broken cluster."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import recordings
from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import load
from recordings.swarm.generator import draw
from tests.mutants import MUTANTS
from tests.support.compacted_flights import FAULTS, all_compacted, compacted, from_followers, in_transactions
from tests.support.random_delivery_flights import ahead, fateful
from tests.support.slow_cases import partly_campaign
from tests.support.truncation_scenarios import buffered, deposed, led_twice

SECOND_US = 1_000_000
SHORT_S, SWARM_US = 25, 60 * SECOND_US
LONGER_S = {"add-partitions": 330, "offset-reset": 120, "subscription-change": 60, "unclean-election": 130}
"""Library flights in which what they are for comes late, when they are cut short."""
SIZED_S = {
    "reference-s": 20,
    "reference-m": 10,
    "reference-l": 4,
    "reference-xl": 7,
    "first-flight": 310,
    "scale-out": 200,
}
"""Flights of very many records are cut where nothing new happens: the simulator's own count looks at each one."""
LARGEST = ("reference-l", "reference-m", "reference-xl")
"""Loads of very many events in which nothing goes wrong."""
FIRST_SEED, SWARM_SEEDS = 7_000, 40
MUTANT_SEED = 9_000  # and as many more as it has places in the table
TEN = (
    "short-first-flight", "short-add-partitions", "short-subscription-change", "short-unclean-election",
    "short-transaction-abort", "short-offset-reset", "short-at-most-once", "swarm-7001", "swarm-7020", "swarm-7038",
)  # fmt: skip
ONE_MUTANT = "mutant-gives_a_successor_the_same_epoch"


class Sortie(NamedTuple):
    """A flight to be flown: what `watched.watch` needs to know of it."""

    name: str
    make: Callable[[], ScenarioSpec]
    seed: int | None = None  # of the scenario, if None
    until_us: int | None = SHORT_S * SECOND_US  # the scenario's own, if None
    breaks: Callable[[pytest.MonkeyPatch], None] | None = None
    scenario: str = ""  # of the library, if it is one: its text is recorded too


def _scenario(name: str) -> Callable[[], ScenarioSpec]:
    return lambda: load(name).spec


def _drawn(seed: int, features: tuple[str, ...]) -> Callable[[], ScenarioSpec]:
    return lambda: draw(seed, SWARM_US, features).spec


def library() -> list[Sortie]:
    """Every scenario at its own length; `short-NAME` is one of them cut short."""
    place = Path(recordings.__file__).parent / "library"
    names = sorted(path.stem for path in place.glob("*.toml"))
    whole = [
        Sortie(
            name,
            _scenario(name),
            until_us=SIZED_S[name] * SECOND_US if name in SIZED_S else None,
            scenario=name,
        )
        for name in names
    ]
    cut = [
        Sortie(f"short-{name}", _scenario(name), until_us=_short_us(name), scenario=name)
        for name in names
        if f"short-{name}" in TEN
    ]
    return [*whole, *cut]


def _short_us(name: str) -> int:
    return LONGER_S.get(name, SHORT_S) * SECOND_US


def swarm() -> list[Sortie]:
    """Random clusters with faults, in turns with transactions, unclean elections, added partitions."""
    sorties = []
    for seed in range(FIRST_SEED, FIRST_SEED + SWARM_SEEDS):
        wanted = {"transactions": seed % 2, "unclean": seed % 3 == 0, "add partitions": seed % 5 == 0}
        features = tuple(name for name, on in wanted.items() if on)
        sorties.append(Sortie(f"swarm-{seed}", _drawn(seed, features), seed))
    return sorties


def mutants() -> list[Sortie]:
    """Each broken cluster in a flight that has what it breaks."""
    return [
        Sortie(
            f"mutant-{name}",
            _drawn(seed, mutant.needs),
            seed,
            breaks=mutant.breaks,
        )
        for seed, (name, mutant) in enumerate(MUTANTS.items(), start=MUTANT_SEED)
    ]


TRUNCATED = Sortie("truncated-records", deposed, until_us=None)
"""Some that a deposed leader appended, where its successor's log ends before it."""
REPLACED = Sortie("replaced-records", buffered, until_us=None)
"""A reader works on what it fetched before a truncation, while other records stand there."""


def _unread() -> ScenarioSpec:
    spec = load("unclean-election").spec
    others = tuple(group for group in spec.groups if "orders" not in group.topics)
    return msgspec.structs.replace(spec, groups=others, expectations=())


UNREAD = Sortie("unread-loss", _unread, until_us=_short_us("unclean-election"))
"""A log loses acknowledged records of a topic that no group reads."""
AHEAD = Sortie("ahead-of-the-log", ahead, until_us=None)
"""Groups that a seek sends beyond the end of the log before they have read anything."""
PATTERNS = Sortie("short-patterns", _scenario("regex-subscription"))
"""Groups that subscribe to regular expressions; that of one matches no topic."""
LED_TWICE = Sortie("led-twice", led_twice, until_us=None)
"""A broker takes the leadership of a partition twice in one epoch, and no log is truncated."""
SINGLE = (AHEAD, LED_TWICE, PATTERNS, REPLACED, TRUNCATED, UNREAD)


def cleaned() -> list[Sortie]:
    """Compacted topics under faults: `COMPACTED` names those that the default run flies."""
    makes: dict[str, Callable[[], ScenarioSpec]] = {
        f"compacted-faults-{number}": partial(compacted, *faults) for number, faults in enumerate(FAULTS)
    }
    makes["compacted-transactions-crash"] = partial(in_transactions, *FAULTS[1])
    makes["compacted-followers"] = from_followers
    makes["compacted-followers-crash"] = partial(from_followers, *FAULTS[1])
    for seed in (2009, 2037):
        makes[f"compacted-fate-{seed}"] = partial(_fate, seed)
    return [Sortie(name, make, until_us=None) for name, make in makes.items()]


def _fate(seed: int) -> ScenarioSpec:
    return msgspec.structs.replace(all_compacted(fateful(seed), seed), seed=seed)


COMPACTED = ("compacted-transactions-crash", "compacted-fate-2009", "compacted-followers")
"""A leader's crash; an ABORT marker behind records that compaction had removed; groups that read from a follower."""
ALL: dict[str, Sortie] = {sortie.name: sortie for sortie in (*library(), *swarm(), *mutants(), *SINGLE, *cleaned())}
EVERY_RUN = (*TEN, ONE_MUTANT, *(sortie.name for sortie in SINGLE), *COMPACTED)
"""What the default run flies."""
SWARM_SLOW = 12


def at_length() -> list[Any]:
    """What `-m slow` flies, the library among it at its own length, and `-m campaign`: `LARGEST`, more of the swarm."""
    others = [name for name in ALL if name not in EVERY_RUN]
    of_swarm = [name for name in others if name.startswith("swarm-")]
    slow = [name for name in others if name not in LARGEST and name not in of_swarm]
    return [*slow, *partly_campaign(of_swarm, SWARM_SLOW), *partly_campaign(LARGEST, 0)]


AT_LENGTH = at_length()

"""A real trace and a simulated flight side by side, hardest first.

Facts are laid side by side for each actor in three comparers: `members` (callbacks with their partitions, exceptions,
generations), `coordinators` (their sequence) and `logs` (line, level and logger). Where both sides agree, the time
between two consecutive facts of an actor is compared too; an instant says nothing, what came before may be late.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from tests.fidelity.normalisation import Fact

Comparer = Literal["members", "coordinators", "logs"]
Side = Literal["real", "simulated", "order", "duration"]
COMPARERS: tuple[Comparer, ...] = ("members", "coordinators", "logs")
TOLERATED_MS, TOLERATED_SHARE = 300, 0.1
GENERATION = re.compile(r"Success(?:fully) (?:joined group with|synced group in) generation Generation\{")
COORDINATORS = ("GroupCoordinator", "TransactionCoordinator")


class Difference(msgspec.Struct, frozen=True):
    """What one side has and the other has not.

    `side`: a fact that is only `real` or only `simulated`, one that both have in another `order`, or a `duration`:
    then `real_ms` and `simulated_ms` passed since the actor's fact before it.
    """

    comparer: Comparer
    side: Side
    fact: Fact
    real_ms: int = 0
    simulated_ms: int = 0

    @property
    def text(self) -> str:
        """What a pattern of differences.toml is tried on: `ACTOR LEVEL LOGGER: TEXT`, without a level for callbacks."""
        return f"{' '.join(filter(None, self.fact[1:4]))}: {self.fact.text}"

    def __str__(self) -> str:
        took = f" ({self.real_ms} ms real, {self.simulated_ms} ms simulated)" if self.side == "duration" else ""
        return f"{self.comparer}, {self.side}, at {self.fact.at_ms} ms: {self.text}{took}"


class Comparison(msgspec.Struct, frozen=True):
    """How many facts agree in each comparer, every duration between two of them (real, simulated), every difference."""

    agreeing: dict[Comparer, int]
    durations_ms: tuple[tuple[int, int], ...]
    differences: tuple[Difference, ...]

    def only(self, side: Side) -> int:
        """How many differences are of this side."""
        return sum(1 for each in self.differences if each.side == side)


def compare(real: Sequence[Fact], simulated: Sequence[Fact]) -> Comparison:
    """Lay two runs of a scenario side by side."""
    mine, theirs = _by_actor(real), _by_actor(simulated)
    agreeing: dict[Comparer, int] = dict.fromkeys(COMPARERS, 0)
    differences: list[Difference] = []
    durations: list[tuple[int, int]] = []
    for comparer, actor in dict.fromkeys([*mine, *theirs]):
        pairs, left, right = _aligned(mine[comparer, actor], theirs[comparer, actor])
        agreeing[comparer] += len(pairs)
        differences += _one_sided(comparer, left, right)
        for fact, real_ms, simulated_ms in _durations(pairs):
            durations.append((real_ms, simulated_ms))
            if abs(real_ms - simulated_ms) > max(TOLERATED_MS, TOLERATED_SHARE * real_ms):
                differences.append(Difference(comparer, "duration", fact, real_ms, simulated_ms))
    return Comparison(agreeing, tuple(durations), tuple(differences))


def comparer_of(fact: Fact) -> Comparer:
    """Which comparer a fact belongs to; each belongs to one."""
    if fact.actor.startswith("app ") or GENERATION.match(fact.text):
        return "members"
    return "coordinators" if fact.actor.startswith(COORDINATORS) else "logs"


def _by_actor(facts: Iterable[Fact]) -> defaultdict[tuple[Comparer, str], list[Fact]]:
    found: defaultdict[tuple[Comparer, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        found[comparer_of(fact), fact.actor.removeprefix("app ")].append(fact)
    return found


def _aligned(real: list[Fact], simulated: list[Fact]) -> tuple[list[tuple[Fact, Fact]], list[Fact], list[Fact]]:
    """Pairs that agree, as many as there can be in one order, and what is left of each side."""
    mine, theirs = [each[1:] for each in real], [each[1:] for each in simulated]
    lengths = _common_lengths(mine, theirs)
    pairs: list[tuple[Fact, Fact]] = []
    left: list[Fact] = []
    right: list[Fact] = []
    i = j = 0
    while i < len(mine) and j < len(theirs):
        if mine[i] == theirs[j]:
            pairs.append((real[i], simulated[j]))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            left.append(real[i])
            i += 1
        else:
            right.append(simulated[j])
            j += 1
    return pairs, [*left, *real[i:]], [*right, *simulated[j:]]


def _common_lengths(mine: Sequence[object], theirs: Sequence[object]) -> list[list[int]]:
    """The length of the longest common subsequence of what follows each pair of places."""
    lengths = [[0] * (len(theirs) + 1)]
    for each in reversed(mine):
        below = lengths[-1]
        row = [0] * (len(theirs) + 1)
        for j in range(len(theirs) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if each == theirs[j] else max(below[j], row[j + 1])
        lengths.append(row)
    return lengths[::-1]


def _one_sided(comparer: Comparer, real: list[Fact], simulated: list[Fact]) -> Iterator[Difference]:
    """What only one side has; the same fact on both sides, at another place of the sequence, is one difference."""
    others = list(simulated)
    for fact in real:
        same = next((each for each in others if each[1:] == fact[1:]), None)
        if same is not None:
            others.remove(same)
        yield Difference(comparer, "real" if same is None else "order", fact)
    for fact in others:
        yield Difference(comparer, "simulated", fact)


def _durations(pairs: Iterable[tuple[Fact, Fact]]) -> Iterator[tuple[Fact, int, int]]:
    """Each fact with how long after the one before it came, in reality and simulated."""
    for (real_before, simulated_before), (real, simulated) in itertools.pairwise(pairs):
        yield real, real.at_ms - real_before.at_ms, simulated.at_ms - simulated_before.at_ms

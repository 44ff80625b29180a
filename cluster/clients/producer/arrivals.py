"""When a producer's records arrive, and with which keys.

Arrivals are computed, not waited for one by one: `take_until` counts those up to an instant, `at` looks ahead. So a
batch of a hundred records costs a few turns instead of a hundred.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate
from random import Random
from typing import Final, Protocol

from cluster.spec import KeysSpec, ProducerSpec
from cluster.virtual_time.waiting import NEVER_US

SECOND_US: Final = 1_000_000


class Arrivals(Protocol):
    """The instants at which records arrive at one producer instance, computed when they are asked for."""

    taken: int

    def at(self, place: int) -> int:
        """When the record after `place` others arrives (0: the next one); NEVER_US when none does."""

    def take(self) -> int:
        """Take the next record; returns when it arrived. Valid only if `at(0)` is an instant."""

    def take_until(self, now_us: int, most: int) -> int:
        """Take up to `most` records that have arrived by now; returns how many."""

    def at_rate(self, rate_per_second: float, now_us: int) -> "Arrivals":
        """The same arrivals at another rate from now on. Raises ValueError for a profile, which has its own rates."""


def arrivals(spec: ProducerSpec, stream: Callable[[], Random]) -> Arrivals:
    """Make the arrivals of a scenario: evenly spaced, a Poisson process, or a profile of rates.

    `stream` makes the random stream of a process that draws; a stream takes 2.5 kB. A what-if keeps the arrivals.
    """
    limit = spec.limit if spec.limit is not None else NEVER_US
    if spec.arrivals.kind == "profile":
        return ListedArrivals(_profile(spec.arrivals.profile, spec.start_us), limit)
    if spec.rate_per_second <= 0:
        return ListedArrivals(iter(()), limit)
    if spec.arrivals.kind == "poisson":
        rng = stream()
        return ListedArrivals(_poisson(spec.rate_per_second, spec.start_us, rng), limit, rng)
    return SteadyArrivals(spec.rate_per_second, spec.start_us, limit)


class SteadyArrivals:
    """Record n arrives n / rate after the start: computed, without a list."""

    def __init__(self, rate_per_second: float, start_us: int, limit: int, taken: int = 0) -> None:
        self._period_us, self._start_us, self._limit = SECOND_US / rate_per_second, start_us, limit
        self.taken = self._before = taken  # before the current rate

    def at(self, place: int) -> int:
        """When the record after `place` others arrives; NEVER_US when none does."""
        number = self.taken + place
        if number >= self._limit:
            return NEVER_US
        return self._start_us + int((number - self._before) * self._period_us)

    def at_rate(self, rate_per_second: float, now_us: int) -> Arrivals:
        """The same arrivals at another rate from now on."""
        start_us = max(self._start_us, now_us + int(SECOND_US / rate_per_second))
        return SteadyArrivals(rate_per_second, start_us, self._limit, self.taken)

    def take(self) -> int:
        """Take the next record; returns when it arrived."""
        at_us = self.at(0)
        self.taken += 1
        return at_us

    def take_until(self, now_us: int, most: int) -> int:
        """Take up to `most` records that have arrived by now; returns how many."""
        since_us, period_us, gone = now_us - self._start_us, self._period_us, self.taken - self._before
        count = min(most, int(since_us / period_us) + 2 - gone, self._limit - self.taken)
        while count > 0 and int((gone + count - 1) * period_us) > since_us:  # the division may round either way
            count -= 1
        if count <= 0:
            return 0
        self.taken += count
        return count


class ListedArrivals:
    """Arrivals from a generator, which is advanced only as far as `at` looks ahead."""

    def __init__(self, times: Iterator[int], limit: int, rng: Random | None = None, taken: int = 0) -> None:
        self._times, self._left, self._rng = times, limit, rng
        self._ahead: deque[int] = deque()
        self.taken = taken

    def at_rate(self, rate_per_second: float, now_us: int) -> Arrivals:
        """The same arrivals at another rate from now on. Raises ValueError for a profile."""
        if self._rng is None:
            raise ValueError("a profile has its own rates")
        left = self._left + len(self._ahead)
        return ListedArrivals(_poisson(rate_per_second, now_us, self._rng), left, self._rng, self.taken)

    def at(self, place: int) -> int:
        """When the record after `place` others arrives; NEVER_US when none does."""
        ahead = self._ahead
        while len(ahead) <= place:
            at_us = next(self._times, NEVER_US) if self._left > 0 else NEVER_US
            if at_us >= NEVER_US:
                self._left = 0
                return NEVER_US
            self._left -= 1
            ahead.append(at_us)
        return ahead[place]

    def take(self) -> int:
        """Take the next record; returns when it arrived."""
        self.taken += 1
        return self._ahead.popleft()

    def take_until(self, now_us: int, most: int) -> int:
        """Take up to `most` records that have arrived by now; returns how many."""
        count = 0
        while count < most and self.at(0) <= now_us:
            self._ahead.popleft()
            count += 1
        self.taken += count
        return count


def _poisson(rate_per_second: float, start_us: int, rng: Random) -> Iterator[int]:
    """Generate a Poisson process: independent, exponentially distributed gaps."""
    at = float(start_us)
    while True:
        at += rng.expovariate(rate_per_second) * SECOND_US
        yield int(at)


def _profile(steps: tuple[tuple[int, float], ...], start_us: int) -> Iterator[int]:
    """Generate a load profile: each step has an instant and a rate, and its records are evenly spaced."""
    for place, (from_us, rate) in enumerate(steps):
        end_us = steps[place + 1][0] if place + 1 < len(steps) else NEVER_US
        if rate <= 0:
            continue
        number = max(0, int((start_us - from_us) * rate / SECOND_US) - 1)  # records before the start are not counted
        while True:
            at_us = from_us + int(number * SECOND_US / rate)
            if at_us >= end_us:
                break
            if at_us >= start_us:
                yield at_us
            number += 1


class Keys:
    """Draws key numbers, 0 … distinct - 1; the key's bytes are its number in decimal digits."""

    def __init__(self, spec: KeysSpec, stream: Callable[[], Random]) -> None:
        self._distinct, self._kind, self._share = spec.distinct, spec.kind, spec.share
        if spec.kind != "none":
            self._random = stream().random
        self._cumulative: list[float] = []
        if spec.kind == "zipf":
            self._cumulative = list(accumulate([1 / (rank**spec.exponent) for rank in range(1, spec.distinct + 1)]))

    def draw(self) -> int:
        """Draw the key of the next record."""
        random = self._random
        if self._kind == "zipf":
            return bisect_left(self._cumulative, random() * self._cumulative[-1])
        if self._kind == "hot" and random() < self._share:
            return 0
        return int(random() * self._distinct)

"""What the lag of groups over time gives a scenario: rates, the time of one record, and the stop that explains it."""

import math
from collections.abc import Iterator
from typing import Final

import msgspec

from cluster.commands import Stall, text_of
from cluster.spec import GroupSpec, StepSpec
from recordings.importing.draft import ClusterDraft
from recordings.importing.lag_fit import LagFit, fit

MOST_RATE: Final = 1_000.0
"""Records per second that a flight shows at most; above it, one of its records stands for several."""
SETTLED_US: Final = 60_000_000
"""A flight's group is Stable, and its producers at their rate, before its stop begins."""
AFTERWARDS_US: Final = 30_000_000
_SECOND_US: Final = 1_000_000
_TENTH_US: Final = 100_000


class Stops(msgspec.Struct, frozen=True):
    """The fitted stops of a draft's groups by name, and of how many records one of the flight stands for."""

    fits: dict[str, LagFit] = {}
    records_each: int = 1

    @property
    def rate(self) -> float | None:
        """Records per second that arrive in the flight; None without a fit. Of several groups the highest counts."""
        if not self.fits:
            return None
        return round(max(one.arriving_per_s for one in self.fits.values()) / self.records_each, 3)

    def per_record_us(self, group: str, members: int) -> int | None:
        """How long a member works on one record, when so many have partitions; None when no series says."""
        found = self.fits.get(group)
        if found is None or found.processed_per_s is None or not members:
            return None
        return max(1, round(members * _SECOND_US * self.records_each / found.processed_per_s))

    def steps(self, name: str, group: GroupSpec) -> Iterator[StepSpec]:
        """Every member stops polling, and goes on after as long as the fit says."""
        found = self.fits.get(name)
        if found is None:
            return
        at_us, for_us = began_us(found), stopped_us(found)
        for number in range(1, group.members + 1):
            command = Stall(f"{group.name}-{number}", for_us)
            yield StepSpec(at_us, command, text_of(command))

    def until_us(self, otherwise_us: int) -> int:
        """The end of a flight in which every group has caught up, as far as its series does."""
        ends = [otherwise_us]
        for found in self.fits.values():
            resumed_us = began_us(found) + stopped_us(found)
            behind_s = 0.0 if found.caught_up_at_s is None else found.caught_up_at_s - found.resumes_at_s
            ends.append(resumed_us + _rounded_us(behind_s) + AFTERWARDS_US)
        return -(-max(ends) // _SECOND_US) * _SECOND_US


def began_us(found: LagFit) -> int:
    """When the stop begins in a flight: as in the series, but not before the flight has settled."""
    return max(SETTLED_US, _rounded_us(found.stops_at_s))


def stopped_us(found: LagFit) -> int:
    """How long it lasts."""
    return max(_TENTH_US, _rounded_us(found.resumes_at_s - found.stops_at_s))


def _rounded_us(seconds: float) -> int:
    return round(seconds * 10) * _TENTH_US


def fitted(draft: ClusterDraft, guessed: list[str]) -> Stops:
    """Fit a stop to each series; what comes of it is added to `guessed`."""
    fits: dict[str, LagFit] = {}
    for name, group in draft.groups.items():
        if not group.lag_series:
            continue
        found = fit(group.lag_series)
        if found is None:
            mean = sum(one.records for one in group.lag_series) / len(group.lag_series)
            guessed.append(f"{name}: no stop explains its lag, {mean:,.0f} records on average")
            continue
        fits[name] = found
        guessed.extend(_words(name, found))
    most = max((one.arriving_per_s for one in fits.values()), default=0.0)
    each = max(1, math.ceil(most / MOST_RATE - 1e-3))
    if each > 1:
        guessed.append(f"rates: one record stands for {each:,}, so that {most / each:,.0f} arrive in a second")
    return Stops(fits, each)


def _words(name: str, found: LagFit) -> Iterator[str]:
    arriving = _rate(found.arriving_per_s)
    if found.processed_per_s is None:
        yield f"{name}: {arriving} records/s arrive, fitted to its lag, which grows until its series ends"
    else:
        yield f"{name}: {arriving} records/s arrive and {_rate(found.processed_per_s)} are processed, fitted to its lag"
    began = f"{began_us(found) / _SECOND_US:g} s"
    if found.stops_at_s < SETTLED_US / _SECOND_US:
        began += f", in the series at {found.stops_at_s:.1f} s"
    yield f"{name}: no member polls for {stopped_us(found) / _SECOND_US:g} s from {began}"
    share = 100 * found.error_records / found.peak_records if found.peak_records else 0.0
    yield f"{name}: the fit errs by {found.error_records:,.0f} records, {share:.1f} % of its peak"


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"

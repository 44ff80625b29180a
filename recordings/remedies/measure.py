"""The remedies of a rebalance: the flight is flown again with each setting of a short list, and its bill compared.

A remedy is measured on the whole flight of its group: a setting that prevents one rebalance may cost more in the next.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import msgspec

from cluster.config import spoken_duration
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.spec import SettingError
from recordings.comparison.amounts import amount, spoken
from recordings.comparison.bill import Bill, Scope, payers
from recordings.comparison.pairing import total
from recordings.comparison.verdict import WEIGHED, Cost
from recordings.flights import interruption
from recordings.flights.processes import ProcessEnded, flown_in
from recordings.planning.grid import texts_of
from recordings.planning.ranking import COSTS
from recordings.remedies.candidates import Candidate, CandidateSettings, candidates
from recordings.remedies.what_if_flight import RebalanceCost, RecordedFlight, WhatIfFlight, WhatIfPilot

MOST_MEASURES = 3
NOTICED_US = 50_000
"""A rebalance that begins or ends less than this apart is the same one."""

_TIMEOUTS = (RebalanceCause.SESSION_EXPIRED, RebalanceCause.POLL_INTERVAL_EXCEEDED, RebalanceCause.SYNC_TIMED_OUT)

Effect = Literal["better", "worse", "none", "failed"]
_ORDER: tuple[Effect, ...] = ("better", "none", "worse", "failed")


class RemedyCase(msgspec.Struct, frozen=True):
    """A rebalance of a group to find remedies for; None for a group without one."""

    group: str
    rebalance: RebalanceCost | None


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that was tried, and its effect by the weightiest cost that differs.

    `words`: what it changes. `costs`: each measure that differs, in the recorded flight and with the setting.
    """

    text: str
    settings: list[str]
    effect: Effect
    words: str
    costs: dict[str, tuple[int, int]] = {}


class Remedies(msgspec.Struct, frozen=True, kw_only=True):
    """The remedies of one case, the best first, and a sentence that says which helps most, or that none does."""

    group: str
    rebalance: RebalanceCost | None
    remedies: list[Remedy]
    sentence: str


def cases_of(flight: RecordedFlight, wanted: Sequence[str] = ()) -> list[RemedyCase]:
    """The rebalances that `wanted` names by group, generation or both (`billing:4`); without words one of each group.

    Raises SettingError for a word that names none.
    """
    by_group = flight.original.rebalances
    found: list[RemedyCase] = []
    for word in wanted or by_group:
        named = [
            (name, one)
            for name, all_ in by_group.items()
            for one in all_
            if word in (str(one.generation), f"{name}:{one.generation}")
        ]
        if word in by_group:
            found.append(RemedyCase(word, _costliest(by_group[word])))
        elif named:
            found += [RemedyCase(name, one) for name, one in named]
        else:
            raise SettingError(f"--remedies {word}: the recording has no group and no rebalance of this name")
    return list(dict.fromkeys(found))


def _costliest(rebalances: Sequence[RebalanceCost]) -> RebalanceCost | None:
    """The costliest one that a timeout has caused; else the costliest after the first, else the first."""
    later = [one for one in rebalances if not one.initial] or list(rebalances)
    timeouts = [one for one in later if one.cause in _TIMEOUTS] or later
    return max(timeouts, key=lambda one: (one.unread_partition_us, one.took_us), default=None)


def candidates_of(flight: RecordedFlight, case: RemedyCase) -> list[Candidate]:
    """What to try for a case."""
    group = next((each for each in flight.spec.groups if each.name == case.group), None)
    if group is None:
        return []
    one = case.rebalance
    return candidates(flight.spec, group, one.cause if one else "", initial=one is not None and one.initial)


def measure(
    flight: RecordedFlight,
    case: RemedyCase,
    *,
    jobs: int = 1,
    apart: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Remedies | None:
    """Fly the recorded flight with each candidate; None if the user has ended it.

    `apart`: in other processes even with one job, so that this one stays responsive. `progress` gets the flights that
    have ended, and all.
    """
    tried = candidates_of(flight, case)
    found: dict[int, Remedy] = {}
    with _flown(flight.pilot, [each.settings for each in tried], jobs, apart=apart) as flights:
        if progress is not None:
            progress(0, len(tried))
        for number, flown in flights:
            ended = WhatIfFlight(failed=flown.reason) if isinstance(flown, ProcessEnded) else flown
            found[number] = _judged(flight.original, ended, case, tried[number])
            if progress is not None:
                progress(len(found), len(tried))
    if len(found) < len(tried):
        return None
    remedies = sorted(found.values(), key=_rank)
    return Remedies(group=case.group, rebalance=case.rebalance, remedies=remedies, sentence=_sentence(remedies))


@contextmanager
def _flown(
    pilot: WhatIfPilot, orders: Sequence[CandidateSettings], jobs: int, *, apart: bool
) -> Iterator[Iterator[tuple[int, WhatIfFlight | ProcessEnded]]]:
    if jobs == 1 and not apart:
        yield _one_by_one(pilot, orders)
        return
    with flown_in(jobs, pilot, orders) as results:
        yield ((number, flown) for number, _, flown in results)


def _one_by_one(pilot: WhatIfPilot, orders: Sequence[CandidateSettings]) -> Iterator[tuple[int, WhatIfFlight]]:
    for number, settings in enumerate(orders):
        flown = pilot(settings)
        if interruption.was_asked() or (flown.bill is None and flown.failed is None):
            return
        yield number, flown


def _judged(original: WhatIfFlight, flown: WhatIfFlight, case: RemedyCase, tried: Candidate) -> Remedy:
    settings = texts_of(tried.settings)
    if flown.bill is None or original.bill is None:
        reason = flown.failed or original.failed or ""
        return Remedy(text=tried.text(case.group), settings=settings, effect="failed", words=f"not flown: {reason}")
    after = flown.rebalances.get(case.group, [])
    if case.rebalance is not None and case.rebalance.initial and not after:  # nothing that it costs is measured
        words = "the group has not formed when the flight ends"
        return Remedy(text=tried.text(case.group), settings=settings, effect="worse", words=words)
    costs = [cost for cost in costs_of(original.bill, flown.bill, case.group) if cost.is_worth_a_word]
    deciding = next((cost for cost in costs if cost.measure.field in COSTS), None)
    effect: Effect = "none" if deciding is None else "better" if deciding.b < deciding.a else "worse"
    parts = [_words(cost) for cost in costs[:MOST_MEASURES]]
    if case.rebalance is not None:
        parts += _fate(original.rebalances[case.group], after, case.rebalance)
    return Remedy(
        text=tried.text(case.group),
        settings=settings,
        effect=effect,
        words=", ".join(parts) or "no difference",
        costs={cost.measure.field: (cost.a, cost.b) for cost in costs},
    )


def costs_of(original: Bill, changed: Bill, group: str) -> list[Cost]:
    """Every measure by weight, of the group, of all producers, and of the cluster."""
    names = {scope: [group] if scope is Scope.GROUP else list(payers(original, scope)) for scope in Scope}
    return [
        Cost(each, total(original, each, names[each.scope]), total(changed, each, names[each.scope]))
        for each in WEIGHED
    ]


def _words(cost: Cost) -> str:
    """`91 instead of 189 unread partition-seconds`, `2 more rebalances`."""
    if cost.measure.field.endswith("_us"):
        return f"{amount(cost.measure, cost.b)} instead of {spoken(cost.measure, cost.a)}"
    number, _, noun = spoken(cost.measure, abs(cost.b - cost.a)).partition(" ")
    return f"{number} {'more' if cost.b > cost.a else 'fewer'} {noun}"


def _fate(before: Sequence[RebalanceCost], after: Sequence[RebalanceCost], one: RebalanceCost) -> list[str]:
    """What became of the rebalance: its counterpart has the same cause and trigger, and the same place among those."""
    same = [each for each in before if _kind(each) == _kind(one)]
    counterparts = [each for each in after if _kind(each) == _kind(one)]
    place = same.index(one)
    if place >= len(counterparts):
        return ["this rebalance does not happen in this flight"]
    other = counterparts[place]
    moved_us = other.started_us - one.started_us
    found = []
    if abs(moved_us) >= NOTICED_US:
        found.append(f"it begins {_seconds(abs(moved_us))} {'later' if moved_us > 0 else 'earlier'}")
    if abs(other.took_us - one.took_us) >= NOTICED_US:
        found.append(f"it takes {_seconds(other.took_us)} instead of {_seconds(one.took_us)}")
    return found


def _kind(one: RebalanceCost) -> tuple[str, str, bool]:
    return one.cause, one.trigger, one.initial


def _seconds(us: int) -> str:
    return spoken_duration(round(us / 100_000) * 100_000)


def _rank(remedy: Remedy) -> tuple[int, list[int]]:
    """The best first: by effect, then by the costs that they leave, by weight."""
    left = [remedy.costs[field][1] - remedy.costs[field][0] if field in remedy.costs else 0 for field in COSTS]
    return _ORDER.index(remedy.effect), left


def _sentence(remedies: Sequence[Remedy]) -> str:
    if not remedies:
        return "There is no setting to try for this cause."
    count = Counter(each.effect for each in remedies)
    if count["better"]:
        return f"{remedies[0].text} helps most."
    if count["worse"] == len(remedies):
        return "Every setting that was tried costs more."
    worse = f", and {count['worse']} cost{'s' if count['worse'] == 1 else ''} more" if count["worse"] else ""
    return f"No setting that was tried helps{worse}."

"""Remedies on demand: for a recording's rebalances, from what was kept or from new flights."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from recordings.flights.processes import cores
from recordings.remedies.cache import cached, keep
from recordings.remedies.measure import Remedies, candidates_of, cases_of, measure
from recordings.remedies.what_if_flight import read_flight


class RemediesSearch(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and whether the user ended the search before it was complete."""

    found: list[Remedies]
    interrupted: bool
    warnings: list[str]


def find_remedies(
    path: Path,
    wanted: Sequence[str] = (),
    *,
    salvage: bool = False,
    jobs: int | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> RemediesSearch:
    """Find the remedies of the rebalances that `wanted` names (`cases_of`), in `jobs` processes.

    `progress` gets the rebalance and the share that is done. Raises RecordingError, SettingError, and ScenarioErrors
    for code of the scenario that may not run.
    """
    flight = read_flight(path, salvage=salvage)
    cases = cases_of(flight, wanted)
    found: list[Remedies] = []
    warnings = list(flight.warnings)
    processes = cores() if jobs is None else jobs
    for number, case in enumerate(cases):
        kept = cached(flight, case)
        if kept is None:

            def show(ended: int, of: int, number: int = number, group: str = case.group) -> None:
                if progress is not None:
                    progress(f"remedies for {group}", (number + ended / max(of, 1)) / len(cases))

            tried = len(candidates_of(flight, case))
            kept = measure(flight, case, jobs=max(1, min(processes, tried)), progress=show)
            if kept is None:
                return RemediesSearch(found=found, interrupted=True, warnings=warnings)
            reason = keep(flight, kept)
            warnings += [reason] if reason is not None and reason not in warnings else []
        found.append(kept)
    return RemediesSearch(found=found, interrupted=False, warnings=warnings)

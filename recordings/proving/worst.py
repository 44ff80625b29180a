"""The worst schedules of a proof as files: a scenario that flies each again, and its recording."""

from pathlib import Path

import msgspec

from recordings.bounded_files import RecordingError
from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from recordings.proving.crash_flight import scenario_of
from recordings.proving.prover import Proof
from recordings.scenarios.writer import write_scenario


class Written(msgspec.Struct, frozen=True):
    """The files of a worst schedule: of the most records `lost` or `duplicated`."""

    what: str
    scenario: str
    recording: str


def write_worst(plan: Plan, proof: Proof, directory: Path) -> list[Written]:
    """Write the worst schedules, and fly each again: it must bring the same counts.

    Raises RecordingError when a file cannot be written, and RuntimeError for a schedule that brings others.
    """
    return [written for what in ("lost", "duplicated") if (written := _write(plan, proof, what, directory)) is not None]


def _write(plan: Plan, proof: Proof, what: str, directory: Path) -> Written | None:
    worst, question, seed = proof.worst(what), proof.question, plan.settings.seed
    if worst is None:
        return None
    spec = scenario_of(plan.spec, seed, worst.point, question.down_us, worst.outcome, question.group)
    file, recording = directory / f"worst-{what}.toml", directory / f"worst-{what}.flight"
    text = write_scenario(spec)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"{file} cannot be written: {error.strerror or error}") from None
    settings = Settings(seed=seed, until_us=spec.until_us, set=())
    again = Plan(scenario=file.stem, text=text, spec=spec, settings=settings, invariants=False)
    result = fly(again, record=recording)
    if not result.interrupted and not result.held:
        raise RuntimeError(f"{file} does not bring what it was written for: {result.expectations}")
    return Written(what, str(file), str(recording))

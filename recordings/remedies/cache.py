"""Remedies kept in the recording's directory, so that the same question is answered at once.

They are valid for one journal and one version of Flightdeck: others are measured again. What is in the file is not
trusted further than its types go.
"""

import msgspec

from recordings.bounded_files import RecordingError, decoded, read_ours
from recordings.journal.format import FORMAT, write_json
from recordings.remedies.measure import Remedies, RemedyCase
from recordings.remedies.what_if_flight import RecordedFlight
from recordings.version import VERSION

REMEDIES = "remedies.json"
REMEDIES_BYTES = 4 << 20
LIST_VERSION = 1
"""Of the short lists in `candidates.py`: another list is other remedies."""


class RemediesFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file: what its remedies are valid for, and the remedies."""

    flightdeck: str
    format: int
    lists: int
    journal_sha256: str
    found: list[Remedies] = []


def cached(flight: RecordedFlight, case: RemedyCase) -> Remedies | None:
    """The remedies of a case that were measured earlier, if they are still valid."""
    there = _read(flight)
    same = (each for each in there.found if (each.group, each.rebalance) == (case.group, case.rebalance))
    return next(same, None)


def keep(flight: RecordedFlight, remedies: Remedies) -> str | None:
    """Keep remedies; the reason if they cannot be kept."""
    if not flight.journal_sha256:
        return f"remedies are not kept: {flight.path} ended early"
    there = _read(flight)
    others = [each for each in there.found if (each.group, each.rebalance) != (remedies.group, remedies.rebalance)]
    try:
        write_json(flight.path / REMEDIES, msgspec.structs.replace(there, found=[*others, remedies]))
    except OSError as error:
        return f"remedies are not kept in {flight.path}: {error.strerror or error}"
    return None


def _read(flight: RecordedFlight) -> RemediesFile:
    empty = RemediesFile(flightdeck=VERSION, format=FORMAT, lists=LIST_VERSION, journal_sha256=flight.journal_sha256)
    try:
        found = decoded(read_ours(flight.path / REMEDIES, REMEDIES_BYTES), msgspec.json.Decoder(RemediesFile))
    except (RecordingError, OSError):
        return empty
    valid = msgspec.structs.replace(found, found=[]) == empty and flight.journal_sha256 != ""
    return found if valid else empty

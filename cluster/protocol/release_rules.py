"""Rules that Kafka changed between the snapshot of October 2024 (the source of the test vectors) and release 4.3.1.

The simulator follows the release. The snapshot's rules are for the vectors only: a vector that contradicts the release
is tried again under the snapshot's rule. FIDELITY.md has the table of versions.
"""

from typing import Final, NamedTuple

RELEASE: Final = "4.3.1"


class ReleaseRules(NamedTuple):
    """One flag for each changed rule; True: as in the release."""

    fence_raises_epoch_once: bool = True
    fence_rotates_exhausted_producer_id: bool = True
    pending_checked_first: bool = True
    empty_commit_is_invalid: bool = True
    unknown_producer_begins_at_zero: bool = True
    marker_epoch_is_newer: bool = True
    late_marker_keeps_verification: bool = True


RELEASE_RULES = ReleaseRules()

CHANGED_BY: dict[str, str] = {
    "fence_raises_epoch_once": "KAFKA-19367 (4.1): under transaction.version 2 a fence raises the epoch once",
    "fence_rotates_exhausted_producer_id": "after 4.1: a fence goes over to another producer id at the last epoch",
    "pending_checked_first": "KAFKA-18660 (4.0): a move under way is CONCURRENT_TRANSACTIONS before id and epoch",
    "empty_commit_is_invalid": "4.0: EndTxn(COMMIT) from Complete* with the current epoch is INVALID_TXN_STATE",
    "unknown_producer_begins_at_zero": "4.1: a producer of transaction.version 2 without state begins at sequence 0",
    "marker_epoch_is_newer": "after 4.1 (see KAFKA-19999): a marker of version 2 is newer than the log",
    "late_marker_keeps_verification": "4.0: a marker leaves the verification of its own epoch",
}
"""Rule → the change that introduced it, and its version."""

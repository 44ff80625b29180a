"""Places of records with one false statement each."""

from collections import Counter

import msgspec
import pytest

from cluster import events as e
from console.presenters.partitions import records
from console.presenters.partitions.records import RecordsListing, RefusedListing
from console.presenters.styled_text import ERROR, OK, Line, Span
from recordings.kafka_tools.leader_logs import LeaderLog, LogBatch, NotAppended
from recordings.kafka_tools.log_dump import sequence_of

Patch = pytest.MonkeyPatch


def every_transaction_is_committed(patch: Patch) -> None:
    """A marker of any kind commits, and what is open is committed, too."""
    patch.setattr(records, "ABORTED", records.COMMITTED)
    patch.setattr(records, "OPEN", records.COMMITTED)


def sequences_begin_at_one(patch: Patch) -> None:
    """A batch's second sequence number is its first."""
    patch.setattr(records, "sequence_of", lambda batch, place: sequence_of(batch, place + 1))


def a_new_leader_keeps_what_it_never_had(patch: Patch) -> None:
    """Nothing is truncated when another broker leads."""

    def cut(log: LeaderLog, offset: int) -> list[e.RecordsAppended]:
        del log, offset
        return []

    patch.setattr(LeaderLog, "_cut", cut)


def a_duplicate_is_not_worth_a_row(patch: Patch) -> None:
    """What the log has already is not told again."""
    true = RefusedListing.row_keys

    def row_keys(listing: RefusedListing) -> list[str]:
        return [key for key in true(listing) if listing.answers[key].base_offset < 0]

    patch.setattr(RefusedListing, "row_keys", row_keys)


def all_replicas_have_it(patch: Patch) -> None:
    """A batch above the high watermark looks like one below."""
    patch.setattr(records, "BEYOND", "")


def the_duplicate_is_the_batch_before(patch: Patch) -> None:
    """The words name the offset before."""

    def words_of(one: NotAppended) -> Span:
        if one.base_offset >= 0:
            return f"duplicate of the batch at offset {one.base_offset - 1}", OK
        return one.answer, ERROR

    patch.setattr(records, "words_of", words_of)


def a_record_has_the_key_of_the_first(patch: Patch) -> None:
    """All records of a batch have one key."""
    patch.setattr(records, "key_of", lambda batch, _place: batch.keys[0] if batch.keys else -1)


def a_record_is_as_old_as_its_batch(patch: Patch) -> None:
    """A record was created when its leader appended it."""
    true = RecordsListing._record

    def record(self: RecordsListing, one: LogBatch, offset: int) -> list[Line | Span | str]:
        late = msgspec.structs.replace(one.appended, created_us=one.appended.at_us)
        return true(self, one._replace(appended=late), offset)

    patch.setattr(RecordsListing, "_record", record)


def a_duplicate_has_no_place_in_the_log(patch: Patch) -> None:
    """The batch that a duplicate repeats does not tell it."""
    patch.setattr(records, "duplicates_of", lambda log: Counter())


FALSE_RECORDS = {
    a_record_has_the_key_of_the_first: ("random 7", 60),
    a_record_is_as_old_as_its_batch: ("random 7", 60),
    a_duplicate_has_no_place_in_the_log: ("idempotent", 30),
    every_transaction_is_committed: ("transaction-abort", 40),
    sequences_begin_at_one: ("idempotent", 30),
    a_new_leader_keeps_what_it_never_had: ("random 7", 60),
    a_duplicate_is_not_worth_a_row: ("idempotent", 30),
    all_replicas_have_it: ("below-min-isr", 60),
    the_duplicate_is_the_batch_before: ("idempotent", 30),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""

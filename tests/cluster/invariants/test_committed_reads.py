"""T3 where the logs of a partition have parted: what is aborted is read in the replicas' logs."""

from cluster import events as e
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.partition_log import PartitionLog
from tests.support.invariant_world import (
    P,
    World,
    appended,
    copied,
    elected,
    in_transaction,
    marker,
    polled,
    taken,
    transaction,
    truncated,
    watermark,
    world_of,
)
from tests.support.partition_logs import log_of


def told_log(*batches: tuple[int, str]) -> PartitionLog:
    """A log of batches of producer id 7's transactions: (how many records, "" or the marker)."""
    log = PartitionLog(P)
    for count, kind in batches:
        base = log.log_end
        log.append(
            RecordBatch(
                P, "" if kind else "p-1", 7, 0, -1, base, count, 1, 0, base_offset=base, leader_epoch=0,
                transactional=True, marker=kind,
            )
        )  # fmt: skip
    return log


def processed(first: int, end: int) -> e.Event:
    return e.RecordsProcessed(group="g", member="g-1", partition=P, first_offset=first, next_offset=end)


COMMITTED, ABORTED = told_log((10, ""), (1, "COMMIT"), (1, "ABORT")), told_log((10, ""), (1, "ABORT"), (1, "COMMIT"))
HANGING = told_log((10, ""))
UNCLEAN: list[e.Event] = [  # broker 2 leads without the marker, then broker 1 again, with it: seed 15552
    e.IsrChanged(partition=P, isr=(1,), reason="shrink"), transaction("Ongoing"), in_transaction(0, 0),
    transaction("PrepareCommit"), marker(10, "COMMIT"), watermark(11),
    elected(2, 1, (2,), "unclean"), taken(2, 1, 10), elected(1, 2, (1,), "unclean"), taken(1, 2, 11),
    transaction("PrepareAbort"), appended(11, 1, epoch=2, pid=7, transactional=True, marker="ABORT"), watermark(12, 2),
]  # fmt: skip
FOUND = e.PositionsReset(group="g", member="g-1", positions={P: 0}, reason="earliest")


def test_what_the_log_that_leads_again_had_committed_may_be_read() -> None:
    world = world_of(b1=COMMITTED, b2=HANGING, b3=HANGING)
    world.emit(*(copied(event) for event in (*UNCLEAN, FOUND, processed(0, 10))))
    told = world.view.partitions[P].transactions
    assert told is not None
    assert told.aborted_records == 10  # no event tells the view of the COMMIT at 10


def test_what_is_aborted_in_the_log_that_leads_is_noticed_after_an_unclean_election() -> None:
    """A consumer that began to read under this leader cannot have it from another one; a hanging copy is no excuse."""
    events = [copied(event) for event in (*UNCLEAN, FOUND, processed(9, 10))]
    world_of(b1=ABORTED, b2=HANGING, b3=HANGING).breaks("T3", *events)


def test_what_was_fetched_before_a_leader_took_over_may_be_processed_after_it() -> None:
    events = [copied(event) for event in (FOUND, *UNCLEAN, processed(0, 10))]
    world_of(b1=ABORTED, b2=HANGING, b3=HANGING).emit(*events)


def test_what_a_deposed_leader_has_committed_may_be_read_from_it() -> None:
    events = [copied(event) for event in (*UNCLEAN, FOUND, processed(0, 10))]
    world_of(b1=ABORTED, b2=COMMITTED, b3=HANGING).emit(*events)


def test_records_behind_what_was_stable_before_the_leader_are_judged_for_every_reader() -> None:
    behind = told_log((10, ""), (1, "COMMIT"), (1, "ABORT"), (10, ""), (1, "ABORT"))
    events = [copied(event) for event in (FOUND, *UNCLEAN, processed(12, 22))]
    world_of(b1=behind, b2=HANGING, b3=HANGING).breaks("T3", *events)


OTHERS = log_of(12)
PARTED: list[e.Event] = [  # broker 2 leads without what brokers 1 and 3 have, and aborts; then broker 3 leads
    appended(0, 12), elected(2, 1), taken(2, 1, 0), transaction("Ongoing"),
    appended(0, epoch=1, sequence=0, pid=7, transactional=True), transaction("PrepareAbort"),
    appended(10, 1, epoch=1, pid=7, transactional=True, marker="ABORT"),
    elected(3, 2), taken(3, 2, 12, watermark=0), watermark(12, 2), FOUND,
]  # fmt: skip


def test_aborted_offsets_of_a_log_that_was_left_are_not_those_of_the_log_that_leads() -> None:
    """Nothing was committed, so nothing is lost: the view has the offsets of broker 2's ABORT."""
    world = world_of(b1=OTHERS, b2=ABORTED, b3=OTHERS)
    world.emit(*(copied(event) for event in (*PARTED, processed(0, 10))))
    told = world.view.partitions[P].transactions
    assert told is not None
    assert told.aborted_records == 10


def test_what_is_aborted_in_a_leaders_own_records_is_noticed_though_nothing_was_lost() -> None:
    """What stands in another log was not committed, so it is no excuse."""
    events = [copied(event) for event in (*PARTED, processed(9, 10))]
    world_of(b1=OTHERS, b2=OTHERS, b3=ABORTED).breaks("T3", *events)


DEPOSED: list[e.Event] = [  # broker 1 does not know that broker 2 leads, which does not know that 21 are committed
    transaction("Ongoing"), in_transaction(0, 0), appended(10, pid=8, sequence=0, transactional=True),
    transaction("PrepareCommit"), marker(20, "COMMIT"), watermark(20), elected(2, 1), taken(2, 1, 21, watermark=20),
]  # fmt: skip


def test_readers_of_a_deposed_leader_read_on_as_its_own_high_watermark_allows() -> None:
    """Seed 1598: producer id 8's transaction is open from 10 on, the one before is decided with the marker at 20."""
    World().emit(*(copied(event) for event in (*DEPOSED, watermark(21), *polled(10))))


def test_readers_of_a_deposed_leader_get_nothing_undecided_from_it() -> None:
    World().breaks("T3", *(copied(event) for event in (*DEPOSED, watermark(21), *polled(11))))
    World().breaks("T3", *(copied(event) for event in (*DEPOSED, watermark(20), *polled(10))))


def test_what_the_successor_alone_has_decided_is_undecided_at_a_deposed_leader() -> None:
    """Nothing is open any more in the log that counts; the deposed leader has no marker for producer id 8."""
    ended = appended(21, 1, epoch=1, pid=8, transactional=True, marker="COMMIT")
    decided = transaction("PrepareCommit", pid=8)
    World().breaks("T3", *(copied(event) for event in (*DEPOSED, decided, ended, watermark(21), *polled(11))))


UNDECIDED: list[e.Event] = [  # all but the marker of the first transaction is committed, producer id 8's is open
    transaction("Ongoing"), in_transaction(0, 0), appended(10, pid=8, sequence=0, transactional=True),
    transaction("PrepareCommit"), marker(20, "COMMIT"), watermark(20),
]  # fmt: skip
AGAIN: list[e.Event] = [e.BrokerStarted(broker=1, rack="", at_us=1), elected(1, 1), taken(1, 1, 21, watermark=20)]


def test_a_leader_that_started_anew_forgets_which_markers_are_not_committed() -> None:
    """Seed 1598: a producer snapshot has open transactions only, as in Kafka: it is read up to producer id 8's."""
    World().emit(*(copied(event) for event in (*UNDECIDED, *AGAIN, *polled(10))))
    World().breaks("T3", *(copied(event) for event in (*UNDECIDED, *AGAIN, *polled(11))))
    World().breaks("T3", *(copied(event) for event in (*UNDECIDED, *AGAIN[1:], *polled(10))))  # led all the time


def test_a_leader_that_truncated_its_log_forgets_which_markers_are_not_committed() -> None:
    gone = [appended(21, 1), truncated(2, 21, 22), elected(2, 1), taken(2, 1, 21, watermark=20)]
    World().emit(*(copied(event) for event in (*UNDECIDED, *gone, *polled(10))))
    World().breaks("T3", *(copied(event) for event in (*UNDECIDED, gone[0], *gone[2:], *polled(10))))


def test_a_leader_that_started_anew_knows_which_markers_came_since() -> None:
    since = appended(20, 1, epoch=1, pid=7, transactional=True, marker="COMMIT")
    events = (*UNDECIDED[:4], watermark(20), *AGAIN[:2], taken(1, 1, 20), since, *polled(10))
    World().breaks("T3", *(copied(event) for event in events))

"""The fold of lives: each handler runs after the one that has changed the member, producer or transactional id."""

from cluster import events as e
from cluster.view.fold_table import FoldTable
from cluster.view.lives.lives import (
    NEVER,
    FinishedTransaction,
    LastCommit,
    MemberLife,
    ProducerLife,
    TransactionLife,
)
from cluster.view.state import ClusterView

FOLD = FoldTable()

JOINS = ("Joining", "Revoking", "JOINING")
STOPS = ("Left", "Dead", "Fenced", "FENCED", "STALE", "PREPARE_LEAVING", "LEAVING", "FATAL", "Assigned")
STOPPED = {"stop": "closed", "kill": "killed", "crash": "crashed"}


def _member(view: ClusterView, name: str) -> MemberLife:
    lives = view.lives.members
    life = lives.get(name)
    if life is None:
        life = lives[name] = MemberLife()
    return life


def _enters(life: MemberLife, state: str, at_us: int) -> None:
    if life.state != state:
        life.state, life.since_us = state, at_us


@FOLD.handles(e.MemberStarted)
def member_started(view: ClusterView, event: e.MemberStarted) -> None:
    life = _member(view, event.member)
    life.started_us = event.at_us
    life.polled, life.finished = NEVER, 0
    life.finished_in, life.finished_to = "", NEVER
    _enters(life, view.members[event.member].state, event.at_us)


@FOLD.handles(e.MemberStopped)
def member_stopped(view: ClusterView, event: e.MemberStopped) -> None:
    life = _member(view, event.member)
    _enters(life, view.members[event.member].state, event.at_us)
    life.stops(event.at_us, STOPPED[event.how])


@FOLD.handles(e.MemberStateChanged)
def member_state_changed(view: ClusterView, event: e.MemberStateChanged) -> None:
    life = _member(view, event.member)
    _enters(life, event.state, event.at_us)
    if event.state in JOINS:
        life.begins_to_join(event.at_us, event.reason)
    elif event.state in STOPS:
        life.stops(event.at_us, event.reason or event.state)
    elif event.state == "Syncing":
        life.joined(event.generation, event.at_us)


@FOLD.handles(e.MemberEpochChanged)
def member_epoch_changed(view: ClusterView, event: e.MemberEpochChanged) -> None:
    life = _member(view, event.member)
    last = life.stays[-1] if life.stays else None
    if event.epoch > 0 and (last is None or last.ended_us != NEVER or last.generation != event.epoch):
        life.joined(event.epoch, event.at_us)
    elif event.epoch == 0:
        life.begins_to_join(event.at_us, "")
    elif event.epoch < 0:
        life.stops(event.at_us, f"leaves with epoch {event.epoch}")


@FOLD.handles(e.PartitionsAssigned)
def partitions_assigned(view: ClusterView, event: e.PartitionsAssigned) -> None:
    stays = _member(view, event.member).stays
    if stays and stays[-1].ended_us == NEVER:
        if stays[-1].assigned_us == NEVER:
            stays[-1].assigned_us = event.at_us
        stays[-1].gained += len(event.partitions)


@FOLD.handles(e.PartitionsRevoked)
def partitions_revoked(view: ClusterView, event: e.PartitionsRevoked) -> None:
    stays = _member(view, event.member).stays
    if stays:
        stays[-1].lost += len(event.partitions)


@FOLD.handles(e.PollReturned)
def poll_returned(view: ClusterView, event: e.PollReturned) -> None:
    life = _member(view, event.member)
    life.polled, life.finished = event.records, 0


@FOLD.handles(e.RecordsProcessed)
def records_processed(view: ClusterView, event: e.RecordsProcessed) -> None:
    life = _member(view, event.member)
    life.finished += event.next_offset - event.first_offset
    life.finished_in, life.finished_to = event.partition, event.next_offset


@FOLD.handles(e.OffsetsCommitted)
def offsets_committed(view: ClusterView, event: e.OffsetsCommitted) -> None:
    if event.member in view.members:
        _member(view, event.member).commit = LastCommit(event.at_us, len(event.offsets), "NONE")


@FOLD.handles(e.OffsetCommitRefused)
def offset_commit_refused(view: ClusterView, event: e.OffsetCommitRefused) -> None:
    if event.member in view.members:
        _member(view, event.member).commit = LastCommit(event.at_us, len(event.offsets), event.error)


@FOLD.handles(e.AutoCommitFailed)
def auto_commit_failed(view: ClusterView, event: e.AutoCommitFailed) -> None:
    _member(view, event.member).commit = LastCommit(event.at_us, len(event.offsets), event.error)


# --- producers ------------------------------------------------------------------------------------------------------


def _producer(view: ClusterView, name: str) -> ProducerLife:
    lives = view.lives.producers
    life = lives.get(name)
    if life is None:
        life = lives[name] = ProducerLife()
    return life


@FOLD.handles(e.ProducerDeclared)
def producer_declared(view: ClusterView, event: e.ProducerDeclared) -> None:
    _producer(view, event.producer).transactional_id = event.transactional_id


@FOLD.handles(e.ProducerStateChanged)
def producer_state_changed(view: ClusterView, event: e.ProducerStateChanged) -> None:
    _producer(view, event.producer).since_us = event.at_us


@FOLD.handles(e.BatchRetried)
def batch_retried(view: ClusterView, event: e.BatchRetried) -> None:
    life = _producer(view, event.producer)
    life.retried[event.error] = life.retried.get(event.error, 0) + 1
    life.last_error_us = event.at_us


@FOLD.handles(e.BatchSplit)
def batch_split(view: ClusterView, event: e.BatchSplit) -> None:
    _producer(view, event.producer).last_error_us = event.at_us


@FOLD.handles(e.BatchFailed)
def batch_failed(view: ClusterView, event: e.BatchFailed) -> None:
    _producer(view, event.producer).last_error_us = event.at_us


@FOLD.handles(e.SendRefused)
def send_refused(view: ClusterView, event: e.SendRefused) -> None:
    _producer(view, event.producer).last_error_us = event.at_us


# --- transactions ---------------------------------------------------------------------------------------------------


def _transaction(view: ClusterView, name: str) -> TransactionLife:
    lives = view.lives.transactions
    life = lives.get(name)
    if life is None:
        life = lives[name] = TransactionLife()
    return life


@FOLD.handles(e.TransactionFenced)
def transaction_fenced(view: ClusterView, event: e.TransactionFenced) -> None:
    one = _transaction(view, event.transactional_id).under_way
    if one is not None:
        one.fenced_for = event.reason


@FOLD.handles(e.TransactionStateChanged)
def transaction_state_changed(view: ClusterView, event: e.TransactionStateChanged) -> None:
    life = _transaction(view, event.transactional_id)
    if event.loaded and life.under_way is not None and _loses(life.under_way, event):
        life.ends(event.at_us, lost=True)
    one = life.under_way
    if event.state in {"Empty", "Dead"}:
        life.under_way = None
    elif event.state == "Ongoing":
        if one is None or one.start_us != event.start_us:
            one = life.under_way = FinishedTransaction(event.producer_id, event.epoch, event.start_us)
        one.partitions = event.partitions
    elif event.state in {"PrepareCommit", "PrepareAbort"}:
        if one is None:
            one = life.under_way = FinishedTransaction(event.producer_id, event.epoch, event.start_us)
        one.committed = event.state == "PrepareCommit"
        one.partitions = event.partitions
        if one.decided_us == NEVER:
            one.decided_us = event.at_us
    elif one is not None:
        one.committed = event.state == "CompleteCommit"
        life.ends(event.at_us)


def _loses(one: FinishedTransaction, loaded: e.TransactionStateChanged) -> bool:
    """Whether the log that a coordinator loaded lacks the transaction under way: a crash or an election took its end.

    A later start is no loss: it replaces one that the coordinator before gave up.
    """
    if loaded.state in {"Empty", "Dead"}:
        return True
    return loaded.start_us < one.start_us or (loaded.state != "Ongoing" and loaded.start_us != one.start_us)

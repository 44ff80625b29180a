"""Brokers and controllers that are broken on purpose: replication, elections, logs and what producers wrote."""

from typing import Any

import pytest

import cluster.broker.replica as replica_module
import cluster.controller.controller as controller_module
from cluster.broker.replica import Replica
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.controller import elections
from cluster.controller.controller import Controller
from cluster.controller.elections import Election
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.leader_epochs import EpochEnd, LeaderEpochs, Truncation
from cluster.storage.partition_log import PartitionLog
from cluster.storage.producer_state import ProducerEntry, ProducerStates

Patch = pytest.MonkeyPatch


# --- replication and elections ----------------------------------------------------------------------------------------


def acknowledges_before_the_high_watermark(patch: Patch) -> None:
    patch.setattr(Replica, "when_committed", lambda _, __, committed: committed(ErrorCode.NONE))


def waits_for_no_follower(patch: Patch) -> None:
    set_isr = Replica.set_isr

    def counts_nobody(replica: Replica, isr: tuple[int, ...]) -> None:
        set_isr(replica, isr)
        replica._in_sync = ()

    patch.setattr(Replica, "set_isr", counts_nobody)


def keeps_fenced_brokers_in_the_isr(patch: Patch) -> None:
    patch.setattr(controller_module, "isr_without", lambda isr, _: tuple(isr))


def elects_without_a_new_epoch(patch: Patch) -> None:
    def forgets(
        controller: Controller, name: str, metadata: PartitionMetadata, isr: tuple[int, ...], reason: str
    ) -> None:
        leader = next((broker for broker in isr if controller._eligible(broker)), -1)
        controller._elected(name, PartitionMetadata(leader, metadata.leader_epoch, metadata.replicas, isr), reason)

    patch.setattr(Controller, "_elect", forgets)


def elects_anybody(patch: Patch) -> None:
    def careless(*arguments: Any) -> Election:  # noqa: ANN401
        election = elections.elect("UNCLEAN", *arguments[1:])
        return Election(election.leader, election.isr, clean=True)

    patch.setattr(controller_module, "elect", careless)


def lets_no_follower_back_in(patch: Patch) -> None:
    patch.setattr(Replica, "admit_followers", lambda *_: None)


def truncates_what_was_committed(patch: Patch) -> None:
    def too_far(_: LeaderEpochs, __: EpochEnd, ___: int, high_watermark: int) -> Truncation:
        return Truncation(max(0, high_watermark - 10), complete=True)

    patch.setattr(replica_module, "follower_truncation", too_far)


def truncates_nothing(patch: Patch) -> None:
    """A follower goes on at its own end, whatever its new leader said of the epochs before."""

    def keeps_all(_: LeaderEpochs, __: EpochEnd, log_end: int, ___: int) -> Truncation:
        return Truncation(log_end, complete=True)

    patch.setattr(replica_module, "follower_truncation", keeps_all)


def takes_office_without_a_high_watermark(patch: Patch) -> None:
    patch.setattr(Replica, "known_high_watermark", lambda _: 0)


def takes_what_too_few_replicas_hold(patch: Patch) -> None:
    """acks=all is answered although the ISR is smaller than `min.insync.replicas`."""
    made = Replica.__init__

    def careless(replica: Replica, host: Any, log: PartitionLog, _: int, retention: Any = None) -> None:  # noqa: ANN401
        made(replica, host, log, 1, retention)

    patch.setattr(Replica, "__init__", careless)


def deletes_what_is_not_committed(patch: Patch) -> None:
    """DeleteRecords up to the end of the log."""
    delete = Replica.advance_log_start
    patch.setattr(Replica, "advance_log_start", lambda replica, _, reason: delete(replica, replica.log.log_end, reason))


# --- producers' sequences ---------------------------------------------------------------------------------------------


def appends_repetitions(patch: Patch) -> None:
    patch.setattr(ProducerStates, "check", lambda _, __: (ErrorCode.NONE, -1))


def remembers_one_batch_instead_of_five(patch: Patch) -> None:
    """What comes again after another batch is taken for new."""
    check = ProducerStates.check

    def forgetful(states: ProducerStates, batch: RecordBatch) -> tuple[ErrorCode, int]:
        error, known = check(states, batch)
        again = known >= 0 and known != states.entries[batch.producer_id].batches[-1].base_offset
        return (ErrorCode.NONE, -1) if again else (error, known)

    patch.setattr(ProducerStates, "check", forgetful)


def forgets_sequences_when_it_takes_over(patch: Patch) -> None:
    """What producers wrote is not looked up in the log of a new leader."""

    def knows_nothing(log: PartitionLog) -> None:
        log._epoch, log._read_memory().read_to = -1, log.log_end

    patch.setattr(PartitionLog, "recall_producers", knows_nothing)


def takes_batches_of_old_epochs(patch: Patch) -> None:
    """A zombie's batches are appended, and no leader asks the coordinator about them (KIP-890)."""
    patch.setattr(TransactionalRequests, "needs_verification", lambda *_: False)
    refusal = ProducerStates._refusal

    def fences_nobody(states: ProducerStates, entry: ProducerEntry | None, batch: RecordBatch) -> ErrorCode:
        error = refusal(states, entry, batch)
        return ErrorCode.NONE if error is ErrorCode.INVALID_PRODUCER_EPOCH else error

    patch.setattr(ProducerStates, "_refusal", fences_nobody)

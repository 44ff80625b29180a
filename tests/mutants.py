"""Brokers, coordinators and clients that are broken on purpose: what `flightdeck check` is worth.

A mutant is a function that breaks one rule for as long as a monkeypatch lasts; `needs` names the features that its
swarm must have, because a rule of transactions cannot be broken without any.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

import cluster.broker.controller as controller_module
import cluster.broker.following as following_module
from cluster.assignors import ASSIGNORS
from cluster.broker import elections
from cluster.broker.controller import Controller
from cluster.broker.elections import Election
from cluster.broker.leader_epochs import EpochEnd, LeaderEpochs, Truncation
from cluster.broker.producer_state import ProducerStates
from cluster.broker.replica import Replica
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.clients.fetcher import Fetcher
from cluster.coordinators import group_offsets
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.transaction_messages import WriteTxnMarkersRequest
from cluster.transaction_index import TransactionIndex

Patch = pytest.MonkeyPatch


class Mutant(NamedTuple):
    """What breaks, and which features show it."""

    breaks: Callable[[Patch], None]
    needs: tuple[str, ...] = ()


def acknowledges_before_the_high_watermark(patch: Patch) -> None:
    patch.setattr(Replica, "when_committed", lambda _, __, committed: committed(ErrorCode.NONE))


def appends_repetitions(patch: Patch) -> None:
    patch.setattr(ProducerStates, "check", lambda _, __: (ErrorCode.NONE, -1))


def stores_commits_of_old_generations(patch: Patch) -> None:
    patch.setattr(group_offsets, "refuse_commit", lambda *_, **__: ErrorCode.NONE)


def forgets_the_last_stable_offset(patch: Patch) -> None:
    patch.setattr(Replica, "last_stable_offset", property(lambda replica: replica.high_watermark))


def returns_aborted_records(patch: Patch) -> None:
    patch.setattr(TransactionIndex, "aborted_between", lambda *_: ())


def commits_what_was_aborted(patch: Patch) -> None:
    mark: Any = TransactionalRequests._mark

    def flipped(requests: TransactionalRequests, name: str, request: WriteTxnMarkersRequest, wait: Any) -> None:  # noqa: ANN401
        mark(requests, name, msgspec.structs.replace(request, committed=not request.committed), wait)

    patch.setattr(TransactionalRequests, "_mark", flipped)


def deals_every_partition_to_everybody(patch: Patch) -> None:
    class Generous:
        name = "range"

        @staticmethod
        def assign(counts: dict[str, int], subscriptions: dict[str, Any]) -> dict[str, list[str]]:
            everything = [f"{topic}-{number}" for topic, count in counts.items() for number in range(count)]
            return {member: list(everything) for member in subscriptions}

    patch.setitem(ASSIGNORS, "range", Generous)


def deals_before_others_gave_up(patch: Patch) -> None:
    cooperative, sticky = ASSIGNORS["cooperative-sticky"], ASSIGNORS["sticky"]
    patch.setattr(cooperative, "assign", sticky.assign)


def keeps_fenced_brokers_in_the_isr(patch: Patch) -> None:
    patch.setattr(controller_module, "isr_without", lambda isr, _: tuple(isr))


def elects_without_a_new_epoch(patch: Patch) -> None:
    def forgets(
        controller: Controller, name: str, metadata: PartitionMetadata, isr: tuple[int, ...], reason: str
    ) -> None:
        leader = next((broker for broker in isr if controller._eligible(broker)), -1)
        controller._elected(name, PartitionMetadata(leader, metadata.leader_epoch, metadata.replicas, isr), reason)

    patch.setattr(Controller, "_elect", forgets)


def waits_for_no_follower(patch: Patch) -> None:
    set_isr = Replica.set_isr

    def counts_nobody(replica: Replica, isr: tuple[int, ...]) -> None:
        set_isr(replica, isr)
        replica._counted = ()

    patch.setattr(Replica, "set_isr", counts_nobody)


def elects_anybody(patch: Patch) -> None:
    def careless(*arguments: Any) -> Election:  # noqa: ANN401
        election = elections.elect("UNCLEAN", *arguments[1:])
        return Election(election.leader, election.isr, clean=True)

    patch.setattr(controller_module, "elect", careless)


def truncates_what_was_committed(patch: Patch) -> None:
    def too_far(_: LeaderEpochs, __: EpochEnd, ___: int, high_watermark: int) -> Truncation:
        return Truncation(max(0, high_watermark - 10), complete=True)

    patch.setattr(following_module, "follower_truncation", too_far)


def lets_no_follower_back_in(patch: Patch) -> None:
    patch.setattr(Replica, "admit_followers", lambda *_: None)


def fetches_only_once(patch: Patch) -> None:
    patch.setattr(Fetcher, "_renew", lambda *_: None)


def begins_behind_what_was_committed(patch: Patch) -> None:
    assign = Fetcher.assign
    patch.setattr(Fetcher, "assign", lambda fetcher, found: assign(fetcher, {n: at + 3 for n, at in found.items()}))


TRANSACTIONS = ("transactions", "read_committed")

MUTANTS: dict[str, Mutant] = {
    each.__name__: Mutant(each, needs)
    for each, needs in (
        (acknowledges_before_the_high_watermark, ()),
        (appends_repetitions, ()),
        (stores_commits_of_old_generations, ()),
        (forgets_the_last_stable_offset, TRANSACTIONS),
        (returns_aborted_records, TRANSACTIONS),
        (commits_what_was_aborted, TRANSACTIONS),
        (deals_every_partition_to_everybody, ()),
        (deals_before_others_gave_up, ("assignors",)),
        (keeps_fenced_brokers_in_the_isr, ()),
        (elects_without_a_new_epoch, ()),
        (waits_for_no_follower, ()),
        (elects_anybody, ()),
        (truncates_what_was_committed, ()),
        (lets_no_follower_back_in, ()),
        (fetches_only_once, ()),
        (begins_behind_what_was_committed, ()),
    )
}

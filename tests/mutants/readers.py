"""Readers, assignors, static members and replicas that are broken on purpose."""

from itertools import count
from typing import Any

import pytest

import cluster.broker.replica as replica_module
from cluster.assignors import ASSIGNORS
from cluster.broker import read_replicas, request_handlers
from cluster.broker.coordinator_runtime import CoordinatorRuntime
from cluster.broker.follower_state import FollowerState
from cluster.broker.replica import Replica
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.clients.consumer import fetcher as fetcher_module
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.offset_commits import OffsetCommits
from cluster.coordinators.group import offset_commit as group_offsets
from cluster.coordinators.group.group import ClassicGroup
from cluster.protocol.errors import ErrorCode
from cluster.storage.leader_epochs import EpochEnd, LeaderEpochs, Truncation, follower_truncation
from cluster.storage.producer_state import ProducerStates

Patch = pytest.MonkeyPatch


# --- assignments and members ------------------------------------------------------------------------------------------


def deals_all_but_one_in_the_cooperative_step(patch: Patch) -> None:
    assign = ASSIGNORS["cooperative-sticky"].assign

    def forgets_one(_: object, counts: dict[str, int], subscriptions: dict[str, Any]) -> dict[str, list[Any]]:
        dealt: dict[str, list[Any]] = assign(counts, subscriptions)
        return {member: mine[1:] if member == min(dealt) else mine for member, mine in dealt.items()}

    patch.setattr(type(ASSIGNORS["cooperative-sticky"]), "assign", forgets_one)


def fences_no_static_member(patch: Patch) -> None:
    """A replaced process goes on under its old member id."""
    validate = ClassicGroup.validate_member

    def careless(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
        error = validate(group, member_id, instance_id)
        return ErrorCode.NONE if error is ErrorCode.FENCED_INSTANCE_ID else error

    patch.setattr(ClassicGroup, "validate_member", careless)


def takes_transactional_commits_of_old_generations(patch: Patch) -> None:
    validate: Any = group_offsets.validate_commit

    def careless(group: Any, request: Any, *, transactional: bool) -> ErrorCode:  # noqa: ANN401
        return ErrorCode.NONE if transactional else validate(group, request, transactional=False)

    patch.setattr(group_offsets, "validate_commit", careless)


def answers_before_its_records_are_committed(patch: Patch) -> None:
    """Coordinators wait for nothing."""

    def hasty(coordination: Any, hosted: Any, then: Any, *_: Any) -> None:  # noqa: ANN401
        coordination._then(hosted, then, ErrorCode.NONE)

    patch.setattr(CoordinatorRuntime, "_wait", hasty)


def loads_half_of_its_log(patch: Patch) -> None:
    def lazy(coordination: Any, hosted: Any) -> None:  # noqa: ANN401
        if hosted.closed:
            return
        batches = hosted.replica.log.batches
        for batch in batches[: len(batches) // 2]:
            coordination._replay(hosted.coordinator, batch)
        coordination._run(hosted, hosted.coordinator.loaded(coordination._broker.now_us))

    patch.setattr(CoordinatorRuntime, "_load", lazy)


# --- readers ----------------------------------------------------------------------------------------------------------


def passes_records_over(patch: Patch) -> None:
    """Every seventh part of a poll is lost."""
    numbers, collect = count(1), Fetcher.collect
    patch.setattr(
        Fetcher, "collect", lambda fetcher, most: [one for one in collect(fetcher, most) if next(numbers) % 7]
    )


def reads_everything_twice(patch: Patch) -> None:
    collect = Fetcher.collect
    patch.setattr(Fetcher, "collect", lambda fetcher, most: [one for one in collect(fetcher, most) for _ in (1, 2)])


def gets_aborted_records(patch: Patch) -> None:
    """A reader of committed data leaves out markers only."""
    patch.setattr(fetcher_module, "_is_visible", lambda batch, _: not batch.marker)


def goes_on_with_what_was_revoked(patch: Patch) -> None:
    patch.setattr(Fetcher, "revoke", lambda *_: None)


def commits_what_it_had_long_ago(patch: Patch) -> None:
    """Every fifth commit lies ten records back."""
    numbers = count(1)
    request: Any = OffsetCommits._request

    def behind(commits: OffsetCommits) -> Any:  # noqa: ANN401 - a request or None
        made = request(commits)
        if made is not None and next(numbers) % 5 == 0:
            for name, (offset, *rest) in made.offsets.items():
                made.offsets[name] = (max(0, offset - 10), *rest)
        return made

    patch.setattr(OffsetCommits, "_request", behind)


# --- replicas ---------------------------------------------------------------------------------------------------------


def lets_anybody_into_the_isr(patch: Patch) -> None:
    """Every follower that fetches is in sync."""

    def careless(replica: Replica, fetching: FollowerState[Replica] | None = None) -> None:
        if replica.is_leader and not replica.alter_pending and fetching is not None:
            replica.host.expand_isr(replica, fetching.broker)

    patch.setattr(Replica, "admit_followers", careless)


def counts_the_fastest_follower_only(patch: Patch) -> None:
    """The high watermark is what any one follower in sync has."""
    set_isr = Replica.set_isr

    def fastest(replica: Replica, isr: tuple[int, ...]) -> None:
        set_isr(replica, isr)
        replica._in_sync = replica._in_sync[:1]

    patch.setattr(Replica, "set_isr", fastest)


def truncates_to_its_high_watermark(patch: Patch) -> None:
    """As before KIP-101."""

    def old(_: LeaderEpochs, __: EpochEnd, ___: int, high_watermark: int) -> Truncation:
        return Truncation(high_watermark, complete=True)

    patch.setattr(replica_module, "follower_truncation", old)


def asks_for_the_epoch_only_once(patch: Patch) -> None:
    """As before KIP-279: an epoch that the leader names and the follower never saw is good enough."""

    def once(own: LeaderEpochs, answer: EpochEnd, log_end: int, high_watermark: int) -> Truncation:
        return Truncation(follower_truncation(own, answer, log_end, high_watermark).offset, complete=True)

    patch.setattr(replica_module, "follower_truncation", once)


# --- transactions -----------------------------------------------------------------------------------------------------


def verifies_nothing(patch: Patch) -> None:
    """A transaction does not learn which partitions it has (KIP-890)."""
    patch.setattr(TransactionalRequests, "needs_verification", lambda *_: False)


def takes_markers_of_replaced_coordinators(patch: Patch) -> None:
    patch.setattr(ProducerStates, "check_marker", lambda *_: ErrorCode.NONE)


# --- fetching from followers ------------------------------------------------------------------------------------------


def serves_what_its_leader_has_not_committed(patch: Patch) -> None:
    """A follower serves consumers up to its log's end."""

    def careless(replica: Replica) -> None:
        replica.high_watermark = replica.log.log_end

    patch.setattr(request_handlers, "recall_transactions", careless)


def propagates_no_high_watermark_to_idle_followers(patch: Patch) -> None:
    """A follower learns it with the next records only."""
    patch.setattr(read_replicas, "_answered", lambda *_: True)

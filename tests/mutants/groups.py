"""Group coordinators and consumers that are broken on purpose."""

from typing import Any

import pytest

from cluster.assignors import ASSIGNORS
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.offset_commits import OffsetCommits
from cluster.coordinators.group import coordinator as group_coordinator
from cluster.coordinators.group import heartbeat as group_liveness
from cluster.coordinators.group import join_barrier as group_rebalance
from cluster.coordinators.group import offset_commit as group_offsets
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import ClassicGroup, GroupMember
from cluster.network import InFlightRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest

Patch = pytest.MonkeyPatch


# --- coordinators -----------------------------------------------------------------------------------------------------


def stores_commits_of_old_generations(patch: Patch) -> None:
    patch.setattr(group_offsets, "validate_commit", lambda *_, **__: ErrorCode.NONE)


def renews_no_session(patch: Patch) -> None:
    """A heartbeat is answered, and that is all."""
    heartbeat = group_liveness.heartbeat

    class Deaf:
        def __init__(self, context: GroupContext) -> None:
            self.groups = context.groups

        def arm(self, member: GroupMember, _: int) -> int:
            return member.session_deadline_us

    def forgetful(context: GroupContext, request: Any, call: Any, now_us: int) -> Any:  # noqa: ANN401
        return heartbeat(Deaf(context), request, call, now_us)  # type: ignore[arg-type]

    handlers: dict[Any, Any] = dict(group_coordinator.HANDLERS)
    patch.setattr(group_coordinator, "HANDLERS", {**handlers, HeartbeatRequest: forgetful})


def loses_commits_when_it_takes_over(patch: Patch) -> None:
    """A new coordinator knows the members of the log, and not the offsets."""
    restore = ClassicGroup.restore

    def forgetful(group: ClassicGroup) -> None:
        group.logged_offsets.clear()
        restore(group)

    patch.setattr(ClassicGroup, "restore", forgetful)


def keeps_the_generation(patch: Patch) -> None:
    """A rebalance ends in the generation in which it began."""
    answer = group_rebalance._answer_joins

    def again(context: GroupContext, group: ClassicGroup, draft: Any) -> None:  # noqa: ANN401
        group.generation = max(1, group.generation - 1)
        answer(context, group, draft)

    patch.setattr(group_rebalance, "_answer_joins", again)


# --- assignments ------------------------------------------------------------------------------------------------------


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
    patch.setattr(type(cooperative), "assign", lambda _, counts, wanted: sticky.assign(counts, wanted))


def deals_one_partition_to_nobody(patch: Patch) -> None:
    assign = ASSIGNORS["range"].assign

    def forgets_one(_: object, counts: dict[str, int], subscriptions: dict[str, Any]) -> dict[str, list[Any]]:
        dealt = assign(counts, subscriptions)
        return {member: mine[1:] if member == min(dealt) else mine for member, mine in dealt.items()}

    patch.setattr(type(ASSIGNORS["range"]), "assign", forgets_one)


# --- consumers --------------------------------------------------------------------------------------------------------


def fetches_only_once(patch: Patch) -> None:
    patch.setattr(InFlightRequest, "hurry", lambda *_: None)


def begins_behind_what_was_committed(patch: Patch) -> None:
    assign = Fetcher.assign

    def behind(fetcher: Fetcher, found: dict[str, int], *epochs: Any) -> None:  # noqa: ANN401 - as they are
        assign(fetcher, {name: at + 3 for name, at in found.items()}, *epochs)

    patch.setattr(Fetcher, "assign", behind)


def stays_where_the_log_is_not(patch: Patch) -> None:
    """OFFSET_OUT_OF_RANGE is ignored."""
    patch.setattr(Consumer, "position_out_of_range", lambda *_: None)


def commits_what_it_has_not_got_yet(patch: Patch) -> None:
    request: Any = OffsetCommits._request

    def ahead(commits: OffsetCommits) -> Any:  # noqa: ANN401 - a request or None
        made = request(commits)
        if made is not None:
            for name, (offset, *rest) in made.offsets.items():
                made.offsets[name] = (offset + 2, *rest)
        return made

    patch.setattr(OffsetCommits, "_request", ahead)

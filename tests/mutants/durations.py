"""Durations that are broken on purpose: clients and brokers are too early or too late for their configuration."""

from typing import Any

import pytest

from cluster.clients.consumer.consumer_coordinator import ConsumerCoordinator
from cluster.clients.consumer.consumer_host import ConsumerHost as Client
from cluster.clients.producer.sender import Sender
from cluster.controller.controller import Controller
from cluster.coordinators.group import coordinator as group_coordinator
from cluster.coordinators.group import heartbeat as group_liveness
from cluster.coordinators.group import join_barrier as group_rebalance
from cluster.coordinators.group import offset_commit as group_offsets
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import NOT_ARMED, ClassicGroup, GroupMember
from cluster.coordinators.group.states import GroupState
from cluster.coordinators.transaction.coordinator import TransactionCoordinator
from cluster.protocol.messages import HeartbeatRequest

Patch = pytest.MonkeyPatch


def _sessions_last(patch: Patch, share: float) -> None:
    arm = GroupContext.arm

    def otherwise(context: GroupContext, member: GroupMember, now_us: int, timeout_us: int | None = None) -> int:
        usual_us = member.session_timeout_ms * 1_000 if timeout_us is None else timeout_us
        return arm(context, member, now_us, int(usual_us * share))

    patch.setattr(GroupContext, "arm", otherwise)


def ends_sessions_early(patch: Patch) -> None:
    _sessions_last(patch, 0.6)


def ends_sessions_late(patch: Patch) -> None:
    _sessions_last(patch, 3)


def renews_no_session_by_a_commit(patch: Patch) -> None:
    patch.setattr(group_offsets, "_renew", lambda *_: NOT_ARMED)


def renews_no_session_at_the_barrier(patch: Patch) -> None:
    heartbeat = group_liveness.heartbeat

    class Deaf:
        def __init__(self, context: GroupContext) -> None:
            self._context, self.groups = context, context.groups

        def arm(self, member: GroupMember, now_us: int) -> int:
            group = self.groups[member.session_name[1]]
            if group.state is GroupState.PREPARING_REBALANCE:
                return member.session_deadline_us
            return self._context.arm(member, now_us)

    def forgetful(context: GroupContext, request: Any, call: Any, now_us: int) -> Any:  # noqa: ANN401
        return heartbeat(Deaf(context), request, call, now_us)  # type: ignore[arg-type]

    handlers: dict[Any, Any] = dict(group_coordinator.HANDLERS)
    patch.setattr(group_coordinator, "HANDLERS", {**handlers, HeartbeatRequest: forgetful})


def _barriers_last(patch: Patch, share: float, *, initial: bool) -> None:
    wait = group_rebalance._wait

    def otherwise(context: GroupContext, group: ClassicGroup, at_us: int) -> None:
        began_us = group.rebalance_started_us
        wait(context, group, began_us + int((at_us - began_us) * share) if group.initial is initial else at_us)

    patch.setattr(group_rebalance, "_wait", otherwise)


def closes_barriers_early(patch: Patch) -> None:
    _barriers_last(patch, 0.5, initial=False)


def closes_barriers_late(patch: Patch) -> None:
    _barriers_last(patch, 3, initial=False)


def waits_for_no_newcomers(patch: Patch) -> None:
    _barriers_last(patch, 0.1, initial=True)


def _beats_every(patch: Patch, share: float) -> None:
    read = Client.read_config

    def otherwise(member: Client) -> None:
        read(member)
        member.heartbeat_interval_us = int(member.heartbeat_interval_us * share)

    patch.setattr(Client, "read_config", otherwise)


def beats_too_often(patch: Patch) -> None:
    _beats_every(patch, 0.5)


def beats_too_seldom(patch: Patch) -> None:
    _beats_every(patch, 6)


def leaves_too_early_for_a_slow_poll(patch: Patch) -> None:
    read = Client.read_config

    def hasty(member: Client) -> None:
        read(member)
        member.max_poll_interval_us //= 2

    patch.setattr(Client, "read_config", hasty)


def ignores_that_the_group_rebalances(patch: Patch) -> None:
    """A heartbeat that is answered REBALANCE_IN_PROGRESS is not looked at."""
    patch.setattr(ConsumerCoordinator, "heartbeat_failed", lambda *_: None)


def aborts_transactions_early(patch: Patch) -> None:
    scan = TransactionCoordinator._scan_timeouts

    def hasty(coordinator: TransactionCoordinator, draft: Any) -> None:  # noqa: ANN401
        now_us = draft.now_us
        draft.now_us = now_us + 2_500_000
        scan(coordinator, draft)
        draft.now_us = now_us

    patch.setattr(TransactionCoordinator, "_scan_timeouts", hasty)


def _broker_sessions_last(patch: Patch, share: float) -> None:
    made = Controller.__init__

    def otherwise(controller: Controller, brokers: Any, session_timeout_us: int, emit: Any) -> None:  # noqa: ANN401
        made(controller, brokers, int(session_timeout_us * share), emit)

    patch.setattr(Controller, "__init__", otherwise)


def fences_brokers_early(patch: Patch) -> None:
    _broker_sessions_last(patch, 0.15)


def fences_brokers_late(patch: Patch) -> None:
    _broker_sessions_last(patch, 1.5)


def gives_batches_up_early(patch: Patch) -> None:
    expire = Sender._expire

    def hasty(sender: Sender, now_us: int) -> None:
        expire(sender, now_us + sender._delivery_us // 2)

    patch.setattr(Sender, "_expire", hasty)

"""The state machine of a member of the new protocol: what it owns, what it is to own, and whether it is in its group.

Theory of operation. The coordinator answers heartbeats with the member's epoch and, when it has changed, its target
assignment. A target that differs from the current assignment makes the member RECONCILING. It commits, gives up what
is not in the target, takes the rest, and is ACKNOWLEDGING until the next heartbeat says what it owns. Only one
reconciliation runs at a time; a target that arrives meanwhile is the next one. A fenced member loses all partitions
and joins again with epoch 0. A member whose application does not poll leaves, is STALE, and joins at the next poll().
The states and their legal moves are `CONSUMER_MEMBER_STATES`. This module decides; `AsyncMembership` acts.
Source: `AbstractMembershipManager`, `ConsumerMembershipManager`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from cluster.clients.async_consumer.local_assignment import NO_ASSIGNMENT, LocalAssignment
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.protocol.client_states import ConsumerMemberState
from cluster.protocol.consumer_group_messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatResponse,
)

_S = ConsumerMemberState
_NOT_IN_GROUP: Final = (_S.UNSUBSCRIBED, _S.FENCED, _S.FATAL, _S.STALE)
_TAKES_ASSIGNMENTS: Final = (_S.JOINING, _S.STABLE, _S.ACKNOWLEDGING, _S.RECONCILING)
_HEARTBEAT_NOW: Final = (_S.ACKNOWLEDGING, _S.LEAVING, _S.JOINING)


class PendingReconciliation(NamedTuple):
    """A target that the member takes: partitions to give up first, and partitions to take then."""

    target: LocalAssignment
    revoked: tuple[str, ...]
    added: tuple[str, ...]


class MembershipManager:
    """The membership of one process. It keeps state, epoch and partitions in the consumer, where all parts see them.

    `epoch_changed`: an epoch below 1 is none. `release_as_lost` lets onPartitionsLost run for all partitions, and calls
    `released` after it. `act_soon` lets poll() and the background thread look at the member again.
    """

    def __init__(
        self,
        consumer: ConsumerHost,
        epoch_changed: Callable[[], None],
        release_as_lost: Callable[[], None],
        act_soon: Callable[[], None],
    ) -> None:
        self._consumer = consumer
        self._epoch_changed, self._release_as_lost, self._act_soon = epoch_changed, release_as_lost, act_soon
        self.current = self.target = NO_ASSIGNMENT
        self.subscription_updated = True  # subscribe() comes before the first poll()
        self._poll_timer_expired = False
        self._reconciling: PendingReconciliation | None = None
        self._rejoined_meanwhile = False
        self._releasing = False

    def _transition(self, to: ConsumerMemberState, reason: str = "") -> None:
        if self._consumer.state is not to or to is _S.RECONCILING:
            self._consumer.set_state(to, reason)

    def _set_epoch(self, epoch: int) -> None:
        if self._consumer.generation != epoch:
            self._consumer.generation = epoch
            self._epoch_changed()

    # --- what the heartbeat manager asks ------------------------------------------------------------------------------

    @property
    def in_group(self) -> bool:
        """Whether the member is in its group, joins it, or leaves it."""
        return self._consumer.state not in _NOT_IN_GROUP

    @property
    def leaving(self) -> bool:
        """Whether the member leaves its group."""
        return self._consumer.state in (_S.PREPARE_LEAVING, _S.LEAVING)

    @property
    def heartbeats_now(self) -> bool:
        """Whether the next heartbeat does not wait for the interval: it joins, acknowledges or leaves."""
        return self._consumer.state in _HEARTBEAT_NOW

    @property
    def reconciled(self) -> bool:
        """Whether the member has what it is to have."""
        return self.current == self.target

    def heartbeat_generated(self) -> None:
        """React to the request that was made: it acknowledges, or leaves."""
        state = self._consumer.state
        if state is _S.ACKNOWLEDGING:
            self._transition(_S.STABLE if self.reconciled else _S.RECONCILING)
            self._act_soon()
        elif state is _S.LEAVING and self._poll_timer_expired:
            self._transition(_S.STALE)
            self._release()
        elif state is _S.LEAVING:
            self._transition(_S.UNSUBSCRIBED)

    def heartbeat_skipped(self) -> None:
        """Leave without a request: there is no coordinator."""
        if self._consumer.state is _S.LEAVING:
            self._transition(_S.UNSUBSCRIBED)

    # --- what the coordinator answers ---------------------------------------------------------------------------------

    def heartbeat_succeeded(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """Take the epoch, and an assignment if the response has one."""
        state = self._consumer.state
        if state is _S.LEAVING or not self.in_group or response.member_epoch < 0:
            return
        self._set_epoch(response.member_epoch)
        if response.assignment is None or state not in _TAKES_ASSIGNMENTS:
            return
        self.target = self.target.updated(response.assignment)
        if not self.reconciled:
            self._transition(_S.RECONCILING)
        elif state in (_S.RECONCILING, _S.JOINING):
            self._transition(_S.STABLE)
        self._act_soon()

    def fenced(self, reason: str) -> None:
        """Lose all partitions, and join again with epoch 0; a member that leaves has left."""
        state = self._consumer.state
        if state is _S.PREPARE_LEAVING:
            self.send_leave()
            self._transition(_S.UNSUBSCRIBED)
        elif state is _S.LEAVING:
            self._transition(_S.UNSUBSCRIBED)
        elif self.in_group:
            self._transition(_S.FENCED, reason)
            self._set_epoch(JOIN_EPOCH)
            self._release()

    def failed(self, reason: str) -> None:
        """Become FATAL: nothing is sent any more. A member that leaves keeps nothing anyway."""
        leaving = self.leaving or self._consumer.state is _S.UNSUBSCRIBED
        self._transition(_S.FATAL, reason)
        self._set_epoch(JOIN_EPOCH)  # commits carry none any more
        if not leaving:
            self._release()

    # --- partitions that are lost -------------------------------------------------------------------------------------

    def _release(self) -> None:
        self._releasing = True
        self._release_as_lost()

    def released(self) -> None:
        """React to the end of onPartitionsLost: a fenced member joins again."""
        self._releasing = False
        self.current = self.target = NO_ASSIGNMENT
        if self._consumer.state is _S.FENCED:
            self._join()

    def _join(self) -> None:
        if self._reconciling is not None:
            self._rejoined_meanwhile = True
        self._set_epoch(JOIN_EPOCH)
        self._transition(_S.JOINING)
        self.target = NO_ASSIGNMENT
        self._act_soon()

    # --- poll() -------------------------------------------------------------------------------------------------------

    @property
    def joins_at_poll(self) -> bool:
        """Whether the next poll() makes the member join."""
        state = self._consumer.state
        return (state is _S.UNSUBSCRIBED and self.subscription_updated) or (state is _S.STALE and not self._releasing)

    def join_at_poll(self) -> None:
        """Join: poll() is called for the first time, or again after its timer has expired."""
        self.subscription_updated = self._poll_timer_expired = False
        self._join()

    def poll_timer_expired(self) -> None:
        """Leave because poll() was not called for max.poll.interval.ms; the partitions are lost afterwards."""
        self._poll_timer_expired = True
        self._transition(_S.PREPARE_LEAVING, "max.poll.interval.ms passed without poll()")
        self.send_leave()

    # --- leaving ------------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Leave the group, after the partitions were given up; a member that is in no group has nothing to send."""
        if self._consumer.state is _S.FENCED:
            self._transition(_S.UNSUBSCRIBED)
        elif self.in_group and not self.leaving:
            self._transition(_S.PREPARE_LEAVING)
            self.send_leave()

    def send_leave(self) -> None:
        """Let the next heartbeat say that the member leaves: -1, or -2 for a static member, which may come back."""
        self._set_epoch(LEAVE_EPOCH if self._consumer.instance_id is None else STATIC_LEAVE_EPOCH)
        self.current = NO_ASSIGNMENT
        self._transition(_S.LEAVING)

    # --- reconciliation -----------------------------------------------------------------------------------------------

    @property
    def may_reconcile(self) -> bool:
        """Whether a reconciliation can begin."""
        return self._consumer.state is _S.RECONCILING and self._reconciling is None and not self.reconciled

    def begin_reconciliation(self) -> PendingReconciliation:
        """Begin to take the target: what the member gives up is not fetched from now on."""
        target, owned = self.target, self._consumer.owned
        revoked = tuple([name for name in owned if name not in target.partitions])
        added = tuple([name for name in target.partitions if name not in owned])
        self._rejoined_meanwhile = False
        self._reconciling = PendingReconciliation(target, revoked, added)
        return self._reconciling

    def aborted(self) -> bool:
        """End the reconciliation if the member is no longer RECONCILING, or has joined again; returns whether."""
        if self._consumer.state is _S.RECONCILING and not self._rejoined_meanwhile:
            return False
        self._reconciling = None
        self._rejoined_meanwhile = False
        return True

    def complete_reconciliation(self) -> None:
        """Own the target, and acknowledge it with the next heartbeat."""
        assert self._reconciling is not None
        self.current, self._reconciling = self._reconciling.target, None
        self._transition(_S.ACKNOWLEDGING)
        self._act_soon()

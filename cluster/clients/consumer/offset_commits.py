"""A consumer's commits: commitSync, commitAsync, the auto commits of poll(), and the responses to them.

A commit has the positions: the ends of what poll() has returned, processed or not. It also has the leader epoch of the
last record that was read. With it the next reader detects a log that was truncated since. Only a member that considers
itself Stable commits: between JoinGroup and the response to SyncGroup a client refuses its own commits. commitSync
tries retriable errors again until its timeout; commitAsync never does.
Source: `ConsumerCoordinator.sendOffsetCommitRequest`, `OffsetCommitResponseHandler`.
"""

from collections.abc import Callable, Mapping
from functools import partial

from cluster import events as e
from cluster.clients.consumer.consumer_host import UNAVAILABLE, ConsumerHost, MemberIdentity
from cluster.clients.process import coordinator_node
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode

IN_NO_GROUP, REBALANCING = "CommitFailedException", "RebalanceInProgressException"
"""The errors of commits that their own client refuses to send."""

OnCommitted = Callable[[ErrorCode], object]
"""Called with the error of a commit that has ended."""


class OffsetCommits:
    """Sends a member's commits. `on_error` gets each error, and the identity that its request was sent with.

    `retries`: an auto commit of poll() is sent again soon after a retriable error. The consumer of the new protocol
    waits for the next interval (`CommitRequestManager.requestAutoCommit`, whose error is never a
    RetriableCommitFailedException).
    """

    def __init__(
        self, consumer: ConsumerHost, on_error: Callable[[ErrorCode, MemberIdentity], None], *, retries: bool = True
    ) -> None:
        self._consumer, self._on_error, self.retries = consumer, on_error, retries
        self.reset()

    def reset(self) -> None:
        """Begin a new process."""
        self.error = ErrorCode.NONE  # of the last commit

    def _request(self) -> m.OffsetCommitRequest | None:
        consumer = self._consumer
        epochs, finished = consumer.fetcher.offset_epochs, consumer.finished
        if finished is not None:
            offsets = {name: (offset, epoch, "") for name, (offset, epoch) in finished.items()}
        else:
            offsets = {name: (offset, epochs[name], "") for name, offset in consumer.fetcher.positions.items()}
        if consumer.user_assigned:
            self._check_coordinator()
        if not offsets or consumer.coordinator < 0 or not consumer.stable:
            return None
        instance_id = None if consumer.user_assigned else consumer.instance_id
        generation = consumer.generation if consumer.generation > 0 else -1  # 0, -1, -2: epochs of no member
        return m.OffsetCommitRequest(
            consumer.group, generation, consumer.member_id, instance_id, offsets, consumer.name
        )

    def _check_coordinator(self) -> None:
        """Find the coordinator again if its connection is broken, and may not be made again yet."""
        consumer = self._consumer
        if consumer.coordinator >= 0 and consumer.backs_off(coordinator_node(consumer.coordinator)):
            consumer.coordinator_unknown(UNAVAILABLE, disconnected=True)

    def send(self, on_committed: OnCommitted | None = None, *, during: str = "") -> bool:
        """Send a commitAsync or an auto commit; returns false without positions, or if the member cannot commit.

        `during`: the occasion of an auto commit, as in `AutoCommitFailed`.
        """
        request = self._request()
        if request is None:
            return False
        answered = partial(self._answered, self._consumer.identity, request, on_committed, during)
        self._consumer.send_to_coordinator(request, answered)
        return True

    async def send_and_wait(self, during: str = "") -> bool:
        """Send the positions and wait for the response; returns true when they are stored, or when there are none."""
        consumer = self._consumer
        request = self._request()
        if request is None:
            self.error = ErrorCode.NONE
            if consumer.fetcher.positions and consumer.generation < 0 and not consumer.stable:
                self._not_a_member()
            return not consumer.fetcher.positions
        sent_as = consumer.identity
        return self._answered(sent_as, request, None, during, await consumer.ask_coordinator(request))

    def _not_a_member(self) -> None:
        """Emit a CommitFailedException without a request: the member was removed, or left because of a slow poll()."""
        consumer = self._consumer
        consumer.emit(
            e.OffsetCommitRefused(
                group=consumer.group,
                member=consumer.name,
                generation=consumer.generation,
                error=IN_NO_GROUP,
                member_id=consumer.member_id,
                offsets=dict(consumer.fetcher.positions),
            )
        )

    def auto_commit_unsent(self, during: str, error: str) -> None:
        """Emit that an auto commit cannot be sent: the consumer is in no group."""
        if self._consumer.fetcher.positions:
            self.emit_auto_commit_failed(during, error, self._consumer.fetcher.positions)

    def emit_auto_commit_failed(self, during: str, error: str, offsets: Mapping[str, int]) -> None:
        """Emit that an auto commit has failed for good; Kafka only logs it."""
        consumer = self._consumer
        failed = e.AutoCommitFailed(
            group=consumer.group, member=consumer.name, during=during, error=error, offsets=dict(offsets)
        )
        consumer.emit(failed)

    def _is_over(self, during: str, *, answered: bool) -> bool:
        """Whether an auto commit that has failed is not sent again."""
        if during == "poll" and not self.retries:
            return True
        return bool(during) and answered and not self.error.retriable

    def _answered(
        self,
        sent_as: MemberIdentity,
        request: m.OffsetCommitRequest,
        on_committed: OnCommitted | None,
        during: str,
        response: m.OffsetCommitResponse | None,
    ) -> bool:
        """Handle the response to an OffsetCommit, None for a broken connection; returns true when all is stored."""
        if response is None:
            self.error = ErrorCode.NETWORK_EXCEPTION
        else:
            self.error = next(
                (error for error in response.errors.values() if error is not ErrorCode.NONE), ErrorCode.NONE
            )
            if self.error is not ErrorCode.NONE:
                self._on_error(self.error, sent_as)
        if self.error is not ErrorCode.NONE and self._is_over(during, answered=response is not None):
            offsets = {name: sent[0] for name, sent in request.offsets.items()}
            self.emit_auto_commit_failed(during, self.error.name, offsets)
        if on_committed is not None:
            on_committed(self.error)
        return self.error is ErrorCode.NONE

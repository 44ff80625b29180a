"""A consumer's commits: commitSync, commitAsync, the auto commits of poll(), and what it makes of the answers.

A commit holds the positions: what poll() has returned, whether or not it was worked on, and the leader epoch of what
was read last, by which whoever begins there finds out whether the log has been truncated since. It is sent under the
generation of a member that is Stable in its own eyes: between JoinGroup and the answer to SyncGroup a client refuses
its own commits. Whatever trying again can help commitSync tries again for its time; commitAsync never does.
Source: `ConsumerCoordinator.sendOffsetCommitRequest`, `OffsetCommitResponseHandler`.
"""

from collections.abc import Callable, Mapping
from functools import partial

from cluster import events as e
from cluster.clients.consumer.consumer_host import ConsumerHost, MemberIdentity
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode

IN_NO_GROUP, REBALANCING = "CommitFailedException", "RebalanceInProgressException"
"""What a commit fails with that its own client does not send."""

Ended = Callable[[ErrorCode], object]
"""What is done when a commit has ended, with its error."""


class OffsetCommits:
    """Sends a member's commits. `refused` is told of every answer other than NONE and as whom it had been sent."""

    def __init__(self, consumer: ConsumerHost, refused: Callable[[ErrorCode, MemberIdentity], None]) -> None:
        self._consumer, self._refused = consumer, refused
        self.reset()

    def reset(self) -> None:
        """A new process."""
        self.error = ErrorCode.NONE  # the last commit's

    def _request(self) -> m.OffsetCommitRequest | None:
        consumer = self._consumer
        epochs = consumer.fetcher.offset_epochs
        offsets = {name: (offset, epochs[name], "") for name, offset in consumer.fetcher.positions.items()}
        if not offsets or consumer.coordinator < 0 or not consumer.stable:
            return None
        return m.OffsetCommitRequest(
            consumer.group, consumer.generation, consumer.member_id, consumer.instance_id, offsets, consumer.name
        )

    def send(self, ended: Ended | None = None, *, during: str = "") -> bool:
        """commitAsync, or an auto commit; false when there is nothing to send, or nobody to send it to.

        `during`: of an auto commit, as in `AutoCommitFailed`.
        """
        request = self._request()
        if request is None:
            return False
        answered = partial(self._answered, self._consumer.identity, request, ended, during)
        self._consumer.send_to_coordinator(request, answered)
        return True

    async def once(self, during: str = "") -> bool:
        """Send the positions and wait for the answer: true when they are stored, or when there is nothing to store."""
        consumer = self._consumer
        request = self._request()
        if request is None:
            self.error = ErrorCode.NONE
            if consumer.fetcher.positions and consumer.generation < 0:
                self._not_a_member()
            return not consumer.fetcher.positions
        sent_as = consumer.identity
        return self._answered(sent_as, request, None, during, await consumer.ask_coordinator(request))

    def _not_a_member(self) -> None:
        """CommitFailedException without a request: the consumer was thrown out, or left for a slow poll()."""
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
        """An auto commit that cannot be sent: the consumer is in no group."""
        if self._consumer.fetcher.positions:
            self.emit_auto_commit_failed(during, error, self._consumer.fetcher.positions)

    def emit_auto_commit_failed(self, during: str, error: str, offsets: Mapping[str, int]) -> None:
        """An auto commit that has failed for good: nobody is told but who reads the log."""
        consumer = self._consumer
        failed = e.AutoCommitFailed(
            group=consumer.group, member=consumer.name, during=during, error=error, offsets=dict(offsets)
        )
        consumer.emit(failed)

    def _answered(
        self,
        sent_as: MemberIdentity,
        request: m.OffsetCommitRequest,
        ended: Ended | None,
        during: str,
        response: m.OffsetCommitResponse | None,
    ) -> bool:
        """An OffsetCommit ended: true when all of it is stored."""
        if response is None:
            self.error = ErrorCode.NETWORK_EXCEPTION
        else:
            errors = (error for error in response.errors.values() if error is not ErrorCode.NONE)
            self.error = next(errors, ErrorCode.NONE)
            if self.error is not ErrorCode.NONE:
                self._refused(self.error, sent_as)
            if during and self.error is not ErrorCode.NONE and not self.error.retriable:
                self.emit_auto_commit_failed(
                    during, self.error.name, {name: sent[0] for name, sent in request.offsets.items()}
                )
        if ended is not None:
            ended(self.error)
        return self.error is ErrorCode.NONE

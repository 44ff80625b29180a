"""The heartbeats of a member of the new protocol: when one is sent, what it carries, and what an error means.

The coordinator sets the interval by its answers. A heartbeat that joins, acknowledges or leaves does not wait for it,
and only one is in flight, unless it leaves. A request has only what changed since the last one; after an error it has
everything again. The timer of poll() is checked when a heartbeat is due: a member whose application polls too seldom
leaves instead. Without a coordinator nothing is sent.
Source: `AbstractHeartbeatRequestManager`, `ConsumerHeartbeatRequestManager`, `HeartbeatRequestState`.
"""

from typing import Final

from cluster.clients.async_consumer.local_assignment import LocalAssignment
from cluster.clients.async_consumer.membership_manager import MembershipManager
from cluster.clients.consumer.consumer_host import MS, ConsumerHost
from cluster.protocol.client_states import ConsumerMemberState
from cluster.protocol.consumer_group_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from cluster.protocol.errors import ErrorCode
from cluster.virtual_time.waiting import NEVER_US

MOST_DOUBLINGS: Final = 10
_COORDINATOR_MOVED: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_FENCED: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)

_S = ConsumerMemberState


class _SentFields:
    """What the last request said, None: it must be said again."""

    rebalance_timeout_ms = -1
    topics: tuple[str, ...] | None = None
    topic_regex: str | None = None
    assignor: str | None = None
    assignment: LocalAssignment | None = None


class HeartbeatRequestManager:
    """The heartbeats of one process. `interval_us`: as the coordinator's last answer says."""

    def __init__(self, consumer: ConsumerHost, manager: MembershipManager) -> None:
        self._consumer, self._manager = consumer, manager
        self.interval_us = 0
        self.in_flight: ConsumerGroupHeartbeatRequest | None = None
        self._timer_us = 0  # when the interval since the last request is over
        self._not_before_us = 0  # the backoff after a failure
        self._sent_us = -MS
        self._failures = 0
        self._sent = _SentFields()

    # --- when ---------------------------------------------------------------------------------------------------------

    @property
    def next_us(self) -> int:
        """When `poll` has something to do; NEVER_US: when the member's state or the coordinator changes."""
        if self._consumer.coordinator < 0 or not self._manager.in_group:
            return NEVER_US
        if self._manager.leaving:
            return 0
        if self.in_flight is not None:
            return max(self._timer_us, self._poll_expires_us)
        if self._manager.heartbeats_now:
            return self._sent_us + MS  # the background thread's own pace
        return max(self._timer_us, self._not_before_us)

    @property
    def _poll_expires_us(self) -> int:
        consumer = self._consumer
        return NEVER_US if consumer.in_poll else consumer.last_poll_us + consumer.max_poll_interval_us

    def poll(self) -> ConsumerGroupHeartbeatRequest | None:
        """The request to send now, if one is due."""
        consumer, manager = self._consumer, self._manager
        now_us = consumer.timeline.now_us
        if consumer.coordinator < 0:
            manager.heartbeat_skipped()
            return None
        if not manager.in_group or now_us < self.next_us:
            return None
        if now_us >= self._poll_expires_us and not manager.leaving:
            manager.poll_timer_expired()
            request = self._request(now_us)
            self.forget()  # its response is ignored
            return request
        return self._request(now_us)

    def _request(self, now_us: int) -> ConsumerGroupHeartbeatRequest:
        self.in_flight = request = self._build()
        self._sent_us, self._timer_us = now_us, now_us + self.interval_us
        self._manager.heartbeat_generated()
        return request

    # --- what ---------------------------------------------------------------------------------------------------------

    def _build(self) -> ConsumerGroupHeartbeatRequest:
        consumer, config, sent = self._consumer, self._consumer.config, self._sent
        everything = consumer.state is _S.JOINING
        request = ConsumerGroupHeartbeatRequest(
            consumer.group, consumer.member_id, consumer.generation, consumer.instance_id, client_id=consumer.name
        )
        if everything or sent.rebalance_timeout_ms != config.max_poll_interval_ms:
            request.rebalance_timeout_ms = sent.rebalance_timeout_ms = config.max_poll_interval_ms
        topics = tuple(sorted(consumer.topics))
        if everything or sent.topics != topics:
            request.topics = sent.topics = topics
        regex = consumer.topic_regex
        if (everything and regex) or (sent.topic_regex or "") != regex:
            request.topic_regex = sent.topic_regex = regex
        assignor = config.group_remote_assignor
        if assignor is not None and (everything or sent.assignor != assignor):
            request.assignor = sent.assignor = assignor
        current = self._manager.current
        if everything or sent.assignment != current:
            request.owned, sent.assignment = current.partitions, current
        if everything:
            request.rack_id = config.client_rack or None
        return request

    # --- answers ------------------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Begin anew: no request counts as in flight, no backoff lasts, and the next request says everything."""
        self.in_flight, self._failures, self._not_before_us = None, 0, 0
        self._sent = _SentFields()

    def answered(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse | None
    ) -> str | None:
        """Handle a response, None for a broken connection; returns what poll() must throw, if the error is fatal."""
        if request is not self.in_flight:
            return None  # of a member that has left because of its slow poll()
        self.in_flight = None
        error = ErrorCode.NETWORK_EXCEPTION if response is None else response.error
        if response is not None and error is ErrorCode.NONE:
            interval_us = response.heartbeat_interval_ms * MS
            if interval_us != self.interval_us:
                self.interval_us, self._timer_us = interval_us, self._consumer.timeline.now_us + interval_us
            self._failures = self._not_before_us = 0
            self._manager.heartbeat_succeeded(response)
            return None
        self._sent = _SentFields()
        self._back_off()
        if response is not None:
            return self._refused(error, response.message)
        return None

    def _back_off(self) -> None:
        consumer = self._consumer
        backoff_us = consumer.retry_backoff_us << min(self._failures, MOST_DOUBLINGS)
        self._timer_us = consumer.timeline.now_us
        self._not_before_us = self._timer_us + max(MS, min(backoff_us, consumer.retry_backoff_max_us))
        self._failures += 1

    def _refused(self, error: ErrorCode, message: str) -> str | None:
        if error in _COORDINATOR_MOVED:
            self.forget()  # the next one is sent as soon as the coordinator is found
            self._consumer.coordinator_unknown(f"error response {error.name}")
        elif error in _FENCED:
            self.forget()
            self._manager.fenced(error.name)
        elif error is ErrorCode.GROUP_ID_NOT_FOUND and self._consumer.state is _S.UNSUBSCRIBED:
            self._manager.heartbeat_skipped()
        elif error is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            self._manager.failed(error.name)
            return f"{error.name}: {message}" if message else error.name
        return None

"""The state that all rules of one group coordinator share: its settings, its groups, their deadlines."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from cluster.config.broker_values import broker_names, broker_number, broker_word
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.topic_metadata import TopicMetadata
from cluster.coordinators.decision import Call, DeadlineName, Deadlines, Decision, Draft
from cluster.coordinators.group.group import NOT_ARMED, SESSION, ClassicGroup, GroupMember
from cluster.events import MemberRemoved
from cluster.protocol.api import Request, Response
from cluster.protocol.messages import HeartbeatRequest, OffsetCommitRequest

UUID_LENGTH: Final = 36

ALREADY_ANSWERED: Call = object()
"""A placeholder for a parked call that already got an error, while its member stays at the barrier."""


class GroupSettings(NamedTuple):
    """The coordinator's configuration, by Kafka's keys; the defaults are Kafka's."""

    min_session_timeout_ms: int
    max_session_timeout_ms: int
    max_size: int
    initial_rebalance_delay_us: int
    new_member_join_timeout_us: int
    offset_metadata_max_bytes: int
    offsets_retention_us: int
    retention_check_interval_us: int
    consumer_session_timeout_us: int
    consumer_heartbeat_interval_ms: int
    consumer_max_size: int
    consumer_assignors: tuple[str, ...]
    migration_policy: str
    assignment_interval_us: int
    regex_refresh_us: int

    @property
    def upgrades(self) -> bool:
        """Whether a classic group with members may become a consumer group."""
        return self.migration_policy in ("bidirectional", "upgrade")

    @property
    def downgrades(self) -> bool:
        """Whether a consumer group of classic members may become a classic group."""
        return self.migration_policy in ("bidirectional", "downgrade")

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "GroupSettings":
        """Read a configuration; absent keys have Kafka's defaults. Durations are in the unit of the key's name."""
        number = partial(broker_number, config)
        return cls(
            min_session_timeout_ms=number("group.min.session.timeout.ms"),
            max_session_timeout_ms=number("group.max.session.timeout.ms"),
            max_size=number("group.max.size"),
            initial_rebalance_delay_us=1_000 * number("group.initial.rebalance.delay.ms"),
            new_member_join_timeout_us=300_000_000,  # GroupCoordinator.NewMemberJoinTimeoutMs: not configurable
            offset_metadata_max_bytes=number("offset.metadata.max.bytes"),
            offsets_retention_us=60_000_000 * number("offsets.retention.minutes"),
            retention_check_interval_us=1_000 * number("offsets.retention.check.interval.ms"),
            consumer_session_timeout_us=1_000 * number("group.consumer.session.timeout.ms"),
            consumer_heartbeat_interval_ms=number("group.consumer.heartbeat.interval.ms"),
            consumer_max_size=number("group.consumer.max.size"),
            consumer_assignors=broker_names(config, "group.consumer.assignors"),
            migration_policy=broker_word(config, "group.consumer.migration.policy"),
            assignment_interval_us=1_000 * number("group.consumer.assignment.interval.ms"),
            regex_refresh_us=1_000 * number("group.consumer.regex.refresh.interval.ms"),
        )


class GroupContext:
    """The groups of one partition of `__consumer_offsets`, with the settings and deadlines that rules need.

    `groups` are classic, `consumer_groups` of the new protocol; no id is in both. `topics` are those of the broker's
    metadata. `revoking_epochs`: the member epoch for which a rebalance timeout runs.
    """

    __slots__ = (
        "broker",
        "consumer_groups",
        "deadlines",
        "groups",
        "new_uuid",
        "regexes_to_resolve",
        "revoking_epochs",
        "settings",
        "topics",
    )

    def __init__(
        self, broker: int, settings: GroupSettings, new_uuid: Callable[[], str], topics: TopicMetadata
    ) -> None:
        self.broker = broker
        self.settings = settings
        self.new_uuid = new_uuid
        self.groups: dict[str, ClassicGroup] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.topics = topics
        self.revoking_epochs: dict[DeadlineName, int] = {}
        self.regexes_to_resolve: dict[str, tuple[str, ...]] = {}
        self.deadlines = Deadlines()

    def new_consumer_member_id(self) -> str:
        """Mint the id of a classic member that joins a consumer group, without its client id: `Uuid.randomUuid()`."""
        member_id = "-"
        while member_id.startswith("-"):
            member_id = urlsafe_b64encode(UUID(self.new_uuid()).bytes).decode().rstrip("=")
        return member_id

    def arm(self, member: GroupMember, now_us: int, timeout_us: int | None = None) -> int:
        """Start or restart a member's session, or another timeout in its place. Returns the new deadline (µs)."""
        at_us = now_us + (member.session_timeout_ms * 1000 if timeout_us is None else timeout_us)
        member.session_deadline_us = at_us
        self.deadlines.set(member.session_name, at_us)
        return at_us

    def disarm(self, member: GroupMember) -> None:
        """Stop a member's session while one of its calls is parked; the answer to that call restarts it."""
        member.session_deadline_us = NOT_ARMED
        self.deadlines.cancel(member.session_name)

    def remove_member(
        self, group: ClassicGroup, member_id: str, reason: str, draft: Draft, client_reason: str = ""
    ) -> None:
        """Remove a member or a pending member id, with its deadline. Its parked calls are dropped without an answer."""
        member = group.members.get(member_id)
        name = member.client_id if member else group.pending[member_id]
        self.deadlines.cancel((SESSION, group.group_id, member_id))
        group.remove(member_id)
        draft.emit(
            MemberRemoved(
                group=group.group_id,
                member=name,
                member_id=member_id,
                reason=str(reason),
                leader=group.leader_name,
                client_reason=client_reason,
            )
        )


def reply_parked(draft: Draft, call: Call, response: Response) -> None:
    """Answer a parked call, unless it has already got an error."""
    if call is not ALREADY_ANSWERED:
        draft.reply(call, response)


def sender_of(request: HeartbeatRequest | OffsetCommitRequest) -> str:
    """The client id of a request's sender, else the prefix of its member id (`billing-1-<uuid>`), else ""."""
    if request.client_id:
        return request.client_id
    name, dash = request.member_id[: -UUID_LENGTH - 1], request.member_id[-UUID_LENGTH - 1 : -UUID_LENGTH]
    return name if dash == "-" else ""


RequestT = TypeVar("RequestT", bound=Request)
Handler = Callable[[GroupContext, RequestT, Call, int], Decision]


def serves(kind: type[RequestT], handler: Handler[RequestT]) -> tuple[type[Request], Handler[Any]]:
    """A row of the coordinator's table of handlers; mypy checks that the handler takes such a request."""
    return kind, handler

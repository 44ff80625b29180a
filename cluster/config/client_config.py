"""The configuration of clients as typed structs: each field has the name of its Kafka key, with `_` for `.`.

A struct is made once from the resolved keys of a role. After a `set` command has changed some of them, another one is
made. An attribute replaces a lookup by text and a cast. Values keep the keys' units.
Source: `ConsumerConfig`, `ProducerConfig`, `CommonClientConfigs`.
"""

from collections.abc import Mapping
from typing import Self

import msgspec

from cluster.config.keys import Value


def key_of_field(field: str) -> str:
    """The Kafka key of a field: `session_timeout_ms` is `session.timeout.ms`."""
    return field.replace("_", ".")


class TypedConfig(msgspec.Struct, frozen=True, rename=key_of_field):
    """Some of the keys of one role. Keys without a field are ignored."""

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Self:
        """Convert resolved keys. Raises msgspec.ValidationError for a missing key or a value of another type."""
        return msgspec.convert(dict(values), cls)


class ConnectionConfig(TypedConfig, frozen=True, rename=key_of_field):
    """The keys that decide when a client connects again, and for how long it tries."""

    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int


class ClientConfig(ConnectionConfig, frozen=True, rename=key_of_field):
    """The keys that consumers and producers share."""

    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int


class ConsumerConfig(ClientConfig, frozen=True, rename=key_of_field):
    """The keys of a consumer."""

    group_protocol: str
    group_remote_assignor: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    max_poll_records: int
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    isolation_level: str
    group_instance_id: str | None
    partition_assignment_strategy: tuple[str, ...]
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    max_partition_fetch_bytes: int
    default_api_timeout_ms: int
    client_rack: str

    @property
    def read_committed(self) -> bool:
        """Whether the consumer gets only records of committed transactions."""
        return self.isolation_level == "read_committed"


class ProducerConfig(ClientConfig, frozen=True, rename=key_of_field):
    """The keys of a producer."""

    acks: str
    enable_idempotence: bool
    linger_ms: int
    batch_size: int
    buffer_memory: int
    max_block_ms: int
    delivery_timeout_ms: int
    retries: int
    max_in_flight_requests_per_connection: int
    max_request_size: int
    compression_type: str
    partitioner_class: str | None
    partitioner: str | None
    partitioner_ignore_keys: bool
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    transaction_timeout_ms: int

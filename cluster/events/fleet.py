"""What a flight declares before anything runs, and where its events come from if it was not flown."""

from cluster.events.event import Event


class TopicCreated(Event, frozen=True, kw_only=True):
    """A topic exists; its partitions follow as `leader_elected`. `internal`: `__consumer_offsets` and its like."""

    topic: str
    partitions: int
    replication_factor: int
    min_insync_replicas: int
    internal: bool


class GroupDeclared(Event, frozen=True, kw_only=True):
    """A consumer group of the scenario; `coordinator_partition` is its partition of `__consumer_offsets`.

    `sink` is the outside store that its applications write each finished record to ("" for none).
    """

    group: str
    topics: tuple[str, ...]
    assignors: tuple[str, ...]
    offset_reset: str
    read_committed: bool
    coordinator_partition: str
    sink: str = ""


class MemberDeclared(Event, frozen=True, kw_only=True):
    """A consumer of a group, with the timeouts (milliseconds) that its three clocks count against."""

    group: str
    member: str
    instance_id: str
    topics: tuple[str, ...]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int


class MemberAssignorsDeclared(Event, frozen=True, kw_only=True):
    """From its next start on a member offers these assignors, in its order of preference.

    Without this event it offers those of `group_declared`.
    """

    group: str
    member: str
    assignors: tuple[str, ...]


class ProducerDeclared(Event, frozen=True, kw_only=True):
    """A producer instance of the scenario; `rate_per_second` is its total over its topics at the start."""

    producer: str
    topics: tuple[str, ...]
    rate_per_second: float
    transactional_id: str


class PartitionsAdded(Event, frozen=True, kw_only=True):
    """A topic has `partitions` partitions now; the new ones follow as `leader_elected`."""

    topic: str
    partitions: int


class ClientDisconnected(Event, frozen=True, kw_only=True):
    """A client logged that its connection to a broker ended or was not made; no flight has this, only logs do.

    `client`: its `client.id`. `broker` is -1 where the line has a bootstrap server. `cause`: `disconnected`,
    `not established`, `request timeout`, `connection setup timeout` or `authentication`. A connection that is not
    established has two lines: `disconnected` is the first.
    """

    client: str
    broker: int
    cause: str


class LogsRead(Event, frozen=True, kw_only=True):
    """The events that follow were read from logs of real processes: what no line tells is unknown, and never 0.

    `began_us`: the instant 0 as microseconds since 1970, of dates taken as UTC; -1 if the logs have no dates.
    """

    logs: tuple[str, ...]
    began_us: int

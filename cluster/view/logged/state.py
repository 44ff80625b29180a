"""The read model of a recording of logs: what their lines say. What none says is None, or not in it."""

from typing import Final

import msgspec

UNKNOWN: Final = "unknown"
"""The word in events for a cause, a state or a name that no line has."""


class LoggedRebalance(msgspec.Struct, gc=False):
    """A rebalance as a coordinator logged it. A group of the consumer protocol has one for each group epoch.

    One that began anew before it had an assignment is one, with its first cause and `attempts`. `barrier_us`: when the
    last generation had its members; `assigned_us`: when the coordinator received the assignment, or the group was
    empty. `joined`, `removed`: members by name, with their instant, with the reason. `moved`: partitions that changed
    their owner, where the leader's client logged this assignment and the one before. `over`: nothing more is logged.
    """

    began_us: int
    cause: str | None
    trigger: str
    detail: str
    coordinator: int
    before: int | None = None
    generation: int | None = None
    attempts: int = 1
    extensions: int = 0
    barrier_us: int | None = None
    assigned_us: int | None = None
    members: int | None = None
    joined: dict[str, int] = {}
    removed: dict[str, str] = {}
    moved: int | None = None
    over: bool = False

    @property
    def took_us(self) -> int | None:
        """From its beginning until the assignment."""
        return None if self.assigned_us is None else self.assigned_us - self.began_us


class LoggedMember(msgspec.Struct, gc=False):
    """A member by its id: its name, when it joined (None: before the logs begin)."""

    name: str
    since_us: int | None = None


class LoggedGroup(msgspec.Struct, gc=False):
    """A group after the lines so far. `members`: those that lines name, by member id; `complete`: these are all.

    `owned`: client → the partitions that its own log says it has. `assignment`: partition → member id, of the last
    assignment that a leader's log has. Lag and offsets are in no line that is read.
    `rebalances`: the last ones, the newest last, that under way included; `counted`: all of them. `named`: every name
    of a member so far. `left`: the last that was removed, the reason, the instant.
    """

    group: str
    coordinator: int | None = None
    protocol: str | None = None
    state: str | None = None
    generation: int | None = None
    members: dict[str, LoggedMember] = {}
    complete: bool = False
    owned: dict[str, dict[str, None]] = {}
    assignment: dict[str, str] | None = None
    rebalances: list[LoggedRebalance] = []
    counted: int = 0
    named: dict[str, None] = {}
    left: tuple[str, str, int] = ("", "", -1)

    @property
    def under_way(self) -> LoggedRebalance | None:
        """The rebalance that is not over."""
        return self.rebalances[-1] if self.rebalances and not self.rebalances[-1].over else None


class LoggedProducer(msgspec.Struct, gc=False):
    """A producer as its lines tell of it; producers with one `client.id` are one.

    `state`: the last that a line says: Running, AbortableError, FatalError, Fenced or Stopped. `retried`, `split`:
    how many batches lines say so of. `last_error`: of the last line with one; its partition, if it names one. What was
    sent, and what was acknowledged, is in no line. `said_us`: the instant of its last line.
    """

    producer: str
    transactional_id: str = ""
    state: str | None = None
    reason: str = ""
    producer_id: int | None = None
    epoch: int | None = None
    coordinator: int | None = None
    retried: int = 0
    split: int = 0
    last_error: str = ""
    last_partition: str = ""
    said_us: int = 0


class LoggedTransactionalId(msgspec.Struct, gc=False):
    """A transactional id as its coordinator's lines tell of it.

    Lines tell when a producer is initialized, fenced, or its transaction aborted after its timeout; when transactions
    begin and end, and so the state, is in none. `said`, `said_us`: what the last line says, and its instant.
    """

    transactional_id: str
    said: str = ""
    said_us: int = 0
    producer_id: int | None = None
    epoch: int | None = None
    coordinator: int | None = None
    initialized: int = 0
    timed_out: int = 0
    fenced: int = 0


class LoggedConnections(msgspec.Struct, gc=False):
    """What a client logged of its connections: how many it lost, and when the event log last had each sentence."""

    client: str
    lost: int = 0
    said_us: dict[str, int] = {}


class LogsView(msgspec.Struct, gc=False):
    """The logs that the events were read from; `began_us` is instant 0 in µs since 1970, -1 without dates."""

    logs: tuple[str, ...]
    began_us: int
    groups: dict[str, LoggedGroup] = {}
    producers: dict[str, LoggedProducer] = {}
    transactional_ids: dict[str, LoggedTransactionalId] = {}
    connections: dict[str, LoggedConnections] = {}

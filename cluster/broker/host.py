"""The broker as the parts of this package see it: one interface, implemented by `Broker`.

A part (a replica, a coordinator runtime, the socket server, …) receives its broker and calls it through this interface.
So no part imports `broker.py`. The replica type is a parameter, because replicas use the interface themselves.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from cluster.broker.disk import Disk
from cluster.broker.metadata_cache import LiveBrokers, Metadata, MetadataCache
from cluster.broker.purgatory import Timeouts
from cluster.events import Event
from cluster.network import Connection, Endpoint, InFlightRequest, Link, Network
from cluster.protocol.api import Request
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch
from cluster.spec import Buggify
from cluster.virtual_time import Timeline

RequestHandler = Callable[[InFlightRequest], None]
RequestHandlers = Mapping[type[Request], RequestHandler]

RegistrationResponse = tuple[int, int, int, LiveBrokers, Metadata]
"""BrokerRegistration accepted: (incarnation, broker epoch, metadata version, live brokers, all metadata)."""
MetadataUpdate = tuple[int, LiveBrokers, Metadata]
"""(metadata version, live brokers, the changed partitions)"""

ReplicaT = TypeVar("ReplicaT")


class BrokerHost(ABC, Generic[ReplicaT]):
    """One broker, over its type of replicas.

    The process is `alive` from start to end, `running` unless it is frozen or loads its logs, `frozen` between SIGSTOP
    and SIGCONT. `incarnation` counts the processes and registrations: a message to an earlier one is void. `epoch` is
    the broker epoch, -1 before registration. `stopped_us` is -1 while the process lives; `died_us` is the last end.
    `lag_us` is `replica.lag.time.max.ms`, `fetch_wait_us` is `replica.fetch.wait.max.ms`. `rack` is "" without one.
    `selects_read_replicas`: consumers fetch from followers of the partitions that this broker leads.
    """

    id: int
    name: str
    rack: str
    alive: bool
    running: bool
    frozen: bool
    incarnation: int
    epoch: int
    stopped_us: int
    died_us: int
    timeline: Timeline
    network: Network
    buggify: Buggify
    disk: Disk
    timeouts: Timeouts
    metadata: MetadataCache
    replicas: dict[str, ReplicaT]
    emit: Callable[[Event], None]
    lag_us: int
    fetch_wait_us: int
    producer_expiration_us: int
    selects_read_replicas: bool

    # --- the process --------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def now_us(self) -> int:
        """Virtual time."""

    @property
    @abstractmethod
    def starting(self) -> bool:
        """Whether the broker accepts no connections yet."""

    @property
    @abstractmethod
    def stopping(self) -> bool:
        """Whether a controlled shutdown is under way."""

    @abstractmethod
    def defer(self, action: Callable[[Any], object], argument: object) -> None:
        """Queue an action until a frozen process resumes; drop it when the process is dead."""

    @abstractmethod
    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Run an action after a delay, in the present incarnation only."""

    @abstractmethod
    def on_logs_loaded(self) -> None:
        """The process has loaded its logs: it runs from now on."""

    # --- other brokers and clients ------------------------------------------------------------------------------------

    @abstractmethod
    def link_to(self, broker: int) -> Link:
        """The link to another broker."""

    @abstractmethod
    def link_from(self, broker: int) -> Link:
        """The link from another broker."""

    @abstractmethod
    def replica_on(self, broker: int, partition: str) -> ReplicaT:
        """The replica of a partition on another broker."""

    @abstractmethod
    def replica_of(self, partition: str) -> ReplicaT:
        """This broker's replica of a partition, also one that it has not heard of yet, or any more: that is empty."""

    @abstractmethod
    def emit_lost(self, replica: ReplicaT, dropped: Sequence[RecordBatch]) -> None:
        """Emit which batches that a replica dropped no replica holds any more."""

    @abstractmethod
    def emit_survived(self, replica: ReplicaT, batches: Sequence[RecordBatch]) -> None:
        """Emit which of a replica's fetched batches were in no log any more."""

    @abstractmethod
    def rack_of(self, broker: int) -> str:
        """The rack of a broker; "" without one."""

    @abstractmethod
    def endpoint(self) -> Endpoint:
        """The socket server, as another broker connects to it."""

    @abstractmethod
    def close_connection(self, connection: Connection) -> None:
        """Close a client's connection; unread requests are lost."""

    # --- replicas -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def is_live(self, broker: int) -> bool:
        """Whether a broker is registered and unfenced in this broker's metadata."""

    @abstractmethod
    def leader_since(self, partition: str) -> int:
        """From which epoch on the controller's leader of a partition leads; it may not have reached this broker yet."""

    @abstractmethod
    def leadership_changed(self, replica: ReplicaT, was_leader: bool) -> None:
        """A replica became leader or stopped being it."""

    @abstractmethod
    def high_watermark_advanced(self, replica: ReplicaT) -> None:
        """Parked fetches of the partition can be answered; a leader's followers do not know it yet."""

    @abstractmethod
    def follower_fetched(self, leader: ReplicaT, follower: int, *, first: bool) -> None:
        """Where read replicas are selected: a follower's fetch arrived, perhaps the first one of its session."""

    @abstractmethod
    def follower_answered(self, leader: ReplicaT, follower: int) -> None:
        """Where read replicas are selected: a follower's fetch is answered with records."""

    @abstractmethod
    def expand_isr(self, replica: ReplicaT, follower: int) -> bool:
        """Ask the controller to add a caught-up follower to the ISR. False when it cannot be asked, or not for it."""

    # --- responses of the controller ----------------------------------------------------------------------------------

    @abstractmethod
    def on_registered(self, response: RegistrationResponse) -> None:
        """BrokerRegistration was accepted."""

    @abstractmethod
    def on_registration_refused(self, incarnation: int) -> None:
        """BrokerRegistration was refused: the session of the former incarnation is still valid."""

    @abstractmethod
    def on_registration_required(self, incarnation: int) -> None:
        """BrokerHeartbeat was refused: the controller does not know this incarnation."""

    @abstractmethod
    def on_shutdown_response(self, response: tuple[int, bool]) -> None:
        """BrokerHeartbeat with wantShutDown was answered: (incarnation, whether the process may end)."""

    @abstractmethod
    def on_metadata_update(self, update: MetadataUpdate) -> None:
        """The controller published changed partitions."""

    @abstractmethod
    def on_isr_altered(self, response: tuple[ReplicaT, PartitionMetadata]) -> None:
        """AlterPartition was answered with the controller's metadata of the replica's partition."""

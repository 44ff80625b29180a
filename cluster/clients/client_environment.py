"""What every client's process gets from the simulation."""

from collections.abc import Callable, Mapping

import msgspec

from cluster.clients.key_order import KeyOrder
from cluster.events import Event
from cluster.network import Endpoint, Network
from cluster.protocol.messages import PartitionMetadata
from cluster.virtual_time import Timeline


class ClientEnvironment(msgspec.Struct):
    """What a client gets from the simulation: time, the network, every broker's endpoint, and the event pipeline.

    `transaction_version`: the cluster's `transaction.version`, as brokers report it in ApiVersions. `leaders`: the
    controller's view of every partition, used only to skip metadata requests that would change nothing.
    `start_jitter_us`: a consumer's application starts later than its process by less than this.
    `group_session_timeout_ms` and `group_heartbeat_interval_ms`: those of members of groups of the new protocol, which
    brokers decide.
    """

    timeline: Timeline
    network: Network
    brokers: dict[int, Endpoint]
    emit: Callable[[Event], None]
    seed: int
    key_order: KeyOrder
    leaders: Mapping[str, PartitionMetadata]
    transaction_version: int = 2
    start_jitter_us: int = 0
    group_session_timeout_ms: int = 45_000
    group_heartbeat_interval_ms: int = 5_000

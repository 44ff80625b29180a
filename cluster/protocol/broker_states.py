"""The states of a broker's process, and every legal transition between them.

A frozen process (SIGSTOP) keeps its state. Kafka's RECOVERY and SHUTTING_DOWN are instants here, so they have no state.
Source: Kafka's `BrokerState`, `BrokerLifecycleManager`.
"""

from enum import StrEnum

from cluster.protocol.state_machine import StateTable


class BrokerState(StrEnum):
    """The state of a broker's process; the value is the name that events carry."""

    NOT_RUNNING = "NotRunning"
    STARTING = "Starting"
    RUNNING = "Running"
    PENDING_CONTROLLED_SHUTDOWN = "PendingControlledShutdown"


class BrokerEvent(StrEnum):
    """An event that changes the state of a broker's process; the value is its description."""

    CLUSTER_STARTED = "the cluster started with this broker registered"
    PROCESS_STARTED = "the process was started"
    REGISTERED = "the controller registered the broker"
    SHUTDOWN_REQUESTED = "a controlled shutdown was requested"
    PROCESS_ENDED = "the process ended"


_S, _E = BrokerState, BrokerEvent

BROKER_STATES = StateTable(
    "broker process",
    _S.NOT_RUNNING,
    {
        _S.NOT_RUNNING: {
            _E.CLUSTER_STARTED: _S.RUNNING,
            _E.PROCESS_STARTED: _S.STARTING,
        },
        _S.STARTING: {
            _E.REGISTERED: _S.RUNNING,
            _E.PROCESS_ENDED: _S.NOT_RUNNING,
        },
        _S.RUNNING: {
            _E.REGISTERED: _S.RUNNING,  # again, after the controller fenced it
            _E.SHUTDOWN_REQUESTED: _S.PENDING_CONTROLLED_SHUTDOWN,
            _E.PROCESS_ENDED: _S.NOT_RUNNING,
        },
        _S.PENDING_CONTROLLED_SHUTDOWN: {
            _E.REGISTERED: _S.PENDING_CONTROLLED_SHUTDOWN,  # the response to a request from before the shutdown
            _E.PROCESS_ENDED: _S.NOT_RUNNING,
        },
    },
)

"""The states of clients: of a group's member, of a producer's process, and of a transactional producer.

Each is the client's own view: a member that is Stable here may already be unknown to its group's coordinator. The
values are the texts that events carry. The documentation, the tests of illegal transitions and the coverage of edges
derive from the tables.
Source: Kafka's `AbstractCoordinator.MemberState`, `TransactionManager.State`.
"""

from enum import StrEnum

from cluster.protocol.state_machine import by_next_state


class MemberState(StrEnum):
    """The state of a consumer as a member of its group.

    A process starts as Joining. Revoking: onPartitionsRevoked runs. Fenced: another process has the member's
    `group.instance.id`. Left: the member has left its group, or its process has closed. Dead: the process was killed,
    or has crashed. Assigned: assign() gave the process its partitions, and it joins no group.
    """

    JOINING = "Joining"
    SYNCING = "Syncing"
    STABLE = "Stable"
    REVOKING = "Revoking"
    ASSIGNED = "Assigned"
    FENCED = "Fenced"
    LEFT = "Left"
    DEAD = "Dead"


_M = MemberState
_ENDS = (_M.LEFT, _M.DEAD)  # a living member may close, leave because of a slow poll(), crash, or be killed

MEMBER_STATES = by_next_state(
    "member",
    _M.LEFT,
    {
        _M.LEFT: (_M.JOINING, _M.DEAD),
        _M.JOINING: (_M.JOINING, _M.SYNCING, _M.FENCED, _M.ASSIGNED, *_ENDS),
        _M.ASSIGNED: _ENDS,
        _M.SYNCING: (_M.STABLE, _M.JOINING, _M.FENCED, *_ENDS),
        _M.STABLE: (_M.REVOKING, _M.JOINING, _M.FENCED, *_ENDS),
        _M.REVOKING: (_M.STABLE, _M.JOINING, _M.FENCED, *_ENDS),
        _M.FENCED: _ENDS,
        _M.DEAD: (_M.JOINING,),
    },
)
"""A new process of a member begins with Joining, from Left or Dead. Only its end follows Fenced.

Without a rebalance listener Revoking lasts no virtual time: JoinGroup or reading follows in the same turn. With one it
lasts until onPartitionsRevoked returns; the heartbeat thread may leave the group, or learn of a fence, meanwhile.
"""


class ConsumerMemberState(StrEnum):
    """The state of a member of a group of the new protocol (KIP-848); the value is Kafka's name.

    A process starts UNSUBSCRIBED. Left and Dead: it has closed its consumer, or was killed or has crashed.
    Source: `org.apache.kafka.clients.consumer.internals.MemberState`.
    """

    UNSUBSCRIBED = "UNSUBSCRIBED"
    JOINING = "JOINING"
    RECONCILING = "RECONCILING"
    ACKNOWLEDGING = "ACKNOWLEDGING"
    STABLE = "STABLE"
    FENCED = "FENCED"
    PREPARE_LEAVING = "PREPARE_LEAVING"
    LEAVING = "LEAVING"
    STALE = "STALE"
    FATAL = "FATAL"
    LEFT = "Left"
    DEAD = "Dead"


_C = ConsumerMemberState
_OUT = (_C.FENCED, _C.FATAL, _C.PREPARE_LEAVING, _C.LEFT, _C.DEAD)  # a member may go in any state of its membership

CONSUMER_MEMBER_STATES = by_next_state(
    "consumer group member",
    _C.LEFT,
    {
        _C.LEFT: (_C.UNSUBSCRIBED, _C.DEAD),
        _C.UNSUBSCRIBED: (_C.JOINING, _C.PREPARE_LEAVING, _C.FATAL, _C.LEFT, _C.DEAD),
        _C.JOINING: (_C.RECONCILING, _C.STABLE, *_OUT),
        _C.RECONCILING: (_C.RECONCILING, _C.ACKNOWLEDGING, _C.STABLE, *_OUT),
        _C.ACKNOWLEDGING: (_C.RECONCILING, _C.STABLE, *_OUT),
        _C.STABLE: (_C.RECONCILING, *_OUT),
        _C.FENCED: (_C.JOINING, _C.UNSUBSCRIBED, _C.LEFT, _C.DEAD),
        _C.PREPARE_LEAVING: (_C.LEAVING, _C.UNSUBSCRIBED, _C.FENCED, _C.FATAL, _C.LEFT, _C.DEAD),
        _C.LEAVING: (_C.UNSUBSCRIBED, _C.STALE, _C.FENCED, _C.FATAL, _C.LEFT, _C.DEAD),
        _C.STALE: (_C.JOINING, _C.LEFT, _C.DEAD),
        _C.FATAL: (_C.LEFT, _C.DEAD),
        _C.DEAD: (_C.UNSUBSCRIBED,),
    },
)
"""Source: `MemberState.previousValidStates`, which lists for each state the states that it may follow."""


class ProducerState(StrEnum):
    """The state of a producer's process. Fenced: its transactional producer can send nothing more."""

    RUNNING = "Running"
    PAUSED = "Paused"
    FENCED = "Fenced"
    STOPPED = "Stopped"
    DEAD = "Dead"


_P = ProducerState

PRODUCER_STATES = by_next_state(
    "producer",
    _P.STOPPED,
    {
        _P.STOPPED: (_P.RUNNING,),
        _P.RUNNING: (_P.PAUSED, _P.FENCED, _P.STOPPED, _P.DEAD),
        _P.PAUSED: (_P.RUNNING, _P.DEAD),
        _P.FENCED: (_P.PAUSED, _P.STOPPED, _P.DEAD),
        _P.DEAD: (_P.RUNNING,),
    },
)
"""Simplified: a process that was paused while Fenced is Running when it resumes, and still sends nothing."""


class ProducerTransactionState(StrEnum):
    """The state of a transactional producer; the value is Kafka's name."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


_T = ProducerTransactionState

PRODUCER_TRANSACTION_STATES = by_next_state(
    "transactional producer",
    _T.UNINITIALIZED,
    {
        _T.UNINITIALIZED: (_T.INITIALIZING, _T.FATAL_ERROR),
        _T.INITIALIZING: (_T.READY, _T.ABORTABLE_ERROR, _T.FATAL_ERROR),
        _T.READY: (_T.UNINITIALIZED, _T.IN_TRANSACTION, _T.FATAL_ERROR),
        _T.IN_TRANSACTION: (_T.COMMITTING_TRANSACTION, _T.ABORTING_TRANSACTION, _T.ABORTABLE_ERROR, _T.FATAL_ERROR),
        _T.COMMITTING_TRANSACTION: (_T.INITIALIZING, _T.READY, _T.ABORTABLE_ERROR, _T.FATAL_ERROR),
        _T.ABORTING_TRANSACTION: (_T.INITIALIZING, _T.READY, _T.FATAL_ERROR),
        _T.ABORTABLE_ERROR: (_T.UNINITIALIZED, _T.ABORTING_TRANSACTION, _T.ABORTABLE_ERROR, _T.FATAL_ERROR),
        _T.FATAL_ERROR: (_T.FATAL_ERROR,),
    },
)
"""Source: `TransactionManager.State.isTransitionValid`, which lists for each state the states that it may follow."""

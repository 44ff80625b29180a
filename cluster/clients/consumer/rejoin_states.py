"""The states of one member's rejoin, and every legal transition between them.

    NotNeeded → Needed → Committing → Committed → Prepared → Joining → Prepared → Syncing → Prepared → NotNeeded
    Committing → PrepareBackoff → Needed          Prepared → JoinBackoff → Prepared
    Joining, Syncing → Outdated → Needed

In Prepared the member has given up partitions, so that a request can be sent; a response is handled in this state too.
A lost generation makes the member prepare again, for its partitions are lost. A request in flight is then Outdated:
its response is ignored.
Source: `ConsumerCoordinator.onJoinPrepare`, `AbstractCoordinator.joinGroupIfNeeded`.
"""

from enum import StrEnum

from cluster.protocol.state_machine import StateTable


class RejoinState(StrEnum):
    """What poll() has to do next for the rejoin, or which response it waits for."""

    NOT_NEEDED = "NotNeeded"
    NEEDED = "Needed"
    COMMITTING = "Committing"
    COMMITTED = "Committed"
    PREPARE_BACKOFF = "PrepareBackoff"
    PREPARED = "Prepared"
    JOINING = "Joining"
    SYNCING = "Syncing"
    OUTDATED = "Outdated"
    JOIN_BACKOFF = "JoinBackoff"


class RejoinEvent(StrEnum):
    """An event that changes the state of a rejoin; the value is its description in errors."""

    REQUESTED = "a rejoin is requested"
    GENERATION_LOST = "the generation is lost"
    COMMIT_SENT = "the auto commit is sent"
    COMMIT_FAILED = "the auto commit failed and is tried again"
    COMMIT_ENDED = "the auto commit succeeded or failed for good"
    PREPARED = "partitions are given up"
    JOIN_SENT = "JoinGroup is sent"
    SYNC_SENT = "SyncGroup is sent"
    ANSWERED = "the response to JoinGroup or SyncGroup is handled"
    FAILED = "JoinGroup or SyncGroup failed and is tried again"
    BACKOFF_ENDED = "retry.backoff.ms has passed"
    COMPLETED = "the assignment is taken"


_S, _E = RejoinState, RejoinEvent

REJOIN_STATES = StateTable(
    "rejoin",
    _S.NEEDED,
    {
        _S.NOT_NEEDED: {
            _E.REQUESTED: _S.NEEDED,
            _E.GENERATION_LOST: _S.NEEDED,
        },
        _S.NEEDED: {
            _E.REQUESTED: _S.NEEDED,
            _E.GENERATION_LOST: _S.NEEDED,
            _E.COMMIT_SENT: _S.COMMITTING,
            _E.PREPARED: _S.PREPARED,
        },
        _S.COMMITTING: {
            _E.REQUESTED: _S.COMMITTING,
            _E.GENERATION_LOST: _S.COMMITTING,
            _E.COMMIT_FAILED: _S.PREPARE_BACKOFF,
            _E.COMMIT_ENDED: _S.COMMITTED,
        },
        _S.COMMITTED: {
            _E.REQUESTED: _S.COMMITTED,
            _E.GENERATION_LOST: _S.COMMITTED,
            _E.PREPARED: _S.PREPARED,
        },
        _S.PREPARE_BACKOFF: {
            _E.REQUESTED: _S.PREPARE_BACKOFF,
            _E.GENERATION_LOST: _S.PREPARE_BACKOFF,
            _E.BACKOFF_ENDED: _S.NEEDED,
        },
        _S.PREPARED: {
            _E.REQUESTED: _S.PREPARED,
            _E.GENERATION_LOST: _S.NEEDED,
            _E.JOIN_SENT: _S.JOINING,
            _E.SYNC_SENT: _S.SYNCING,
            _E.FAILED: _S.JOIN_BACKOFF,
            _E.COMPLETED: _S.NOT_NEEDED,
        },
        _S.JOINING: {
            _E.REQUESTED: _S.JOINING,
            _E.GENERATION_LOST: _S.OUTDATED,
            _E.ANSWERED: _S.PREPARED,
        },
        _S.SYNCING: {
            _E.REQUESTED: _S.SYNCING,
            _E.GENERATION_LOST: _S.OUTDATED,
            _E.ANSWERED: _S.PREPARED,
        },
        _S.OUTDATED: {
            _E.REQUESTED: _S.OUTDATED,
            _E.GENERATION_LOST: _S.OUTDATED,
            _E.ANSWERED: _S.NEEDED,
        },
        _S.JOIN_BACKOFF: {
            _E.REQUESTED: _S.JOIN_BACKOFF,
            _E.GENERATION_LOST: _S.PREPARE_BACKOFF,
            _E.BACKOFF_ENDED: _S.PREPARED,
        },
    },
)

TO_STEP = (_S.NEEDED, _S.COMMITTED, _S.PREPARED)
"""States in which poll() takes the next step without a response."""

IN_FLIGHT = (_S.JOINING, _S.SYNCING, _S.OUTDATED)
"""States in which JoinGroup or SyncGroup is in flight."""

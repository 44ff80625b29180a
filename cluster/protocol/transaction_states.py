"""The states of a transactional id, and every legal transition between them.

Kafka writes this table as "valid previous states"; here it reads forwards, like every other `StateTable`. The diagram
of the documentation, the tests of illegal transitions and the console's hints derive from it.
Source: Kafka's `TransactionState`, `TransactionMetadata.prepareTransitionTo`.
"""

from enum import StrEnum

from cluster.protocol.state_machine import by_next_state


class TransactionState(StrEnum):
    """The state of a transactional id; the value is the name that Kafka prints."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    DEAD = "Dead"


_S = TransactionState

TRANSACTION_STATES = by_next_state(
    "transaction",
    _S.EMPTY,
    {
        _S.EMPTY: (_S.EMPTY, _S.ONGOING, _S.DEAD),
        _S.ONGOING: (_S.ONGOING, _S.PREPARE_COMMIT, _S.PREPARE_ABORT, _S.PREPARE_EPOCH_FENCE),
        _S.PREPARE_COMMIT: (_S.COMPLETE_COMMIT,),
        _S.PREPARE_ABORT: (_S.COMPLETE_ABORT,),
        _S.COMPLETE_COMMIT: (_S.EMPTY, _S.ONGOING, _S.DEAD),
        _S.COMPLETE_ABORT: (_S.EMPTY, _S.ONGOING, _S.DEAD),
        _S.PREPARE_EPOCH_FENCE: (_S.PREPARE_ABORT,),
        _S.DEAD: (),
    },
)
"""The transitions that every `transaction.version` allows."""

ABORTED_WITHOUT_PARTITIONS = (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
"""States that `transaction.version` 2 lets PrepareAbort follow as well: an abort before the first partition."""

TRANSACTION_STATES_VERSION_2 = by_next_state(
    "transaction",
    _S.EMPTY,
    {
        state: (*row, _S.PREPARE_ABORT) if state in ABORTED_WITHOUT_PARTITIONS else tuple(row)
        for state, row in TRANSACTION_STATES.rows.items()
    },
)


def check_transition(state: TransactionState, to: TransactionState, transaction_version: int) -> None:
    """Raise IllegalTransition unless `to` may follow `state` under this `transaction.version` (1 or 2)."""
    table = TRANSACTION_STATES_VERSION_2 if transaction_version >= 2 else TRANSACTION_STATES
    table.next_state(state, to)

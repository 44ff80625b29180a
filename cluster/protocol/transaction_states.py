"""The states of a transactional id, and from where each may be entered.

Kafka writes its table as "valid previous states"; so does this one, and the diagram of the documentation, the tests of
illegal moves and the console's hints derive from it. Source: Kafka's `TransactionState`.
"""

from enum import Enum


class TransactionState(Enum):
    """A transactional id's state; the value is how Kafka prints it."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    DEAD = "Dead"


_S = TransactionState

VALID_PREVIOUS: dict[TransactionState, tuple[TransactionState, ...]] = {
    _S.EMPTY: (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT),
    _S.ONGOING: (_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT),
    _S.PREPARE_COMMIT: (_S.ONGOING,),
    _S.PREPARE_ABORT: (_S.ONGOING, _S.PREPARE_EPOCH_FENCE),
    _S.COMPLETE_COMMIT: (_S.PREPARE_COMMIT,),
    _S.COMPLETE_ABORT: (_S.PREPARE_ABORT,),
    _S.DEAD: (_S.EMPTY, _S.COMPLETE_ABORT, _S.COMPLETE_COMMIT),
    _S.PREPARE_EPOCH_FENCE: (_S.ONGOING,),
}
"""State → the states from which it may be entered, under every transaction version."""

ABORTED_WITHOUT_PARTITIONS: tuple[TransactionState, ...] = (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
"""From where PrepareAbort may be entered as well under transaction.version 2: an abort that nothing was added to."""


class IllegalTransition(Exception):  # noqa: N818  it names a move, and its readers know what raised means
    """A bug of ours: a transactional id was moved to a state that cannot follow its own."""

    def __init__(self, state: TransactionState, to: TransactionState) -> None:
        super().__init__(f"a transactional id in state {state.value} cannot go to {to.value}")
        self.state = state
        self.to = to


def check_move(state: TransactionState, to: TransactionState, transaction_version: int) -> None:
    """Raise IllegalTransition unless `to` may follow `state` under this `transaction.version` (1 or 2)."""
    valid = VALID_PREVIOUS[to]
    if to is _S.PREPARE_ABORT and transaction_version >= 2:
        valid += ABORTED_WITHOUT_PARTITIONS
    if state not in valid:
        raise IllegalTransition(state, to)

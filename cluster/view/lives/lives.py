"""The read model of lives: each member's generations and last acts, each transactional id's last transactions."""

from typing import Final

import msgspec

NEVER: Final = -1
KEPT: Final = 12  # generations of a member, transactions of a transactional id


class Stay(msgspec.Struct, gc=False):
    """A member's time in one generation, or in one member epoch (KIP-848), as its client knew it.

    `asked_us`, `why`: when and why it began to join ("" for the first time of its process); `joined_us`: when it knew
    the generation. `assigned_us`: its first onPartitionsAssigned there, NEVER without one; `gained` and `lost` count
    partitions. `ended_us`: when it left the generation or began to join again, NEVER while it has not; `ended_for` says
    why, in the client's words.
    """

    generation: int
    asked_us: int
    why: str
    joined_us: int
    assigned_us: int = NEVER
    gained: int = 0
    lost: int = 0
    ended_us: int = NEVER
    ended_for: str = ""


class LastCommit(msgspec.Struct, gc=False):
    """The outcome of a member's last commit: the number of its partitions, and an error (`NONE`: stored)."""

    at_us: int
    partitions: int
    error: str


class MemberLife(msgspec.Struct, gc=False):
    """What a member did last.

    `since_us`: since when it is in its state. `polled`: the records of its last poll(), NEVER before its process had
    one; `finished`: what its application has finished since, lastly in `finished_in` up to the offset `finished_to`.
    `joins_us`, `joins_for`: since when and why it is joining; NEVER while it is not. `stays`: oldest first.
    """

    state: str = ""
    since_us: int = NEVER
    started_us: int = NEVER
    polled: int = NEVER
    finished: int = 0
    finished_in: str = ""
    finished_to: int = NEVER
    commit: LastCommit | None = None
    joins_us: int = NEVER
    joins_for: str = ""
    stays: list[Stay] = []

    def begins_to_join(self, at_us: int, reason: str) -> None:
        """It leaves its generation for the next one."""
        self.ends(at_us, reason)
        if self.joins_us == NEVER:
            self.joins_us, self.joins_for = at_us, reason

    def joined(self, generation: int, at_us: int) -> None:
        """It knows its new generation."""
        self.ends(at_us, "")
        asked_us = self.joins_us if self.joins_us != NEVER else at_us
        self.stays.append(Stay(generation, asked_us, self.joins_for, at_us))
        del self.stays[:-KEPT]
        self.joins_us, self.joins_for = NEVER, ""

    def ends(self, at_us: int, reason: str) -> None:
        """Its generation ends for it, unless it has ended."""
        last = self.stays[-1] if self.stays else None
        if last is not None and last.ended_us == NEVER:
            last.ended_us, last.ended_for = at_us, reason

    def stops(self, at_us: int, reason: str) -> None:
        """It is in no generation, and does not join."""
        self.ends(at_us, reason)
        self.joins_us, self.joins_for = NEVER, ""


class ProducerLife(msgspec.Struct, gc=False):
    """Since when a producer is in its state, its errors (error → batches to be sent again), and when the last came."""

    transactional_id: str = ""
    since_us: int = NEVER
    retried: dict[str, int] = {}
    last_error_us: int = NEVER


class FinishedTransaction(msgspec.Struct, gc=False):
    """A transaction; `decided_us`: its outcome is in the log of its coordinator, `ended_us`: its markers are written.

    `lost`: the log that a coordinator loaded at `ended_us` lacks it, so it never ends. `start_us` is NEVER where no
    event tells it. `fenced_for`: `timeout` or `InitProducerId`, if its coordinator fenced its producer to abort it.
    """

    producer_id: int
    epoch: int
    start_us: int
    partitions: tuple[str, ...] = ()
    committed: bool = False
    decided_us: int = NEVER
    ended_us: int = NEVER
    fenced_for: str = ""
    lost: bool = False


class TransactionLife(msgspec.Struct, gc=False):
    """The transaction under way of a transactional id, and its last finished ones, oldest first."""

    under_way: FinishedTransaction | None = None
    finished: list[FinishedTransaction] = []

    def ends(self, at_us: int, *, lost: bool = False) -> None:
        """Keep the transaction under way among the finished ones."""
        one = self.under_way
        assert one is not None
        one.ended_us, one.lost = at_us, lost
        self.finished.append(one)
        del self.finished[:-KEPT]
        self.under_way = None


class Lives(msgspec.Struct, gc=False):
    """All of them, by name."""

    members: dict[str, MemberLife] = {}
    producers: dict[str, ProducerLife] = {}
    transactions: dict[str, TransactionLife] = {}

"""The committed offsets of a group, of either protocol: what fetches read, what is in the log, and what is pending.

An appended commit is in `logged_offsets`; a committed one is in `offsets`. In between it is in `pending_commits`, in
log order. A transaction's offsets wait in `transactional_offsets` for its marker.
"""

from collections import deque

from cluster.coordinators.decision import Call
from cluster.coordinators.records import CommittedOffset
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import OffsetCommitRequest


class PendingCommit:
    """An accepted OffsetCommit whose records are appended, or about to be, and not committed yet.

    `name` is its sender's client id. `member`: of a classic group; `renewed_us` is the session deadline that the
    commit's arrival gives it. `settled`: its client has its answer.
    """

    __slots__ = ("call", "errors", "member", "name", "records", "renewed_us", "request", "settled")

    def __init__(self, request: OffsetCommitRequest, call: Call, name: str, member: object | None) -> None:
        self.request = request
        self.call = call
        self.name = name
        self.member = member
        self.records: list[CommittedOffset] = []
        self.errors: dict[str, ErrorCode] = {}
        self.renewed_us = -1
        self.settled = False


class GroupOffsets:
    """The offsets that a group has, whatever protocol its members speak."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.logged_offsets: dict[str, CommittedOffset] = {}
        self.transactional_offsets: dict[int, dict[str, tuple[int, CommittedOffset]]] = {}  # producer id → partition
        self.log_positions: dict[str, int] = {}  # this and the next attribute: see offset_replay
        self.last_log_position = 0
        self.offsets: dict[str, CommittedOffset] = {}  # committed offsets: the only ones that a fetch returns
        self.pending_commits: deque[PendingCommit] = deque()  # appended and not committed yet, in log order
        self.parked_fetches: list[tuple[Call, tuple[str, ...]]] = []

    @property
    def dead(self) -> bool:
        """Whether the coordinator has dropped the group."""
        raise NotImplementedError

    @property
    def unused(self) -> bool:
        """Whether the group has no members and no durable state: its first append failed."""
        raise NotImplementedError

    def take_over(self, former: "GroupOffsets") -> None:
        """Share the offsets of the group that this one replaces under its id: commits under way settle in both."""
        self.logged_offsets, self.transactional_offsets = former.logged_offsets, former.transactional_offsets
        self.log_positions, self.last_log_position = former.log_positions, former.last_log_position
        self.offsets, self.pending_commits = former.offsets, former.pending_commits
        self.parked_fetches = former.parked_fetches

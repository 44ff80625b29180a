"""SKELETON with the final signatures; the rules follow."""

from collections.abc import Callable, Mapping

from cluster.coordinators.decision import Call, Decision
from cluster.coordinators.group_records import GroupRecord
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import Request, Response


class GroupCoordinator:
    """One broker's coordinator for the groups of one partition of `__consumer_offsets`."""

    def __init__(self, broker: int, config: Mapping[str, object], new_uuid: Callable[[], str]) -> None:
        """It begins loading: `replay` the partition's records, then call `loaded` (also when there are none)."""
        raise NotImplementedError

    def handle(self, request: Request, call: Call, now_us: int) -> Decision:
        """Answer, park or refuse a request of a client."""
        raise NotImplementedError

    def next_deadline_us(self) -> int | None:
        """When `on_deadline` wants to be called next; ask after every call of another method."""
        raise NotImplementedError

    def on_deadline(self, now_us: int) -> Decision:
        """Do everything that is due."""
        raise NotImplementedError

    def replay(self, record: GroupRecord) -> None:
        """Take a record of the partition as done: after an append of our own, or while loading."""
        raise NotImplementedError

    def end_transaction(self, producer_id: int, committed: bool, now_us: int) -> Decision:
        """A transaction marker was written to the partition: its pending offsets count, or are dropped."""
        raise NotImplementedError

    def loaded(self, now_us: int) -> Decision:
        """The whole partition was replayed: begin to coordinate."""
        raise NotImplementedError

    def unload(self, now_us: int) -> Decision:
        """The broker resigned as leader of the partition."""
        raise NotImplementedError


def refusal(request: Request, error: ErrorCode) -> Response:
    """The answer to a group request of any kind that says nothing but `error` (NOT_COORDINATOR on a wrong broker…)."""
    raise NotImplementedError


def answer_while_loading(request: Request) -> Response:
    """The answer while the partition is being replayed: Heartbeat NONE, SyncGroup REBALANCE_IN_PROGRESS, else LOAD."""
    raise NotImplementedError

"""Events of one partition's log, made by hand, and the placements that the fold makes of them."""

from cluster import events as e
from cluster.view.fold import HANDLERS
from cluster.view.state import ClusterView, PartitionView


def taken(broker: int, epoch: int, log_end: int, log_start: int = 0) -> e.LeadershipTaken:
    """This broker leads the log of orders-0, which ends there."""
    return e.LeadershipTaken(
        partition="orders-0", broker=broker, leader_epoch=epoch, log_start=log_start,
        high_watermark=log_start, log_end=log_end, bytes=0,
    )  # fmt: skip


def appended(first: int, count: int, epoch: int, serial: int) -> e.RecordsAppended:
    """A leader's log has these."""
    return e.RecordsAppended(
        partition="orders-0", base_offset=first, count=count, bytes=0, producer="p-1", producer_id=-1, epoch=-1,
        base_sequence=-1, first_serial=serial, leader_epoch=epoch,
    )  # fmt: skip


def folded(*events: e.Event) -> list[tuple[int, int, str, int]]:
    """Whose records stand where after these."""
    view = ClusterView()
    view.partitions["orders-0"] = PartitionView("orders-0", "orders", 0)
    for event in events:
        HANDLERS[type(event)](view, event)
    placements = view.partitions["orders-0"].placements
    return list(placements.between(placements.first, placements.end))


def crashed(broker: int, offset: int, log_end: int) -> e.LogTruncated:
    """The host of this broker lost the end of its log."""
    return e.LogTruncated(partition="orders-0", broker=broker, offset=offset, log_end=log_end, reason="crash")

"""A hand-made minute of transactions: one commits, one is left open by a frozen producer and ended by its timeout.

`view_at(s)` is what the facts up to an instant fold into.
"""

from collections.abc import Iterable
from functools import lru_cache

from cluster import events as e
from cluster.view import ClusterView, fold
from tests.support.console.synthetic import Flight, declare, us

IDS = {"pay-1": 1000, "pay-2": 2000}
TIMEOUT_MS = 30_000


def _state(
    flight: Flight, at_s: float, name: str, state: str, epoch: int, start_s: float = -1, *partitions: str
) -> None:
    flight.emit(
        at_s,
        e.TransactionStateChanged(
            transactional_id=name,
            broker=2,
            state=state,
            producer_id=IDS[name],
            epoch=epoch,
            timeout_ms=TIMEOUT_MS,
            start_us=us(start_s) if start_s >= 0 else -1,
            partitions=partitions,
        ),
    )


def _append(  # noqa: PLR0917
    flight: Flight, at_s: float, name: str, partition: str, base: int, records: int, marker: str = ""
) -> None:
    flight.emit(
        at_s,
        e.RecordsAppended(
            partition=partition,
            base_offset=base,
            count=records,
            bytes=records * 1_024,
            producer="" if marker else name,
            producer_id=IDS[name],
            epoch=0,
            base_sequence=-1 if marker else 0,
            first_serial=0 if marker else base,
            leader_epoch=0,
            transactional=True,
            marker=marker,
        ),
    )
    flight.emit(at_s + 0.001, e.HighWatermarkAdvanced(partition=partition, offset=base + records))


@lru_cache(maxsize=1)
def all_events() -> tuple[e.Event, ...]:
    """Forty-five seconds of two producers that write to `orders`."""
    flight = Flight()
    declare(flight, {"orders": 3}, {})
    for name, producer_id in IDS.items():
        flight.emit(
            0, e.ProducerDeclared(producer=name, topics=("orders",), rate_per_second=50.0, transactional_id=name)
        )
        flight.emit(0.3, e.ProducerStateChanged(producer=name, state="Running", reason="started"))
        flight.emit(
            0.5,
            e.ProducerIdAssigned(producer=name, producer_id=producer_id, epoch=0),
        )
        _state(flight, 0.5, name, "Empty", 0)
    _state(flight, 1.0, "pay-1", "Ongoing", 0, 1.0, "orders-0")
    _append(flight, 1.1, "pay-1", "orders-0", 0, 40)
    _state(flight, 2.0, "pay-1", "PrepareCommit", 0, 1.0, "orders-0")
    _append(flight, 2.1, "pay-1", "orders-0", 40, 1, "COMMIT")
    _state(flight, 2.2, "pay-1", "CompleteCommit", 0)
    _state(flight, 3.0, "pay-2", "Ongoing", 0, 3.0, "orders-0", "orders-1")
    _append(flight, 3.1, "pay-2", "orders-0", 41, 10)
    _append(flight, 3.1, "pay-2", "orders-1", 0, 10)
    flight.emit(4.0, e.ProducerStateChanged(producer="pay-2", state="Paused", reason="paused"))
    _state(flight, 5.0, "pay-1", "Ongoing", 0, 5.0, "orders-0")
    _append(flight, 5.1, "pay-1", "orders-0", 51, 30)
    _state(flight, 6.0, "pay-1", "PrepareCommit", 0, 5.0, "orders-0")
    _append(flight, 6.1, "pay-1", "orders-0", 81, 1, "COMMIT")
    _state(flight, 6.2, "pay-1", "CompleteCommit", 0)
    _state(flight, 38.0, "pay-2", "PrepareAbort", 1, 3.0, "orders-0", "orders-1")
    _append(flight, 38.1, "pay-2", "orders-0", 82, 1, "ABORT")
    _append(flight, 38.1, "pay-2", "orders-1", 10, 1, "ABORT")
    _state(flight, 38.2, "pay-2", "CompleteAbort", 1)
    flight.emit(40.0, e.ProducerStateChanged(producer="pay-2", state="Running", reason="resumed"))
    for partition in ("orders-1", ""):
        refused = e.ProducerEpochRefused(transactional_id="pay-2", producer_id=2000, epoch=0, partition=partition)
        flight.emit(40.1 if partition else 40.2, refused)
    flight.emit(40.3, e.ProducerStateChanged(producer="pay-2", state="Fenced", reason="PRODUCER_FENCED"))
    return tuple(flight.in_order())


def events(until_s: float) -> Iterable[e.Event]:
    """The facts up to and including an instant."""
    return (event for event in all_events() if event.at_us <= us(until_s))


def view_at(seconds: float) -> ClusterView:
    """What is known at an instant."""
    view = ClusterView()
    for event in events(seconds):
        fold(view, event)
    return view

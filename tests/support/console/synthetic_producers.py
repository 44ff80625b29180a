"""A hand-made flight in which producers wait: one for its answers, one for memory, one for nothing."""

from collections.abc import Iterator

from cluster import events as e
from tests.support.console.synthetic import Flight, declare

CONFIGS = {
    "checkout-1": {"request.timeout.ms": 30_000},
    "checkout-2": {"buffer.memory": 1_048_576},
    "ledger-1": {},
}
SIZE = 16_384


def events(until_s: float) -> Iterator[e.Event]:
    """The facts up to an instant."""
    flight = Flight()
    declare(flight, {"orders": 6}, {})
    for name in CONFIGS:
        declared = e.ProducerDeclared(producer=name, topics=("orders",), rate_per_second=50.0, transactional_id="")
        flight.emit(0, declared)
        flight.emit(0.3, e.ProducerStateChanged(producer=name, state="Running", reason="started"))
    for step in range(int(until_s * 2)):
        _acknowledged(flight, 0.5 + step / 2, "ledger-1", "orders-0")
        if step < 10:
            _acknowledged(flight, 0.5 + step / 2, "checkout-1", "orders-1")
            _acknowledged(flight, 0.5 + step / 2, "checkout-2", "orders-2")
    for place in range(5):
        _sent(flight, 6.0 + place / 10, "checkout-1", f"orders-{place}")
    for place in range(40):
        flight.emit(7.0 + place / 10, e.BatchOpened(producer="checkout-2", partition="orders-2", bytes=SIZE))
    sent = e.ProduceSent(producer="checkout-2", broker=2, records={"orders-2": 8}, retried={}, bytes=SIZE)
    flight.emit(7.1, sent)
    retried = e.BatchRetried(
        producer="checkout-2", partition="orders-2", records=8, error="NOT_ENOUGH_REPLICAS", attempt=1
    )
    flight.emit(7.2, retried)
    return (event for event in flight.in_order() if event.at_us <= until_s * 1_000_000)


def _sent(flight: Flight, at_s: float, producer: str, partition: str) -> None:
    flight.emit(at_s, e.BatchOpened(producer=producer, partition=partition, bytes=SIZE))
    sent = e.ProduceSent(producer=producer, broker=1, records={partition: 8}, retried={}, bytes=SIZE)
    flight.emit(at_s + 0.01, sent)


def _acknowledged(flight: Flight, at_s: float, producer: str, partition: str) -> None:
    _sent(flight, at_s, producer, partition)
    answer = e.BatchAcknowledged(
        producer=producer,
        partition=partition,
        base_offset=-1,
        records=8,
        freed_bytes=SIZE,
        latency_us=15_000,
        duplicate=False,
    )
    flight.emit(at_s + 0.015, answer)

"""The Produce requests that a producer's connections carry, found in the connections and not in any event."""

from collections.abc import Iterator

from cluster.clients.producer.accumulator import ProducerBatch
from cluster.clients.producer.producer import Producer
from cluster.protocol.messages import ProduceRequest


def produce_requests(producer: Producer) -> Iterator[tuple[int, list[ProducerBatch]]]:
    """The broker and the batches of each Produce request whose response the producer has not handled."""
    for broker, connection in producer._connections.items():
        for call in connection._in_flight:
            if isinstance(call.request, ProduceRequest):
                yield broker, call.on_response.args[2]  # type: ignore[attr-defined]  # a partial of Sender._answered

"""Which records of a producer have no value: a share of them, drawn by the record's identity.

A batch that is sent again has the same ones. In a compacted topic such a record (a tombstone) removes its key.
"""

from cluster.clients.producer.accumulator import ProducerBatch
from cluster.random_streams import NumberedDraws


class Tombstones:
    """The records without a value of one producer."""

    def __init__(self, seed: int, producer: str, share: float) -> None:
        self._producer, self._share = producer, share
        self._draws = NumberedDraws(seed, "tombstones")

    def of(self, batch: ProducerBatch) -> tuple[int, ...]:
        """The places of the records of a batch that have no value."""
        sequence, first = (self._producer, batch.partition), batch.first_serial
        drawn = [self._draws.draw(sequence, first + place) for place in range(batch.count)]
        return tuple([place for place, draw in enumerate(drawn) if draw < self._share])

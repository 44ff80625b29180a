"""The records that an application writes for an input: to which topics, how many, and whose identity they carry.

Theory of operation. The only record that is ever written for an input carries the input's identity. Where there are
several, each carries it with its number among them behind `#` in the partition: the third is `orders-0#2`. So a second
copy of an output is recognized as one, and the three records of a fan-out are not taken for copies of each other. A
`share` draws from the input's identity: an input that is processed again is written or left out again.
"""

from typing import Final

from cluster.protocol.record_batch import Origin
from cluster.random_streams import NumberedDraws
from cluster.spec import OutputSpec

NUMBERED: Final = "#"
"""Between an input's partition and the number of a record that was written for it."""


def input_partition(partition: str) -> str:
    """The partition of an identity, without the numbers of records that were written for it."""
    return partition.partition(NUMBERED)[0]


class Outputs:
    """The outputs of one group's application. `plain`: one record for each input, to one topic."""

    def __init__(self, specs: tuple[OutputSpec, ...], seed: int, group: str) -> None:
        self._specs = specs
        self._alone = sum(spec.records for spec in specs) == 1
        self.plain = self._alone and specs[0].share == 1
        self._draws = [NumberedDraws(seed, f"outputs/{group}/{spec.topic}") for spec in specs]
        self._names: dict[tuple[str, int], str] = {}

    def of(self, origin: Origin) -> list[tuple[str, Origin]]:
        """The records to write for one input, in their order: topic and identity of each."""
        producer, partition, serial, _ = origin
        written: list[tuple[str, Origin]] = []
        number = 0
        for spec, draws in zip(self._specs, self._draws, strict=True):
            if spec.share == 1 or draws.draw((producer, partition), serial) < spec.share:
                numbers = range(number, number + spec.records)
                written += [(spec.topic, (producer, self._name(partition, each), serial, 1)) for each in numbers]
            number += spec.records
        return written

    def _name(self, partition: str, number: int) -> str:
        if self._alone:
            return partition
        name = self._names.get((partition, number))
        if name is None:
            name = self._names[partition, number] = f"{partition}{NUMBERED}{number}"
        return name

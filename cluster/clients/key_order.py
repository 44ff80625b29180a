"""The order in which a producer sent the records of a key, across the moves of keys to other partitions."""

from array import array
from bisect import bisect_right
from typing import Final

Stream = tuple[str, str]  # producer, partition
SCATTERED: Final = 1 << 60  # above every rank that serial numbers give
NEVER_NOTED: Final = -1
ONE_MOVE: Final = 1 << 48  # more than any partition has records of one producer


class KeyOrder:
    """When producers began to send keys to other partitions, noted as the next serial numbers at that moment.

    A producer whose keys do not decide partitions scatters them. Then the place of every record in the order of sending
    is noted by its serial number, in eight bytes.
    """

    def __init__(self) -> None:
        self._moves: dict[Stream, list[int]] = {}
        self._scattered: dict[Stream, array[int]] = {}
        self._sends = SCATTERED

    def sent(self, producer: str, partition: str, serial: int) -> None:
        """Note the next record of a producer that scatters keys."""
        self._sends += 1
        places = self._scattered.get((producer, partition))
        if places is None:
            places = self._scattered[producer, partition] = array("q")
        if serial >= len(places):
            places.extend([NEVER_NOTED] * (serial + 1 - len(places)))
        places[serial] = self._sends

    def moved(self, producer: str, serials: dict[str, int]) -> None:
        """Note that keys may map to other partitions now; `serials`: partition → its next serial number."""
        for partition, serial in serials.items():
            self._moves.setdefault((producer, partition), []).append(serial)

    def rank(self, stream: Stream, serial: int) -> int:
        """A number that grows in the order in which a producer sent the records of one key of a topic."""
        if self._scattered:
            places = self._scattered.get(stream, ())
            if serial < len(places) and places[serial] != NEVER_NOTED:
                return places[serial]
        moves = self._moves.get(stream)
        return serial if moves is None else bisect_right(moves, serial) * ONE_MOVE + serial

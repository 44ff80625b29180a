"""Which record stands at an offset, whatever log it is in, and which records a group's applications have finished."""

from collections import defaultdict

from cluster.protocol.record_batch import RecordBatch

BatchKey = tuple[str, str, int]  # producer, partition, first serial
Identity = tuple[str, str, int]  # producer, partition, serial
Born = dict[tuple[str, str], list[int]]  # producer, partition → by serial, the number of the send() among all of them


def identity_of(batch: RecordBatch, offset: int) -> Identity:
    """Whose record stands at this offset: its writer's, or that of the input for which it was written."""
    place = offset - batch.base_offset
    for producer, partition, first_serial, count in batch.origins:
        if place < count:
            return producer, partition, first_serial + place
        place -= count
    return batch.producer, batch.partition, batch.first_serial + place


class Completions:
    """What one group's applications have finished, record by record, and the order of its keys."""

    def __init__(self) -> None:
        self.finished: set[Identity] = set()
        self._entries: set[tuple[str, int, int, int]] = set()  # partition, offset, leader epoch, instant of the append
        self.duplicated = self.stored_again = 0
        self.written: defaultdict[str, set[Identity]] = defaultdict(set)  # by partition: as their own writer's records
        self.copies: set[Identity] = set()  # writers' records whose input was finished before as another one
        self.broken_keys: set[tuple[str, int]] = set()
        self._last: dict[tuple[str, str, str, int], int] = {}

    def add(self, batch: RecordBatch, offset: int, born: Born, *, stored: bool) -> None:
        """An application finished the record at this offset (once more), and wrote it to its store if it has one."""
        self._entries.add((batch.partition, offset, batch.leader_epoch, batch.append_us))
        identity = identity_of(batch, offset)
        writers = batch.producer, batch.partition, batch.first_serial + offset - batch.base_offset
        known = writers in self.written[batch.partition]
        self.written[batch.partition].add(writers)
        if identity in self.finished:
            self.duplicated += 1
            self.stored_again += stored
            if not known:
                self.copies.add(writers)
            return
        self.finished.add(identity)
        if batch.keys and batch.keys[offset - batch.base_offset] >= 0:
            producer, source, serial = identity
            key, topic = batch.keys[offset - batch.base_offset], batch.partition.rpartition("-")[0]
            source = source.split("#")[0]  # the third record for an input of orders-0 came from orders-0#2
            who, number = (producer, source.rpartition("-")[0], topic, key), born[producer, source][serial]
            if self._last.get(who, -1) > number:
                self.broken_keys.add((topic, key))
            self._last[who] = max(number, self._last.get(who, -1))

    def has(self, batch: RecordBatch, offset: int) -> bool:
        """Whether this entry of the log was finished."""
        return (batch.partition, offset, batch.leader_epoch, batch.append_us) in self._entries

"""Acknowledged records that no replica's log holds (any more), found by walking the logs."""

from collections.abc import Callable

from cluster.broker.replica import Replica
from cluster.protocol.record_batch import RecordBatch
from cluster.simulation import Simulation
from tests.support.finished_records import BatchKey, Identity
from tests.support.unpacked_logs import added_since, batches_of, begin_of


class LogIndex:
    """The batches of one replica's log by identity, kept up to date as long as the log only grows."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._seen: list[RecordBatch] = []
        self.keys: set[BatchKey] = set()
        self._deleted: set[BatchKey] = set()

    def refresh(self) -> bool:
        """Look at the log again; true when something was cut off it."""
        seen = self._seen
        begin = begin_of(self._replica.log)
        while seen and seen[0].next_offset <= begin:  # deleted on purpose: as good as held
            batch = seen.pop(0)
            self._deleted.add((batch.producer, batch.partition, batch.first_serial))
        added = added_since(self._replica.log, seen)
        cut = added is None
        if added is None:
            seen = self._seen = []
            self.keys = set(self._deleted)
            added = batches_of(self._replica.log)
        for batch in added:
            seen.append(batch)
            self.keys.add((batch.producer, batch.partition, batch.first_serial))
        return cut

    def left(self, key: BatchKey, serials: set[int]) -> set[int]:
        """Which of a batch's records the log neither holds nor deleted on purpose, be it between two looks."""
        if key in self.keys:
            return set()
        deleted = (self._replica.log.deleted or {}).get(key[0])
        return {one for one in serials if not deleted.covered(one, one + 1)} if deleted is not None else serials


def copies_of(simulation: Simulation, partition: str) -> list[Replica]:
    """The replicas of a partition as they are now: a reassignment changes them."""
    return [broker.replicas[partition] for broker in simulation.brokers.values() if partition in broker.replicas]


class Vanished:
    """Acknowledged records of one partition that no replica's log holds. `replicas` may be others at each look."""

    def __init__(self, replicas: Callable[[], list[Replica]]) -> None:
        self._replicas = replicas
        self._indexes: dict[int, LogIndex] = {}
        self._checked: set[BatchKey] = set()

    def _now(self) -> list[LogIndex]:
        replicas = {id(replica): replica for replica in self._replicas()}
        if any(known not in replicas for known in self._indexes):
            self._checked.clear()
        self._indexes = {one: self._indexes.get(one) or LogIndex(replica) for one, replica in replicas.items()}
        return list(self._indexes.values())

    def gone(self, acknowledged: dict[BatchKey, int], judged: set[BatchKey]) -> set[Identity]:
        """The records that are gone; those whose fate no broker has judged yet are on their way (acks=0)."""
        if not acknowledged:
            return set()
        indexes = self._now()
        cut = [index.refresh() for index in indexes]
        if any(cut):
            self._checked.clear()
        gone = set[Identity]()
        for key, records in acknowledged.items():
            if key in self._checked:
                continue
            serials = set(range(key[2], key[2] + records))
            for index in indexes:
                serials = index.left(key, serials)
            if not serials:
                self._checked.add(key)
            elif key in judged:
                gone |= {(*key[:2], serial) for serial in serials}
        return gone

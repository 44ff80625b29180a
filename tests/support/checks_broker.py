"""What must hold of brokers and their controller at every step, whatever is done to them (the R invariants, and L1).

A `BrokerJudge` stands beside the product: while `judging()`, it wraps the doors through which leaderships, ISRs, high
watermarks and truncations pass. It knows of every commit what no broker alone knows: the true high watermark of each
partition. What an unclean election or a crashed disk may legally undo is left out once that has happened.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from cluster.broker.replica import Replica
from cluster.controller.controller import Controller
from cluster.protocol.messages import PartitionMetadata
from cluster.simulation import Simulation
from tests.support.checks_log import at, committed, copies
from tests.support.unpacked_logs import batches_of


class BrokerCheck:
    """The notes of one flight; `wrong` says what did not hold."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.true_high_watermark: defaultdict[str, int] = defaultdict(int)
        self.lossy: set[str] = set()  # partitions that an unclean election or a crash may have cost committed records
        self._leaders: dict[tuple[str, int], int] = {}
        self._epochs: dict[tuple[str, int], int] = {}
        self._high_watermarks: dict[tuple[str, int, int], int] = {}

    def _say(self, words: str) -> None:
        self.wrong.append(words)

    # --- the controller -----------------------------------------------------------------------------------------------

    def elected(self, controller: Controller, name: str, metadata: PartitionMetadata, reason: str) -> None:
        """R2, R3 at the controller: epochs grow, the leader is in sync, the ISR is of its replicas and never empty."""
        known = controller.partitions.get(name)
        if known is not None and metadata.leader_epoch <= known.leader_epoch:
            self._say(f"R2 {name}: leader epoch {metadata.leader_epoch} after {known.leader_epoch}")
        if reason == "unclean":
            self.lossy.add(name)

    def in_sync(self, controller: Controller) -> list[str]:
        """R3: what the controller has written down."""
        found = []
        for name, metadata in controller.partitions.items():
            isr = metadata.isr
            if not isr or not set(isr) <= set(metadata.replicas):
                found.append(f"R3 {name}: isr {isr} of {metadata.replicas}")
            if metadata.leader >= 0 and metadata.leader not in isr:
                found.append(f"R3 {name}: leader {metadata.leader} is not in the isr {isr}")
            fenced = [broker for broker in isr if controller.brokers[broker].fenced]
            if fenced and (len(isr) > 1 or metadata.leader >= 0):
                found.append(f"R3 {name}: fenced {fenced} in the isr {isr}")
        return found

    # --- brokers ------------------------------------------------------------------------------------------------------

    def took_over(self, replica: Replica) -> None:
        """R1: one leader for each epoch. R5: it has everything that was ever committed."""
        name, broker, epoch = replica.partition, replica.host.id, replica.metadata.leader_epoch
        other = self._leaders.setdefault((name, epoch), broker)
        if other != broker:
            self._say(f"R1 {name}: broker-{other} and broker-{broker} lead in epoch {epoch}")
        true = self.true_high_watermark[name]
        control: Any = replica.host
        if control.control.controller.partitions[name].leader_epoch != epoch:
            return  # it hears late of an election that others have followed
        if name in self.lossy:
            self.true_high_watermark[name] = min(true, replica.log.log_end)
        elif replica.log.log_end < true:
            self._say(f"R5 {name}: broker-{broker} leads with log end {replica.log.log_end}, {true} were committed")

    def applied(self, replica: Replica) -> None:
        """R2: no broker goes back to an older leader epoch."""
        key = replica.partition, replica.host.id
        epoch = replica.metadata.leader_epoch
        if epoch < self._epochs.get(key, -1):
            self._say(f"R2 {key[0]}: broker-{key[1]} went from epoch {self._epochs[key]} back to {epoch}")
        self._epochs[key] = epoch

    def advanced(self, replica: Replica) -> None:
        """R4: the high watermark never falls, and is on every in-sync replica, whatever their leader thinks of them."""
        if not replica.is_leader:
            return
        name, epoch = replica.partition, replica.metadata.leader_epoch
        key, offset = (name, replica.host.id, epoch), replica.high_watermark
        if offset < self._high_watermarks.get(key, -1):
            self._say(f"R4 {name}: high watermark {offset} after {self._high_watermarks[key]} in epoch {epoch}")
        moved, self._high_watermarks[key] = offset > self._high_watermarks.get(key, -1), offset
        control: Any = replica.host
        metadata = control.control.controller.partitions[name]
        if not moved or metadata.leader_epoch != epoch or name in self.lossy:
            return
        for broker in metadata.isr:
            log_end = replica.host.replica_on(broker, name).log.log_end
            if log_end < offset:
                self._say(f"R4 {name}: high watermark {offset}, in-sync broker-{broker} ends at {log_end}")
        self.true_high_watermark[name] = max(self.true_high_watermark[name], offset)

    def drops(self, replica: Replica, offset: int, reason: str) -> None:
        """R9: no replica truncates what was committed; a crash may lose it from one disk."""
        true = self.true_high_watermark[replica.partition]
        if reason == "crash":
            if offset < true:
                self.lossy.add(replica.partition)
        elif replica.partition not in self.lossy:
            control: Any = replica.host
            leader = control.control.controller.partitions[replica.partition].leader
            held = control.replica_on(leader, replica.partition).log if leader >= 0 else replica.log
            gone = [batch for batch in replica.log.beyond(offset) if batch.next_offset <= true]
            if any(at(held, batch.base_offset) == batch for batch in gone):  # else they were never committed
                where = f"R9 {replica.partition}: broker-{replica.host.id} truncates to {offset}"
                self._say(f"{where}, {true} were committed")

    # --- at a checkpoint ----------------------------------------------------------------------------------------------

    def disagreements(self, simulation: Simulation) -> list[str]:
        """R3, R6, R7 and L1, of everything there is."""
        found = self.in_sync(simulation.controller)
        for name, replicas in copies(simulation).items():
            metadata = simulation.controller.partitions[name]
            leader = next(
                (one for one in replicas if one.is_leader and one.metadata.leader_epoch == metadata.leader_epoch), None
            )
            found += [words for replica in replicas for words in _shape(replica)]
            if leader is None:
                continue
            if not set(leader.isr) >= set(metadata.isr):
                found.append(f"R6 {name}: the leader counts on {leader.isr}, the controller on {metadata.isr}")
            if name not in self.lossy:
                found += _strong_isr(name, leader, [one for one in replicas if one.host.id in metadata.isr])
        return found


def _shape(replica: Replica) -> Iterator[str]:
    """L1: offsets strictly rise without holes, log start ≤ high watermark ≤ log end."""
    log, where = replica.log, f"L1 {replica.partition} on broker-{replica.host.id}"
    if not log.log_start <= replica.high_watermark <= log.log_end and replica.high_watermark > 0:
        yield f"{where}: {log.log_start} ≤ {replica.high_watermark} ≤ {log.log_end} does not hold"
    for batch, following in pairwise(batches_of(log)):
        if batch.next_offset != following.base_offset:
            yield f"{where}: {following.base_offset} follows {batch.next_offset}"
    if log.batches and log.batches[-1].next_offset != log.log_end:
        yield f"{where}: the last batch ends at {log.batches[-1].next_offset}, the log at {log.log_end}"


def _strong_isr(name: str, leader: Replica, in_sync: list[Replica]) -> Iterator[str]:
    """R7: below the leader's high watermark every in-sync replica has the leader's records."""
    first = max(leader.log.log_start, *(one.log.log_start for one in in_sync))
    wanted = committed(leader, first)[-50:]
    for replica in in_sync:
        for batch in wanted:
            if not replica.log.has_at_its_place(batch) and batch.base_offset >= first:
                yield f"R7 {name}: broker-{replica.host.id} lacks the committed batch at {batch.base_offset}"
                break


@contextmanager
def judging() -> Iterator[BrokerCheck]:
    """Judge whatever flies inside."""
    judge = BrokerCheck()

    def wrapped(owner: type, name: str, before: Callable[..., Any] | None, after: Callable[..., Any] | None) -> None:
        original = getattr(owner, name)

        def wrapper(self: Any, *args: Any) -> Any:  # noqa: ANN401 - whatever the wrapped method has
            if before is not None:
                before(self, *args)
            result = original(self, *args)
            if after is not None:
                after(self)
            return result

        patch.setattr(owner, name, wrapper)

    def applies(original: Callable[..., None]) -> Callable[..., None]:
        def wrapper(replica: Replica, metadata: PartitionMetadata, *, restarted: bool = False) -> None:
            original(replica, metadata, restarted=restarted)
            judge.applied(replica)

        return wrapper

    with pytest.MonkeyPatch.context() as patch:
        wrapped(Controller, "_elected", judge.elected, None)
        wrapped(Replica, "_lead", None, judge.took_over)
        wrapped(Replica, "advance", None, judge.advanced)
        wrapped(Replica, "_drop_from", judge.drops, None)
        patch.setattr(Replica, "apply", applies(Replica.apply))
        yield judge

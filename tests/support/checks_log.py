"""What must hold in every flight, whatever is done to the cluster: one function for each sentence.

Each takes the simulation (and what it needs beside it) and answers in words what does not hold; [] is good. Tests of
these judges break the cluster on purpose and see that they notice.
"""

from collections import defaultdict
from functools import partial
from itertools import zip_longest

from cluster.broker.replica import Replica
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import RecordBatch
from cluster.simulation import Simulation
from cluster.spec import GroupSpec
from cluster.storage.partition_log import PartitionLog
from tests.support.expected_transactions import log_facts
from tests.support.finished_records import BatchKey, identity_of
from tests.support.independent_recorder import IndependentRecorder
from tests.support.lost_records import Vanished, copies_of
from tests.support.unpacked_logs import added_since, batches_of, begin_of


def copies(simulation: Simulation) -> dict[str, list[Replica]]:
    """Every replica of every partition."""
    found: defaultdict[str, list[Replica]] = defaultdict(list)
    for broker in simulation.brokers.values():
        for name, replica in broker.replicas.items():
            found[name].append(replica)
    return found


class LogCheck:
    """R8: replicas hold the same records below their high watermarks; remembers how far it has looked."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._agreed: dict[str, RecordBatch] = {}  # the last batch that every replica had as committed

    def disagreements(self) -> list[str]:
        """Batches that differ although both replicas count them as committed."""
        found = []
        for name, replicas in copies(self._simulation).items():
            agreed = self._agreed.get(name)
            first = max(_begin(replica) for replica in replicas)
            if agreed is not None and all(at(replica.log, agreed.base_offset) is agreed for replica in replicas):
                first = max(first, agreed.next_offset)
            end = min(replica.high_watermark for replica in replicas)
            rows = [committed(replica, first) for replica in replicas]
            for place, batches in enumerate(zip_longest(*rows)):
                there = [batch for batch in batches if batch is not None]
                if any(batch != there[0] for batch in there[1:]):
                    found.append(f"{name}: committed batch {place} after {first} differs: {there}")
                if len(there) == len(batches) and there[0].next_offset <= end:
                    self._agreed[name] = there[0]
        return found


def _begin(replica: Replica) -> int:
    log = replica.log
    return max(log.log_start, begin_of(log)) if log.batches else log.log_start


def at(log: PartitionLog, offset: int) -> RecordBatch | None:
    """The batch that begins at an offset."""
    batch = next(log.batches.since(offset), None)
    return batch if batch is not None and batch.base_offset == offset else None


def committed(replica: Replica, first: int) -> list[RecordBatch]:
    """The batches of a replica from an offset on that end at or below its high watermark."""
    return [
        batch
        for batch in replica.log.batches.since(first)
        if batch.base_offset >= first and batch.next_offset <= replica.high_watermark
    ]


def watermark_errors(simulation: Simulation) -> list[str]:
    """A high watermark never passes the end of its log, and offsets have no gaps."""
    return [
        f"{name} on broker-{replica.host.id}: high watermark {replica.high_watermark}, log end {replica.log.log_end}"
        for name, replicas in copies(simulation).items()
        for replica in replicas
        if replica.high_watermark > replica.log.log_end
    ]


class RecordsCheck:
    """Every acknowledged record is on some replica, and no idempotent producer's record is in a log twice."""

    def __init__(self, simulation: Simulation, recorder: IndependentRecorder) -> None:
        self._recorder = recorder
        self._vanished = {name: Vanished(partial(copies_of, simulation, name)) for name in copies(simulation)}
        self._seen: dict[str, tuple[list[RecordBatch], set[BatchKey]]] = {}

    def vanished(self) -> list[str]:
        """Acknowledged records that are gone."""
        recorder = self._recorder
        gone = {
            name: len(one.gone(recorder.acked_batches.get(name, {}), recorder.judged))
            for name, one in self._vanished.items()
        }
        return [f"{name}: {records} acknowledged records are gone" for name, records in gone.items() if records]

    def doubled(self) -> list[str]:
        """Records that are in their partition's log twice."""
        found = []
        for name, replica in self._recorder.leaders.items():
            seen, keys = self._seen.setdefault(name, ([], set()))
            added = added_since(replica.log, seen)
            if added is None or len(seen) + len(added) != len(replica.log.batches):  # cut at one of its ends
                seen, keys = self._seen[name] = [], set()
                added = batches_of(replica.log)
            for batch in added:
                key = (batch.producer, name, batch.first_serial)
                if batch.producer and key in keys:
                    found.append(f"{name}: {key} is in the log twice")
                seen.append(batch)
                keys.add(key)
        return found


def doubly_owned(simulation: Simulation) -> list[str]:
    """In one generation of a group a partition has one owner: in the clients' minds and in the coordinators' books."""
    found = []
    owners: dict[tuple[str, int, str], str] = {}
    for consumer in simulation.consumers.values():
        if consumer.generation < 0:
            continue
        for name in consumer.owned:
            other = owners.setdefault((consumer.group, consumer.generation, name), consumer.name)
            if other != consumer.name:
                found.append(f"{name} is owned by {other} and {consumer.name} in generation {consumer.generation}")
    for broker in simulation.brokers.values():
        for hosted in broker.group_coordinators.hosted.values():
            for group in hosted.coordinator.groups.values():
                dealt = [name for member in group.members.values() for name in member.assignment]
                found += [
                    f"{group.group_id} dealt {name} twice" for name in dict.fromkeys(dealt) if dealt.count(name) > 1
                ]
    return found


def not_converged(simulation: Simulation, recorder: IndependentRecorder) -> list[str]:
    """A healed cluster is whole again: everybody in, everything in sync, groups Stable, nothing left to send."""
    brokers = simulation.controller.brokers.values()
    found = [f"broker-{registration.broker} is fenced" for registration in brokers if registration.fenced]
    for name, metadata in simulation.controller.partitions.items():
        if metadata.leader < 0 or sorted(metadata.isr) != sorted(metadata.replicas):
            found.append(f"{name}: leader {metadata.leader}, isr {metadata.isr} of {metadata.replicas}")
    for name, replicas in copies(simulation).items():
        ends = [replica.log.log_end for replica in replicas]
        if len(set(ends)) > 1 or recorder.leaders[name].high_watermark != ends[0]:
            found.append(f"{name}: log ends {ends}, high watermark {recorder.leaders[name].high_watermark}")
    for group in simulation.spec.groups:
        found += Reading(simulation, recorder, group).unfinished()
    writing = {consumer.name for consumer in simulation.consumers.values() if not consumer.in_poll}  # what they read
    for producer in simulation.producers.values():
        if producer.alive and producer.accumulator.queues and producer.name not in writing:
            found.append(f"{producer.name} still has batches to send: {list(producer.accumulator.queues)}")
    return found


class Reading:
    """One group in a healed cluster to which no producer sends any more: how far has it got?

    `at_work` are living members that have not called poll() again: slow records or a stall hold them up, and no check
    may hurry them. What they hold is not judged, the rest is.
    """

    def __init__(self, simulation: Simulation, recorder: IndependentRecorder, spec: GroupSpec) -> None:
        self._simulation, self._recorder, self._spec = simulation, recorder, spec
        living = [consumer for consumer in simulation.consumers.values() if consumer.group == spec.name]
        self._living = {consumer.name: consumer for consumer in living if consumer.alive}
        self._at_work = {name for name, consumer in self._living.items() if not consumer.in_poll}
        partition = simulation.view.groups[spec.name].coordinator_partition
        self._known = recorder.coordinators.group(partition, spec.name)

    def unfinished(self) -> list[str]:
        """Members that are not in, partitions that are not read to their ends, acknowledged records not finished."""
        if not self._living:
            return []
        name, known = self._spec.name, self._known
        all_at_work = len(self._at_work) == len(self._living)
        if known is None:
            return [] if all_at_work else [f"{name} is unknown to its coordinator"]
        members = [client for client, _, _ in known.members.values()]
        if known.state == "Empty" and all_at_work:  # all left for max.poll.interval.ms, and join with the next poll()
            return []
        if known.state != "Stable":
            waits = known.state == "PreparingRebalance" and any(client in self._at_work for client in members)
            return [] if waits else [f"{name} is {known.state} with {members}"]
        found = [
            f"{client} is {members.count(client)} times in {name}"
            for client in dict.fromkeys([*self._living, *members])
            if members.count(client) != (client in self._living) and client not in self._at_work
        ]
        return found or [words for partition in self._partitions() for words in self._unread(partition)]

    def _partitions(self) -> list[str]:
        """Partitions that no member at work holds, by its own account or its coordinator's."""
        held = {name for client in self._at_work for name in self._living[client].owned}
        if self._known is not None:
            held |= {
                name for client, owned, _ in self._known.members.values() if client in self._at_work for name in owned
            }
        topics = {topic for consumer in self._living.values() for topic in consumer.topics}
        names = [f"{topic}-{number}" for topic in sorted(topics) for number in range(self._simulation.topics[topic])]
        return [name for name in names if name not in held]

    def _unread(self, name: str) -> list[str]:
        owners = [consumer for consumer in self._living.values() if name in consumer.owned]
        if len(owners) != 1:
            return [f"{name} has the owners {[owner.name for owner in owners]} in {self._spec.name}"]
        leader = self._recorder.leaders[name]
        end, position = leader.high_watermark, owners[0].fetcher.positions.get(name)
        aborted: set[tuple[str, int]] = set()
        facts = log_facts(batches_of(leader.log), leader.high_watermark, leader.log.log_start)
        read_committed = owners[0].config.read_committed
        if read_committed:
            end = facts.last_stable_offset
            aborted = {
                (batch.producer, batch.first_serial)
                for batch in batches_of(leader.log)
                if batch.base_offset in facts.aborted or batch.base_offset >= end
            }
        found = [] if position == end else [f"{owners[0].name} is at {position} of {end} in {name}"]
        committed = self._known.offsets.get(name) if self._known is not None else None
        by_itself = self._spec.application.commit == "auto"  # others commit when poll() has returned records
        left = [
            batch for batch in batches_of(leader.log) if committed is not None and committed < batch.next_offset <= end
        ]
        failed = owners[0].membership.commits.error is not ErrorCode.NONE
        given_up = failed and self._spec.application.commit == "async"  # a consumer never repeats commitAsync
        missing = any(facts.is_for(batch, read_committed=read_committed) for batch in left) and not given_up
        if missing or (left and by_itself):
            found.append(f"{self._spec.name} has committed {committed} of {end} in {name}")
        if owners[0].config.auto_offset_reset != "earliest" or self._spec.application.commit == "before-processing":
            return found  # records may be skipped
        finished = self._recorder.completions[self._spec.name].finished
        batches = [self._recorder.sent_batches[key] for key in self._recorder.acked_batches[name]]
        missed = sum(
            identity_of(batch, batch.base_offset + place) not in finished
            for batch in batches
            if (batch.producer, batch.first_serial) not in aborted
            for place in range(batch.count)
        )
        return [*found, f"{self._spec.name} missed {missed} acknowledged records of {name}"] if missed else found

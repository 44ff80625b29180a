"""The second path: the view document written from the cluster's own objects, without any event, view or fold.

`Truth(simulation, recorder)` walks brokers, logs, coordinators and clients; what no object remembers (which member
finished which record, which acknowledgement arrived) it asks the independent recorder. It must
equal `document(view, now)`. While a leader or coordinator is dead, the last that took over counts.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from cluster.broker.replica import Replica
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.producer.producer import Producer
from cluster.config import resolve
from cluster.protocol.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, coordinator_partition
from cluster.protocol.record_batch import RecordBatch
from cluster.simulation import Simulation
from cluster.spec import GroupSpec
from tests.support.expected_delivery import FATES, SKIPPED, Fates
from tests.support.expected_transactions import LogFacts, log_facts, transactions
from tests.support.group_recorder import AnyGroupAsOf, ConsumerGroupAsOf
from tests.support.independent_recorder import IndependentRecorder
from tests.support.lost_records import copies_of
from tests.support.producer_requests import produce_requests
from tests.support.unpacked_logs import batches_of

Document = dict[str, Any]
INTERNAL = (OFFSETS_TOPIC, "__transaction_state")


def order(name: str) -> tuple[str, int]:
    topic, _, number = name.rpartition("-")
    return topic, int(number)


class Truth:
    """The walker of one flight: what it has checked once it need not check again."""

    def __init__(self, simulation: Simulation, recorder: IndependentRecorder) -> None:
        self.simulation, self.recorder = simulation, recorder
        self._fates: dict[tuple[str, str], Fates] = {}
        self._log_facts: dict[str, tuple[object, object, LogFacts | None]] = {}
        self._committed: dict[str, int] = {}
        recorder.leaders.first = self._first_leader
        recorder.passages.committed = self._committed_by

    @property
    def _groups(self) -> dict[str, GroupSpec]:
        """The groups as they are declared now: `set` changes that."""
        return {group.name: group for group in self.simulation.spec.groups}

    def _first_leader(self, name: str) -> Replica:
        replicas = self.simulation.controller.partitions[name].replicas
        return self.simulation.brokers[replicas[0]].replicas[name]

    # --- where to look ------------------------------------------------------------------------------------------------

    def _now_us(self) -> int:
        return self.simulation.timeline.now_us

    def _partitions_of(self, topics: Iterable[str]) -> list[str]:
        return [f"{topic}-{number}" for topic in topics for number in range(self.simulation.topics.get(topic, 0))]

    def _coordinator_partition(self, group: str) -> str:
        count = self.simulation.topics[OFFSETS_TOPIC]
        return f"{OFFSETS_TOPIC}-{coordinator_partition(group, count)}"

    def _group(self, name: str) -> AnyGroupAsOf | None:
        return self.recorder.coordinators.group(self._coordinator_partition(name), name)

    def _committed_by(self, group: str, name: str) -> int:
        known = self._group(group)
        return known.offsets.get(name, -1) if known is not None else -1

    def _topics(self, group: GroupSpec) -> list[str]:
        topics = dict.fromkeys(group.topics)
        for member in group.instances():
            topics |= dict.fromkeys(group.topics_of(member))
        return list(topics | self.recorder.subscribed[group.name])

    def _config(self, group: GroupSpec) -> dict[str, Any]:
        return dict(resolve("consumer", group.config))

    def _read_up_to(self, group: GroupSpec, name: str) -> int:
        known = self._group(group.name)
        if known is not None and name in known.offsets:
            return known.offsets[name]
        leader = self.recorder.leaders[name]
        latest = self._config(group)["auto.offset.reset"] == "latest"
        return leader.high_watermark if latest else leader.log.log_start

    def _readable(self, group: GroupSpec, name: str) -> tuple[int, int]:
        """Up to where and from where on the group still finds records it has not committed."""
        leader = self.recorder.leaders[name]
        return leader.high_watermark, max(self._read_up_to(group, name), leader.log.log_start)

    def records(self, name: str, first: int, end: int) -> Iterable[tuple[RecordBatch, int]]:
        """(batch, offset) of the records first … end - 1 that the log of the last leader has, or has deleted."""
        log = self.recorder.leaders[name].log
        gone = self.recorder.before(log)
        batches = [*gone, *batches_of(log)]
        place = max(0, bisect_right(batches, first, key=lambda batch: batch.base_offset) - 1)
        for batch in batches[place:]:
            if batch.base_offset >= end:
                return
            for offset in range(max(first, batch.base_offset), min(end, batch.next_offset)):
                yield batch, offset

    def lags(self) -> dict[str, tuple[int, int]]:
        """Each group's lag and its age in ms. Remembers of this instant what `document` would have remembered.

        The document counts every record of the flight again: an observer of each second needs it at the end only.
        """
        self._note_committed()
        for group in self._groups.values():
            for fates, _, committed_only in self._fates_by_partition(group):
                fates.look(read_committed=committed_only)
        return {name: (self._lag(group), self._time_lag_us(group) // 1000) for name, group in self._groups.items()}

    # --- the document -------------------------------------------------------------------------------------------------

    def document(self) -> Document:
        """Every root of the view document as the cluster's objects have it now."""
        simulation = self.simulation
        return {
            "now_ms": self._now_us() // 1000,
            "faults": self._faults(),
            "groups": {name: self._group_entry(group) for name, group in self._groups.items()},
            "members": {name: self._member(consumer) for name, consumer in simulation.consumers.items()},
            "topics": {topic: self._topic(topic) for topic in simulation.topics},
            "partitions": {name: self._partition(name) for name in simulation.controller.partitions},
            "brokers": self._brokers(),
            "producers": {name: self._producer(producer) for name, producer in simulation.producers.items()},
            "transactions": self._transactions(),
            "delivery": self.delivery(),
        }

    def facts_of(self, name: str) -> LogFacts | None:
        """What transactions made of a partition's records; None where there are none."""
        leader = self.recorder.leaders[name]
        log = leader.log
        deleted = self.recorder.before(log)
        key = len(deleted), len(log.batches), log.batches[-1] if log.batches else None, leader.high_watermark
        known = self._log_facts.get(name)
        if known is None or known[0] != key or known[1] is not log:
            batches = [*deleted, *batches_of(log)]
            facts = None
            if any(batch.transactional for batch in batches):
                facts = log_facts(batches, leader.high_watermark, log.log_start)
            known = self._log_facts[name] = key, log, facts
        return known[2]

    def _transactions(self) -> Document:
        self._note_committed()
        logs = [(batches_of(self.recorder.leaders[name].log), end) for name, end in self._committed.items()]
        found: Document = transactions(logs, self.recorder.fenced, self._now_us())
        return found

    def _note_committed(self) -> None:
        """A new leader's high watermark lags behind what was committed already."""
        for name, leader in self.recorder.leaders.items():
            if name.startswith(TRANSACTIONS_TOPIC):
                self._committed[name] = max(self._committed.get(name, 0), leader.high_watermark)

    def _faults(self) -> list[Document]:
        return [
            {
                "id": fault.number,
                "text": fault.text,
                "since_ms": fault.since_us // 1000,
                "ends_ms": fault.ends_us // 1000 if fault.ends_us >= 0 else -1,
            }
            for fault in sorted(self.simulation._executor.faults.values(), key=lambda fault: fault.number)
        ]

    def _group_entry(self, group: GroupSpec) -> Document:
        known = self._group(group.name)
        partition = self._coordinator_partition(group.name)
        last, gone = self.recorder.coordinators.last.get(group.name), self.recorder.coordinators.gone
        assignment: defaultdict[str, list[str]] = defaultdict(list)
        for client, partitions, _ in known.members.values() if known else ():
            assignment[client] += partitions
        declared = "consumer" if group.speaks_new_protocol else "classic"
        protocol = self.recorder.coordinators.protocol(known, group.name, declared)
        return {
            "state": known.state if known else "Dead" if group.name in gone else "Empty",  # or not there yet
            "protocol": protocol,
            "assignor": known.protocol if known else "",
            "generation": known.generation if known else 0,
            "coordinator": self.simulation.controller.partitions[partition].leader,
            "leader": known.leader if known else "",
            "members": len(known.members) if known else 0,
            "rebalances": max(0, self.recorder.coordinators.barriers[group.name] - 1),
            "lag": self._lag(group),
            "time_lag_ms": self._time_lag_us(group) // 1000,
            "committed": known.offsets if known else {},
            "assignment": {client: sorted(partitions, key=order) for client, partitions in assignment.items()},
            "stopped_partition_ms": self.recorder.ownership[group.name].stopped_us(self._now_us()) // 1000,
            "last_rebalance": {
                "cause": last.cause if last else "",
                "trigger": last.trigger if last else "",
                "took_ms": last.took_us // 1000 if last else 0,
                "waited_for": last.waited_for if last else "",
                "moved": last.moved if last else 0,
                "reread": last.reread if last else 0,
            },
            **(_consumer_group(known, self._own_ids()) if protocol == "consumer" else {}),
        }

    def _lag(self, group: GroupSpec) -> int:
        leaders = self.recorder.leaders
        names = self._partitions_of(self._topics(group))
        return sum(max(0, leaders[name].high_watermark - self._read_up_to(group, name)) for name in names)

    def _time_lag_us(self, group: GroupSpec) -> int:
        oldest = 0
        for name in self._partitions_of(self._topics(group)):
            end, first = self._readable(group, name)
            for batch, _ in self.records(name, first, min(end, first + 1)):
                oldest = max(oldest, self._now_us() - batch.append_us)
            if self.recorder.leaders[name].log.segments is not None and first < end:  # the record there may be gone
                dates = self.recorder.appended_us[name]
                known = bisect_right(dates, first, key=lambda date: date[0])
                oldest = max(oldest, self._now_us() - dates[known - 1][1])
        return oldest

    def _own_ids(self) -> dict[str, str]:
        """The member id that each process has now."""
        return {name: consumer.member_id for name, consumer in self.simulation.consumers.items()}

    def _member(self, consumer: Consumer) -> Document:
        recorder, now_us = self.recorder, self._now_us()
        known = self._group(consumer.group)
        mine = known.members.get(consumer.member_id) if known else None
        deadline_us = mine[2] if mine else -1
        poll_us = now_us if consumer.alive and consumer.in_poll else consumer.last_poll_us
        lag = 0
        if consumer.alive:
            awaiting = consumer.membership.positions.validation.awaiting
            positions = consumer.fetcher.positions | {name: each.offset for name, each in awaiting.items()}
            for name, position in positions.items():
                stable = consumer.config.read_committed
                end = self._last_stable_offset(name) if stable else recorder.leaders[name].high_watermark
                lag += max(0, end - position)
        return {
            "group": consumer.group,
            "state": consumer.state,
            "generation": consumer.generation,
            "member_id": consumer.member_id,
            "instance_id": consumer.instance_id or "",
            "owned": sorted(consumer.owned, key=order),
            "heartbeat_age_ms": (now_us - recorder.heartbeat_us.get(consumer.name, now_us)) // 1000,
            "session_left_ms": max(0, (deadline_us - now_us) // 1000)
            if deadline_us >= 0
            else consumer.session_timeout_us // 1000,
            "poll_age_ms": (now_us - poll_us) // 1000 if consumer.name in recorder.launched else 0,
            "lag": lag,
            "processed": recorder.processed[consumer.name],
            "fenced": recorder.given_up[consumer.name],
            "alive": consumer.alive,
            "paused_partitions": sorted(consumer.fetcher.paused, key=order) if consumer.alive else [],
            "buffered": self._buffered(consumer),
            "read_from": self._read_from(consumer),
        }

    @staticmethod
    def _buffered(consumer: Consumer) -> Document:
        """The offsets that the consumer's poll() calls would pass without another Fetch."""
        fetcher = consumer.fetcher
        ends = {name: fetcher._ends.get(name, batches[-1]).next_offset for name, batches in fetcher._buffer}
        return (
            {name: ends[name] - fetcher.positions[name] for name in sorted(ends, key=order)} if consumer.alive else {}
        )

    @staticmethod
    def _read_from(consumer: Consumer) -> Document:
        """What the consumer's next fetches would go to a follower for."""
        if not consumer.alive:
            return {}
        preferred = consumer.read_replica.preferred
        return {name: preferred[name].broker for name in sorted(preferred, key=order)}

    def _topic(self, topic: str) -> Document:
        names = self._partitions_of([topic])
        metadata = [self.simulation.controller.partitions[name] for name in names]
        logs = [self.recorder.leaders[name].log for name in names]
        return {
            "partitions": len(names),
            "leaderless": sum(one.leader < 0 for one in metadata),
            "under_replicated": sum(len(one.isr) < len(set(one.replicas) - set(one.adding)) for one in metadata),
            "records": sum(log.log_end - log.log_start for log in logs),
            "bytes": sum(log.bytes for log in logs),
        }

    def _partition(self, name: str) -> Document:
        metadata, leader = self.simulation.controller.partitions[name], self.recorder.leaders[name]
        return {
            "leader": metadata.leader,
            "isr": sorted(metadata.isr),
            "replicas": list(metadata.replicas),
            "leader_epoch": metadata.leader_epoch,
            "log_start": leader.log.log_start,
            "last_stable_offset": self._last_stable_offset(name),
            "high_watermark": leader.high_watermark,
            "log_end": leader.log.log_end,
        }

    def _last_stable_offset(self, name: str) -> int:
        facts = self.facts_of(name)
        return self.recorder.leaders[name].high_watermark if facts is None else facts.last_stable_offset

    def _brokers(self) -> Document:
        partitions = self.simulation.controller.partitions
        coordinators = {name: partitions[self._coordinator_partition(name)].leader for name in self._groups}
        return {
            str(broker.id): {
                "up": broker.alive and not broker.lifecycle.starting,
                "state": broker.lifecycle.state.value,
                "controller": self.simulation.control.active == broker.id,
                "leaders": sum(one.leader == broker.id for one in partitions.values()),
                "coordinator_of": sorted(name for name, leader in coordinators.items() if leader == broker.id),
            }
            for broker in self.simulation.brokers.values()
        }

    def _producer(self, producer: Producer) -> Document:
        counters = self.recorder.counters[producer.name]
        carried = [batches for _, batches in produce_requests(producer)]
        opened_us = [batch.created_us for batches in carried for batch in batches if not batch.over]
        opened_us += [batch.created_us for queue in producer.accumulator.queues.values() for batch in queue]
        return {
            "state": producer.state,
            "sent": counters.sent,
            "acked": counters.acked,
            "failed": counters.failed,
            "retries": counters.retries,
            "requests": counters.requests,
            "batches": counters.batches,
            "producer_id": producer.sender.producer_id,
            "epoch": producer.sender.epoch,
            "buffered_bytes": producer.config.buffer_memory - producer.accumulator.free_bytes,
            "requests_in_flight": sum(any(not batch.over for batch in batches) for batches in carried),
            "oldest_batch_ms": (self.simulation.timeline.now_us - min(opened_us)) // 1_000 if opened_us else 0,
        }

    # --- what became of every record --------------------------------------------------------------------------------

    def _cluster_counts(self, topics: Iterable[str]) -> Document:
        names = self._partitions_of(topics)
        return {
            "produced": sum(self.recorder.produced[name] for name in names),
            "acked": sum(self.recorder.acked[name] for name in names),
            "appended": sum(self.recorder.leaders[name].log.appended_records for name in names),
            "aborted": sum(facts.aborted_records for name in names if (facts := self.facts_of(name)) is not None),
        }

    def _reader_counts(self, group: GroupSpec) -> Document:
        completions = self.recorder.completions[group.name]
        found = self._fates_of(group)
        return {
            **{fate: found[fate] for fate in FATES},
            "duplicated": completions.duplicated,
            "out_of_order_keys": len(completions.broken_keys),
            "sink_duplicates": completions.stored_again,
        }

    def _fates_of(self, group: GroupSpec) -> Counter[str]:
        found: Counter[str] = Counter(dict.fromkeys((*FATES, *SKIPPED), 0))
        for fates, committed, committed_only in self._fates_by_partition(group):
            found.update(fates.count(committed, read_committed=committed_only))
        return found

    def _fates_by_partition(self, group: GroupSpec) -> Iterator[tuple[Fates, int, bool]]:
        """The records' fates of each partition of the group, its commit there, and whether it reads committed ones."""
        committed_only = self._config(group)["isolation.level"] == "read_committed"
        for name in self._partitions_of(self._topics(group)):
            key = group.name, name
            if key not in self._fates:
                self._fates[key] = Fates(group.name, name, self.recorder, partial(copies_of, self.simulation, name))
            yield self._fates[key], self._committed_by(*key), committed_only

    def fates_in_full(self) -> dict[str, dict[str, int]]:
        """The counts of each group, and how many of its skipped records for which reason."""
        return {name: dict(self._fates_of(group)) for name, group in self._groups.items()}

    def delivery(self) -> Document:
        """The root `delivery` alone."""
        by_group = {name: self._reader_counts(group) for name, group in self._groups.items()}
        totals = {
            key: sum(counts[key] for counts in by_group.values())
            for key in (*FATES, "duplicated", "out_of_order_keys", "sink_duplicates")
        }
        user_topics = [topic for topic in self.simulation.topics if topic not in INTERNAL]
        return {
            **self._cluster_counts(user_topics),
            **totals,
            "by_group": {
                name: {**self._cluster_counts(self._topics(self._groups[name])), **counts}
                for name, counts in by_group.items()
            },
        }


def differences(seen: object, true: object, path: str = "") -> list[str]:
    """Where two documents differ, in words."""
    if isinstance(seen, dict) and isinstance(true, dict):
        found = []
        for key in dict.fromkeys([*seen, *true]):
            inner = f"{path}.{key}" if path else str(key)
            if key not in seen or key not in true:
                found.append(f"{inner}: view {seen.get(key, 'has none')!r}, truth {true.get(key, 'has none')!r}")
            else:
                found += differences(seen[key], true[key], inner)
        return found
    return [] if seen == true else [f"{path}: view {seen!r}, truth {true!r}"]


def _consumer_group(known: AnyGroupAsOf | None, current: Mapping[str, str]) -> Document:
    """What only a group of the new protocol has; nothing yet, before its first member."""
    of = known if isinstance(known, ConsumerGroupAsOf) else None
    members = of.by_client(current) if of else {}
    return {
        "classic_members": [client for client, _, member in of.named if member.classic] if of else [],
        "group_epoch": of.generation if of else 0,
        "assignment_epoch": of.assignment_epoch if of else 0,
        "member_epochs": {name: member.epoch for name, member in members.items()},
        "member_states": {name: member.state for name, member in members.items()},
        "target": {name: sorted(member.target, key=order) for name, member in members.items()},
        "pending_revocation": {
            name: sorted(member.pending, key=order) for name, member in members.items() if member.pending
        },
    }

"""`document(view, now_us)`: the view as the plain nested data that expectations and `run --json` see.

Its fields are a contract (the scenario format). Ages and countdowns are computed here, from instants and `now_us`. Only
the requested roots are made: a whole document of 2,000 partitions costs tens of milliseconds.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cluster.view.delivery import FATES, fates
from cluster.view.fold_groups import stopped_partition_us
from cluster.view.rebalances import ConsumerGroupView
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView, ProducerView

Document = dict[str, Any]


def partition_order(name: str) -> tuple[str, int]:
    """Sort key: by topic, then number (`orders-2` before `orders-10`)."""
    topic, _, number = name.rpartition("-")
    return topic, int(number)


def reading_start(view: ClusterView, group: GroupView, name: str) -> int:
    """The offset from which the group reads without a commit, by `auto.offset.reset`.

    `none` and `by_duration` count from the log's start.
    """
    partition = view.partitions[name]
    return partition.high_watermark if group.offset_reset == "latest" else partition.log_start


def read_up_to(view: ClusterView, group: GroupView, name: str) -> int:
    """The offset up to which the group has certainly read: the committed one, else its starting offset."""
    reader = group.readers.get(name)
    if reader is not None and reader.committed != NEVER:
        return reader.committed
    return reading_start(view, group, name)


def group_partitions(view: ClusterView, group: GroupView) -> Iterable[str]:
    """Every partition of the group's topics."""
    for topic in group.topics:
        yield from view.partitions_by_topic.get(topic, ())


def group_lag(view: ClusterView, group: GroupView) -> int:
    """Σ (high watermark - committed offset), as kafka-consumer-groups shows it."""
    return sum(sum(lags_in(view, group, view.partitions_by_topic.get(topic, ()))) for topic in group.topics)


def partition_lags(view: ClusterView, group: GroupView) -> dict[str, int]:
    """The group's lag in each partition of its topics, in records; together they are `group_lag`."""
    names = list(group_partitions(view, group))
    return dict(zip(names, lags_in(view, group, names), strict=True))


def lags_in(view: ClusterView, group: GroupView, names: Sequence[str]) -> list[int]:
    """The group's lag in each of these partitions, in records, in their order."""
    latest, lags = group.offset_reset == "latest", list[int]()  # no call for each: screens ask for thousands a frame
    for reader, partition in zip(map(group.readers.get, names), map(view.partitions.__getitem__, names), strict=True):
        if reader is not None and reader.committed != NEVER:
            lag = partition.high_watermark - reader.committed
        else:  # as `reading_start`
            lag = 0 if latest else partition.high_watermark - partition.log_start
        lags.append(max(0, lag))
    return lags


def partition_time_lag_us(view: ClusterView, group: GroupView, name: str, now_us: int) -> int:
    """The age (µs) of the first record that the group has not committed; 0 without one."""
    partition = view.partitions[name]
    offset = max(read_up_to(view, group, name), partition.log_start)
    if partition.high_watermark <= offset:
        return 0
    index = bisect_right(partition.append_ends, offset)
    return now_us - partition.append_times_us[index] if index < len(partition.append_times_us) else 0


def group_time_lag_us(view: ClusterView, group: GroupView, now_us: int) -> int:
    """The largest time lag (µs) of the group's partitions, see `partition_time_lag_us`."""
    oldest_us = now_us
    partitions, readers = view.partitions, group.readers
    for topic in group.topics:  # without a call for each partition, see `group_lag`
        for name in view.partitions_by_topic.get(topic, ()):
            partition = partitions[name]
            times_us = partition.append_times_us
            if not times_us or times_us[0] >= oldest_us:
                continue  # no record that is dated is older
            reader = readers.get(name)
            committed = reader.committed if reader is not None else NEVER
            if committed == NEVER or committed < partition.high_watermark:
                oldest_us = min(oldest_us, now_us - partition_time_lag_us(view, group, name, now_us))
    return now_us - oldest_us


def member_lag(view: ClusterView, member: MemberView) -> int:
    """Σ (high watermark, or last stable offset, - position): the client's own records-lag."""
    stable = view.groups[member.group].read_committed
    total = 0
    for name, position in member.positions.items():
        partition = view.partitions[name]
        unread = (partition.last_stable_offset if stable else partition.high_watermark) - position
        if unread > 0:
            total += unread
    return total


def _ms(duration_us: int) -> int:
    return duration_us // 1000


def _members_by_name(group: GroupView) -> dict[str, list[str]]:
    """Client id → partitions of the coordinator's members; a restarted process may have two member ids."""
    owned: dict[str, list[str]] = {}
    for member_id, name in group.members.items():
        owned.setdefault(name, []).extend(group.assignment.get(member_id, ()))
    return {name: sorted(partitions, key=partition_order) for name, partitions in sorted(owned.items())}


def _group(view: ClusterView, group: GroupView, now_us: int) -> Document:
    coordinator = view.partitions.get(group.coordinator_partition)
    last = group.rebalances[-1] if group.rebalances else None
    return {
        "state": group.state,
        "protocol": "classic" if group.consumer is None else "consumer",
        "assignor": group.assignor,
        "generation": group.generation,
        "coordinator": coordinator.leader if coordinator is not None else -1,
        "leader": group.leader,
        "members": len(group.members),
        "rebalances": group.rebalance_count,
        "lag": group_lag(view, group),
        "time_lag_ms": _ms(group_time_lag_us(view, group, now_us)),
        "committed": {
            name: group.readers[name].committed
            for name in sorted(group.readers, key=partition_order)
            if group.readers[name].committed != NEVER
        },
        "assignment": _members_by_name(group),
        "stopped_partition_ms": _ms(stopped_partition_us(group, now_us)),
        "last_rebalance": {
            "cause": last.cause if last else "",
            "trigger": last.trigger if last else "",
            "took_ms": _ms(last.took_us) if last else 0,
            "waited_for": last.waited_for if last and not last.initial else "",
            "moved": last.moved if last else 0,
            "reread": last.reread if last else 0,
        },
        **({} if group.consumer is None else _consumer_group(view, group, group.consumer)),
    }


def _consumer_group(view: ClusterView, group: GroupView, consumer: ConsumerGroupView) -> Document:
    """The fields that only a group of the new protocol has, by client id.

    A restarted process may have two member ids until the session of the first expires: its own one counts, or the
    greatest.
    """
    named = [(group.members[member_id], member_id, one) for member_id, one in consumer.members.items()]
    named.sort(key=lambda known: (known[0], _is_its_own(view, known[0], known[1]), known[1]))
    members = [(name, one) for name, _, one in named]
    return {
        "group_epoch": consumer.group_epoch,
        "assignment_epoch": consumer.assignment_epoch,
        "member_epochs": {name: one.epoch for name, one in members},
        "member_states": {name: one.state for name, one in members},
        "target": {name: sorted(one.target, key=partition_order) for name, one in members},
        "pending_revocation": {
            name: sorted(one.pending_revocation, key=partition_order) for name, one in members if one.pending_revocation
        },
        "classic_members": [name for name, one in members if one.classic],
    }


def _is_its_own(view: ClusterView, name: str, member_id: str) -> bool:
    member = view.members.get(name)
    return member is not None and member.member_id == member_id


def _member(view: ClusterView, member: MemberView, now_us: int) -> Document:
    deadline = view.groups[member.group].session_deadlines_us.get(member.member_id, NEVER)
    poll_from = now_us if member.polling else member.last_poll_us
    return {
        "group": member.group,
        "state": member.state,
        "generation": member.generation,
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "owned": sorted(member.owned, key=partition_order),
        "heartbeat_age_ms": _ms(now_us - member.last_heartbeat_us) if member.last_heartbeat_us != NEVER else 0,
        "session_left_ms": max(0, _ms(deadline - now_us)) if deadline != NEVER else member.session_timeout_ms,
        "poll_age_ms": _ms(now_us - poll_from) if poll_from != NEVER else 0,
        "lag": member_lag(view, member),
        "processed": member.processed,
        "fenced": member.fenced,
        "alive": member.alive,
        "paused_partitions": sorted(member.paused_partitions, key=partition_order),
        "buffered": {
            name: member.buffered[name].next_offset - member.positions[name]
            for name in sorted(member.buffered, key=partition_order)
        },
        "read_from": {name: member.read_from[name] for name in sorted(member.read_from, key=partition_order)},
    }


def _topics(view: ClusterView) -> Document:
    result: Document = {}
    for topic in view.topics.values():
        partitions = [view.partitions[name] for name in view.partitions_by_topic[topic.topic]]
        result[topic.topic] = {
            "partitions": topic.partitions,
            "leaderless": sum(1 for partition in partitions if partition.leader < 0),
            "under_replicated": sum(1 for one in partitions if len(one.isr) < one.replication_factor),
            "records": sum(partition.log_end - partition.log_start for partition in partitions),
            "bytes": sum(partition.bytes for partition in partitions),
        }
    return result


def _partitions(view: ClusterView) -> Document:
    return {
        name: {
            "leader": partition.leader,
            "isr": sorted(partition.isr),
            "replicas": list(partition.replicas),
            "leader_epoch": partition.leader_epoch,
            "log_start": partition.log_start,
            "last_stable_offset": partition.last_stable_offset,
            "high_watermark": partition.high_watermark,
            "log_end": partition.log_end,
        }
        for name, partition in view.partitions.items()
    }


def _brokers(view: ClusterView) -> Document:
    leaders = dict.fromkeys(view.brokers, 0)
    for partition in view.partitions.values():
        if partition.leader in leaders:
            leaders[partition.leader] += 1
    coordinates: dict[int, list[str]] = {broker: [] for broker in view.brokers}
    for name, group in sorted(view.groups.items()):
        partition_view = view.partitions.get(group.coordinator_partition)
        if partition_view is not None and partition_view.leader in coordinates:
            coordinates[partition_view.leader].append(name)
    return {
        str(broker.broker): {
            "up": broker.up,
            "state": broker.state,
            "controller": view.controller == broker.broker,
            "leaders": leaders[broker.broker],
            "coordinator_of": coordinates[broker.broker],
        }
        for broker in view.brokers.values()
    }


def oldest_batch_us(producer: ProducerView) -> int:
    """When the oldest batch without an outcome was opened; NEVER without one."""
    return min((one.opened_us for batches in producer.open_batches.values() for one in batches), default=NEVER)


def _producers(view: ClusterView, now_us: int) -> Document:
    return {
        producer.producer: {
            "state": producer.state,
            "sent": producer.sent,
            "acked": producer.acked,
            "failed": producer.failed,
            "retries": producer.retries,
            "requests": producer.requests,
            "batches": producer.batches,
            "producer_id": producer.producer_id,
            "epoch": producer.epoch,
            "buffered_bytes": producer.buffered_bytes,
            "requests_in_flight": len(producer.in_flight),
            "oldest_batch_ms": _ms(now_us - oldest_us) if (oldest_us := oldest_batch_us(producer)) != NEVER else 0,
        }
        for producer in view.producers.values()
    }


def _transactions(view: ClusterView, now_us: int) -> Document:
    return {
        one.transactional_id: {
            "state": one.state,
            "producer_id": one.producer_id,
            "epoch": one.epoch,
            "begun": one.begun,
            "committed": one.committed,
            "aborted": one.aborted,
            "fenced": one.fenced,
            "open_ms": _ms(now_us - one.start_us) if one.start_us != NEVER else 0,
        }
        for one in view.transactions.values()
        if one.state
    }


def _cluster_counts(view: ClusterView, topics: Iterable[str]) -> Document:
    partitions = [view.partitions[name] for topic in topics for name in view.partitions_by_topic.get(topic, ())]
    return {
        "produced": sum(partition.produced for partition in partitions),
        "acked": sum(partition.acked for partition in partitions),
        "appended": sum(partition.appended for partition in partitions),
        "aborted": sum(one.transactions.aborted_records for one in partitions if one.transactions is not None),
    }


def _reader_counts(view: ClusterView, group: GroupView) -> Document:
    return {
        **fates(view, group, group_partitions(view, group)),
        "duplicated": group.duplicated,
        "out_of_order_keys": group.out_of_order_keys,
        "sink_duplicates": group.duplicated if group.sink else 0,
    }


def _delivery(view: ClusterView) -> Document:
    user_topics = [topic.topic for topic in view.topics.values() if not topic.internal]
    by_group = {name: _reader_counts(view, group) for name, group in view.groups.items()}
    totals = {
        key: sum(counts[key] for counts in by_group.values())
        for key in (*FATES, "duplicated", "out_of_order_keys", "sink_duplicates")
    }
    return {
        **_cluster_counts(view, user_topics),
        **totals,
        "by_group": {
            name: {**_cluster_counts(view, view.groups[name].topics), **counts} for name, counts in by_group.items()
        },
    }


def _faults(view: ClusterView) -> list[Document]:
    return [
        {
            "id": fault.fault,
            "text": fault.text,
            "since_ms": _ms(fault.since_us),
            "ends_ms": _ms(fault.ends_at_us) if fault.ends_at_us != NEVER else NEVER,
        }
        for fault in view.faults.values()
    ]


ROOTS: dict[str, Callable[[ClusterView, int], Any]] = {
    "now_ms": lambda _, now_us: _ms(now_us),
    "faults": lambda view, _: _faults(view),
    "groups": lambda view, now_us: {name: _group(view, group, now_us) for name, group in view.groups.items()},
    "members": lambda view, now_us: {name: _member(view, member, now_us) for name, member in view.members.items()},
    "topics": lambda view, _: _topics(view),
    "partitions": lambda view, _: _partitions(view),
    "brokers": lambda view, _: _brokers(view),
    "producers": _producers,
    "transactions": _transactions,
    "delivery": lambda view, _: _delivery(view),
}


def document(view: ClusterView, now_us: int, roots: Iterable[str] = tuple(ROOTS)) -> Document:
    """The named roots of the view document (all of them by default) at `now_us`."""
    return {root: ROOTS[root](view, now_us) for root in ROOTS if root in roots}

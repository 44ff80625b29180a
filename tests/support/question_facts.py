"""What the fold says about each of the eighteen questions, for the rows of `docs/sql` to be compared with.

One pass of the fold that serves the console, and `summary`; no SQL, and no exported table. Times are µs.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from cluster import events as e
from cluster.protocol.names import murmur2_place
from cluster.storage.offset_ranges import IntervalSet
from cluster.view import ClusterView, fold
from cluster.view.document import group_partitions, read_up_to
from cluster.view.fold_groups import stopped_partition_us
from cluster.view.rebalances import RebalanceView
from recordings.journal.reader import Recording
from recordings.tables.summary import Summary, summarize

KEY: Final = "order-17"
Row = tuple[Any, ...]


class Crash(NamedTuple):
    """A process that was killed, or died, while it owned partitions."""

    group: str
    member: str
    at_us: int
    waits: dict[str, int]
    """partition → µs until a member had it again."""
    noticed: list[tuple[int, str]]


class Folded:
    """A recording's view at the end, and what changed in the view on the way."""

    def __init__(self, path: Path) -> None:
        self.summary: Summary = summarize(path)
        self.view = ClusterView()
        self.end_us = round(self.summary.virtual_s * 1e6)
        self.heartbeat_us: Counter[str] = Counter()
        self.processing_us: Counter[str] = Counter()
        self.restarts: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.crashes: list[Crash] = []
        self.sizes: list[Row] = []
        self._heard: dict[str, int] = {}
        self._idle: dict[str, int] = {}
        self._down: dict[str, int] = {}
        for event in Recording(path).events():
            self._take(event)

    def rebalances(self) -> Iterator[tuple[str, RebalanceView]]:
        """Every rebalance that ended with a Stable or an Empty group, with its group."""
        return ((name, one) for name, group in self.view.groups.items() for one in group.rebalances)

    def _take(self, event: e.Event) -> None:
        before = self.view.members.get(getattr(event, "member", ""))
        owned = list(before.owned) if before is not None and isinstance(event, e.MemberStopped) else []
        fold(self.view, event)
        if isinstance(event, e.TopicCreated | e.PartitionsAdded) and not self.view.topics[event.topic].internal:
            self.sizes.append((event.topic, event.at_us, self.view.topics[event.topic].partitions))
        if isinstance(event, e.MemberStopped) and event.how != "stop" and owned:
            self.crashes.append(Crash(event.group, event.member, event.at_us, {}, []))
            self.crashes[-1].waits.update(dict.fromkeys(owned, -1))
        if isinstance(event, e.MemberRemoved | e.MemberStarted | e.PartitionsAssigned):
            self._follow_crashes(event)
        if before is not None:
            self._follow_member(event, before.member)

    def _follow_crashes(self, event: e.MemberRemoved | e.MemberStarted | e.PartitionsAssigned) -> None:
        for crash in self.crashes:
            if isinstance(event, e.PartitionsAssigned):
                for name, waited_us in crash.waits.items():
                    if waited_us < 0 and name in self.view.groups[crash.group].owners:
                        crash.waits[name] = event.at_us - crash.at_us
            elif event.member == crash.member and not crash.noticed:
                removed = isinstance(event, e.MemberRemoved)
                crash.noticed.append((event.at_us - crash.at_us if removed else -1, getattr(event, "reason", "")))

    def _follow_member(self, event: e.Event, name: str) -> None:
        member, at_us = self.view.members[name], event.at_us
        if not member.alive:
            self._heard.pop(name, None)
            self._idle.pop(name, None)
            if isinstance(event, e.MemberStopped):
                self._down[name] = at_us
        elif name in self._down:
            self.restarts[member.group].append((self._down.pop(name), at_us))
        if isinstance(event, e.HeartbeatAnswered):
            if name in self._heard:
                self.heartbeat_us[name] = max(self.heartbeat_us[name], at_us - self._heard[name])
            self._heard[name] = member.last_heartbeat_us
        if isinstance(event, e.PollStarted | e.PollReturned) and member.polling and name in self._idle:
            self.processing_us[name] = max(self.processing_us[name], at_us - self._idle.pop(name))
        if isinstance(event, e.PollReturned) and not member.polling and member.alive:
            self._idle[name] = at_us


def awaited(told: Folded) -> Iterator[Row]:
    """1. Group, generation, the last to join, how long it took."""
    for group, one in told.rebalances():
        if not one.initial and one.members and one.reconciliation is None:
            yield group, one.generation, one.waited_for, one.waited_us


def rebalances(told: Folded) -> Iterator[Row]:
    """2. Group, start, cause, trigger, generation, duration, members."""
    for group, one in told.rebalances():
        took_us = one.stable_us - one.started_us
        yield group, one.started_us, one.cause, one.trigger, one.generation, took_us, one.members


def timers(told: Folded) -> Iterator[Row]:
    """3. Member, limits in ms, the longest times in µs; None without one."""
    for name, one in told.view.members.items():
        heard, idle = told.heartbeat_us.get(name), told.processing_us.get(name)
        yield name, one.session_timeout_ms, heard, one.max_poll_interval_ms, idle


def processed_twice(told: Folded) -> Iterator[Row]:
    """4. Group, records finished once more."""
    return ((name, group.duplicated) for name, group in told.view.groups.items() if group.duplicated)


def costs(told: Folded) -> Iterator[Row]:
    """5. Group, rebalances, partition-µs without an owner."""
    for name, group in told.view.groups.items():
        yield name, group.rebalance_count, stopped_partition_us(group, told.end_us)


def restarts(told: Folded) -> Iterator[Row]:
    """6. Group, static, session timeout, restarts, the longest time down, rebalances meanwhile."""
    for group, found in told.restarts.items():
        members = [one for one in told.view.members.values() if one.group == group]
        begun = [one.started_us for name, one in told.rebalances() if name == group]
        near = {at_us for at_us in begun if any(down <= at_us <= up + 10_000_000 for down, up in found)}
        static = any(one.instance_id for one in members)
        longest_us = max(up - down for down, up in found)
        yield group, static, min(one.session_timeout_ms for one in members), len(found), longest_us, len(near)


def initial_delays(told: Folded) -> Iterator[Row]:
    """7. Group, start, how long the barrier was open, members, rebalances of more members."""
    for group, one in told.rebalances():
        if one.initial and one.reconciliation is None:
            joined = [
                each.started_us for name, each in told.rebalances() if (name, each.cause) == (group, "member joined")
            ]
            until_us = one.completed_us + 60_000_000
            later = sum(one.completed_us < at_us <= until_us for at_us in joined)
            yield group, one.started_us, one.waited_us, one.members, later


def votes(told: Folded) -> Iterator[Row]:
    """8. Group, generation, assignor, members, different offers, votes."""
    for group, one in told.rebalances():
        offers = len(set(one.vote.offers.values())) if one.vote else 1
        if one.reconciliation is not None or not one.members:
            continue
        cast = dict(Counter(one.vote.votes.values())) if one.vote else None
        yield group, one.generation, one.assignor, one.members, offers, cast


def twins(told: Folded) -> Iterator[Row]:
    """9. Fenced member, how often, the other members with its instance id."""
    for one in told.view.members.values():
        if one.fenced:
            same = {each.member for each in told.view.members.values() if each.instance_id == one.instance_id}
            yield one.member, one.fenced, tuple(sorted(same - {one.member}))


def crashes(told: Folded) -> Iterator[Row]:
    """10. Group, member, instant, partitions, when and why it was removed, partition-µs without an owner."""
    for crash in told.crashes:
        noticed_us, reason = crash.noticed[0] if crash.noticed else (-1, "")
        waited = [us if us >= 0 else told.end_us - crash.at_us for us in crash.waits.values()]
        removed = (noticed_us, reason) if noticed_us >= 0 else (None, None)
        yield crash.group, crash.member, crash.at_us, len(waited), *removed, sum(waited)


def lags(told: Folded) -> Iterator[Row]:
    """11. Group, partition, lag; of that: held back, markers, aborted."""
    for name, group in told.view.groups.items():
        for partition in group_partitions(told.view, group):
            one, read_to = told.view.partitions[partition], read_up_to(told.view, group, partition)
            if one.high_watermark <= read_to:
                continue
            stable = max(read_to, min(one.last_stable_offset, one.high_watermark))
            behind = IntervalSet()
            behind.add(read_to, stable)
            known = one.transactions
            parts = [known.control.within(behind).size, known.aborted.within(behind).size] if known else [0, 0]
            yield name, partition, one.high_watermark - read_to, one.high_watermark - stable, *parts


def holders(told: Folded) -> Iterator[Row]:
    """12. Partition, transactional id, state, last stable offset, open since, time left, offsets that wait."""
    for row in told.summary.open_transactions:
        if row.waiting:
            left_us = None if row.left_s is None else round(row.left_s * 1e6)
            yield (
                *(row.partition, row.transactional_id, row.state, row.first_offset),
                *(round(row.open_s * 1e6), left_us, row.waiting),
            )


def steps_back(told: Folded) -> Iterator[Row]:
    """13. Group, instant, partition, before, after, member, generation, cause."""
    for row in told.summary.committed_offsets:
        cause = "late" if row.cause == "assign" else row.cause
        yield row.group, round(row.at_s * 1e6), row.partition, row.before, row.after, row.member, row.generation, cause


def open_transactions(told: Folded) -> Iterator[Row]:
    """14. Partition, transactional id, hanging, records, open since, found by Kafka's tool."""
    for row in told.summary.open_transactions:
        hanging = row.state == "hanging"
        yield row.partition, row.transactional_id, hanging, row.records, round(row.open_s * 1e6), row.found


def fenced(told: Folded) -> Iterator[Row]:
    """15. Transactional id, refused requests, why its transactions were fenced."""
    for name, one in told.view.transactions.items():
        if one.fenced:
            why = {each.fenced_for for each in told.view.lives.transactions[name].finished if each.fenced_for}
            yield name, one.fenced, tuple(sorted(why))


def brokers(told: Folded) -> Iterator[Row]:
    """16. Broker, partitions led, offline without it, below min.insync.replicas without it, groups coordinated."""
    view = told.view
    for broker in view.brokers:
        led = [one for one in view.partitions.values() if one.leader == broker]
        least = {
            one.partition: view.topics[one.topic].min_insync_replicas
            for one in view.partitions.values()
            if broker in one.isr
        }
        below = sum(len(view.partitions[name].isr) - 1 < minimum for name, minimum in least.items())
        groups = sum(view.partitions[one.coordinator_partition].leader == broker for one in view.groups.values())
        yield broker, len(led), sum(one.isr == (broker,) for one in led), below, groups


def key_places(told: Folded) -> Iterator[Row]:
    """17. Topic, instant, number of partitions, the partition of the key."""
    return ((topic, at_us, count, murmur2_place(KEY.encode(), count)) for topic, at_us, count in told.sizes)


def loads(told: Folded) -> Iterator[Row]:
    """18. Partition, records, bytes, its share and its topic's skew, in millionths."""
    skews = {row.topic: row.skew for row in told.summary.topic_loads}
    for row in told.summary.partition_loads:
        yield row.partition, row.records, row.bytes, round(row.share * 1e6), round(skews[row.topic] * 1e6)


FACTS: Final[dict[int, Callable[[Folded], Iterator[Row]]]] = dict(
    enumerate(
        (
            *(awaited, rebalances, timers, processed_twice, costs, restarts, initial_delays, votes, twins, crashes),
            *(lags, holders, steps_back, open_transactions, fenced, brokers, key_places, loads),
        ),
        start=1,
    )
)
"""Question → the fold's rows."""

"""The panels of a topic's place: its sum, its partitions worst first, its readers."""

from collections.abc import Iterable, Sequence
from typing import Final

from cluster.view.brokers import BrokerView
from cluster.view.state import ClusterView, GroupView, PartitionView, TopicView
from console.presenters import states
from console.presenters.awaited_members import members_of
from console.presenters.exceptions.group_lag import LAG_IS
from console.presenters.formatting import UNKNOWN, count, memory, number_ranges, rate, whole_offset
from console.presenters.list_view import CONTINUED, Listing, WorstFirstListing
from console.presenters.overview import broker_state
from console.presenters.partition_grids import appended_rate, lag_of, topic_health, up_brokers
from console.presenters.partitions.tables import owner_of
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    fit,
    line,
    middle,
    wrapped,
)
from console.presenters.table import TableColumn, for_names, layout
from console.presenters.topology.standing import UntilTopologyChanges


def leader_words(brokers: dict[int, BrokerView], partition: PartitionView, room: int) -> Line:
    """`broker-2`, `✖ no leader`, `✖ broker-2 down`; without the word where there is no room for it."""
    if partition.leader < 0:
        return line(("✖ no leader", ERROR))
    state = broker_state(brokers[partition.leader])
    name = f"broker-{partition.leader}"
    if state == "up":
        return line(name)
    sign = f"{states.BROKER[state].glyph} {name}"
    return line((f"{sign} {state}" if len(sign) + 1 + len(state) <= room else sign, states.BROKER[state].tone))


def isr_words(partition: PartitionView, least: int) -> Line:
    """`1,2,3`; `▲ 1,2 of 3`; below min.insync.replicas `▽ 1 of 3`; with a reassignment `▲ 1,2 of 3 +3 −1`."""
    words, tone = _in_sync(partition, least)
    return line((f"{words}{reassigned_words(partition)}", tone))


def _in_sync(partition: PartitionView, least: int) -> Span:
    numbers = ",".join(str(broker) for broker in sorted(partition.isr)) or "none"
    in_sync, factor = len(partition.isr), partition.replication_factor
    short = in_sync < min(least, len(partition.replicas))
    if short or in_sync < factor:
        all_of = factor if in_sync < factor else len(partition.replicas)
        return f"{'▽' if short else '▲'} {numbers} of {all_of}", ERROR if short else WARN
    return numbers, PLAIN


def isr_column(view: ClusterView, partitions: Iterable[PartitionView], column: TableColumn) -> TableColumn:
    """The column with room for every ISR, and if it can be for what reassignments add and remove."""
    width, longest = column.width, 0
    for one in partitions:
        words, _ = _in_sync(one, view.topics[one.topic].min_insync_replicas)
        moves = len(reassigned_words(one))
        width, longest = max(width, len(words) + bool(moves)), max(longest, len(words) + moves)
    return column._replace(width=width, longest=longest)


def reassigned_words(partition: PartitionView) -> str:
    """The replicas that a reassignment in progress adds and removes: ` +3 −1`; empty without one."""
    added, removed = (",".join(map(str, ids)) for ids in (partition.adding, partition.removing))
    return f"{f' +{added}' if added else ''}{f' −{removed}' if removed else ''}"


def appended_per_second(topic: TopicView, partition: PartitionView) -> str:
    """The offsets appended in the last whole seconds, at most ten, for each second; unknown before the first."""
    ends = partition.end_series.values if partition.end_series is not None else [0] * len(topic.end_series.values)
    if len(ends) < 2:
        return UNKNOWN
    speed = max(0, ends[-1] - ends[0]) / (len(ends) - 1)
    return f"{speed:.1f}/s" if 0 < speed < 9.95 else rate(speed)


class TopicListing(Listing):
    """The topic in sum, and how the load is spread over its partitions."""

    def __init__(self, view: ClusterView, topic: TopicView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.topic, self.now_us = view, topic, now_us
        self.title = f"topic {topic.topic}"
        names = view.partitions_by_topic.get(topic.topic, [])
        self.partitions = [view.partitions[name] for name in names]
        sentences = (self._sum(), self._load())
        self.lines = [row for words in sentences for row in wrapped(words, width - 3)]

    def row_keys(self) -> list[str]:
        """Lines that cannot be selected."""
        return [f"{CONTINUED}{number}" for number in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One of the lines."""
        return (fit(line("  ", *self.lines[int(key[1:])]), self.width),)

    def _sum(self) -> Line:
        topic, size = self.topic, sum(one.bytes for one in self.partitions)
        number = len(self.partitions)
        words = (
            f" · {number} partition{'s' if number != 1 else ''} · replication factor {topic.replication_factor}"
            f" · min.insync.replicas {topic.min_insync_replicas} · {memory(size)} retained"
        )
        speed = appended_rate(self.view, topic.topic)
        health = topic_health(self.view, topic.topic, self.now_us)
        return line(*health, words, f" · {speed}" if speed else "")

    def _load(self) -> Line:
        total = sum(one.appended for one in self.partitions)
        if not total:
            return line(("load: no record appended yet", MUTED))
        most = max(self.partitions, key=lambda one: one.appended)
        if len(self.partitions) == 1:
            return line(("load: ", MUTED), f"its one partition holds all {total:,} records appended")
        times = most.appended * len(self.partitions) / total
        words = f" took {share(most.appended, total)} of {total:,} records appended, {times:.1f} × the mean"
        return line(("load: ", MUTED), (most.partition, STRONG), words)


def share(part: int, whole: int) -> str:
    """A share in whole per cent, rounded down; `<1%` for a small one."""
    if not whole:
        return UNKNOWN
    return "<1%" if 0 < 100 * part < whole else f"{100 * part // whole}%"


PARTITION_COLUMNS = (
    TableColumn("partition", 10, grow=1, most=24),
    TableColumn("leader", 11, grow=1, most=15),
    TableColumn("epoch", 5, right=True, rank=5),
    TableColumn("ISR", 10),
    TableColumn("start", 7, right=True, rank=6),
    TableColumn("LSO", 7, right=True, rank=3),
    TableColumn("HW", 7, right=True, rank=4),
    TableColumn("end", 7, right=True),
    TableColumn("rate", 6, right=True, rank=1),
    TableColumn("share", 5, right=True),
    TableColumn("size", 8, right=True, rank=7),
    TableColumn("read by", 12, rank=2, grow=12),
)
ISR: Final = 3


@UntilTopologyChanges
def _columns(view: ClusterView, topic: str) -> tuple[TableColumn, ...]:
    names = view.partitions_by_topic.get(topic, [])
    columns = list(for_names(PARTITION_COLUMNS, names))
    columns[ISR] = isr_column(view, (view.partitions[name] for name in names), columns[ISR])
    return tuple(columns)


class TopicPartitionsListing(WorstFirstListing):
    """Every partition: leadership, offsets, load and owners. What has no live leader, replica or owner is first."""

    title = "partitions"
    vacant = line(("the topic has no partition yet", MUTED))

    def __init__(self, view: ClusterView, topic: TopicView, width: int) -> None:
        super().__init__(width)
        self.view, self.topic = view, topic
        self.up = up_brokers(view)
        names = view.partitions_by_topic.get(topic.topic, [])
        self.appended = sum(view.partitions[name].appended for name in names)
        self.readers = [view.groups[name] for name in view.topic_readers.get(topic.topic, ())]
        self.layout = layout(_columns(view, topic.topic), width)
        self.order(names)

    def note(self) -> Line:
        """The legend."""
        signs = line(("▽", ERROR), (" below min ISR  ", MUTED), ("‖", WARN), (" no owner", MUTED))
        return (*signs, ("  rate of the last 10 s", MUTED)) if self.width >= 80 else signs

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.keys else ()

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`9 ● in sync`."""
        return line((f"{len(keys)} ● in sync", MUTED))

    def rank(self, key: str) -> int | None:
        """Without a leader, led by a process that is down, below min.insync.replicas, under-replicated, unowned."""
        one = self.view.partitions[key]
        if one.leader not in self.up:
            return 0 if one.leader < 0 else 1
        if len(one.isr) < min(self.topic.min_insync_replicas, len(one.replicas)):
            return 2
        if len(one.isr) < one.replication_factor:
            return 3
        return 4 if any(group.members and key not in group.owners for group in self.readers) else None

    def rows(self, key: str) -> tuple[Line]:
        """One partition."""
        one = self.view.partitions[key]
        stable, high = one.last_stable_offset, one.high_watermark
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            leader_words(self.view.brokers, one, self.layout.width_of(1)),
            str(one.leader_epoch),
            isr_words(one, self.topic.min_insync_replicas),
            whole_offset(one.log_start),
            line((whole_offset(stable), WARN if stable < high else PLAIN)),
            whole_offset(high),
            whole_offset(one.log_end),
            appended_per_second(self.topic, one),
            share(one.appended, self.appended),
            memory(one.bytes),
            self._owners(key),
        ]
        return (self.layout.row(cells),)

    def _owners(self, partition: str) -> Line:
        """The owner for each group that reads the topic; the group itself, where it has none."""
        owners = [(group, owner_of(self.view, group, partition)[0]) for group in self.readers]
        parts: list[Span] = []
        for group, owner in owners:
            parts += [(", ", FAINT)] if parts else []
            parts.append((owner, PLAIN) if owner else (f"‖ {group.group}", WARN if group.members else MUTED))
        return tuple(parts) or line((UNKNOWN, FAINT))


READER_COLUMNS = (
    TableColumn("group, owner", 14, grow=1, most=28),
    TableColumn("state", 21),
    TableColumn("lag", 6, right=True),
    TableColumn("partitions", 10, right=True),
    TableColumn("owns", 16, rank=1, grow=4),
)
OF = "/"


class TopicReadersListing(Listing):
    """Each group that reads the topic, and below it the members that own partitions of it.

    Keys are a group's name, and `group/member`.
    """

    title = "readers"

    def __init__(self, view: ClusterView, topic: TopicView, width: int) -> None:
        super().__init__(width)
        self.view, self.topic = view, topic
        self.partitions = view.partitions_by_topic.get(topic.topic, [])
        self.owned: dict[str, list[str]] = {}
        for name in view.topic_readers.get(topic.topic, ()):
            self.owned |= self._owned_in(view.groups[name])
        labels = (f"  {key.partition(OF)[2]}" if OF in key else key for key in self.owned)
        self.layout = layout(for_names(READER_COLUMNS, labels), width)
        self.vacant = line((f"no group subscribes to {topic.topic}", MUTED))

    def note(self) -> Line:
        """What `lag` counts."""
        return line((LAG_IS, FAINT)) if self.owned else ()

    def _owned_in(self, group: GroupView) -> dict[str, list[str]]:
        """The partitions of the group's row that have no owner, and those of each owner."""
        by_owner: dict[str, list[str]] = {group.group: []}
        for member in members_of(self.view, group.group):
            by_owner[f"{group.group}{OF}{member.member}"] = []
        for partition in self.partitions:
            owner = owner_of(self.view, group, partition)[0]
            by_owner.setdefault(f"{group.group}{OF}{owner}" if owner else group.group, []).append(partition)
        return {key: names for key, names in by_owner.items() if names or OF not in key}

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.owned else ()

    def row_keys(self) -> list[str]:
        """Groups in the scenario's order, each with its owners."""
        return list(self.owned)

    def rows(self, key: str) -> tuple[Line]:
        """A group, or one of its owners."""
        name, _, member = key.partition(OF)
        group, names = self.view.groups[name], self.owned[key]
        lag = sum(lag_of(self.view, group, self.view.partitions[one]) for one in (names if member else self.partitions))
        if member:
            state = states.member(self.view.members[member].state)
            cells: list[Line | Span | str] = [
                f"  {middle(member, self.layout.width_of(0) - 2)}",
                line((f"{state.glyph} {self.view.members[member].state}", state.tone)),
                count(lag),
                str(len(names)),
                line((_numbers(names), ACCENT)),
            ]
            return (self.layout.row(cells),)
        state = states.group(group.state, consumer=group.consumer is not None)
        cells = [
            (middle(name, self.layout.width_of(0)), STRONG),
            line((f"{state.glyph} {group.state}", state.tone)),
            count(lag),
            str(len(self.partitions)),
            line((f"‖ no owner: {_numbers(names)}", WARN if group.members else MUTED)) if names else (),
        ]
        return (self.layout.row(cells),)


def _numbers(names: Sequence[str]) -> str:
    """The numbers of partitions of one topic: `0-3,5`."""
    return number_ranges(sorted(int(name.rpartition("-")[2]) for name in names))

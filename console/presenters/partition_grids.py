"""Grids of partitions with their owners and lag; a lag has the same height on every screen."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from cluster.view.document import group_partitions, lags_in, read_up_to
from cluster.view.state import ClusterView, GroupView, PartitionView
from console.presenters.awaited_members import members_of
from console.presenters.formatting import LEVELS, rate
from console.presenters.list_view import BUILDING, CONTINUED, Listing, worst_first
from console.presenters.members import identity
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MOVING,
    MUTED,
    PLAIN,
    WARN,
    Line,
    Span,
    fit,
    joined,
    line,
    merged,
    middle,
)
from console.presenters.topology.standing import UntilTopologyChanges, topic_counts
from console.presenters.transactions import is_stuck

LABELS = (8, 20)  # the narrowest and the widest label
HEALTH = 24
RATE = 8
FEW = 6  # lines of a grid that are seen at a glance
STEPS = (1, 10, 50, 200, 1_000, 5_000, 20_000)  # the lag at which a cell is one level higher
_TONES = (FAINT, MUTED, MUTED, ACCENT, ACCENT, WARN, WARN, WARN)
STRANGER: Span = ("?", MUTED)
_CELLS = tuple(zip(LEVELS, _TONES, strict=True))


def lag_level(lag: int) -> int:
    """0 (no lag) … 7 (20,000 records or more), independent of other cells."""
    return bisect_right(STEPS, lag)


def lag_cell(lag: int) -> Span:
    """One cell of lag."""
    return _CELLS[lag_level(lag)]


def lag_legend() -> Line:
    """The legend of the heights."""
    shown = ((0, "0"), (3, "50"), (5, "1k"), (7, "20k"))
    return joined((((LEVELS[level], _TONES[level]), (f" {text}", MUTED)) for level, text in shown), ("  ", PLAIN))


def lag_of(view: ClusterView, group: GroupView, partition: PartitionView) -> int:
    """The lag of a group in one partition, in records."""
    return max(0, partition.high_watermark - read_up_to(view, group, partition.partition))


class Grid(Listing):
    """Topics down, partitions across, as many lines as a topic needs; a subclass draws the cells."""

    def __init__(self, view: ClusterView, topics: list[str], width: int, suffix: int = 0) -> None:
        super().__init__(width)
        self.view, self.topics = view, topics
        self.label = max(LABELS[0], min(LABELS[1], max((len(topic) for topic in topics), default=0) + 2))
        room = width - self.label - 2 - suffix
        longest = max((len(view.partitions_by_topic.get(topic, ())) for topic in topics), default=1)
        self.cell = next((size for size in self.sizes() if longest * size <= room), self.sizes()[-1])
        self.across = max(1, room // self.cell)
        if longest > self.across > 10:  # lines break at round numbers
            self.across -= self.across % 10

    def sizes(self) -> tuple[int, ...]:
        """The possible widths of a cell, best first."""
        return (3, 2, 1)

    def header(self) -> Line:
        """Partition numbers, as many as fit."""
        longest = max((len(self.view.partitions_by_topic.get(topic, ())) for topic in self.topics), default=0)
        step = {3: 1, 2: 2}.get(self.cell, 10)
        numbers = "".join(str(number).ljust(self.cell * step) for number in range(0, min(longest, self.across), step))
        return fit(line((" " * (self.label + 2), PLAIN), (numbers, FAINT)), self.width)

    def row_keys(self) -> list[str]:
        """A topic's name for its first line, the name with a number for each further line."""
        result = []
        for topic in self.topics:
            count = len(self.view.partitions_by_topic.get(topic, ()))
            result.append(topic)
            result.extend(f"{topic}{CONTINUED}{first}" for first in range(self.across, count, self.across))
        return result

    def partitions_of(self, key: str) -> list[str]:
        """The partitions of a line."""
        topic, _, number = key.partition(CONTINUED)
        first = int(number or 0)
        return self.view.partitions_by_topic.get(topic, [])[first : first + self.across]

    def rows(self, key: str) -> tuple[Line]:
        """One line of cells after its label."""
        topic, _, number = key.partition(CONTINUED)
        label = (middle(topic, self.label - 1), PLAIN) if not number else (f"{number:>{self.label - 1}}", FAINT)
        cells = self.drawn(self.partitions_of(key))
        return (fit(line("  ", *fit((label,), self.label), *cells, *self.suffix(topic, int(number or 0))), self.width),)

    def object_at(self, key: str, x: int) -> str:
        """The partition of the cell under the mouse."""
        place, names = (x - self.label - 2) // self.cell, self.partitions_of(key)
        return names[place] if 0 <= place < len(names) else ""

    def drawn(self, names: Sequence[str]) -> Line:
        """The cells of successive partitions of a topic, as few spans as they need."""
        return merged(self.cells(names))

    def cells(self, names: Sequence[str]) -> Iterable[Span]:
        """The spans of successive partitions of a topic, each `self.cell` wide altogether."""
        raise NotImplementedError

    def suffix(self, topic: str, first: int) -> Line:
        """The text after the cells of the line that begins with the partition `first`."""
        del topic, first
        return ()


class OwnershipListing(Grid):
    """Each partition with its owner's letter and hue, and its lag as a height."""

    title = "ownership"
    vacant = line(("the group reads no topic", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, width: int) -> None:
        super().__init__(view, list(group.topics), width)
        self.group = group
        self.keys, self.sick = self._worst_first()

    def row_keys(self) -> list[str]:
        """The lines of a large topic with a partition without an owner come first; a topic in a few lines has order."""
        return self.keys

    def exceptions(self) -> list[str]:
        """The lines that come first for their partitions without an owner."""
        return self.keys[: self.sick]

    def _worst_first(self) -> tuple[list[str], int]:
        keys, unowned = super().row_keys(), self.group.unowned_since_us
        if len(keys) <= FEW or not unowned:
            return keys, 0
        sick = {key for key in keys if any(map(unowned.__contains__, self.partitions_of(key)))}
        return worst_first(keys, lambda key: 0 if key in sick else None) if len(sick) < len(keys) else (keys, 0)

    def note(self) -> Line:
        """The legend."""
        signs = line(("↻", MOVING), (" moving  ", MUTED), ("‖", WARN), (" unowned  ", MUTED))
        return (*signs, ("lag ", MUTED), *lag_legend()) if self.width >= 72 else signs

    def drawn(self, names: Sequence[str]) -> Line:
        """The cells of a line; in the narrowest form they stand until an owner changes."""
        return owners_drawn(self.view, self.group.group, tuple(names)) if self.cell == 1 else super().drawn(names)

    def cells(self, names: Sequence[str]) -> Iterable[Span]:
        """Owner and lag of each partition."""
        signs = owner_signs(self.view, self.group.group)
        for name, lag in zip(names, lags_in(self.view, self.group, names), strict=True):
            yield signs[name]
            yield lag_cell(lag)
            if self.cell == 3:
                yield " ", PLAIN


@UntilTopologyChanges
def owners_drawn(view: ClusterView, group: str, names: tuple[str, ...]) -> Line:
    """The owners of partitions without their lags: thousands are on a screen in every frame."""
    signs = owner_signs(view, group)
    return merged([signs[name] for name in names])


@UntilTopologyChanges
def owner_signs(view: ClusterView, group: str) -> dict[str, Span]:
    """The owner's letter of each partition of the group's topics, or the sign of a partition without an owner."""
    of_group = view.groups[group]
    letters = {one.member: identity(place) for place, one in enumerate(members_of(view, group))}
    targets = {
        name: of_group.members.get(member_id, "")
        for member_id, partitions in of_group.assignment.items()
        for name in partitions
    }
    return {
        name: owner_sign(view, of_group, name, targets.get(name), letters) for name in group_partitions(view, of_group)
    }


def owner_sign(view: ClusterView, group: GroupView, name: str, target: str | None, letters: Mapping[str, Span]) -> Span:
    """The letter of a partition's owner; without one whether it is on its way to `target`, or waits."""
    owner = group.owners.get(name)
    if owner is not None and (target is None or target == owner or group.state != "Stable"):
        return letters.get(owner, STRANGER)
    next_owner = view.members.get(target or "")
    if next_owner is not None and next_owner.alive and not next_owner.paused and group.state == "Stable":
        return "↻", MOVING
    if name in group.unowned_since_us:
        return "‖", WARN
    return "·", FAINT


class TopicsListing(Grid):
    """Each partition's lag, the largest of the groups that read it; a sign marks partitions without a leader."""

    title = "topics"
    vacant = line(("no topic is declared", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        user = [topic.topic for topic in view.topics.values() if not topic.internal]
        internal = [
            topic.topic
            for topic in view.topics.values()
            if topic.internal and _has_offline_partition(view, topic.topic)
        ]
        super().__init__(view, user + internal, width, suffix=HEALTH + RATE)
        if not view.brokers:
            self.vacant = BUILDING
        self.up = up_brokers(view)
        self.readers = {
            topic: [view.groups[group] for group in view.topic_readers.get(topic, ())] for topic in self.topics
        }
        self.health = {topic: topic_health(view, topic, now_us) for topic in self.topics}
        self.topics, self.sick = worst_first(self.topics, self._rank)

    def exceptions(self) -> list[str]:
        """Topics with a partition without a live leader, below min.insync.replicas, under-replicated, or held back."""
        keys = super().row_keys()
        last = next((key for key in reversed(keys) if key.partition(CONTINUED)[0] in self.topics[: self.sick]), "")
        return keys[: keys.index(last) + 1] if last else []

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`2 ● all in sync`."""
        topics = {key.partition(CONTINUED)[0] for key in keys}
        return line((f"{len(topics)} ● all in sync", MUTED))

    def _rank(self, topic: str) -> int | None:
        return {ERROR: 0, WARN: 1}.get(self.health[topic][0][1])

    def sizes(self) -> tuple[int, ...]:
        """The possible widths of a cell without an owner."""
        return (2, 1)

    def note(self) -> Line:
        """The legend."""
        signs = line(("✖", ERROR), (" no live leader  ", MUTED), ("▽", ERROR), (" below min ISR  ", MUTED))
        return (*signs, ("lag ", MUTED), *lag_legend()) if self.width >= 72 else signs

    def cells(self, names: Sequence[str]) -> Iterable[Span]:
        """Lag, or the sign of a partition without a live leader or below min.insync.replicas."""
        if not names:
            return ()
        view = self.view
        topic = view.topics[view.partitions[names[0]].topic]
        lags = [lags_in(view, group, names) for group in self.readers[topic.topic]] or [[0] * len(names)]
        largest = lags[0] if len(lags) == 1 else map(max, *lags)
        cells = [_CELLS[bisect_right(STEPS, lag)] for lag in largest]
        if self.health[topic.topic][0][1] == ERROR:  # no other topic has a sign: thousands of cells are drawn a frame
            for place, one in enumerate(view.partitions[name] for name in names):
                if one.leader not in self.up:
                    cells[place] = ("✖", ERROR)
                elif len(one.isr) < min(len(one.replicas), topic.min_insync_replicas):
                    cells[place] = ("▽", ERROR)
        return chain.from_iterable((cell, (" ", PLAIN)) for cell in cells) if self.cell == 2 else cells

    def suffix(self, topic: str, first: int) -> Line:
        """The appended rate of the topic and the health of its partitions."""
        if first:
            return ()
        count = len(self.view.partitions_by_topic.get(topic, ()))
        longest = max(len(self.view.partitions_by_topic.get(other, ())) for other in self.topics)
        gap = (min(longest, self.across) - min(count, self.across)) * self.cell + 2
        return (
            (" " * gap, PLAIN),
            (f"{appended_rate(self.view, topic):<{RATE}}", PLAIN),
            *self.health[topic],
        )


def appended_rate(view: ClusterView, topic: str) -> str:
    """The records appended in the last whole virtual second: `240/s`."""
    values = view.topics[topic].end_series.values[-2:]
    return rate(max(0, values[-1] - values[0])) if len(values) > 1 else ""


def up_brokers(view: ClusterView) -> set[int]:
    """The brokers whose processes serve; the controller may notice an end later."""
    return {broker.broker for broker in view.brokers.values() if broker.up}


def topic_health(view: ClusterView, topic: str, now_us: int) -> Line:
    """`● all in sync`, `✖ 1 without a leader`, `▲ 6 under-replicated`, `‖ 1 held back`: by a stuck transaction."""
    leaderless, silent, short, under = topic_counts(view, topic)
    if leaderless:
        return line((f"✖ {leaderless} without a leader", ERROR))
    if silent:
        return line((f"✖ {silent} led by a dead broker", ERROR))
    if short:
        return line((f"▽ {short} below min ISR", ERROR))
    if under:
        return line((f"▲ {under} under-replicated", WARN))
    partitions = [view.partitions[name] for name in view.partitions_by_topic.get(topic, ())]
    held = sum(1 for one in partitions if one.transactions is not None and is_stuck(view, one, now_us))
    if held:
        return line((f"‖ {held} held back", WARN))
    return line(("● all in sync", MUTED))


def worst_partition(view: ClusterView, topic: str) -> str:
    """The topic's partition without a live leader, with most replicas out of sync, or with the largest lag."""
    up, groups = up_brokers(view), [view.groups[name] for name in view.topic_readers.get(topic, ())]

    def sickness(name: str) -> tuple[bool, int, int]:
        one = view.partitions[name]
        lag = max((lag_of(view, group, one) for group in groups), default=0)
        return one.leader not in up, len(one.replicas) - len(one.isr), lag

    return max(view.partitions_by_topic[topic], key=sickness)


def _has_offline_partition(view: ClusterView, topic: str) -> bool:
    return any(view.partitions[name].leader < 0 for name in view.partitions_by_topic.get(topic, ()))

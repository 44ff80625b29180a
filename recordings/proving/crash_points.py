"""Where a crash is flown: before and after each event of a window, for each process that may be the victim there."""

from collections.abc import Callable, Mapping

import msgspec

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, document
from cluster.view.state import GroupView


class CrashPoint(msgspec.Struct, frozen=True):
    """A victim and the moment of its death: right after event `seq`, or (None) first of all at this instant.

    `kind`: the kind of the event; for a death before everything else, of the first event at this instant.
    """

    at_us: int
    victim: str
    kind: str
    seq: int | None = None


class Count(msgspec.Struct, frozen=True):
    """What a group's application got in the end; `finished` counts records, acknowledged or not, each once.

    `skipped`: before its first position, or deleted before it came to them.
    """

    lost: int
    duplicated: int
    unread: int
    finished: int = 0
    skipped: int = 0


class CrashOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the flight of one crash point: each group's counts, and what a replay of it needs.

    `stopped`: the producers that ran when the load ended. `caught_up`: whether the groups had read everything at
    `end_us`. `failure`: what broke the flight off, a bug of Flightdeck.
    """

    end_us: int = 0
    caught_up: bool = False
    stopped: tuple[str, ...] = ()
    counts: dict[str, Count] = {}
    failure: str = ""


def _members(view: ClusterView, group: GroupView) -> list[str]:
    return [name for name, member in view.members.items() if member.group == group.group and member.owned]


def _producers(view: ClusterView, group: GroupView) -> list[str]:
    return [name for name, producer in view.producers.items() if not set(group.topics).isdisjoint(producer.topics)]


def _leader_of(view: ClusterView, partitions: list[str]) -> list[str]:
    leaders = {view.partitions[name].leader for name in partitions}
    return [f"broker-{leader}" for leader in sorted(leaders) if leader >= 0]


def _coordinator(view: ClusterView, group: GroupView) -> list[str]:
    return _leader_of(view, [group.coordinator_partition])


def _leaders(view: ClusterView, group: GroupView) -> list[str]:
    return _leader_of(view, partitions_of(view, group))


VICTIMS: Mapping[str, Callable[[ClusterView, GroupView], list[str]]] = {
    "consumer": _members,
    "producer": _producers,
    "coordinator": _coordinator,
    "leader": _leaders,
}
"""Who is killed, by the word of `--kill`; a process that is not alive is left out later."""

VICTIMS_IN_WORDS: Mapping[str, str] = {
    "consumer": "each member that owns partitions at that moment",
    "producer": "each process that writes to the group's topics",
    "coordinator": "the broker that leads the group's partition of __consumer_offsets at that moment",
    "leader": "each broker that leads a partition of the group's topics at that moment",
}


def partitions_of(view: ClusterView, group: GroupView) -> list[str]:
    """The partitions of the group's topics."""
    topics = [view.topics[topic] for topic in group.topics if topic in view.topics]
    return [f"{topic.topic}-{number}" for topic in topics for number in range(topic.partitions)]


def related(view: ClusterView, name: str) -> list[str]:
    """The group, the groups whose applications write what it reads, and those that read what its application writes."""
    found = [name]
    for group in found:
        for other, that in view.groups.items():
            feeds = _written(view, other) & set(view.groups[group].topics)
            if other not in found and (feeds or _written(view, group) & set(that.topics)):
                found.append(other)
    return [group for group in view.groups if group in found]


def sources(view: ClusterView, name: str) -> list[str]:
    """The groups whose applications write all that this group reads; none if another producer writes to its topics."""
    topics = set(view.groups[name].topics)
    plain = [each for each in view.producers.values() if each.producer not in view.members]
    if any(topics & set(each.topics) for each in plain):
        return []
    return [group for group in view.groups if _written(view, group) & topics]


def has_one_output_each(spec: ScenarioSpec, writers: list[str], reader: str) -> bool:
    """Whether the scenario says that each input of the writers becomes one record of what the reader reads."""
    groups = {group.name: group for group in spec.groups}
    if reader not in groups or not writers or not all(name in groups for name in writers):
        return False
    topics = set(groups[reader].topics)
    for application in [groups[name].application for name in writers]:
        outputs = [output for output in application.written if output.topic in topics]
        whole = [output for output in outputs if output.records == 1 and output.share == 1]
        if len(outputs) != 1 or not whole or application.fail is not None or application.poison is not None:
            return False
    return True


def _written(view: ClusterView, group: str) -> set[str]:
    """The topics that the members of a group write to."""
    writers = [view.producers[name] for name in view.producers if name in view.members]
    return {topic for each in writers if view.members[each.producer].group == group for topic in each.topics}


def counts(view: ClusterView, now_us: int, groups: list[str]) -> dict[str, Count]:
    """What each group got so far, by the delivery ledger."""
    by_group = document(view, now_us, ("delivery",))["delivery"]["by_group"]
    return {name: _count(by_group[name]) for name in groups}


def _count(ledger: Mapping[str, int]) -> Count:
    finished = ledger["delivered"] + ledger["delivered_unacknowledged"]
    return Count(ledger["lost"], ledger["duplicated"], ledger["unread"], finished, ledger["skipped"])


def caught_up(view: ClusterView, now_us: int, groups: list[str]) -> bool:
    """Whether each group is Stable, its members idle at the end of every log, and no record unread."""
    return all(_at_the_end(view, view.groups[name]) for name in groups) and not any(
        count.unread for count in counts(view, now_us, groups).values()
    )


def _at_the_end(view: ClusterView, group: GroupView) -> bool:
    if group.state != "Stable":
        return False
    for name in partitions_of(view, group):
        owner = view.members.get(group.owners.get(name, ""))
        if owner is None or not owner.alive or not owner.polling:
            return False
        if owner.positions.get(name, -1) < view.partitions[name].log_end:
            return False
    return True

"""What must be true of a healed cluster (V1): the strictest that its configuration and its faults allow.

Everything is up, in sync, decided and read to the end. What a fault may legally cost for good is left out, and only
there: a commit that is as old as a crash of its host, a record that was acknowledged by less than the cluster's
promise, a position that an operator moved. Each exception below says whose rule makes it legal.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from cluster.assignors import assignor_named, protocols_of
from cluster.commands import (
    AddPartitions,
    Crash,
    DeleteRecords,
    Elect,
    Kill,
    Restart,
    RollingRestart,
    Scale,
    Seek,
    Stop,
    Subscribe,
    text_of,
)
from cluster.config import Value
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec

C = TypeVar("C")

AUDIT = "audit"
ABORTED_WITHIN_MS = 4_000
REQUESTS_MS = 1_000  # looking for a coordinator, joining, the first fetch
_INTERNAL = ("__consumer_offsets", "__transaction_state")


def converged(spec: ScenarioSpec) -> list[str]:
    """Expressions that must hold at the end; `spec` has the steps of the trouble, not those of the healing."""
    said = [f'brokers["{broker.id}"].up' for broker in spec.brokers]
    topics = (*(topic.name for topic in spec.topics), *_INTERNAL)
    said += [f'topics["{each}"].leaderless == 0 && topics["{each}"].under_replicated == 0' for each in topics]
    crashed = _may_crash_away(spec)
    for name, end in () if crashed else _decided_partitions(spec):
        said.append(f'partitions["{name}"].last_stable_offset == partitions["{name}"].{end}')
    for name in () if crashed else _transactional_ids(spec):
        said.append(f'transactions["{name}"].state in ["Empty", "CompleteCommit", "CompleteAbort", "Dead"]')
    for group in spec.groups:
        said += _group(spec, group)
    for producer in spec.producers:
        said += [f'producers["{name}"].buffered_bytes == 0' for name in producer.instances()]
    return [*said, *_exactly_once(spec)]


def timely(spec: ScenarioSpec) -> list[str]:
    """What must hold when everything was healed long ago, and producers still write: nobody's transaction lasts.

    The scan looks every second for transactions beyond their timeout; what it writes takes its time.
    """
    if commands_of(
        spec, Crash
    ):  # its host says nothing: who sent it a marker finds out after request.timeout.ms (30 s)
        return []
    # A broker that is late to register: it has just begun to coordinate, or markers wait for it (min.insync.replicas).
    late = "topics.exists(each, topics[each].leaderless > 0 || topics[each].under_replicated > 0)"
    return [
        f'{late} || transactions["{producer.transactions.id_of(number)}"].open_ms'
        f" <= {producer.producer_config()['transaction.timeout.ms']} + {ABORTED_WITHIN_MS}"
        for producer in spec.producers
        if producer.transactions is not None
        for number in range(1, producer.count + 1)
    ]


def _decided_partitions(spec: ScenarioSpec) -> Iterator[tuple[str, str]]:
    """Partitions in which no transaction may be open: all that are declared, and those that keep groups' offsets.

    Up to their log's end, or, where a group's commit may just be under way, up to the high watermark.
    A crash that takes a transaction's state from every disk leaves it open, and an unclean election that drops its
    marker: it hangs.
    """
    for topic in spec.topics:
        if not _unclean(spec, topic):
            end = "high_watermark" if _is_written_for_ever(spec, topic.name) else "log_end"
            yield from ((f"{topic.name}-{number}", end) for number in range(topic.partitions))
    count = _number(spec.broker_config(spec.brokers[0]), "offsets.topic.num.partitions")
    yield from ((f"__consumer_offsets-{number}", "high_watermark") for number in range(count))


def _transactional_ids(spec: ScenarioSpec) -> Iterator[str]:
    for producer in spec.producers:
        if producer.transactions is not None:
            yield from (producer.transactions.id_of(number) for number in range(1, producer.count + 1))
    for group in spec.groups:
        if group.application.commit == "transaction":
            yield from group.instances()


def _group(spec: ScenarioSpec, group: GroupSpec) -> Iterator[str]:
    """What must be of one group; one whose members choke on a record for ever has only its promise.

    Where a transaction may hang (its state or its marker went with a host, or with an unclean election), readers stop.
    """
    where, counts = f'groups["{group.name}"]', _counts(group)
    if _lossless(spec, group):
        yield f"{counts}.lost == 0"
    if not settles(spec, group):
        return
    yield f'{where}.state == "Stable" && {where}.members == {group.members}'
    restless = is_restless(spec, group)
    hangs = is_transactional(spec, group) and (_may_crash_away(spec) or may_be_cut(spec, group))
    hangs = hangs or (group.application.commit == "transaction" and _may_crash_away(spec))  # its own commits
    for name in group.instances():
        yield f'members["{name}"].alive && members["{name}"].state == "Stable"'
        if not (hangs or restless):
            yield f'members["{name}"].lag == 0'
    if hangs or restless:
        return
    if commits_all(spec, group):
        yield f"{counts}.unread == 0"
        behind_markers = group.application.commit == "auto" or not is_transactional(spec, group)
        if behind_markers and repeats_commits(group, undisturbed=not spec.steps):
            yield f"{where}.lag == 0"


def settles(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the group must become Stable with all who live.

    Not one whose members choke on a record, not a full one, which turns away who comes back before his session is over
    (the end of his process), and not one with one `group.instance.id` for all: who starts fences the others, and may be
    gone before they start again. Nor one whose transactional ids expire while it joins (`_ids_expire_while_joining`).
    """
    if _chokes(group) or _ids_expire_while_joining(spec, group):
        return False
    return not ("group.max.size" in spec.config or "group.instance.id" in group.config)


def _ids_expire_while_joining(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether its applications' transactional ids may be forgotten between initTransactions and the first commit.

    That is fatal (INVALID_PRODUCER_ID_MAPPING). When it befalls all members at once they come back to an Empty group,
    and wait at its initial barrier, for one delay a newcomer, until the new ids are forgotten as well: for ever.
    """
    if group.application.commit != "transaction":
        return False
    brokers, members = spec.broker_config(spec.brokers[0]), group.consumer_config(group.instances()[0])
    delay_ms = _number(brokers, "group.initial.rebalance.delay.ms")
    barrier_ms = min(delay_ms * group.members, max(delay_ms, _number(members, "max.poll.interval.ms")))
    working_ms = _number(members, "max.poll.records") * group.application.per_record_us // 1_000
    return barrier_ms + working_ms + REQUESTS_MS >= _number(brokers, "transactional.id.expiration.ms")


def is_restless(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether it may read to the very last: a producer writes for ever, or brokers hand out one batch a fetch."""
    return spec.buggify or any(_is_written_for_ever(spec, topic) for topic in group.topics)


def commits_all(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the group's commits say how far its members have read, in every partition of its topics."""
    learns = _learns_of_partitions(spec, group) and _learns_of_subscriptions(spec, group)
    return learns and not _reads_elsewhere(spec, group) and _commits_last(spec, group)


def repeats_commits(group: GroupSpec, *, undisturbed: bool) -> bool:
    """Whether a commit that fails is made good, also for a partition that gets no more records.

    commitAsync is not tried again. commitSync in a rebalance throws RebalanceInProgressException, and the application
    polls on: an eager member goes on at the committed offset, reads again and commits; a cooperative member keeps its
    position in what it retains, and commits it with its next records only.
    """
    commit = group.application.commit
    return undisturbed or not (commit == "async" or (commit == "after-each-poll" and _is_cooperative(group)))


def _is_cooperative(group: GroupSpec) -> bool:
    """Whether its members keep their partitions in a rebalance: all of their assignors support it."""
    return all("COOPERATIVE" in protocols_of(assignor_named(name)) for name in group.assignors)


def _chokes(group: GroupSpec) -> bool:
    """Its members die of a record again and again, and nobody passes it."""
    return group.application.poison is not None and group.application.poison.crashes


def _reads_elsewhere(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """What a group once subscribed to and reads no more stays in its lag."""
    return any(
        command.member in group.instances() and any(topic not in group.topics for topic in command.topics)
        for command in commands_of(spec, Subscribe)
    )


def _is_written_for_ever(spec: ScenarioSpec, topic: str) -> bool:
    """Who chokes on a record works on those before it again and again."""
    return any(_chokes(group) and group.application.writes == topic for group in spec.groups)


def _learns_of_partitions(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """A static leader that was away when partitions were added does not learn of them (KIP-814)."""
    return not (group.static and any(command.topic in group.topics for command in commands_of(spec, AddPartitions)))


def _learns_of_subscriptions(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether what its members subscribe to at last is also assigned.

    A static member whose process ends before it has joined with another subscription comes back with that. A Stable
    group gives it its former share without a rebalance: partitions of a topic that is new to it stay unassigned.
    """
    names = group.instances()
    changed = any(command.member in names for command in commands_of(spec, Subscribe))
    ended = group.application.restart_after_us is not None
    for step in spec.steps:
        if isinstance(step.command, Kill | Stop | Restart):
            ended = ended or step.command.target in names
        elif isinstance(step.command, RollingRestart | Scale):
            ended = ended or step.command.group == group.name
    return not (group.static and changed and ended)


def _commits_last(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether its last commit says how far it has read.

    One that commits what poll() returned says nothing of a position that was moved since (by a seek, or because the log
    does not reach it), and does not repeat a commit that a crashed host took.
    """
    if group.application.commit == "auto":
        return True
    moved = any(command.group == group.name for command in commands_of(spec, Seek))
    moved = moved or bool(commands_of(spec, DeleteRecords)) or bool(commands_of(spec, Crash))
    return not (moved or may_be_cut(spec, group))


# --- what may be lost -------------------------------------------------------------------------------------------------


def _lossless(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether every acknowledged record of its topics must stay, and no commit of the group may pass one unfinished."""
    poison, name = group.application.poison, group.name
    if group.application.commit == "before-processing" or (poison is not None and not poison.crashes):
        return False
    if any(command.group == name for command in commands_of(spec, Seek)):
        return False
    deleted = any(command.topic in _topics(spec, group) for command in commands_of(spec, DeleteRecords))
    if deleted and group.config.get("auto.offset.reset") != "earliest":  # it goes to the end, and passes what is left
        return False
    if _version(spec) == 1 and is_transactional(spec, group):  # a late EndTxn ends another transaction (KIP-890)
        return False
    return not (may_be_cut(spec, group) or _may_crash_away(spec))


def may_be_cut(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether logs of the group's topics may lose what was acknowledged or read, by configuration."""
    topics = _topics(spec, group)
    if any(_unclean(spec, topic) for topic in spec.topics if topic.name in topics):
        return True
    return any(str(each.config.get("acks", "all")) in ("0", "1") for each in _producers(spec, group))


def _unclean(spec: ScenarioSpec, topic: TopicSpec) -> bool:
    """Whether a replica that was not in sync may have led one of its partitions."""
    asked = any(command.kind == "unclean" and command.topic == topic.name for command in commands_of(spec, Elect))
    return asked or bool(topic.config.get("unclean.leader.election.enable"))


def _may_crash_away(spec: ScenarioSpec) -> bool:
    """Whether crashed hosts may take the only copy of something.

    Not when it is one host alone, and nothing else befalls the other brokers: they hold all that is committed. Without
    eligible leader replicas (KIP-966) any other fault may have made the one that crashes the last in sync.
    """
    crashed = {command.broker for command in commands_of(spec, Crash)}
    if not crashed:
        return False
    others = [broker.name for broker in spec.brokers if broker.name not in crashed]
    struck = any(name in text_of(step.command).split() for step in spec.steps for name in others)
    return len(crashed) > 1 or struck or any(topic.replication == 1 for topic in spec.topics) or len(spec.brokers) == 1


# --- exactly once -----------------------------------------------------------------------------------------------------


def _exactly_once(spec: ScenarioSpec) -> Iterator[str]:
    """What an undisturbed reader of committed data finds of what the first group wrote."""
    writer = spec.groups[0] if spec.groups else None
    if writer is None or writer.application.writes is None:
        return
    audit = next(group for group in spec.groups if group.name == AUDIT)
    safe = not (commands_of(spec, Crash) or may_be_cut(spec, writer) or may_be_cut(spec, audit))
    moved = any(command.group == writer.name for command in commands_of(spec, Seek))
    if not safe or moved:
        return
    counts = _counts(audit)
    once = all(each.producer_config()["enable.idempotence"] for each in _producers(spec, writer))
    if writer.application.commit == "transaction" and once and _version(spec) >= 2:
        yield f"{counts}.duplicated == 0"
    works_on = not (_chokes(writer) or _ids_expire_while_joining(spec, writer))  # else its last poll may be unwritten
    if not works_on:
        return
    read, written = (f"{by}.delivered + {by}.delivered_unacknowledged" for by in (counts, _counts(writer)))
    if _returns_to_what_failed(spec, writer):
        if writer.application.commit in ("transaction", "after-each-poll"):
            yield f"{read} == {written}"
    elif writer.application.commit == "transaction" and _version(spec) >= 2:  # else a late EndTxn commits what is open
        yield f"{read} <= {written}"


def _returns_to_what_failed(spec: ScenarioSpec, writer: GroupSpec) -> bool:
    """Whether a poll whose transaction or write failed is read again.

    Not in a topic that the group left since, and not records that were deleted meanwhile (seed 40312).
    """
    deleted = any(command.topic in _topics(spec, writer) for command in commands_of(spec, DeleteRecords))
    return _learns_of_subscriptions(spec, writer) and not (deleted or _reads_elsewhere(spec, writer))


# --- what there is ----------------------------------------------------------------------------------------------------


def commands_of(spec: ScenarioSpec, kind: type[C]) -> list[C]:
    """The steps of this kind."""
    return [step.command for step in spec.steps if isinstance(step.command, kind)]


def _counts(group: GroupSpec) -> str:
    return f'delivery.by_group["{group.name}"]'


def _topics(spec: ScenarioSpec, group: GroupSpec) -> set[str]:
    """What the group's counts are about: every topic that it subscribes to, or did so for a while."""
    subscribed = [command for command in commands_of(spec, Subscribe) if command.member in group.instances()]
    own = {topic for name in group.instances() for topic in group.topics_of(name)}
    return {*group.topics, *own, *(topic for command in subscribed for topic in command.topics)}


def _producers(spec: ScenarioSpec, group: GroupSpec) -> Iterable[ProducerSpec]:
    topics = _topics(spec, group)
    return [each for each in spec.producers if any(topic in topics for topic in each.topics)]


def is_transactional(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether somebody writes to its topics in transactions."""
    if any(each.transactions is not None for each in _producers(spec, group)):
        return True
    return any(
        each.application.commit == "transaction" and each.application.writes in _topics(spec, group)
        for each in spec.groups
    )


def _version(spec: ScenarioSpec) -> int:
    return _number(spec.broker_config(spec.brokers[0]), "transaction.version")


def _number(config: Mapping[str, Value], key: str) -> int:
    value = config[key]
    assert isinstance(value, int)
    return value

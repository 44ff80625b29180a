"""What must hold for a healed cluster (V1): the strictest claims that its configuration and its faults allow.

Brokers are up, replicas in sync, transactions decided and partitions read to the end. Left out is only what a fault may
legally destroy: a commit as old as its host's crash, a record acknowledged with less than the cluster's guarantee, a
position that an operator moved. Each exception below names the Kafka rule that makes it legal.
"""

from collections.abc import Iterator

from cluster.assignors import assignor_named, protocols_of
from cluster.commands import (
    AddPartitions,
    Crash,
    DeleteRecords,
    Elect,
    Kill,
    Restart,
    RollingRestart,
    Rollout,
    Scale,
    Seek,
    Stop,
    Subscribe,
    targets_of,
)
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec
from recordings.swarm.consumer_protocol import topics_read
from recordings.swarm.faults import POLICY, migrating, renamed
from recordings.swarm.migrating import unless_left_behind
from recordings.swarm.pace import reads_too_slowly, writes_too_slowly
from recordings.swarm.parts import (
    commands_of,
    counts_of,
    is_transactional,
    number,
    producers_of,
    topics_counted,
    transaction_version,
)

AUDIT = "audit"
ABORTED_WITHIN_MS = 4_000
REQUESTS_MS = 1_000  # finding a coordinator, joining, the first fetch
TRANSACTION_STATE = "__transaction_state"
_INTERNAL = ("__consumer_offsets", TRANSACTION_STATE)


def converged(spec: ScenarioSpec) -> list[str]:
    """Expressions that must hold at the end; `spec` has the steps of the faults, not those of the healing."""
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
    """What must hold long after the healing, while producers still write: no transaction outlasts its timeout.

    The transaction coordinator looks every second for transactions beyond their timeout; aborting one takes a while.
    """
    # A crashed host sends no reset: a coordinator that sent it a marker waits for request.timeout.ms (30 s).
    if commands_of(spec, Crash):
        return []
    return [
        f'{_awaits_a_replica(producer)} || transactions["{producer.transactions.id_of(number)}"].open_ms'
        f" <= {producer.producer_config()['transaction.timeout.ms']} + {ABORTED_WITHIN_MS}"
        for producer in spec.producers
        if producer.transactions is not None
        for number in range(1, producer.count + 1)
    ]


def _awaits_a_replica(producer: ProducerSpec) -> str:
    """Whether a broker that registers late delays the end of the producer's transactions.

    The broker has just begun to coordinate them, or their markers wait for it (`min.insync.replicas`). Only the
    producer's own topics and the coordinator's log matter.
    """
    topics = (*producer.topics, TRANSACTION_STATE)
    return " || ".join(f'topics["{each}"].leaderless > 0 || topics["{each}"].under_replicated > 0' for each in topics)


def _decided_partitions(spec: ScenarioSpec) -> Iterator[tuple[str, str]]:
    """Partitions in which no transaction may be open: all declared ones, and those that store groups' offsets.

    Each with the end that must be stable: the log's end, or the high watermark where a commit may be in flight. A
    transaction hangs after a crash that takes its state from every disk, and after an unclean election that drops its
    marker.
    """
    for topic in spec.topics:
        if not _unclean(spec, topic):
            end = "high_watermark" if _is_written_for_ever(spec, topic.name) else "log_end"
            yield from ((f"{topic.name}-{number}", end) for number in range(topic.partitions))
    count = number(spec.broker_config(spec.brokers[0]), "offsets.topic.num.partitions")
    yield from ((f"__consumer_offsets-{number}", "high_watermark") for number in range(count))


def _transactional_ids(spec: ScenarioSpec) -> Iterator[str]:
    for producer in spec.producers:
        if producer.transactions is not None:
            yield from (producer.transactions.id_of(number) for number in range(1, producer.count + 1))
    for group in spec.groups:
        if group.application.commit == "transaction":
            yield from group.instances()


def _group(spec: ScenarioSpec, group: GroupSpec) -> Iterator[str]:
    """The claims on one group; a group whose members fail on a record for ever has only its delivery guarantee.

    Where a transaction may hang (a crash or an unclean election took its state or its marker), readers stop.
    """
    where, counts = f'groups["{group.name}"]', counts_of(group)
    if _lossless(spec, group):
        yield f"{counts}.lost == 0"
    if not settles(spec, group):
        return
    empty = f'{where}.state in ["Empty", "Dead"] && {where}.members == 0'
    stable = f'{where}.state == "Stable" && {where}.members == {group.members}'
    yield empty if group.assign else unless_left_behind(spec, group, stable)
    restless = is_restless(spec, group)
    hangs = is_transactional(spec, group) and (_may_crash_away(spec) or may_be_cut(spec, group))
    hangs = hangs or (group.application.commit == "transaction" and _may_crash_away(spec))  # its own commits
    for name in () if group.name in renamed(spec) else group.instances():
        yield is_steady(spec, group, name)
        if not (hangs or restless):
            yield f'members["{name}"].lag == 0'
    if hangs or restless:
        return
    # assign() names no added partitions, and a Deployment's new pods are named by none
    unread = bool(group.assign) and (bool(commands_of(spec, AddPartitions)) or group.name in renamed(spec))
    if commits_all(spec, group) and not unread:
        yield unless_left_behind(spec, group, f"{counts}.unread == 0")
        behind_markers = group.application.commit == "auto" or not is_transactional(spec, group)
        if behind_markers and repeats_commits(spec, group, undisturbed=not spec.steps):
            yield unless_left_behind(spec, group, f"{where}.lag == 0")


def is_steady(spec: ScenarioSpec, group: GroupSpec, member: str) -> str:
    """The claim that a member runs, and is done with joining; after a migration in the words of either protocol."""
    state = f'== "{"Assigned" if group.assign else "STABLE" if group.speaks_new_protocol else "Stable"}"'
    if group.name in migrating(spec):
        state = 'in ["Stable", "STABLE"]'
    return f'members["{member}"].alive && members["{member}"].state {state}'


def settles(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the group must become Stable with all live members.

    Not a group with an autoscaler, nor one whose members fail on a record or at writing, and not a full one: it
    refuses a member that returns before its session has expired. Not a group with one `group.instance.id` for all: each
    member that starts fences the others, which may be stopped before they start again. Nor one whose transactional ids
    expire while it joins (`_ids_expire_while_joining`). Nor one that writes to several topics in transactions when
    hosts crash: such a host closes no connection, and each topic's leader may wait request.timeout.ms (30 s) for it
    (seed 1048). Nor one of classic members alone that may not be downgraded: a heartbeat of theirs computes no target
    (`GroupMetadataManager.classicGroupHeartbeatToConsumerGroup`), so what an expired member had has no owner.
    """
    if migrating(spec).get(group.name) == "classic" and spec.config[POLICY] == "upgrade":
        return False
    if _chokes(spec, group) or _ids_expire_while_joining(spec, group) or group.autoscaler is not None:
        return False
    if group.application.commit == "transaction" and len(group.application.written) > 1 and commands_of(spec, Crash):
        return False
    return not ("group.max.size" in spec.config or "group.instance.id" in group.config)


def _ids_expire_while_joining(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether its applications' transactional ids may expire between initTransactions and the first commit.

    That is fatal (INVALID_PRODUCER_ID_MAPPING). When it hits all members at once, they rejoin an Empty group and wait
    at its initial barrier, one delay per newcomer, until the new ids have expired as well: for ever. In the new
    protocol they wait for the share of a member whose leave was refused (buggify), until its session ends: `close()`
    does not repeat it (`ConsumerHeartbeatRequestManager`).
    """
    if group.application.commit != "transaction":
        return False
    brokers, members = spec.broker_config(spec.brokers[0]), group.consumer_config(group.instances()[0])
    delay_ms = number(brokers, "group.initial.rebalance.delay.ms")
    if spec.buggify and (group.speaks_new_protocol or group.name in migrating(spec)):
        session_ms = number(brokers, "group.consumer.session.timeout.ms")
        if session_ms >= number(brokers, "transactional.id.expiration.ms"):
            return True
    barrier_ms = min(delay_ms * group.members, max(delay_ms, number(members, "max.poll.interval.ms")))
    working_ms = number(members, "max.poll.records") * group.application.per_record_us // 1_000
    return barrier_ms + working_ms + REQUESTS_MS >= number(brokers, "transactional.id.expiration.ms")


def is_restless(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether it may lag at the end: it reads slowly, a producer writes for ever, or a fetch returns one batch."""
    if spec.buggify or reads_too_slowly(spec, group):
        return True
    return any(_is_written_for_ever(spec, topic) for topic in topics_read(spec, group))


def commits_all(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the group's commits equal its members' positions, in every partition of its topics."""
    learns = _learns_of_partitions(spec, group) and _learns_of_subscriptions(spec, group)
    return learns and not _reads_elsewhere(spec, group) and _commits_last(spec, group)


def repeats_commits(spec: ScenarioSpec, group: GroupSpec, *, undisturbed: bool) -> bool:
    """Whether a failed commit is made good, also for a partition that gets no more records.

    commitAsync is not retried. commitSync in a rebalance throws RebalanceInProgressException, and the application polls
    on: an eager member goes on at the committed offset, reads again and commits; a cooperative member keeps its
    position in what it retains, and commits it with its next records only.
    """
    commit = group.application.commit
    return undisturbed or not (commit == "async" or (commit == "after-each-poll" and _is_cooperative(spec, group)))


def _is_cooperative(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether its members keep their partitions in a rebalance: all of their assignors support it."""
    if group.speaks_new_protocol or group.name in migrating(spec):
        return True
    return all("COOPERATIVE" in protocols_of(assignor_named(name)) for name in group.every_assignor())


def _chokes(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Its members fail again and again: on a record, which no member passes, or because they cannot write so fast."""
    return group.application.crashes or writes_too_slowly(spec, group)


def _reads_elsewhere(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether a member once subscribed to other topics: their partitions stay in the group's lag."""
    return any(
        command.member in group.instances() and any(topic not in group.topics for topic in command.topics)
        for command in commands_of(spec, Subscribe)
    )


def _is_written_for_ever(spec: ScenarioSpec, topic: str) -> bool:
    """Whether a group that writes to the topic fails, and writes the records before it again and again."""
    return any(_chokes(spec, group) and topic in group.application.topics_written for group in spec.groups)


def _learns_of_partitions(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """A static leader that was away when partitions were added does not learn of them (KIP-814); a broker does."""
    if _is_assigned_by_brokers(spec, group):
        return True
    return not (group.static and any(command.topic in group.topics for command in commands_of(spec, AddPartitions)))


def _is_assigned_by_brokers(spec: ScenarioSpec, group: GroupSpec) -> bool:
    return group.speaks_new_protocol and group.name not in migrating(spec)


def _learns_of_subscriptions(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the partitions of its members' last subscriptions are assigned.

    A static member whose process ends before it has joined with another subscription rejoins with the new one. A Stable
    group returns its former share without a rebalance: partitions of a topic that is new to it stay unassigned. In the
    new protocol the coordinator computes a target for any other subscription.
    """
    if _is_assigned_by_brokers(spec, group):
        return True
    names = group.instances()
    changed = any(command.member in names for command in commands_of(spec, Subscribe))
    ended = group.application.restart_after_us is not None
    for step in spec.steps:
        if isinstance(step.command, Kill | Stop | Restart):
            ended = ended or step.command.target in names
        elif isinstance(step.command, RollingRestart | Rollout | Scale):
            ended = ended or step.command.group == group.name
    return not (group.static and changed and ended)


def _commits_last(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether its last commit equals its position.

    A group that commits what poll() returned does not commit a position that was moved since (by a seek, or because the
    log does not reach it). It does not repeat a commit that a crashed host took.
    """
    if group.application.commit == "auto":
        return True
    moved = any(command.group == group.name for command in commands_of(spec, Seek))
    moved = moved or bool(commands_of(spec, DeleteRecords)) or bool(commands_of(spec, Crash))
    return not (moved or may_be_cut(spec, group))


# --- legal losses -----------------------------------------------------------------------------------------------------


def _lossless(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether every acknowledged record of its topics must stay, and no commit of the group may pass one unfinished."""
    application, name = group.application, group.name
    fails = application.poison is not None or application.fail is not None
    skips = fails and application.dead_letter is None and not application.crashes
    if application.commit == "before-processing" or skips:
        return False
    if any(command.group == name for command in commands_of(spec, Seek)):
        return False
    deleted = any(command.topic in topics_counted(spec, group) for command in commands_of(spec, DeleteRecords))
    # the group resets to the end, and skips the records that are left
    if deleted and group.config.get("auto.offset.reset") != "earliest":
        return False
    if transaction_version(spec) == 1 and is_transactional(
        spec, group
    ):  # a late EndTxn ends another transaction (KIP-890)
        return False
    return not (may_be_cut(spec, group) or _may_crash_away(spec))


def may_be_cut(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether configuration allows logs of the group's topics to lose acknowledged or read records."""
    topics = topics_counted(spec, group)
    if any(_unclean(spec, topic) for topic in spec.topics if topic.name in topics):
        return True
    configs = [each.config for each in producers_of(spec, group)]
    configs += [each.application.producer for each in spec.groups if topics & set(each.application.topics_written)]
    return any(str(config.get("acks", "all")) in ("0", "1") for config in configs)


def _unclean(spec: ScenarioSpec, topic: TopicSpec) -> bool:
    """Whether a replica that was not in sync may have led one of its partitions."""
    asked = any(command.kind == "unclean" and command.topic == topic.name for command in commands_of(spec, Elect))
    return asked or bool(topic.config.get("unclean.leader.election.enable"))


def _may_crash_away(spec: ScenarioSpec) -> bool:
    """Whether crashed hosts may take the only copy of a record.

    Not when a single host crashes and no fault hits the other brokers: they hold every committed record. Without
    eligible leader replicas (KIP-966) any other fault may make the crashed host the last one in sync.
    """
    crashed = {command.broker for command in commands_of(spec, Crash)}
    if not crashed:
        return False
    others = [broker.name for broker in spec.brokers if broker.name not in crashed]
    struck = any(name in targets_of(step.command) for step in spec.steps for name in others)
    return len(crashed) > 1 or struck or any(topic.replication == 1 for topic in spec.topics) or len(spec.brokers) == 1


# --- exactly once -----------------------------------------------------------------------------------------------------


def _exactly_once(spec: ScenarioSpec) -> Iterator[str]:
    """The claims on an undisturbed read_committed reader of the first group's output."""
    writer = spec.groups[0] if spec.groups else None
    if writer is None or not writer.application.written:
        return
    audit = next(group for group in spec.groups if group.name == AUDIT)
    safe = not (commands_of(spec, Crash) or may_be_cut(spec, writer) or may_be_cut(spec, audit))
    moved = any(command.group == writer.name for command in commands_of(spec, Seek))
    if not safe or moved:
        return
    counts = counts_of(audit)
    once = all(each.producer_config()["enable.idempotence"] for each in producers_of(spec, writer))
    if writer.application.commit == "transaction" and once and transaction_version(spec) >= 2:
        yield f"{counts}.duplicated == 0"
    # A member that fails on a record leaves the output of its last poll out.
    # A record that went to the dead-letter topic has no output.
    works_on = not (_chokes(spec, writer) or writer.application.dead_letter or _ids_expire_while_joining(spec, writer))
    if not works_on:
        return
    read, written = (f"{by}.delivered + {by}.delivered_unacknowledged" for by in (counts, counts_of(writer)))
    copies = next(output.records for output in writer.application.written if output.topic in audit.topics)
    written = written if copies == 1 else f"{copies} * ({written})"
    if _returns_to_what_failed(spec, writer):
        if writer.application.commit in ("transaction", "after-each-poll"):
            yield f"{read} == {written}"
    elif (
        writer.application.commit == "transaction" and transaction_version(spec) >= 2
    ):  # in version 1 a late EndTxn may commit
        yield f"{read} <= {written}"


def _returns_to_what_failed(spec: ScenarioSpec, writer: GroupSpec) -> bool:
    """Whether a poll whose transaction or write failed is read again.

    Not in a topic that the group left since, and not records that were deleted (seed 40312) or compacted meanwhile: a
    member was killed with its transaction open, and 13 of its records had newer ones of their keys (seed 1799).
    """
    deleted = any(command.topic in topics_counted(spec, writer) for command in commands_of(spec, DeleteRecords))
    read = [topic for topic in spec.topics if topic.name in topics_counted(spec, writer)]
    deleted = deleted or any("compact" in str(topic.config.get("cleanup.policy", "")) for topic in read)
    return _learns_of_subscriptions(spec, writer) and not (deleted or _reads_elsewhere(spec, writer))

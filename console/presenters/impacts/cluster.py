"""Predictors of commands to links, disks, leaders, applications and positions."""

from cluster.commands import catalogue as c
from cluster.protocol.names import TopicPartition, topic_of
from cluster.protocol.offset_resets import cannot_shift, only_inactive, partitions_meant, reset_offset
from cluster.view.state import NEVER, MemberView, PartitionView
from cluster.view.transactions import is_hanging
from console.presenters.formatting import duration
from console.presenters.impacts.model import MS, NO_BROKER, ImpactModel, Predictors, number_of, predictor
from console.presenters.impacts.processes import heartbeats_stop

QUORUM_FETCH_TIMEOUT_US = 2_000_000  # controller.quorum.fetch.timeout.ms


# --- the network ------------------------------------------------------------------------------------------------------


def isolate(model: ImpactModel, command: c.Isolate) -> None:
    """The controller fences an isolated broker; a majority of the others first replaces an isolated controller."""
    broker = number_of(command.broker)
    if not model.is_up(command.broker):
        model.note(f"{command.broker} is down: the isolation applies when the broker returns")
        return
    leads = model.view.controller == broker
    if leads and not model.others_have_majority(broker):
        if model.lasts(command.for_us, model.session_us):
            model.isolated_controller(broker)
        return
    if model.lasts(command.for_us, QUORUM_FETCH_TIMEOUT_US):
        model.controller_lost(broker, at_once=False)
    waits_us = model.session_us + (QUORUM_FETCH_TIMEOUT_US if leads else 0)
    if model.lasts(command.for_us, waits_us):
        model.broker_fenced(broker, waits_us)
        model.silent_failure()
    else:
        model.note("shorter than broker.session.timeout.ms: leaders stay, but serve no requests")


def cut(model: ImpactModel, command: c.Cut | c.Hold) -> None:
    """A link carries nothing: member to coordinator, follower to leader, or broker to controller."""
    one_way = isinstance(command, c.Cut) and command.one_way
    for here, there in ((command.a, command.b), (command.b, command.a)):
        member, broker = model.view.members.get(here), number_of(there)
        if member is not None and broker:
            cut_member(model, member, broker, command.for_us, speaks=not one_way or here == command.a)
        elif here in model.view.producers and broker:
            led = [one.partition for one in model.view.partitions.values() if one.leader == broker]
            topics = model.view.producers[here].topics
            mine = [name for name in led if model.view.partitions[name].topic in topics]
            model.note(f"{here} cannot reach the leader of {len(mine)} of its partitions")
    one, other = number_of(command.a), number_of(command.b)
    if one and other:
        cut_brokers(model, command, one, other, one_way=one_way)


def cut_member(model: ImpactModel, member: MemberView, broker: int, for_us: int | None, *, speaks: bool) -> None:
    """A link between a member and a broker that is its coordinator, or leads partitions that it reads."""
    group = model.view.groups[member.group]
    partition = model.view.partitions.get(group.coordinator_partition)
    if partition is not None and partition.leader == broker:
        if speaks:
            heartbeats_stop(model, member, for_us)
        else:
            model.note(f"{member.member} receives no response from its coordinator")
    unread = [name for name in member.owned if model.view.partitions[name].leader == broker]
    if unread:
        model.note(f"{member.member} reads nothing from the {len(unread)} partitions that broker-{broker} leads")


def cut_brokers(model: ImpactModel, command: c.Cut | c.Hold, one: int, other: int, *, one_way: bool) -> None:
    """A link between two brokers: the controller fences one of them, or followers stop fetching from their leaders."""
    controller = model.view.controller
    if controller in (one, other):
        silent = other if controller == one else one
        speaks = not one_way or number_of(command.a) == silent
        if not model.can_lead(silent):
            model.note(f"broker-{silent} is already unavailable")
            return
        if speaks and model.lasts(command.for_us, model.session_us):
            model.broker_fenced(silent, model.session_us)
            model.note(f"broker-{silent} runs but is fenced: the controller receives no heartbeat from it")
            return
    follows = [
        name
        for name, known in model.view.partitions.items()
        if known.leader in (one, other) and one in known.isr and other in known.isr
    ]
    model.note(f"{len(follows)} partitions lose an in-sync replica after replica.lag.time.max.ms")


def slow_link(model: ImpactModel, command: c.SlowLink) -> None:
    """Requests and responses on the link take longer."""
    model.note(f"each round trip on the link takes at least {2 * command.to_us / MS:g} ms")


def lose(model: ImpactModel, command: c.LoseResponses) -> None:
    """The broker handles a request; the client receives no response."""
    model.note(f"the connection breaks: {LOST_RESPONSE_EFFECTS.get(command.api, 'the client retries the request')}")


LOST_RESPONSE_EFFECTS: dict[str, str] = {
    "Produce": "the batch is in the log and the producer retries it: stored once with idempotence, else twice",
    "Fetch": "the consumer fetches the same records again",
    "OffsetCommit": "the coordinator stores the offsets, but the member receives no confirmation",
    "Heartbeat": "the coordinator renews the session, but the member receives no confirmation",
    "JoinGroup": "the coordinator counts the member as joined; without a response the member joins again",
    "SyncGroup": "the member receives no assignment and joins again",
    "EndTxn": "the transaction ends, but the producer receives no confirmation and asks again",
    "InitProducerId": "the coordinator raises the epoch, but the producer does not receive it and asks again",
}
"""The effect of a lost response, by the API of its request."""


# --- disks, leaderships, the controller -------------------------------------------------------------------------------


def slow_disk(model: ImpactModel, command: c.SlowDisk) -> None:
    """Appends wait for the disk: of leaders, and of followers for which acks=all waits."""
    broker = number_of(command.broker)
    led = sum(one.leader == broker for one in model.view.partitions.values())
    follows = sum(broker in one.isr and one.leader != broker for one in model.view.partitions.values())
    if command.to_us == 0:
        model.note("appends no longer wait for the disk")
        return
    rate = 1_000_000 / command.to_us
    model.note(f"at most {rate:,.4g} appends a second for the {led} partitions that {command.broker} leads")
    model.note(f"acks=all waits for {command.broker} in {follows} more")


def elect(model: ImpactModel, command: c.Elect) -> None:
    """An administrator elects the preferred leader, or an unclean leader: a replica out of sync."""
    partition = model.partition(command.topic, command.partition)
    if partition is None:
        return
    name = partition.partition
    if command.kind == "preferred":
        preferred = partition.replicas[0]
        if partition.leader == preferred:
            model.refuse(f"ELECTION_NOT_NEEDED: {name} is led by broker-{preferred}")
        elif preferred not in partition.isr or not model.can_lead(preferred):
            model.refuse(f"PREFERRED_LEADER_NOT_AVAILABLE: broker-{preferred} is not in sync")
        else:
            leader_moves(model, name, preferred)
        return
    if partition.leader != NO_BROKER:
        model.refuse(f"ELECTION_NOT_NEEDED: {name} is led by broker-{partition.leader}")
        return
    able = [one for one in partition.replicas if model.can_lead(one)]
    if not able:
        model.refuse(f"ELIGIBLE_LEADERS_NOT_AVAILABLE: no replica of {name} is available")
        return
    leader_moves(model, name, next((one for one in able if one in partition.isr), able[0]))
    if not any(one in partition.isr for one in able):
        model.note("records that only in-sync replicas have are lost, acknowledged or not")


def leader_moves(model: ImpactModel, name: str, to: int) -> None:
    """A partition changes its leader."""
    model.impact.led = (name,)
    model.impact.leaders[name] = to
    model.coordinators_lost([name])


def fail_over(model: ImpactModel, _: c.FailOverController) -> None:
    """The active controller resigns."""
    others = model.running_brokers(model.view.controller)
    if not others:
        model.refuse("no other broker is running")
        return
    model.controller_lost(model.view.controller, at_once=False)
    model.note("the next controller starts new broker sessions")


def move_coordinator(model: ImpactModel, command: c.MoveCoordinator) -> None:
    """Another in-sync replica leads a group's partition of `__consumer_offsets`."""
    name = model.view.groups[command.group].coordinator_partition
    partition = model.view.partitions[name]
    others = [
        one for one in partition.replicas if one != partition.leader and one in partition.isr and model.can_lead(one)
    ]
    if not others:
        model.refuse(f"{name} has no other in-sync replica")
        return
    leader_moves(model, name, others[0])


# --- applications and positions ---------------------------------------------------------------------------------------


def slow_dependency(model: ImpactModel, command: c.SlowDependency) -> None:
    """Each record of a group takes longer; a poll() with too many of them outlasts `max.poll.interval.ms`."""
    members = [one for one in model.view.members.values() if one.group == command.group and one.alive]
    if not command.to_us:
        model.note(f"the dependency of {command.group} adds no delay")
        return
    per_second = len(members) * 1_000_000 / command.to_us
    model.note(f"at most {per_second:,.4g} records a second from {len(members)} members of {command.group}")
    if members:
        most = min(one.max_poll_interval_ms for one in members) * MS // command.to_us
        model.note(f"a member whose poll() returns more than {most:,} records exceeds max.poll.interval.ms")


def fail_dependency(model: ImpactModel, command: c.FailDependency) -> None:
    """Each record of a group fails; what that costs is said by its `[group.application]`."""
    members = [one for one in model.view.members.values() if one.group == command.group and one.alive]
    model.note(f"each record that {len(members)} members of {command.group} process fails: its lag grows")
    model.note("a member waits its backoffs in poll(), then it crashes, skips the record or sends a dead letter")


def restore_dependency(model: ImpactModel, command: c.RestoreDependency) -> None:
    """The members of a group go on; one that waits for its next attempt does so first."""
    kinds = ("fail_dependency", "slow_dependency")
    if not any(one.kind in kinds and command.group in one.targets for one in model.view.faults.values()):
        model.refuse(f"the dependency of {command.group} is neither slow nor failing")
    else:
        model.note(f"members of {command.group} continue; a member in backoff waits until it ends")


def seek(model: ImpactModel, command: c.Seek) -> None:
    """The group reads the offsets up to its position again, or skips those beyond it."""
    if model.partition(command.topic, command.partition) is None:
        return
    name = f"{command.topic}-{command.partition}"
    group = model.view.groups[command.group]
    owner = group.owners.get(name)
    if owner is None:
        model.refuse(f"no member of {command.group} owns {name} now")
        return
    by = command.to - model.view.members[owner].positions.get(name, command.to)
    words = f"skips {by:,} offsets" if by > 0 else f"reads {-by:,} offsets again"
    model.note(f"{owner} {words} of {name}")


def reset_offsets(model: ImpactModel, command: c.ResetOffsets) -> None:
    """Members that start later read the offsets that moved back again, and skip those that moved on."""
    group = model.view.groups[command.group]
    if group.state not in ("Empty", "Dead"):
        model.refuse(only_inactive(command.group, group.state))
        return
    if command.where in ("ago", "instant"):
        time = duration(command.amount)
        when = f"{time} ago" if command.where == "ago" else f"the instant {time}"
        model.note(f"brokers look up the offsets of {when}: no event has them")
        return
    committed = {name: one.committed for name, one in group.readers.items() if one.committed != NEVER}
    places = _places(model, command.places) if command.places else sorted(committed, key=TopicPartition.parse)
    if not places:
        model.refuse(f"{command.group} has no committed offset: name topics to reset")
    for name in places:
        partition = _led(model, name)
        if partition is None:
            return
        if command.where == "shift" and name not in committed:
            model.refuse(cannot_shift(name))
            return
        _note_reset(model, partition, committed.get(name), command.where, command.amount)


def reset_to_plan(model: ImpactModel, command: c.ResetToPlan) -> None:
    """All rows are committed, or none."""
    group = model.view.groups[command.group]
    if group.state not in ("Empty", "Dead"):
        model.refuse(only_inactive(command.group, group.state))
        return
    partitions = [_led(model, name) for name in command.partitions]
    for partition, offset in zip(partitions, command.offsets, strict=True):
        if partition is None:
            return
        reader = group.readers.get(partition.partition)
        before = None if reader is None or reader.committed == NEVER else reader.committed
        _note_reset(model, partition, before, "offset", offset)


def _led(model: ImpactModel, name: str) -> PartitionView | None:
    """A partition with a leader; else the command is refused."""
    partition = model.view.partitions.get(name)
    if partition is None:
        model.refuse(f"no topic or partition is named {name}")
    elif partition.leader == NO_BROKER:
        model.refuse(f"LEADER_NOT_AVAILABLE: {name} has no leader")
    return partition if not model.impact.refused else None


def _places(model: ImpactModel, words: tuple[str, ...]) -> tuple[str, ...]:
    return partitions_meant(words, {name: topic.partitions for name, topic in model.view.topics.items()})


def _note_reset(model: ImpactModel, partition: PartitionView, before: int | None, where: str, amount: int) -> None:
    """A partition's new offset."""
    name, start, end = partition.partition, partition.log_start, partition.high_watermark
    after = reset_offset(where, amount, start, end, before)
    if before is None:
        model.note(f"{name} begins at {after:,}")
    elif after < before:
        model.note(f"{name} {before:,} → {after:,}: {before - after:,} offsets are read again")
    elif after > before:
        model.note(f"{name} {before:,} → {after:,}: {after - before:,} offsets are skipped")
    else:
        model.note(f"{name} stays at {after:,}")


def delete_group(model: ImpactModel, command: c.DeleteGroup) -> None:
    """The committed offsets go with the group."""
    group = model.view.groups[command.group]
    committed = sum(one.committed != NEVER for one in group.readers.values())
    if group.state not in ("Empty", "Dead"):
        model.refuse("NON_EMPTY_GROUP: The group is not empty.")
    elif group.state == "Dead" or not (committed or group.coordinated_by != NEVER):
        model.refuse("GROUP_ID_NOT_FOUND: The group id does not exist.")
    else:
        model.note(f"{committed:,} committed offsets are deleted: members that start begin at auto.offset.reset")


def delete_offsets(model: ImpactModel, command: c.DeleteOffsets) -> None:
    """Offsets of topics that no member subscribes to."""
    group = model.view.groups[command.group]
    topics = {
        topic
        for name in group.members.values()
        if name in model.view.members
        for topic in model.view.members[name].topics
    }
    places = _places(model, command.places)
    kept = [name for name in places if topic_of(name) in topics]
    if kept:
        model.refuse(f"GROUP_SUBSCRIBED_TO_TOPIC: a member of {command.group} subscribes to {topic_of(kept[0])}")
    gone = sum(name in group.readers and group.readers[name].committed != NEVER for name in places)
    model.note(f"{gone:,} committed offsets of {command.group} are deleted")


def abort_hanging(model: ImpactModel, command: c.AbortHangingTransaction) -> None:
    """The transaction at the last stable offset aborts, and readers of committed data continue."""
    partition = model.partition(command.topic, command.partition)
    if partition is None:
        return
    name, known = partition.partition, partition.transactions
    if known is None or not known.open:
        model.refuse(f"no transaction is open in {name}")
        return
    waiting = partition.high_watermark - partition.last_stable_offset
    model.note(f"the oldest transaction in {name} aborts; {waiting:,} offsets wait behind it")
    oldest = min(known.index.open, key=known.index.open.__getitem__)
    one = next((each for each in model.view.transactions.values() if each.producer_id == oldest), None)
    if one is not None and not is_hanging(one, name):
        model.note(f"it is not hanging: {one.transactional_id} is {one.state}, and its coordinator will end it")
        model.note(f"aborted by hand, its records in {name} are lost to readers even if the rest is committed")


def nemesis(model: ImpactModel, command: c.Nemesis) -> None:
    """Random faults of any kind that leave a majority of the brokers working."""
    is_on = any(fault.kind == "nemesis" for fault in model.view.faults.values())
    if command.on == is_on:
        model.refuse("the nemesis is on already: turn it off first" if is_on else "the nemesis is not on")
    elif command.on:
        model.note("random faults from its seed: a minority of the brokers at a time, and any client")
    else:
        model.note("the nemesis ends all its faults")


PREDICTORS: Predictors = dict((
    predictor(c.Cut, cut),
    predictor(c.Hold, cut),
    predictor(c.SlowLink, slow_link),
    predictor(c.Isolate, isolate),
    predictor(c.LoseResponses, lose),
    predictor(c.SlowDisk, slow_disk),
    predictor(c.Elect, elect),
    predictor(c.FailOverController, fail_over),
    predictor(c.MoveCoordinator, move_coordinator),
    predictor(c.SlowDependency, slow_dependency),
    predictor(c.FailDependency, fail_dependency),
    predictor(c.RestoreDependency, restore_dependency),
    predictor(c.Seek, seek),
    predictor(c.ResetOffsets, reset_offsets),
    predictor(c.ResetToPlan, reset_to_plan),
    predictor(c.DeleteGroup, delete_group),
    predictor(c.DeleteOffsets, delete_offsets),
    predictor(c.AbortHangingTransaction, abort_hanging),
    predictor(c.Nemesis, nemesis),
))  # fmt: skip

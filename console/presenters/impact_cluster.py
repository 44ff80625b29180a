"""What commands to links, disks, leaderships and logs would hit."""

from cluster.commands import catalogue as c
from cluster.view.state import NEVER, MemberView
from console.presenters.impact_model import MS, NO_BROKER, ImpactModel, number_of
from console.presenters.impact_processes import heartbeats_stop

QUORUM_FETCH_TIMEOUT_US = 2_000_000  # controller.quorum.fetch.timeout.ms


# --- the network ------------------------------------------------------------------------------------------------------


def isolate(model: ImpactModel, command: c.Isolate) -> None:
    """Nobody hears a broker: the controller fences it; a controller is replaced by most of the others first."""
    broker = number_of(command.broker)
    if not model.is_up(command.broker):
        model.note(f"{command.broker} is down: it is cut off when it comes back")
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
        model.note("shorter than broker.session.timeout.ms: leaderships stay, and stand still")


def cut(model: ImpactModel, command: c.Cut | c.Hold) -> None:
    """What no longer hears what: a member its coordinator, a follower its leader, a broker the controller."""
    one_way = isinstance(command, c.Cut) and command.one_way
    for here, there in ((command.a, command.b), (command.b, command.a)):
        member, broker = model.view.members.get(here), number_of(there)
        if member is not None and broker:
            cut_member(model, member, broker, command.for_us, speaks=not one_way or here == command.a)
        elif here in model.view.producers and broker:
            led = [one.partition for one in model.view.partitions.values() if one.leader == broker]
            topics = model.view.producers[here].topics
            mine = [name for name in led if model.view.partitions[name].topic in topics]
            model.note(f"{here} cannot reach the leader of {len(mine)} partitions it writes to")
    one, other = number_of(command.a), number_of(command.b)
    if one and other:
        cut_brokers(model, command, one, other, one_way=one_way)


def cut_member(model: ImpactModel, member: MemberView, broker: int, for_us: int | None, *, speaks: bool) -> None:
    """A member and a broker: its coordinator, or a leader it reads from."""
    group = model.view.groups[member.group]
    partition = model.view.partitions.get(group.coordinator_partition)
    if partition is not None and partition.leader == broker:
        if speaks:
            heartbeats_stop(model, member, for_us)
        else:
            model.note(f"{member.member} hears no answer of its coordinator")
    unread = [name for name in member.owned if model.view.partitions[name].leader == broker]
    if unread:
        model.note(f"{member.member} reads nothing of the {len(unread)} partitions that broker-{broker} leads")


def cut_brokers(model: ImpactModel, command: c.Cut | c.Hold, one: int, other: int, *, one_way: bool) -> None:
    """Two brokers: the controller does not hear one of them, or followers do not get at their leaders."""
    controller = model.view.controller
    if controller in (one, other):
        silent = other if controller == one else one
        speaks = not one_way or number_of(command.a) == silent
        if not model.can_lead(silent):
            model.note(f"broker-{silent} is out already")
            return
        if speaks and model.lasts(command.for_us, model.session_us):
            model.broker_fenced(silent, model.session_us)
            model.note(f"broker-{silent} is alive and fenced: the controller does not hear it")
            return
    follows = [
        name
        for name, known in model.view.partitions.items()
        if known.leader in (one, other) and one in known.isr and other in known.isr
    ]
    model.note(f"{len(follows)} partitions lose an in-sync replica after replica.lag.time.max.ms")


def slow_link(model: ImpactModel, command: c.SlowLink) -> None:
    """Whatever passes the link takes longer."""
    model.note(f"every request between them takes at least {2 * command.to_us / MS:g} ms there and back")


def lose(model: ImpactModel, command: c.LoseResponses) -> None:
    """What was asked for is done, and who asked does not learn it."""
    model.note(f"the connection breaks: {LOST_RESPONSE_EFFECTS.get(command.api, 'it is asked again')}")


LOST_RESPONSE_EFFECTS: dict[str, str] = {
    "Produce": "the batch is in the log and sent again: with idempotence it counts once, without it twice",
    "Fetch": "the same records are fetched again",
    "OffsetCommit": "the offsets are stored though the member does not learn it",
    "Heartbeat": "the session is renewed though the member does not learn it",
    "JoinGroup": "the coordinator holds a member that knows nothing of it; it joins again",
    "SyncGroup": "the member has no assignment and joins again",
    "EndTxn": "the transaction ends though its producer does not learn it; it asks again",
    "InitProducerId": "the epoch is raised though the producer does not learn it; it asks again",
}
"""What it means that a response is lost although the broker did what it was asked for."""


# --- disks, leaderships, the controller -------------------------------------------------------------------------------


def slow_disk(model: ImpactModel, command: c.SlowDisk) -> None:
    """Appends queue up; followers' too, for which acks=all waits."""
    broker = number_of(command.broker)
    led = sum(one.leader == broker for one in model.view.partitions.values())
    follows = sum(broker in one.isr and one.leader != broker for one in model.view.partitions.values())
    if command.to_us == 0:
        model.note("its disk is as fast as ever")
        return
    rate = 1_000_000 / command.to_us
    model.note(f"at most {rate:,.4g} appends a second for the {led} partitions that it leads")
    model.note(f"acks=all waits for it in {follows} more")


def elect(model: ImpactModel, command: c.Elect) -> None:
    """A leader chosen by an administrator: the preferred one, or one out of sync."""
    partition = model.partition(command.topic, command.partition)
    if partition is None:
        return
    name = partition.partition
    if command.kind == "preferred":
        wished = partition.replicas[0]
        if partition.leader == wished:
            model.refuse(f"ELECTION_NOT_NEEDED: {name} is led by broker-{wished}")
        elif wished not in partition.isr or not model.can_lead(wished):
            model.refuse(f"PREFERRED_LEADER_NOT_AVAILABLE: broker-{wished} is not in sync")
        else:
            leader_moves(model, name, wished)
        return
    if partition.leader != NO_BROKER:
        model.refuse(f"ELECTION_NOT_NEEDED: {name} is led by broker-{partition.leader}")
        return
    able = [one for one in partition.replicas if model.can_lead(one)]
    if not able:
        model.refuse(f"ELIGIBLE_LEADERS_NOT_AVAILABLE: no replica of {name} is there")
        return
    leader_moves(model, name, next((one for one in able if one in partition.isr), able[0]))
    if not any(one in partition.isr for one in able):
        model.note("what only in-sync replicas have is lost, acknowledged or not")


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
    model.note("every broker session begins anew")


def move_coordinator(model: ImpactModel, command: c.MoveCoordinator) -> None:
    """A group's partition of `__consumer_offsets` gets another leader."""
    name = model.view.groups[command.group].coordinator_partition
    partition = model.view.partitions[name]
    others = [
        one for one in partition.replicas if one != partition.leader and one in partition.isr and model.can_lead(one)
    ]
    if not others:
        model.refuse(f"{name} has no other in-sync replica")
        return
    leader_moves(model, name, others[0])


# --- logs and positions -----------------------------------------------------------------------------------------------


def delete_records(model: ImpactModel, command: c.DeleteRecords) -> None:
    """Records are gone, also for groups that have not read them."""
    partition = model.partition(command.topic, command.partition)
    if partition is None:
        return
    name = partition.partition
    if partition.leader == NO_BROKER:
        model.refuse(f"LEADER_NOT_AVAILABLE: nobody leads {name}")
    elif command.before > partition.high_watermark:
        model.refuse(f"OFFSET_OUT_OF_RANGE: the high watermark of {name} is {partition.high_watermark}")
    else:
        gone = max(0, command.before - partition.log_start)
        model.note(f"{gone:,} offsets of {name} are gone")
        for group in model.view.groups.values():
            reader = group.readers.get(name)
            if reader is not None and reader.committed != NEVER and reader.committed < command.before:
                unread = command.before - max(reader.committed, partition.log_start)
                model.note(f"{group.group} has not read {unread:,} of them")


def add_partitions(model: ImpactModel, command: c.AddPartitions) -> None:
    """Keys go elsewhere, and whoever reads the topic rebalances."""
    known = model.view.topics[command.topic].partitions
    if command.to <= known:
        model.refuse(f"INVALID_PARTITIONS: {command.topic} has {known} partitions already")
        return
    model.note(f"{command.to - known} more partitions: from then on keys go elsewhere")
    for group in model.view.groups.values():
        if command.topic in group.topics:
            model.group_rebalances(group.group)


def seek(model: ImpactModel, command: c.Seek) -> None:
    """What lies between a group's position and the offset is read again, or never."""
    if model.partition(command.topic, command.partition) is None:
        return
    name = f"{command.topic}-{command.partition}"
    group = model.view.groups[command.group]
    owner = group.owners.get(name)
    if owner is None:
        model.refuse(f"no member of {command.group} holds {name} now")
        return
    by = command.to - model.view.members[owner].positions.get(name, command.to)
    words = f"skips {by:,} offsets" if by > 0 else f"reads {-by:,} offsets again"
    model.note(f"{owner} {words} of {name}")


def abort_hanging(model: ImpactModel, command: c.AbortHangingTransaction) -> None:
    """The transaction at the last stable offset ends, and readers of committed data go on."""
    partition = model.partition(command.topic, command.partition)
    if partition is None:
        return
    name, known = partition.partition, partition.transactions
    if known is None or not known.open:
        model.refuse(f"no transaction is open in {name}")
        return
    waiting = partition.high_watermark - partition.last_stable_offset
    model.note(f"aborts the oldest transaction in {name}; {waiting:,} offsets wait behind it")


def nemesis(model: ImpactModel, command: c.Nemesis) -> None:
    """Anything, except what keeps most brokers from working."""
    reigns = any(fault.text.startswith("nemesis") for fault in model.view.faults.values())
    if command.on == reigns:
        model.refuse("the nemesis is on already: turn it off first" if reigns else "the nemesis is not on")
    elif command.on:
        model.note("random injuries from its seed: of the brokers a minority at a time, of the rest anybody")
    else:
        model.note("ends every injury of its own")

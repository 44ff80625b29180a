"""What commands to links, disks, leaderships and logs would hit."""

from cluster.commands import catalogue as c
from cluster.view.state import NEVER, MemberView
from console.presenters.impact_model import MS, NOBODY, ImpactModel, number_of
from console.presenters.impact_processes import silent

MAJORITY_NOTICES_US = 2_000_000  # controller.quorum.fetch.timeout.ms


# --- the network ------------------------------------------------------------------------------------------------------


def isolate(at: ImpactModel, command: c.Isolate) -> None:
    """Nobody hears a broker: the controller fences it; a controller is replaced by most of the others first."""
    broker = number_of(command.broker)
    if not at.is_up(command.broker):
        at.found.notes.append(f"{command.broker} is down: it is cut off when it comes back")
        return
    leads = at.view.controller == broker
    if leads and not at.others_are_most(broker):
        if at.lasts(command.for_us, at.session_us):
            at.rules_alone(broker)
        return
    if at.lasts(command.for_us, MAJORITY_NOTICES_US):
        at.controller_goes(broker, at_once=False)
    waits_us = at.session_us + (MAJORITY_NOTICES_US if leads else 0)
    if at.lasts(command.for_us, waits_us):
        at.falls(broker, waits_us)
        at.unheard()
    else:
        at.found.notes.append("shorter than broker.session.timeout.ms: leaderships stay, and stand still")


def cut(at: ImpactModel, command: c.Cut | c.Hold) -> None:
    """What no longer hears what: a member its coordinator, a follower its leader, a broker the controller."""
    one_way = isinstance(command, c.Cut) and command.one_way
    for here, there in ((command.a, command.b), (command.b, command.a)):
        member, broker = at.view.members.get(here), number_of(there)
        if member is not None and broker:
            cut_member(at, member, broker, command.for_us, speaks=not one_way or here == command.a)
        elif here in at.view.producers and broker:
            led = [one.partition for one in at.view.partitions.values() if one.leader == broker]
            topics = at.view.producers[here].topics
            mine = [name for name in led if at.view.partitions[name].topic in topics]
            at.found.notes.append(f"{here} cannot reach the leader of {len(mine)} partitions it writes to")
    one, other = number_of(command.a), number_of(command.b)
    if one and other:
        cut_brokers(at, command, one, other, one_way=one_way)


def cut_member(at: ImpactModel, member: MemberView, broker: int, for_us: int | None, *, speaks: bool) -> None:
    """A member and a broker: its coordinator, or a leader it reads from."""
    group = at.view.groups[member.group]
    partition = at.view.partitions.get(group.coordinator_partition)
    if partition is not None and partition.leader == broker:
        if speaks:
            silent(at, member, for_us)
        else:
            at.found.notes.append(f"{member.member} hears no answer of its coordinator")
    unread = [name for name in member.owned if at.view.partitions[name].leader == broker]
    if unread:
        at.found.notes.append(
            f"{member.member} reads nothing of the {len(unread)} partitions that broker-{broker} leads"
        )


def cut_brokers(at: ImpactModel, command: c.Cut | c.Hold, one: int, other: int, *, one_way: bool) -> None:
    """Two brokers: the controller does not hear one of them, or followers do not get at their leaders."""
    controller = at.view.controller
    if controller in (one, other):
        silent = other if controller == one else one
        speaks = not one_way or number_of(command.a) == silent
        if not at.able(silent):
            at.found.notes.append(f"broker-{silent} is out already")
            return
        if speaks and at.lasts(command.for_us, at.session_us):
            at.falls(silent, at.session_us)
            at.found.notes.append(f"broker-{silent} is alive and fenced: the controller does not hear it")
            return
    follows = [
        name
        for name, known in at.view.partitions.items()
        if known.leader in (one, other) and one in known.isr and other in known.isr
    ]
    at.found.notes.append(f"{len(follows)} partitions lose an in-sync replica after replica.lag.time.max.ms")


def slow_link(at: ImpactModel, command: c.SlowLink) -> None:
    """Whatever passes the link takes longer."""
    at.found.notes.append(f"every request between them takes at least {2 * command.to_us / MS:g} ms there and back")


def lose(at: ImpactModel, command: c.LoseResponses) -> None:
    """What was asked for is done, and who asked does not learn it."""
    at.found.notes.append(f"the connection breaks: {LOST.get(command.api, 'it is asked again')}")


LOST: dict[str, str] = {
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


def slow_disk(at: ImpactModel, command: c.SlowDisk) -> None:
    """Appends queue up; followers' too, for which acks=all waits."""
    broker = number_of(command.broker)
    led = sum(one.leader == broker for one in at.view.partitions.values())
    follows = sum(broker in one.isr and one.leader != broker for one in at.view.partitions.values())
    if command.to_us == 0:
        at.found.notes.append("its disk is as fast as ever")
        return
    rate = 1_000_000 / command.to_us
    at.found.notes.append(f"at most {rate:,.4g} appends a second for the {led} partitions that it leads")
    at.found.notes.append(f"acks=all waits for it in {follows} more")


def elect(at: ImpactModel, command: c.Elect) -> None:
    """A leader chosen by an administrator: the preferred one, or one out of sync."""
    partition = at.partition(command.topic, command.partition)
    if partition is None:
        return
    name = partition.partition
    if command.kind == "preferred":
        wished = partition.replicas[0]
        if partition.leader == wished:
            at.refuse(f"ELECTION_NOT_NEEDED: {name} is led by broker-{wished}")
        elif wished not in partition.isr or not at.able(wished):
            at.refuse(f"PREFERRED_LEADER_NOT_AVAILABLE: broker-{wished} is not in sync")
        else:
            moves(at, name, wished)
        return
    if partition.leader != NOBODY:
        at.refuse(f"ELECTION_NOT_NEEDED: {name} is led by broker-{partition.leader}")
        return
    able = [one for one in partition.replicas if at.able(one)]
    if not able:
        at.refuse(f"ELIGIBLE_LEADERS_NOT_AVAILABLE: no replica of {name} is there")
        return
    moves(at, name, next((one for one in able if one in partition.isr), able[0]))
    if not any(one in partition.isr for one in able):
        at.found.notes.append("what only in-sync replicas have is lost, acknowledged or not")


def moves(at: ImpactModel, name: str, to: int) -> None:
    """A partition changes its leader."""
    at.found.led = (name,)
    at.found.leaders[name] = to
    at.coordinated([name])


def fail_over(at: ImpactModel, _: c.FailOverController) -> None:
    """The active controller resigns."""
    others = at.running(at.view.controller)
    if not others:
        at.refuse("no other broker is running")
        return
    at.controller_goes(at.view.controller, at_once=False)
    at.found.notes.append("every broker session begins anew")


def move_coordinator(at: ImpactModel, command: c.MoveCoordinator) -> None:
    """A group's partition of `__consumer_offsets` gets another leader."""
    name = at.view.groups[command.group].coordinator_partition
    partition = at.view.partitions[name]
    others = [one for one in partition.replicas if one != partition.leader and one in partition.isr and at.able(one)]
    if not others:
        at.refuse(f"{name} has no other in-sync replica")
        return
    moves(at, name, others[0])


# --- logs and positions -----------------------------------------------------------------------------------------------


def delete_records(at: ImpactModel, command: c.DeleteRecords) -> None:
    """Records are gone, also for groups that have not read them."""
    partition = at.partition(command.topic, command.partition)
    if partition is None:
        return
    name = partition.partition
    if partition.leader == NOBODY:
        at.refuse(f"LEADER_NOT_AVAILABLE: nobody leads {name}")
    elif command.before > partition.high_watermark:
        at.refuse(f"OFFSET_OUT_OF_RANGE: the high watermark of {name} is {partition.high_watermark}")
    else:
        gone = max(0, command.before - partition.log_start)
        at.found.notes.append(f"{gone:,} offsets of {name} are gone")
        for group in at.view.groups.values():
            reader = group.readers.get(name)
            if reader is not None and reader.committed != NEVER and reader.committed < command.before:
                unread = command.before - max(reader.committed, partition.log_start)
                at.found.notes.append(f"{group.group} has not read {unread:,} of them")


def add_partitions(at: ImpactModel, command: c.AddPartitions) -> None:
    """Keys go elsewhere, and whoever reads the topic rebalances."""
    known = at.view.topics[command.topic].partitions
    if command.to <= known:
        at.refuse(f"INVALID_PARTITIONS: {command.topic} has {known} partitions already")
        return
    at.found.notes.append(f"{command.to - known} more partitions: from then on keys go elsewhere")
    for group in at.view.groups.values():
        if command.topic in group.topics:
            at.rebalances(group.group)


def seek(at: ImpactModel, command: c.Seek) -> None:
    """What lies between a group's position and the offset is read again, or never."""
    if at.partition(command.topic, command.partition) is None:
        return
    name = f"{command.topic}-{command.partition}"
    group = at.view.groups[command.group]
    owner = group.owners.get(name)
    if owner is None:
        at.refuse(f"no member of {command.group} holds {name} now")
        return
    by = command.to - at.view.members[owner].positions.get(name, command.to)
    words = f"skips {by:,} offsets" if by > 0 else f"reads {-by:,} offsets again"
    at.found.notes.append(f"{owner} {words} of {name}")


def abort_hanging(at: ImpactModel, command: c.AbortHangingTransaction) -> None:
    """The transaction at the last stable offset ends, and readers of committed data go on."""
    partition = at.partition(command.topic, command.partition)
    if partition is None:
        return
    name, known = partition.partition, partition.transactions
    if known is None or not known.open:
        at.refuse(f"no transaction is open in {name}")
        return
    waiting = partition.high_watermark - partition.last_stable_offset
    at.found.notes.append(f"aborts the oldest transaction in {name}; {waiting:,} offsets wait behind it")


def nemesis(at: ImpactModel, command: c.Nemesis) -> None:
    """Anything, except what keeps most brokers from working."""
    reigns = any(fault.text.startswith("nemesis") for fault in at.view.faults.values())
    if command.on == reigns:
        at.refuse("the nemesis is on already: turn it off first" if reigns else "the nemesis is not on")
    elif command.on:
        at.found.notes.append("random injuries from its seed: of the brokers a minority at a time, of the rest anybody")
    else:
        at.found.notes.append("ends every injury of its own")

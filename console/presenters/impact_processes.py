"""What commands to processes would hit: kill, crash, stop, start, restart, pause, stall, slow."""

from cluster.commands import catalogue as c
from cluster.view.state import MemberView, ProducerView
from console.presenters.impact_model import MS, NOBODY, ImpactModel, number_of


def ends(at: ImpactModel, name: str, for_us: int | None, *, crash: bool = False) -> None:
    """A process ends without a word."""
    if at.is_down(name):
        return
    broker, member = number_of(name), at.view.members.get(name)
    if broker:
        at.controller_goes(broker, at_once=True)
        at.falls(broker, at.session_us)  # also when it is back before: its old session has to end first
        alone = sum(partition.isr == (broker,) for partition in at.view.partitions.values())
        if crash:
            at.unheard()
            at.found.notes.append("what its disk had not flushed is lost there")
            if alone:
                at.found.notes.append(f"{alone} partitions are in sync nowhere else: lost for good")
        return
    if member is not None:
        session_us = at.session_us_of(member)
        static_is_back = bool(member.instance_id) and not at.lasts(for_us, session_us)
        if static_is_back:
            at.found.notes.append("a static member that is back within its session: no rebalance")
        else:
            at.leaves(member, session_us, "session expired")
        at.left_open(at.view.producers.get(name))
        return
    producer = at.view.producers[name]
    sends_nothing(at, producer)
    at.left_open(producer)
    if producer.buffered_bytes:
        at.found.notes.append(f"{producer.buffered_bytes:,} bytes that it has not sent are lost")


def kill(at: ImpactModel, command: c.Kill) -> None:
    """Kill -9."""
    ends(at, command.target, command.for_us)


def crash(at: ImpactModel, command: c.Crash) -> None:
    """The host is gone, with what was not flushed."""
    ends(at, command.broker, command.for_us, crash=True)


def fill_disk(at: ImpactModel, command: c.FillDisk) -> None:
    """The broker halts with its next append."""
    if at.is_up(command.broker):
        ends(at, command.broker, command.for_us)
    at.found.notes.append("the broker halts with the first append that finds no room")


def stop(at: ImpactModel, command: c.Stop) -> None:
    """Clean: a broker's leaderships move first, a dynamic member leaves, a producer sends what it has."""
    if not at.is_down(command.target):
        closes(at, command.target, command.for_us)


def restart(at: ImpactModel, command: c.Restart) -> None:
    """A clean stop and a start; a start of what is down."""
    if not at.is_up(command.target):
        at.found.notes.append(f"{command.target} is down: it starts")
        joins(at, command.target)
        return
    closes(at, command.target, command.for_us or 0)
    joins(at, command.target)


def closes(at: ImpactModel, name: str, for_us: int | None) -> None:
    """A clean end."""
    broker, member = number_of(name), at.view.members.get(name)
    if broker:
        at.controller_goes(broker, at_once=True)
        at.falls(broker, 0)
    elif member is not None and not member.instance_id:
        at.leaves(member, 0, "member left")
    elif member is not None and at.lasts(for_us, at.session_us_of(member)):
        at.leaves(member, at.session_us_of(member), "session expired")
    elif member is not None:
        at.found.notes.append("a static member that is back within its session: no rebalance")
    elif name in at.view.producers:
        sends_nothing(at, at.view.producers[name])


def start(at: ImpactModel, command: c.Start) -> None:
    """What is down comes back."""
    broker = at.view.brokers.get(number_of(command.target))
    if broker is not None and broker.stopping:
        at.refuse(f"{command.target} has not stopped yet: restart it instead")
    elif at.is_up(command.target):
        at.refuse(f"{command.target} is running already")
    else:
        joins(at, command.target)


def joins(at: ImpactModel, name: str) -> None:
    """A process comes: a broker may lead what nobody leads, a member makes its group rebalance."""
    broker, member = number_of(name), at.view.members.get(name)
    if broker:
        for partition in at.view.partitions.values():
            if partition.leader == NOBODY and broker in partition.isr:
                at.found.leaders[partition.partition] = broker
    elif member is not None:
        known = [one for one in at.view.groups[member.group].members.values() if one == name]
        if not (member.instance_id and known):
            at.rebalances(member.group)


def pause(at: ImpactModel, command: c.Pause) -> None:
    """A process freezes: long enough to be missed, or not."""
    name = command.target
    if at.is_down(name) or at.is_paused(name):
        return
    broker, member = number_of(name), at.view.members.get(name)
    if broker:
        at.controller_goes(broker, at_once=True)
        if at.lasts(command.for_us, at.session_us):
            at.falls(broker, at.session_us)
            at.unheard()
        else:
            led = sum(one.leader == broker for one in at.view.partitions.values())
            at.found.notes.append(f"shorter than broker.session.timeout.ms: the {led} partitions it leads stand still")
    elif member is not None:
        silent(at, member, command.for_us)
    else:
        zombie(at, at.view.producers[name], command.for_us)


def sends_nothing(at: ImpactModel, producer: ProducerView) -> None:
    """What a producer would have written is missing."""
    if producer.topics:
        rate = f"{producer.rate_per_second:g} records a second"
        at.found.notes.append(f"{producer.producer} sends nothing to {', '.join(producer.topics)} ({rate} till now)")


def zombie(at: ImpactModel, producer: ProducerView, for_us: int | None) -> None:
    """A producer that sleeps over its transaction's timeout."""
    sends_nothing(at, producer)
    at.left_open(producer)
    for name in at.found.open_transactions:
        timeout_us = at.view.transactions[name].timeout_ms * MS
        if at.lasts(for_us, timeout_us):
            at.found.notes.append(f"longer than {name}'s timeout: it is aborted, and the producer fenced when it wakes")


def silent(at: ImpactModel, member: MemberView, for_us: int | None) -> None:
    """Nothing is heard of a member any more."""
    session_us = at.session_us_of(member)
    if at.lasts(for_us, session_us):
        at.leaves(member, session_us, "session expired")
    else:
        at.found.notes.append(f"shorter than its session ({member.session_timeout_ms} ms): it stays in its group")


def pause_heartbeats(at: ImpactModel, command: c.PauseHeartbeats) -> None:
    """The heartbeat thread alone is silent."""
    if at.is_down(command.member):
        return
    member = at.view.members[command.member]
    silent(at, member, command.for_us)
    if member.member in at.found.members:
        at.found.notes.append("unless it commits within its session: a commit renews it, too")


def stall(at: ImpactModel, command: c.Stall) -> None:
    """poll() is not called: after max.poll.interval.ms the client gives up its membership (a static one: silently)."""
    if at.is_down(command.member):
        return
    member = at.view.members[command.member]
    limit_us = member.max_poll_interval_ms * MS
    if not at.lasts(command.for_us, limit_us):
        at.found.notes.append(f"shorter than max.poll.interval.ms ({member.max_poll_interval_ms}): it stays")
    elif member.instance_id:
        at.leaves(member, limit_us + member.session_timeout_ms * MS, "session expired")
    else:
        at.leaves(member, limit_us, "poll interval exceeded")


def slow_member(at: ImpactModel, command: c.SlowMember) -> None:
    """Records take their time."""
    if at.is_down(command.member):
        return
    member = at.view.members[command.member]
    per_second = 1_000_000 / command.to_us if command.to_us else float("inf")
    at.found.notes.append(f"at most {per_second:,.4g} records a second from {len(member.owned)} partitions")


def resume(at: ImpactModel, command: c.Resume) -> None:
    """A frozen process goes on."""
    if at.is_down(command.target):
        return
    word = "pause", "stall", "pause heartbeats"
    texts = [fault.text for fault in at.view.faults.values()]
    if not any(text.startswith(word) and command.target in text.split() for text in texts):
        at.refuse(f"{command.target} is not paused")


def scale(at: ImpactModel, command: c.Scale) -> None:
    """The highest numbers stop cleanly, new numbers start."""
    members = [one for one in at.view.members.values() if one.group == command.group]
    number = {one.member: int(one.member.rpartition("-")[2]) for one in members}
    for member in members:
        if number[member.member] > command.to and member.alive:
            closes(at, member.member, None)
    running = sum(one.alive and number[one.member] <= command.to for one in members)
    if command.to > running:
        at.found.notes.append(f"{command.to - running} more of {command.group} start")
        at.found.rebalances = (command.group,)


def rolling_restart(at: ImpactModel, command: c.RollingRestart) -> None:
    """Each leaves and comes back: two rebalances of its own, none for a static one that is back in time."""
    members = [one for one in at.view.members.values() if one.group == command.group and one.alive]
    if not members:
        at.refuse(f"no member of {command.group} is running")
        return
    static = sum(bool(one.instance_id) and command.down_us < one.session_timeout_ms * MS for one in members)
    at.found.notes.append(f"{len(members)} members, one by one; up to {2 * (len(members) - static)} rebalances")
    if static < len(members):
        at.rebalances(command.group)


def subscribe(at: ImpactModel, command: c.Subscribe) -> None:
    """Another subscription makes a member join again."""
    member = at.view.members.get(command.member)
    if member is None:
        at.refuse(f"{command.member} was never started: scale its group first")
        return
    if sorted(member.topics) == sorted(command.topics):
        at.refuse(f"{command.member} subscribes to exactly these already")
    elif member.alive:
        at.rebalances(member.group)
        lost = [name for name in member.owned if at.view.partitions[name].topic not in command.topics]
        if lost:
            at.found.notes.append(f"{command.member} gives up {len(lost)} of its partitions")


def abandon(at: ImpactModel, command: c.AbandonTransaction) -> None:
    """A transaction stays open until its timeout; who reads committed data waits at it."""
    if at.is_down(command.producer):
        return
    producer = at.view.producers.get(command.producer)
    at.left_open(producer)
    held = dict.fromkeys(name for one in at.found.open_transactions for name in at.view.transactions[one].partitions)
    if held:
        at.found.notes.append(f"the last stable offset of {', '.join(held)} stands until its timeout")

"""Predictors of commands to processes: kill, crash, stop, start, restart, pause, stall, slow."""

from cluster.commands import CommandError
from cluster.commands import catalogue as c
from cluster.commands.pod_limits import deployment_limits, statefulset_limit
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.state import MemberView, ProducerView
from console.presenters.impacts.model import MS, NO_BROKER, ImpactModel, Predictors, accepts, number_of, predictor

PAUSING = {"pause", "stall", "pause_heartbeats"}
"""Kinds of faults that `resume` ends."""


def process_dies(model: ImpactModel, name: str, for_us: int | None, *, crash: bool = False) -> None:
    """A process ends without LeaveGroup, controlled shutdown or last send."""
    if model.refused_as_down(name):
        return
    broker, member = number_of(name), model.view.members.get(name)
    if broker:
        model.controller_lost(broker, at_once=True)
        # The controller fences a broker that returns earlier, too: its former session has to end first.
        model.broker_fenced(broker, model.session_us)
        alone = sum(partition.isr == (broker,) for partition in model.view.partitions.values())
        if crash:
            model.silent_failure()
            model.note("the broker loses the records that its disk had not flushed")
            if alone:
                model.note(f"{alone} partitions have no other in-sync replica: records lost there are lost for good")
        return
    if member is not None:
        session_us = model.session_left_us(member)
        static_is_back = bool(member.instance_id) and not model.lasts(for_us, session_us)
        if static_is_back:
            model.note("the static member returns within its session: no rebalance")
        else:
            model.member_removed(member, session_us, RebalanceCause.SESSION_EXPIRED)
        model.open_transactions_of(model.view.producers.get(name))
        return
    producer = model.view.producers[name]
    producer_stops(model, producer)
    model.open_transactions_of(producer)
    if producer.buffered_bytes:
        model.note(f"{name} loses {producer.buffered_bytes:,} bytes that it has not sent")


def kill(model: ImpactModel, command: c.Kill) -> None:
    """SIGKILL ends a process."""
    process_dies(model, command.target, command.for_us)


def crash(model: ImpactModel, command: c.Crash) -> None:
    """The host of a broker ends, with the records that were not flushed."""
    process_dies(model, command.broker, command.for_us, crash=True)


def fill_disk(model: ImpactModel, command: c.FillDisk) -> None:
    """The broker halts at its next append."""
    if model.is_up(command.broker):
        process_dies(model, command.broker, command.for_us)
    model.note("the broker halts at the first append for which its disk has no room")


def stop(model: ImpactModel, command: c.Stop) -> None:
    """A clean stop: a broker's leaders move first, a dynamic member sends LeaveGroup, a producer sends its batches."""
    if not model.refused_as_down(command.target):
        process_closes(model, command.target, command.for_us)


def restart(model: ImpactModel, command: c.Restart) -> None:
    """A clean stop and a start; only a start for a process that is down."""
    if not model.is_up(command.target):
        model.note(f"{command.target} is down: the command only starts it")
        process_starts(model, command.target)
        return
    process_closes(model, command.target, command.for_us or 0)
    process_starts(model, command.target)


def process_closes(model: ImpactModel, name: str, for_us: int | None) -> None:
    """A process stops cleanly."""
    broker, member = number_of(name), model.view.members.get(name)
    if broker:
        model.controller_lost(broker, at_once=True)
        model.broker_fenced(broker, 0)
    elif member is not None and not member.instance_id:
        model.member_removed(member, 0, RebalanceCause.MEMBER_LEFT)
    elif member is not None and model.lasts(for_us, model.session_left_us(member)):
        model.member_removed(member, model.session_left_us(member), RebalanceCause.SESSION_EXPIRED)
    elif member is not None:
        model.note("the static member returns within its session: no rebalance")
    elif name in model.view.producers:
        producer_stops(model, model.view.producers[name])


def start(model: ImpactModel, command: c.Start) -> None:
    """A process that is down starts."""
    broker = model.view.brokers.get(number_of(command.target))
    if broker is not None and broker.stopping:
        model.refuse(f"{command.target} has not stopped yet: restart it instead")
    elif model.is_up(command.target):
        model.refuse(f"{command.target} is running already")
    else:
        process_starts(model, command.target)


def process_starts(model: ImpactModel, name: str) -> None:
    """A process starts: a broker leads partitions without a leader, a member triggers a rebalance."""
    broker, member = number_of(name), model.view.members.get(name)
    if broker:
        for partition in model.view.partitions.values():
            if partition.leader == NO_BROKER and broker in partition.isr:
                model.impact.leaders[partition.partition] = broker
    elif member is not None:
        known = [one for one in model.view.groups[member.group].members.values() if one == name]
        leaves = name in model.impact.members  # by the same command, a restart
        if not accepts(model.offers_of(member.group, name if leaves else ""), member.next_assignors):
            model.impact.incompatible += (name,)
        elif not (member.instance_id and known):
            model.group_rebalances(member.group)


def pause(model: ImpactModel, command: c.Pause) -> None:
    """A process freezes, for longer than its session or not."""
    name = command.target
    if model.refused_as_down(name) or model.refused_as_paused(name):
        return
    broker, member = number_of(name), model.view.members.get(name)
    if broker:
        model.controller_lost(broker, at_once=True)
        if model.lasts(command.for_us, model.session_us):
            model.broker_fenced(broker, model.session_us)
            model.silent_failure()
        else:
            led = sum(one.leader == broker for one in model.view.partitions.values())
            model.note(f"shorter than broker.session.timeout.ms: the {led} partitions that it leads serve no requests")
    elif member is not None:
        heartbeats_stop(model, member, command.for_us)
    else:
        zombie(model, model.view.producers[name], command.for_us)


def producer_stops(model: ImpactModel, producer: ProducerView) -> None:
    """A producer sends no more records."""
    if producer.topics:
        rate = f"{producer.rate_per_second:g} records a second"
        model.note(f"{producer.producer} sends nothing to {', '.join(producer.topics)} ({rate} so far)")


def zombie(model: ImpactModel, producer: ProducerView, for_us: int | None) -> None:
    """A frozen producer whose transaction may time out."""
    producer_stops(model, producer)
    model.open_transactions_of(producer)
    for name in model.impact.open_transactions:
        timeout_us = model.view.transactions[name].timeout_ms * MS
        if model.lasts(for_us, timeout_us):
            model.note(f"longer than {name}'s timeout: the coordinator aborts the transaction and fences the producer")


def heartbeats_stop(model: ImpactModel, member: MemberView, for_us: int | None) -> None:
    """A member sends no more heartbeats."""
    session_us = model.session_left_us(member)
    if model.lasts(for_us, session_us):
        model.member_removed(member, session_us, RebalanceCause.SESSION_EXPIRED)
    else:
        model.note(f"shorter than its session ({member.session_timeout_ms} ms): {member.member} stays in its group")


def pause_heartbeats(model: ImpactModel, command: c.PauseHeartbeats) -> None:
    """The heartbeat thread stops; the poll loop continues."""
    if model.refused_as_down(command.member):
        return
    member = model.view.members[command.member]
    heartbeats_stop(model, member, command.for_us)
    if member.member in model.impact.members:
        model.note("a commit within the session keeps the member: it renews the session, too")


def pause_partitions(model: ImpactModel, command: c.PausePartitions) -> None:
    """poll() returns no records of some partitions; the member stays in its group."""
    named = _assigned(model, command.member, command.partitions)
    if not named:
        return
    member = model.view.members[command.member]
    model.note(f"poll() returns no records of {len(named)} of {len(member.owned)} partitions of {member.member}")
    model.note(
        "polls, heartbeats and commits continue: no rebalance; a rebalance that revokes a partition ends its pause"
    )


def resume_partitions(model: ImpactModel, command: c.ResumePartitions) -> None:
    """poll() returns records of paused partitions again, from where it stopped."""
    named = _assigned(model, command.member, command.partitions)
    if not named:
        return
    view = model.view
    member = view.members[command.member]
    paused = [name for name in named if name in member.paused_partitions]
    if not paused:
        which = "none of these partitions" if command.partitions else "no partition"
        model.refuse(f"{member.member} has paused {which}")
        return
    behind = sum(view.partitions[name].high_watermark - member.positions.get(name, 0) for name in paused)
    model.note(f"{member.member} resumes {len(paused)} partitions, {behind:,} offsets behind")


def _assigned(model: ImpactModel, name: str, partitions: tuple[str, ...]) -> tuple[str, ...]:
    """These partitions of a member, or all; refuse the command where the consumer throws."""
    if model.refused_as_down(name):
        return ()
    owned = model.view.members[name].owned
    foreign = next((one for one in partitions if one not in owned), None)
    if foreign is not None:
        model.refuse(f"IllegalStateException: No current assignment for partition {foreign}")
    elif not owned:
        model.refuse(f"{name} has no partition to pause")
    else:
        return partitions or tuple(owned)
    return ()


def stall(model: ImpactModel, command: c.Stall) -> None:
    """The application does not call poll(): after max.poll.interval.ms the client leaves its group.

    A static member sends no LeaveGroup; its session expires.
    """
    if model.refused_as_down(command.member):
        return
    member = model.view.members[command.member]
    limit_us = member.max_poll_interval_ms * MS
    if not model.lasts(command.for_us, limit_us):
        model.note(f"shorter than max.poll.interval.ms ({member.max_poll_interval_ms}): {member.member} stays")
    elif member.instance_id:
        model.member_removed(member, limit_us + member.session_timeout_ms * MS, RebalanceCause.SESSION_EXPIRED)
    else:
        model.member_removed(member, limit_us, RebalanceCause.POLL_INTERVAL_EXCEEDED)


def slow_member(model: ImpactModel, command: c.SlowMember) -> None:
    """The application takes longer for each record."""
    if model.refused_as_down(command.member):
        return
    member = model.view.members[command.member]
    per_second = 1_000_000 / command.to_us if command.to_us else float("inf")
    model.note(f"at most {per_second:,.4g} records a second from {len(member.owned)} partitions")


def resume(model: ImpactModel, command: c.Resume) -> None:
    """A frozen process continues."""
    if model.refused_as_down(command.target):
        return
    faults = model.view.faults.values()
    if not any(fault.kind in PAUSING and command.target in fault.targets for fault in faults):
        model.refuse(f"{command.target} is not paused")


def scale(model: ImpactModel, command: c.Scale) -> None:
    """The members with the highest numbers stop cleanly, or members with new numbers start."""
    members = [one for one in model.view.members.values() if one.group == command.group]
    number = {one.member: int(one.member.rpartition("-")[2]) for one in members}
    first = model.view.groups[command.group].first_number
    wanted = range(first, first + command.to)
    if command.group in model.view.rollouts:
        model.note(f"the rollout of {command.group} that is under way takes the new number of members")
    for member in members:
        if number[member.member] not in wanted and member.alive:
            process_closes(model, member.member, None)
    running = sum(one.alive and number[one.member] in wanted for one in members)
    if command.to > running:
        model.note(f"{command.to - running} more members of {command.group} start")
        offers = model.offers_of(command.group)
        back = [one for one in members if number[one.member] <= command.to and not one.alive]
        model.impact.incompatible = tuple(one.member for one in back if not accepts(offers, one.next_assignors))
        model.impact.rebalances = (command.group,)


def rolling_restart(model: ImpactModel, command: c.RollingRestart) -> None:
    """Each member leaves and returns: two rebalances, or none for a static member that returns within its session."""
    members = [one for one in model.view.members.values() if one.group == command.group and one.alive]
    if not members:
        model.refuse(f"no member of {command.group} is running")
        return
    static = sum(bool(one.instance_id) and command.down_us < one.session_timeout_ms * MS for one in members)
    model.note(f"{len(members)} members, one by one; up to {2 * (len(members) - static)} rebalances")
    model.impact.incompatible = model.refused_in_turn(members)
    if static < len(members):
        model.group_rebalances(command.group)


def rollout(model: ImpactModel, command: c.Rollout) -> None:
    """New pods join, and old ones leave; a StatefulSet's static members keep their places within their sessions."""
    members = [one for one in model.view.members.values() if one.group == command.group and one.alive]
    if not members:
        model.refuse(f"no member of {command.group} is running")
        return
    try:
        if command.workload == "deployment":
            surge, unavailable = deployment_limits(command.max_surge, command.max_unavailable, len(members))
        else:
            surge, unavailable = 0, statefulset_limit(command.max_unavailable, len(members))
    except CommandError as error:
        model.refuse(error.message)
        return
    model.note(f"{len(members)} members; at most {unavailable} more are not ready and {surge} more run at a time")
    static = all(one.instance_id for one in members)
    if command.workload == "statefulset" and static:
        model.note("static members that are back within session.timeout.ms cause no rebalance")
        return
    if static:
        model.note("new pods have new instance ids: the old ones hold their partitions until their sessions expire")
    model.group_rebalances(command.group)


def rolling_restart_brokers(model: ImpactModel, command: c.RollingRestartBrokers) -> None:
    """Each broker's leaderships move before it stops; coordinators move with them."""
    running = [one.broker for one in model.view.brokers.values() if one.alive and not one.stopping]
    if "brokers" in model.view.rollouts:
        model.refuse("a rolling restart of the brokers is under way")
    elif not running:
        model.refuse("no broker is running")
    else:
        last = f", broker-{model.view.controller} last" if model.view.controller in running else ""
        model.note(f"{len(running)} brokers, one by one{last}; leaderships move before each stops")
        if not command.wait_for_isr:
            model.note("the next one does not wait for replicas to be in sync again: add `wait for isr`")


def end_rollout(model: ImpactModel, command: c.EndRollout) -> None:
    """What is replaced stays replaced, and no further process is."""
    if command.of in model.view.rollouts:
        model.note(f"no further process of {command.of} is replaced")
    elif command.of == "brokers":
        model.refuse("no rolling restart of the brokers is under way")
    else:
        model.refuse(f"no rollout of {command.of} is under way")


def subscribe(model: ImpactModel, command: c.Subscribe) -> None:
    """A member with another subscription joins again."""
    member = model.view.members.get(command.member)
    if member is None:
        model.refuse(f"{command.member} was never started: scale its group first")
        return
    if sorted(member.topics) == sorted(command.topics):
        model.refuse(f"{command.member} already subscribes to exactly these topics")
    elif member.alive:
        model.group_rebalances(member.group)
        lost = [name for name in member.owned if model.view.partitions[name].topic not in command.topics]
        if lost:
            model.note(f"{command.member} revokes {len(lost)} of its partitions")


def unsubscribe(model: ImpactModel, command: c.Unsubscribe) -> None:
    """A dynamic member of a classic group, and any member of the new protocol, leaves; its partitions move."""
    member = model.view.members.get(command.member)
    if member is None or not member.alive:
        model.refuse(f"{command.member} is not running")
    elif not member.topics:
        model.refuse(f"{command.member} subscribes to no topic")
    else:
        model.group_rebalances(member.group)
        model.note(f"{command.member} revokes its partitions and leaves until `subscribe` or a restart")


def abandon(model: ImpactModel, command: c.AbandonTransaction) -> None:
    """A transaction stays open until its timeout; readers of committed data wait at its first offset."""
    if model.refused_as_down(command.producer):
        return
    producer = model.view.producers.get(command.producer)
    model.open_transactions_of(producer)
    held = dict.fromkeys(
        name for one in model.impact.open_transactions for name in model.view.transactions[one].partitions
    )
    if held:
        model.note(f"the last stable offset of {', '.join(held)} stays until its timeout")


PREDICTORS: Predictors = dict((
    predictor(c.Kill, kill),
    predictor(c.Crash, crash),
    predictor(c.Stop, stop),
    predictor(c.Start, start),
    predictor(c.Restart, restart),
    predictor(c.Pause, pause),
    predictor(c.Resume, resume),
    predictor(c.PauseHeartbeats, pause_heartbeats),
    predictor(c.PausePartitions, pause_partitions),
    predictor(c.ResumePartitions, resume_partitions),
    predictor(c.Stall, stall),
    predictor(c.SlowMember, slow_member),
    predictor(c.Scale, scale),
    predictor(c.RollingRestart, rolling_restart),
    predictor(c.Rollout, rollout),
    predictor(c.RollingRestartBrokers, rolling_restart_brokers),
    predictor(c.EndRollout, end_rollout),
    predictor(c.Subscribe, subscribe),
    predictor(c.Unsubscribe, unsubscribe),
    predictor(c.AbandonTransaction, abandon),
    predictor(c.FillDisk, fill_disk),
))  # fmt: skip

"""What is known of a member: its state, its last poll(), commit and heartbeat, its group, identity and settings."""

from collections import Counter
from functools import cache

from cluster.config import Scope, defaults
from cluster.view.lives.lives import MemberLife
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from console.presenters import states
from console.presenters.active_faults import fault_words
from console.presenters.awaited_members import members_of, poll_age_us
from console.presenters.coordinator_status import UP, coordinator_status
from console.presenters.formatting import count, countdown, duration, many, memory, setting
from console.presenters.processes.facts import LabelledFact, ago, for_so_long
from console.presenters.styled_text import ERROR, FAINT, MOVING, MUTED, PLAIN, STRONG, WARN, Line, PlaceLink, line

NONE = "NONE"


def member_facts(view: ClusterView, member: MemberView, now_us: int) -> list[LabelledFact]:
    """The facts of a member, the most urgent first."""
    group = view.groups[member.group]
    life = view.lives.members.get(member.member, MemberLife())
    faults = fault_words(view, [member.member, member.group], now_us)
    return [
        LabelledFact("state", _state(member, life, now_us)),
        *([LabelledFact("faults", faults)] if faults else []),
        LabelledFact("poll()", _poll(member, life, now_us)),
        LabelledFact("buffer", _buffer(member, now_us)),
        LabelledFact("commit", _commit(life, now_us)),
        LabelledFact("heartbeat", _heartbeat(member, now_us)),
        LabelledFact("group", _group(group, member, now_us), PlaceLink("group", group.group)),
        LabelledFact("coordinator", _coordinator(view, group, member), _coordinator_link(view, group)),
        LabelledFact("identity", _identity(member)),
        LabelledFact("assignors", _assignors(group, member)),
        LabelledFact("settings", _settings(view, group, member)),
        LabelledFact("process", _process(member, life, now_us)),
    ]


def protocol_of(group: GroupView, member: MemberView) -> str:
    """`consumer` or `classic`: what the member's process speaks; that of its group while no process runs."""
    if member.state.isupper():
        return "consumer"
    return "consumer" if group.consumer is not None and member.state in {"Left", "Dead"} else "classic"


def _state(member: MemberView, life: MemberLife, now_us: int) -> list[Line]:
    if not member.activity:
        return [line(("○ not started yet", MUTED))]
    state = states.member(member.state)
    parts = [line((f"{state.glyph} {member.state}{for_so_long(life.since_us, now_us)}", state.tone))]
    if member.alive and member.reason:
        parts.append(line((member.reason, MUTED)))
    if member.paused:
        parts.append(line(("its process is frozen", WARN)))
    if now_us < member.starting_until_us:
        parts.append(line((f"starts up, first poll() in {countdown(member.starting_until_us - now_us)}", MUTED)))
    if member.stalled_until_us is not None:
        left_us = member.stalled_until_us - now_us
        ends = f", for {countdown(left_us)} more" if member.stalled_until_us != NEVER else ""
        parts.append(line((f"its application calls no poll(){ends}", WARN)))
    if member.heartbeats_paused:
        parts.append(line(("its heartbeat thread is paused", WARN)))
    return parts


def _poll(member: MemberView, life: MemberLife, now_us: int) -> list[Line]:
    if not member.alive:
        return [line(("no process", FAINT))]
    age_us = poll_age_us(member, now_us)
    late = 4 * age_us > 1_000 * member.max_poll_interval_ms
    here = line((f"not in poll() for {duration(age_us)}", WARN if late else PLAIN)) if age_us else line("in poll()")
    if life.polled == NEVER:
        return [here, line(("none has returned yet", MUTED))]
    noun = "record" if life.polled == 1 else "records"
    parts = [here, line(f"the last one returned {life.polled} {noun}"), line(f"{life.finished} finished since")]
    if life.finished_to != NEVER:
        parts.append(line((f"{life.finished_in} finished up to {life.finished_to}", MUTED)))
    return parts


def _buffer(member: MemberView, now_us: int) -> list[Line]:
    """What was fetched and not returned by poll() yet: at most so many records where offsets have none."""
    held = member.buffered
    if not held:
        return [line(("empty" if member.alive else "no process", FAINT))]
    left = {name: one.next_offset - member.positions[name] for name, one in held.items()}
    most = sum(min(one.records, left[name]) for name, one in held.items())
    exact = all(one.records == one.next_offset - one.position for one in held.values())
    oldest_us = min(one.at_us for one in held.values())
    parts = [
        line(f"{'' if exact else 'at most '}{count(most)} record{'s' * (most != 1)} of {many(len(held), 'partition')}"),
        line((f"{memory(sum(one.bytes for one in held.values()))} as fetched", MUTED)),
        line((f"the oldest fetched {ago(oldest_us, now_us)}", MUTED)),
    ]
    paused = sum(name in member.paused_partitions for name in held)
    return [*parts, line((f"{paused} of them paused", WARN))] if paused else parts


def _commit(life: MemberLife, now_us: int) -> list[Line]:
    last = life.commit
    if last is None:
        return [line(("none of its own yet", MUTED))]
    stored = last.error == NONE
    noun = "partition" if last.partitions == 1 else "partitions"
    outcome = line(("stored", PLAIN)) if stored else line((f"failed: {last.error}", WARN))
    return [line(ago(last.at_us, now_us)), outcome, line((f"{last.partitions} {noun}", MUTED))]


def _heartbeat(member: MemberView, now_us: int) -> list[Line]:
    if member.last_heartbeat_us == NEVER:
        return [line(("none answered yet", MUTED))]
    error = member.last_heartbeat_error
    tone = PLAIN if error == NONE else MOVING if error == "REBALANCE_IN_PROGRESS" else WARN
    return [line(f"answered {ago(member.last_heartbeat_us, now_us)}"), line((error, tone))]


def _group(group: GroupView, member: MemberView, now_us: int) -> list[Line]:
    state = states.group(group.state, consumer=group.consumer is not None)
    number = f"generation {group.generation}" if group.consumer is None else f"group epoch {group.consumer.group_epoch}"
    parts = [line((group.group, STRONG)), line((f"{state.glyph} {group.state}", state.tone)), line(number)]
    if member.member_id and member.member_id in group.members:
        mine = group.consumer is None and group.leader == member.member
        return [*parts, line(("its leader", PLAIN))] if mine else parts
    if member.member in group.members.values():
        return [*parts, line(("a member by the id of its former process only", WARN))]
    if member.removed_us != NEVER:
        removed = f"removed {ago(member.removed_us, now_us)}: {member.removed_for}"
        return [*parts, line(("not a member", MUTED)), line((removed, WARN))]
    return [*parts, line(("not a member", MUTED))]


def _coordinator(view: ClusterView, group: GroupView, member: MemberView) -> list[Line]:
    broker, state = coordinator_status(view, group)
    name = f"broker-{broker}" if broker >= 0 else ""
    tone = PLAIN if state == UP else ERROR
    parts = [line((f"{name} is {state}" if name else "no leader", tone)), line((group.coordinator_partition, MUTED))]
    if member.alive and member.coordinator == NEVER:
        parts.append(line(("the member looks it up", MOVING)))
    elif member.alive and member.coordinator != broker:
        parts.append(line((f"the member talks to broker-{member.coordinator}", WARN)))
    return parts


def _coordinator_link(view: ClusterView, group: GroupView) -> PlaceLink | None:
    broker = coordinator_status(view, group).broker
    return PlaceLink("broker", f"broker-{broker}") if broker >= 0 else None


def _identity(member: MemberView) -> list[Line]:
    static = (
        line(f"static: group.instance.id {member.instance_id}")
        if member.instance_id
        else line(("dynamic: no group.instance.id", MUTED))
    )
    return [line(f"member id {member.member_id}") if member.member_id else line(("no member id", MUTED)), static]


def _assignors(group: GroupView, member: MemberView) -> list[Line]:
    if protocol_of(group, member) == "consumer":
        return [line("consumer protocol: the coordinator assigns"), line((group.assignor or "none yet", MUTED))]
    parts = [line(f"classic protocol, offers {', '.join(member.assignors)}")]
    if group.assignor and group.consumer is None:
        parts.append(line((f"elected: {group.assignor}", MUTED)))
    if member.next_assignors != member.assignors:
        parts.append(line((f"from its next start on {', '.join(member.next_assignors)}", MOVING)))
    return parts


TIMEOUTS = ("session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms")


@cache
def _default_ms(scope: Scope, key: str) -> int:
    value = defaults(scope)[key]
    assert isinstance(value, int)
    return value


def _settings(view: ClusterView, group: GroupView, member: MemberView) -> list[Line]:
    """Timeouts that differ from Kafka's defaults or from those of all other members."""
    consumer = protocol_of(group, member) == "consumer"
    of: Scope = "broker" if consumer else "consumer"
    prefix = "group.consumer." if consumer else ""
    peers = [one for one in members_of(view, group.group) if one.member != member.member]
    parts: list[Line] = []
    for field in TIMEOUTS:
        key = field.replace("_", ".")
        scope: Scope = "consumer" if field == "max_poll_interval_ms" else of
        key = key if field == "max_poll_interval_ms" else prefix + key
        value, usual = getattr(member, field), _default_ms(scope, key)
        others = Counter(getattr(one, field) for one in peers)
        notes = [f"default {setting(usual)}"] if value != usual else []
        alone = bool(others) and value not in others
        if alone:
            most = others.most_common(1)[0][0]
            notes.append(f"peers {setting(most)}")
        if notes:
            parts.append(line((key, MUTED), f" {setting(value)}", (f" ({', '.join(notes)})", WARN if alone else MUTED)))
    return parts or [line(("its timeouts are Kafka's defaults", MUTED))]


def _process(member: MemberView, life: MemberLife, now_us: int) -> list[Line]:
    runs = "is running" if member.alive else "is not running"
    began = f", started {ago(life.started_us, now_us)}" if life.started_us != NEVER else ""
    parts = [line(f"{runs}{began}"), line(f"{count(member.processed)} records finished")]
    if member.crashes:
        noun = "crash" if member.crashes == 1 else "crashes"
        parts.append(line((f"{member.crashes} {noun}, last: {member.last_crash}", WARN)))
    if member.fenced:
        parts.append(line((f"fenced {member.fenced}×", WARN)))
    return parts

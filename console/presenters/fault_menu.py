"""What can be done to a thing: the same text as commands and scenario steps, each with its reason when it cannot be."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.commands import CommandError, Names, parse
from cluster.config import format_duration
from cluster.view.state import ClusterView, GroupView, MemberView
from console.presenters.awaited_members import members_of
from console.presenters.formatting import setting
from console.presenters.overview import broker_state
from console.presenters.rebalance_phase import coordinator_of
from console.presenters.transactions import held_back, transaction_of

PAUSE_MS = 60_000
"""For so long a menu's pauses hold, and by so much its stalls are longer than what they are to exceed."""


class Target(NamedTuple):
    """What is selected: its kind (`group`, `member`, `broker`, `producer`, `topic`) and its name."""

    kind: str
    name: str


class MenuEntry(NamedTuple):
    """An entry of the fault menu: the command's text, what it does, and why it is impossible (empty: it is not)."""

    text: str
    effect: str
    reason: str = ""


def fault_menu_entries(view: ClusterView, names: Names, thing: Target) -> list[MenuEntry]:
    """The menu of a thing, in a fixed order; impossible entries stay, with their reason."""
    entries = {
        "group": _group,
        "member": _member,
        "broker": _broker,
        "producer": _producer,
        "topic": _topic,
    }[thing.kind](view, thing.name)
    return [fault if fault.reason else fault._replace(reason=_refused(fault.text, names)) for fault in entries]


def _refused(text: str, names: Names) -> str:
    try:
        parse(text, names)
    except CommandError as error:
        return error.message
    return ""


def _member(view: ClusterView, name: str) -> list[MenuEntry]:
    member = view.members[name]
    dead = "" if member.alive else "its process does not run"
    alive = "it runs already" if member.alive else ""
    broker = member.coordinator if member.coordinator >= 0 else min(view.brokers, default=1)
    session = setting(member.session_timeout_ms)
    static = bool(member.instance_id)
    outlasts = "ends after" if member.session_timeout_ms < PAUSE_MS else "lasts longer:"
    return [
        MenuEntry(f"kill {name}", f"kill -9: it says nothing, the group notices in {session}", dead),
        MenuEntry(
            f"stop {name}",
            f"close(): commits, {'tells nobody: it is static' if static else 'leaves the group and says so'}",
            dead,
        ),
        MenuEntry(
            f"start {name}", f"begin again, {'in its place if that is kept' if static else 'as a new member'}", alive
        ),
        MenuEntry(f"restart {name}", "stop and start; starts a dead one"),
        MenuEntry(f"stall {name} for 1m", "poll() is not called; heartbeats go on", dead),
        _stall_beyond_poll_interval(member, dead),
        MenuEntry(f"pause heartbeats of {name} for 1m", f"poll() goes on; the session {outlasts} {session}", dead),
        MenuEntry(f"slow {name} to 50ms for 1m", "each record takes 50 ms", dead),
        MenuEntry(
            f"pause {name}", "the whole process freezes: a long GC, a suspended machine", dead or _when(member.paused)
        ),
        MenuEntry(f"resume {name}", "let it go on", dead or _when(not member.paused, "it is not frozen")),
        MenuEntry(f"cut {name} broker-{broker}", "no packets between it and its coordinator", dead),
        MenuEntry(
            f"hold {name} broker-{broker} for 20s", "what is sent on that link waits, then arrives in order", dead
        ),
        MenuEntry(f"heal {name} broker-{broker}", "mend that link"),
        MenuEntry(
            f"lose next 1 responses of Heartbeat from broker-{broker} to {name}", "its next heartbeat goes unanswered"
        ),
        MenuEntry(f"subscribe {name} to {','.join(member.topics)}", "edit (e): it wants exactly these topics", dead),
    ]


def _stall_beyond_poll_interval(member: MemberView, dead: str) -> MenuEntry:
    """A stall that is longer than the member's poll interval; a static one sends no LeaveGroup for it."""
    stall = format_duration(1_000 * (member.max_poll_interval_ms + PAUSE_MS))
    limit = f"longer than max.poll.interval.ms ({setting(member.max_poll_interval_ms)})"
    what = "no more heartbeats, its session ends" if member.instance_id else "it leaves by itself"
    return MenuEntry(f"stall {member.member} for {stall}", f"{limit}: {what}", dead)


def _when(holds: bool, reason: str = "it is frozen already") -> str:
    return reason if holds else ""


def _group(view: ClusterView, name: str) -> list[MenuEntry]:
    group = view.groups[name]
    alive = [member.member for member in members_of(view, name) if member.alive]
    number = len(alive)
    empty = "" if number else "the group is Empty: no member runs"
    victim = alive[-1] if alive else f"{name}-1"
    return [
        MenuEntry(f"scale {name} to {number + 1}", "start one more member"),
        MenuEntry(f"scale {name} to {max(0, number - 1)}", "stop the highest number cleanly", empty),
        MenuEntry(f"rolling restart {name} every 30s", "stop and start the members one by one", empty),
        MenuEntry(f"kill {victim}", "kill one member: the others notice when its session ends", empty),
        MenuEntry(f"stall {victim} for 1m", "one member does not call poll()", empty),
        *_coordinator(view, group),
        MenuEntry(f"set {name} max.poll.interval.ms 10000", "edit (e): change a setting of all its members"),
        MenuEntry(f"seek {name} {_first(group.topics, view)} to 0", "edit (e): read on from another offset", empty),
    ]


def _first(topics: Sequence[str], view: ClusterView) -> str:
    """The first partition of some topics."""
    return next((name for topic in topics for name in view.partitions_by_topic.get(topic, ())), "TOPIC-0")


def _coordinator(view: ClusterView, group: GroupView) -> list[MenuEntry]:
    broker = coordinator_of(view, group)
    gone = "" if broker >= 0 else "the group has no coordinator now"
    return [
        MenuEntry(f"kill broker-{max(1, broker)}", "kill the coordinator's broker", gone),
        MenuEntry(f"move coordinator of {group.group}", "move the group to another broker", gone),
    ]


def _broker(view: ClusterView, name: str) -> list[MenuEntry]:
    broker = view.brokers[int(name.removeprefix("broker-"))]
    state = broker_state(broker)
    down = "" if broker.alive else "it is down already"
    others = [f"broker-{other}" for other in sorted(view.brokers) if other != broker.broker]
    peer = others[0] if others else name
    alone = "" if others else "there is no other broker"
    return [
        MenuEntry(f"kill {name}", "kill -9: sockets reset; the controller fences it when its session ends", down),
        MenuEntry(f"crash {name}", "lose the host: what its disk had not flushed is gone", down),
        MenuEntry(
            f"stop {name}",
            "controlled shutdown: leadership moves first",
            down or _when(broker.stopping, "it is stopping already"),
        ),
        MenuEntry(f"start {name}", "come back and catch up", "it runs already" if broker.alive else ""),
        MenuEntry(f"restart {name}", "stop and start; starts a dead one"),
        MenuEntry(f"pause {name}", "freeze it: a long GC", down or _when(state == "frozen")),
        MenuEntry(f"resume {name}", "let it go on", down or _when(state != "frozen", "it is not frozen")),
        MenuEntry(f"cut {name} {peer}", "no packets between these two brokers", alone),
        MenuEntry(f"heal {name} {peer}", "mend that link", alone),
        MenuEntry(f"isolate {name}", "cut it from everything", alone),
        MenuEntry(f"hold {name} {peer} for 20s", "what is sent between these two waits, then arrives in order", alone),
        MenuEntry(f"slow disk of {name} to 50ms", "each append takes 50 ms", down),
        MenuEntry(f"fill disk of {name}", "its log directory goes offline", down),
        MenuEntry(
            "fail over controller", "another broker becomes the controller", alone or _controls(view, broker.broker)
        ),
        MenuEntry("heal", "mend every link"),
    ]


def _controls(view: ClusterView, broker: int) -> str:
    return "" if view.controller == broker else f"broker-{view.controller} is the controller, not this one"


def _producer(view: ClusterView, name: str) -> list[MenuEntry]:
    producer = view.producers[name]
    runs = producer.state in {"Running", "Paused"}
    dead = "" if runs else "it does not run"
    broker = min(view.brokers, default=1)
    transaction = transaction_of(view, producer.producer_id)
    open_now = transaction is not None and transaction.state == "Ongoing"
    again = "initTransactions fences its former self" if transaction else "begin again with a new producer id"
    none = "" if transaction else "it has no transactional.id"
    return [
        MenuEntry(
            f"kill {name}",
            f"kill -9: {'its transaction stays open' if open_now else 'what it had not sent is gone'}",
            dead,
        ),
        MenuEntry(f"stop {name}", "close(): sends what it has, then ends", dead),
        MenuEntry(f"start {name}", again, "it runs already" if runs else ""),
        MenuEntry(f"restart {name}", "stop and start; starts a dead one"),
        MenuEntry(f"pause {name}", "freeze its process", dead or _when(producer.state == "Paused")),
        MenuEntry(f"resume {name}", "let it go on", dead or _when(producer.state != "Paused", "it is not frozen")),
        MenuEntry(
            f"abandon transaction of {name}", "its application never ends it: only its timeout does", dead or none
        ),
        MenuEntry(f"cut {name} broker-{broker}", "no packets between these two", dead),
        MenuEntry(f"heal {name} broker-{broker}", "mend that link"),
    ]


def _topic(view: ClusterView, name: str) -> list[MenuEntry]:
    leaders = sorted({view.partitions[one].leader for one in view.partitions_by_topic.get(name, ())} - {-1})
    first = next(iter(view.partitions_by_topic.get(name, ())), f"{name}-0")
    more = view.topics[name].partitions + 2
    held = next((one.partition for one in held_back(view) if one.partition in view.partitions_by_topic[name]), "")
    stable = "" if held else "every last stable offset is its high watermark"
    return [
        *(MenuEntry(f"kill broker-{broker}", f"it leads partitions of {name}") for broker in leaders),
        MenuEntry(f"add partitions {name} to {more}", "keys go elsewhere from then on"),
        MenuEntry(f"elect preferred {first}", "give leadership back to the first replica"),
        MenuEntry(f"elect unclean {first}", "let a replica lead that is not in sync: records may be lost"),
        MenuEntry(f"abort hanging transaction {held or first}", "end by hand what holds its readers back", stable),
        MenuEntry(f"delete records {first} before {_end(view, first)}", "the log begins there: older records are gone"),
    ]


def _end(view: ClusterView, partition: str) -> int:
    known = view.partitions.get(partition)
    return known.high_watermark if known is not None else 0

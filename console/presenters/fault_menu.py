"""The fault menu of a target: commands as scenarios and the command line write them, refused ones with a reason."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.commands import COMMANDS, CommandError, Names, parse
from cluster.config import format_duration
from cluster.view.state import ClusterView, FaultView, GroupView, MemberView
from console.presenters.awaited_members import members_of
from console.presenters.formatting import setting
from console.presenters.overview import broker_state
from console.presenters.rebalance_phase import coordinator_of
from console.presenters.transactions import held_back, transaction_of

PAUSE_MS = 60_000
"""The length of a menu's pauses, and by how much its stalls exceed max.poll.interval.ms."""


class CommandTarget(NamedTuple):
    """The selected target: its kind (`group`, `member`, `broker`, `producer`, `topic`, `partition`, `link`), its name.

    A link's name is that of a process and that of a broker.
    """

    kind: str
    name: str


class MenuEntry(NamedTuple):
    """An entry of the fault menu: the command's text, its effect, and why it is refused (empty: it is not)."""

    text: str
    effect: str
    reason: str = ""


def fault_menu_entries(view: ClusterView, names: Names, target: CommandTarget) -> list[MenuEntry]:
    """The fault menu of a target in a fixed order; refused entries stay, with their reason."""
    entries = {
        "group": _group,
        "member": _member,
        "broker": _broker,
        "producer": _producer,
        "topic": _topic,
        "partition": _partition,
        "link": _link,
    }[target.kind](view, target.name)
    return [fault if fault.reason else fault._replace(reason=_refused(fault.text, names)) for fault in entries]


def _refused(text: str, names: Names) -> str:
    try:
        parse(text, names)
    except CommandError as error:
        return error.message
    return ""


def _from_catalogue(kind: str, name: str, reason: str) -> list[MenuEntry]:
    """The entries that the commands' rows have for running targets of a kind; `reason`: why all are refused, or ""."""
    rows = [row for form in COMMANDS for row in form.menu if row.target == kind]
    return [MenuEntry(row.text.format(name=name), row.effect, reason) for row in rows]


def _member(view: ClusterView, name: str) -> list[MenuEntry]:
    member = view.members[name]
    dead = "" if member.alive else "the process is not running"
    alive = "already running" if member.alive else ""
    broker = member.coordinator if member.coordinator >= 0 else min(view.brokers, default=1)
    session = setting(member.session_timeout_ms)
    static = bool(member.instance_id)
    outlasts = "ends after" if member.session_timeout_ms < PAUSE_MS else "lasts longer:"
    return [
        MenuEntry(f"kill {name}", f"SIGKILL: no LeaveGroup, the group notices in {session}", dead),
        MenuEntry(
            f"stop {name}",
            f"close(): commits, {'sends no LeaveGroup: static' if static else 'sends LeaveGroup'}",
            dead,
        ),
        MenuEntry(f"start {name}", f"start again, {'in its place if kept' if static else 'as a new member'}", alive),
        MenuEntry(f"restart {name}", "stop and start, or only start"),
        MenuEntry(f"stall {name} for 1m", "no poll() calls; heartbeats continue", dead),
        _stall_beyond_poll_interval(member, dead),
        MenuEntry(f"pause heartbeats of {name} for 1m", f"poll() continues; the session {outlasts} {session}", dead),
        *_from_catalogue("member", name, dead),
        MenuEntry(
            f"pause {name}", "the whole process freezes: a long GC, a suspended machine", dead or _when(member.paused)
        ),
        MenuEntry(
            f"resume {name}", "let the process continue", dead or _when(not member.paused, "the process is not frozen")
        ),
        MenuEntry(f"cut {name} broker-{broker}", "no packets between member and coordinator", dead),
        MenuEntry(f"hold {name} broker-{broker} for 20s", "messages on the link wait, then arrive in order", dead),
        MenuEntry(f"heal {name} broker-{broker}", "restore the link"),
        MenuEntry(f"lose next 1 responses of Heartbeat from broker-{broker} to {name}", "next heartbeat: no response"),
        MenuEntry(f"subscribe {name} to {','.join(member.topics)}", "edit (e): subscribe to these topics", dead),
    ]


def _stall_beyond_poll_interval(member: MemberView, dead: str) -> MenuEntry:
    """A stall longer than max.poll.interval.ms; a static member sends no LeaveGroup after it."""
    stall = format_duration(1_000 * (member.max_poll_interval_ms + PAUSE_MS))
    limit = f"longer than max.poll.interval.ms ({setting(member.max_poll_interval_ms)})"
    what = "heartbeats stop, the session ends" if member.instance_id else "the member leaves"
    return MenuEntry(f"stall {member.member} for {stall}", f"{limit}: {what}", dead)


def _when(holds: bool, reason: str = "the process is already frozen") -> str:
    return reason if holds else ""


def _group(view: ClusterView, name: str) -> list[MenuEntry]:
    group = view.groups[name]
    alive = [member.member for member in members_of(view, name) if member.alive]
    number = len(alive)
    empty = "" if number else "the group is Empty: no member runs"
    victim = alive[-1] if alive else f"{name}-1"
    return [
        MenuEntry(f"scale {name} to {number + 1}", "start one more member"),
        MenuEntry(f"scale {name} to {max(0, number - 1)}", "stop the last member cleanly", empty),
        MenuEntry(f"rolling restart {name} every 30s", "stop and start the members one by one", empty),
        MenuEntry(f"kill {victim}", "kill one member: the group notices when its session ends", empty),
        MenuEntry(f"stall {victim} for 1m", "one member calls no poll()", empty),
        *_coordinator(view, group),
        MenuEntry(f"set {name} max.poll.interval.ms 10000", "edit (e): change a setting of all members"),
        MenuEntry(f"seek {name} {_first(group.topics, view)} to 0", "edit (e): continue from another offset", empty),
        *_from_catalogue("group", name, empty),
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
    down = "" if broker.alive else "the broker is already down"
    others = [f"broker-{other}" for other in sorted(view.brokers) if other != broker.broker]
    peer = others[0] if others else name
    alone = "" if others else "there is no other broker"
    return [
        MenuEntry(f"kill {name}", "SIGKILL: sockets reset; fenced when its session ends", down),
        MenuEntry(f"crash {name}", "lose the host, with the records not flushed to disk", down),
        MenuEntry(
            f"stop {name}",
            "controlled shutdown: leaders move first",
            down or _when(broker.stopping, "the broker is already stopping"),
        ),
        MenuEntry(f"start {name}", "start and catch up", "already running" if broker.alive else ""),
        MenuEntry(f"restart {name}", "stop and start, or only start"),
        MenuEntry(f"pause {name}", "freeze the process: a long GC", down or _when(state == "frozen")),
        MenuEntry(
            f"resume {name}", "let the process continue", down or _when(state != "frozen", "the process is not frozen")
        ),
        MenuEntry(f"cut {name} {peer}", "no packets between the two brokers", alone),
        MenuEntry(f"heal {name} {peer}", "restore the link", alone),
        MenuEntry(f"isolate {name}", "cut all links of the broker", alone),
        MenuEntry(f"hold {name} {peer} for 20s", "messages on the link wait, then arrive in order", alone),
        *_from_catalogue("broker", name, down),
        MenuEntry(
            "fail over controller", "another broker becomes the controller", alone or _controls(view, broker.broker)
        ),
        MenuEntry("heal", "restore every link"),
    ]


def _controls(view: ClusterView, broker: int) -> str:
    return "" if view.controller == broker else f"broker-{view.controller} is the controller, not this one"


def _producer(view: ClusterView, name: str) -> list[MenuEntry]:
    producer = view.producers[name]
    runs = producer.state in {"Running", "Paused"}
    dead = "" if runs else "the producer is not running"
    broker = min(view.brokers, default=1)
    transaction = transaction_of(view, producer.producer_id)
    open_now = transaction is not None and transaction.state == "Ongoing"
    again = "initTransactions fences the old instance" if transaction else "start again with a new producer id"
    none = "" if transaction else "no transactional.id"
    return [
        MenuEntry(
            f"kill {name}",
            f"SIGKILL: {'its transaction stays open' if open_now else 'unsent records are lost'}",
            dead,
        ),
        MenuEntry(f"stop {name}", "close(): sends its batches, ends", dead),
        MenuEntry(f"start {name}", again, "already running" if runs else ""),
        MenuEntry(f"restart {name}", "stop and start, or only start"),
        MenuEntry(f"pause {name}", "the process freezes", dead or _when(producer.state == "Paused")),
        MenuEntry(
            f"resume {name}",
            "let the process continue",
            dead or _when(producer.state != "Paused", "the process is not frozen"),
        ),
        MenuEntry(f"abandon transaction of {name}", "the application never ends it; its timeout does", dead or none),
        MenuEntry(f"cut {name} broker-{broker}", "no packets on the link", dead),
        MenuEntry(f"heal {name} broker-{broker}", "restore the link"),
        *_from_catalogue("producer", name, dead),
    ]


def _topic(view: ClusterView, name: str) -> list[MenuEntry]:
    leaders = sorted({view.partitions[one].leader for one in view.partitions_by_topic.get(name, ())} - {-1})
    first = next(iter(view.partitions_by_topic.get(name, ())), f"{name}-0")
    more = view.topics[name].partitions + 2
    held = next((one.partition for one in held_back(view) if one.partition in view.partitions_by_topic[name]), "")
    stable = "" if held else "no transaction holds readers back"
    return [
        *(MenuEntry(f"kill broker-{broker}", f"leads partitions of {name}") for broker in leaders),
        MenuEntry(f"add partitions {name} to {more}", "keys map to other partitions"),
        MenuEntry(f"elect preferred {first}", "elect the first replica again"),
        MenuEntry(f"elect unclean {first}", "elect a replica out of sync: records may be lost"),
        MenuEntry(f"abort hanging transaction {held or first}", "abort the oldest open transaction", stable),
        MenuEntry(f"delete records {first} before {_end(view, first)}", "deletes all older records"),
        *_from_catalogue("topic", name, ""),
    ]


def _partition(view: ClusterView, name: str) -> list[MenuEntry]:
    one = view.partitions[name]
    held = any(other is one for other in held_back(view))
    led = "" if one.leader >= 0 else "the partition has no leader"
    return [
        MenuEntry(f"kill broker-{max(1, one.leader)}", "kill the leader's broker: the controller elects another", led),
        MenuEntry(f"elect preferred {name}", "elect the first replica again"),
        MenuEntry(f"elect unclean {name}", "elect a replica out of sync: records may be lost"),
        MenuEntry(
            f"abort hanging transaction {name}",
            "abort the oldest open transaction",
            "" if held else "no transaction holds readers back",
        ),
        MenuEntry(f"delete records {name} before {_end(view, name)}", "deletes all older records"),
    ]


def _end(view: ClusterView, partition: str) -> int:
    known = view.partitions.get(partition)
    return known.high_watermark if known is not None else 0


def _link(view: ClusterView, name: str) -> list[MenuEntry]:
    """The faults of the link between a process and a broker, both ways and one way."""
    one, _, broker = name.partition(" ")
    both = {one, broker}
    here = [fault for fault in view.faults.values() if set(fault.targets) == both or _isolates(fault, both)]
    none = "" if here else "no fault is in force on this link"
    healing = healing_of(one, broker, here)
    held = "" if any(fault.kind == "hold" for fault in here) else "nothing is held on this link"
    api = "Produce" if one in view.producers and one not in view.members else "Heartbeat"
    client = "" if one in view.members or one in view.producers else "between brokers no client waits for a response"
    to = one if not client else "CLIENT"
    return [
        MenuEntry(f"cut {one} {broker} for 30s", "no packets, either way"),
        MenuEntry(f"cut {one} -> {broker} for 30s", f"{broker} receives nothing from {one}"),
        MenuEntry(f"cut {broker} -> {one} for 30s", f"{one} receives nothing from {broker}"),
        MenuEntry(f"hold {one} {broker} for 20s", "messages on the link wait, then arrive in order"),
        MenuEntry(f"slow {one} {broker} to 50ms for 1m", "edit (e): each direction takes 50 ms"),
        MenuEntry(f"lose next 1 responses of {api} from {broker} to {to}", f"the next {api}: no response", client),
        MenuEntry(healing, f"end the faults of {'every' if healing == 'heal' else 'this'} link", none),
        MenuEntry(f"release {one} {broker}", "deliver what the link holds", held),
    ]


def healing_of(one: str, other: str, faults: Sequence[FaultView]) -> str:
    """The command that ends faults on a link: `heal` for every link where none is of this link alone."""
    whole = bool(faults) and all(len(fault.targets) < 2 for fault in faults)
    return "heal" if whole else f"heal {one} {other}"


def _isolates(fault: FaultView, names: set[str]) -> bool:
    """Whether a fault cuts one of these processes off from all others."""
    return fault.kind == "isolate" and bool(names & set(fault.targets))

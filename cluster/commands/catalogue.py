"""What an operator or a scenario can do to a running cluster: a frozen struct for each command, and the table of forms.

A row of `COMMANDS` is all that is known of a command besides its handler (`cluster/simulation`) and its impact
(`console/presenters`): its text, its undo, its label, its random faults, its entries in the fault menus. Parsing,
writing, completing, the nemesis, the swarm and the console read the rows. Durations are µs; `for_us` undoes a command
after that time.
"""

from typing import Final, Literal

import msgspec

from cluster.commands.grammar import Form, MenuRow, RandomFault


class Kill(msgspec.Struct, frozen=True, tag="kill"):
    """End a process without a clean shutdown (SIGKILL); with `for_us` it starts again after that."""

    target: str
    for_us: int | None = None


class Crash(msgspec.Struct, frozen=True, tag="crash"):
    """Lose a broker's host: like kill, and records that its disk had not flushed are lost too."""

    broker: str
    for_us: int | None = None


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Stop a process cleanly: close() of a client, controlled shutdown of a broker."""

    target: str
    for_us: int | None = None


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Start a process that is down; with `for_us` it is stopped again after that."""

    target: str
    for_us: int | None = None


class Restart(msgspec.Struct, frozen=True, tag="restart"):
    """Stop and start a live process, start a dead one; with `for_us` it stays down that long in between."""

    target: str
    for_us: int | None = None


class Pause(msgspec.Struct, frozen=True, tag="pause"):
    """Freeze a whole process: poll loop and heartbeat thread, or a broker."""

    target: str
    for_us: int | None = None


class Resume(msgspec.Struct, frozen=True, tag="resume"):
    """Resume a frozen process; with `for_us` it freezes again after that."""

    target: str
    for_us: int | None = None


class PauseHeartbeats(msgspec.Struct, frozen=True, tag="pause_heartbeats"):
    """Freeze only a member's heartbeat thread."""

    member: str
    for_us: int | None = None


class Stall(msgspec.Struct, frozen=True, tag="stall"):
    """A member does not call poll(); its heartbeat thread continues."""

    member: str
    for_us: int | None = None


class SlowMember(msgspec.Struct, frozen=True, tag="slow_member"):
    """A member's processing takes `to_us` for each record."""

    member: str
    to_us: int
    for_us: int | None = None


class Scale(msgspec.Struct, frozen=True, tag="scale"):
    """Give a group this many members: new numbers are started, the highest numbers stopped cleanly.

    With `for_us` the started members are stopped after that, and the stopped members started.
    """

    group: str
    to: int
    for_us: int | None = None


class RollingRestart(msgspec.Struct, frozen=True, tag="rolling_restart"):
    """Stop member i of a group (from 0) i × `every_us` after now, and start it `down_us` later."""

    group: str
    every_us: int
    down_us: int = 0


class RollingRestartBrokers(msgspec.Struct, frozen=True, tag="rolling_restart_brokers"):
    """Restart each running broker, the active controller last; each stays down for `down_us`.

    The next one stops when the last one serves, not within `every_us`, with `wait_for_isr` when replicas are in sync.
    """

    wait_for_isr: bool = False
    every_us: int = 0
    down_us: int = 0


class Rollout(msgspec.Struct, frozen=True, tag="rollout"):
    """Replace a group's members as Kubernetes does; a limit is a number or a percentage, "" is Kubernetes' default."""

    workload: Literal["deployment", "statefulset"]
    group: str
    max_unavailable: str = ""
    max_surge: str = ""


class EndRollout(msgspec.Struct, frozen=True, tag="end_rollout"):
    """Leave the rollout of a group, or the rolling restart of the `brokers`, where it is."""

    of: str


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """Cut the link between two processes, both ways or only from `a` to `b`."""

    a: str
    b: str
    one_way: bool = False
    for_us: int | None = None


class Heal(msgspec.Struct, frozen=True, tag="heal"):
    """End the faults of a link (cut, held or slow) in both directions; without ends, of every link."""

    a: str | None = None
    b: str | None = None


class Hold(msgspec.Struct, frozen=True, tag="hold"):
    """Hold the messages of a link, in order, until it is released."""

    a: str
    b: str
    for_us: int | None = None


class Release(msgspec.Struct, frozen=True, tag="release"):
    """Deliver the messages of a held link, in order."""

    a: str
    b: str


class SlowLink(msgspec.Struct, frozen=True, tag="slow_link"):
    """Set a link's one-way latency."""

    a: str
    b: str
    to_us: int
    for_us: int | None = None


class LoseResponses(msgspec.Struct, frozen=True, tag="lose_responses"):
    """Lose the next `count` responses of an API from a broker, to one client or to any."""

    count: int
    api: str
    broker: str
    client: str | None = None


class AddPartitions(msgspec.Struct, frozen=True, tag="add_partitions"):
    """Give a topic this many partitions, more than it has."""

    topic: str
    to: int


class Subscribe(msgspec.Struct, frozen=True, tag="subscribe"):
    """A member subscribes to exactly these topics; with `for_us`, after that to the topics from before."""

    member: str
    topics: tuple[str, ...]
    for_us: int | None = None


class Set(msgspec.Struct, frozen=True, tag="set"):
    """Change a configuration key or scenario field of a scope (`--set` in flight); `value` is its text."""

    scope: str
    key: str
    value: str
    for_us: int | None = None


class Seek(msgspec.Struct, frozen=True, tag="seek"):
    """The member that owns the partition moves its position to an offset."""

    group: str
    topic: str
    partition: int
    to: int


class AbandonTransaction(msgspec.Struct, frozen=True, tag="abandon_transaction"):
    """A producer neither commits nor aborts its open transaction and begins no other."""

    producer: str


class AbortHangingTransaction(msgspec.Struct, frozen=True, tag="abort_hanging_transaction"):
    """Abort the transaction that holds back a partition's last stable offset, as `kafka-transactions.sh abort` does."""

    topic: str
    partition: int


class Elect(msgspec.Struct, frozen=True, tag="elect"):
    """Elect a partition's preferred leader, or an unclean one."""

    kind: Literal["preferred", "unclean"]
    topic: str
    partition: int


class Isolate(msgspec.Struct, frozen=True, tag="isolate"):
    """Cut a broker from every other process."""

    broker: str
    for_us: int | None = None


class FailOverController(msgspec.Struct, frozen=True, tag="fail_over_controller"):
    """Make another live broker the active controller."""


class MoveCoordinator(msgspec.Struct, frozen=True, tag="move_coordinator"):
    """Move the leadership of a group's `__consumer_offsets` partition to another in-sync replica."""

    group: str


class SlowDisk(msgspec.Struct, frozen=True, tag="slow_disk"):
    """Each append on a broker takes `to_us`."""

    broker: str
    to_us: int
    for_us: int | None = None


class FillDisk(msgspec.Struct, frozen=True, tag="fill_disk"):
    """A broker's disk is full: its log directory goes offline."""

    broker: str
    for_us: int | None = None


class DeleteRecords(msgspec.Struct, frozen=True, tag="delete_records"):
    """Move a partition's log start offset up to `before`."""

    topic: str
    partition: int
    before: int


class Nemesis(msgspec.Struct, frozen=True, tag="nemesis"):
    """Start or stop the nemesis, which starts random faults."""

    on: bool
    seed: int | None = None
    for_us: int | None = None


class Mark(msgspec.Struct, frozen=True, tag="mark"):
    """Write a remark into the recording; the cluster does not change."""

    text: str


Command = (
    Kill | Crash | Stop | Start | Restart | Pause | Resume | PauseHeartbeats | Stall | SlowMember | Scale
    | RollingRestart | RollingRestartBrokers | Rollout
    | EndRollout | Cut | Heal | Hold | Release | SlowLink | LoseResponses | AddPartitions | Subscribe | Set | Seek
    | AbandonTransaction | AbortHangingTransaction | Elect | Isolate | FailOverController | MoveCoordinator | SlowDisk
    | FillDisk | DeleteRecords | Nemesis | Mark
)  # fmt: skip
"""Any command."""

_FOR: Final = "[for <for_us:duration>]"

COMMANDS: tuple[Form, ...] = (
    Form(Kill, f"kill <target:process> {_FOR}", "end a process without a word (kill -9)", undo="start {0}",
         random=(RandomFault(1, "kill brokers", "kill {broker}", lasts=True, nemesis=True),
                 RandomFault(2, "kill members", "kill {member}", lasts=True, nemesis=True),
                 RandomFault(3, "kill producers", "kill {producer}", lasts=True, nemesis=True))),
    Form(Crash, f"crash <broker:broker> {_FOR}", "lose a broker's host and what it had not flushed", undo="start {0}",
         random=(RandomFault(4, "crash", "crash {broker}", lasts=True, nemesis=True),)),
    Form(Stop, f"stop <target:process> {_FOR}", "stop a process cleanly", undo="start {0}",
         random=(RandomFault(5, "stop", "stop {process}", lasts=True),)),
    Form(Start, f"start <target:process> {_FOR}", "start a process that is down"),
    Form(Restart, f"restart <target:process> {_FOR}", "stop and start a process",
         random=(RandomFault(6, "restart", "restart {process}", nemesis=True),)),
    Form(Pause, f"pause <target:process> {_FOR}", "freeze a whole process", undo="resume {0}",
         random=(RandomFault(7, "pause", "pause {process}", lasts=True, nemesis=True),)),
    Form(Resume, f"resume <target:process> {_FOR}", "let a frozen process go on"),
    Form(PauseHeartbeats, f"pause heartbeats of <member:member> {_FOR}", "freeze only the heartbeat thread",
         random=(RandomFault(8, "pause heartbeats", "pause heartbeats of {member}", lasts=True, nemesis=True),)),
    Form(Stall, f"stall <member:member> {_FOR}", "poll() is not called",
         random=(RandomFault(9, "stall", "stall {member}", lasts=True, nemesis=True),)),
    Form(SlowMember, f"slow <member:member> to <to_us:duration> {_FOR}", "each record takes this long", label="slowed",
         random=(RandomFault(26, "slow member", "slow {member} to {5|20}ms", lasts=True),),
         menu=(MenuRow("member", "slow {name} to 50ms for 1m", "each record takes 50 ms"),)),
    Form(Scale, f"scale <group:group> to <to:number> {_FOR}", "start or stop members",
         random=(RandomFault(18, "scale", "scale {group} to {0..5}"),)),
    Form(RollingRestartBrokers, "rolling restart brokers [every <every_us:duration>] [down <down_us:duration>]",
         "restart the brokers one by one", {"wait_for_isr": False}),
    Form(RollingRestartBrokers,
         "rolling restart brokers wait for isr [every <every_us:duration>] [down <down_us:duration>]",
         "restart the brokers one by one while all replicas are in sync", {"wait_for_isr": True},
         random=(RandomFault(30, "broker roll", "rolling restart brokers wait for isr"),)),
    Form(RollingRestartBrokers,
         "rolling restart brokers every <every_us:duration> wait for isr [down <down_us:duration>]",
         "restart the brokers one by one while all replicas are in sync", {"wait_for_isr": True}),
    Form(Rollout,
         "rollout deployment <group:group> [max unavailable <max_unavailable:limit>] [max surge <max_surge:limit>]",
         "replace a group's pods by new ones", {"workload": "deployment"},
         random=(RandomFault(31, "deployment", "rollout deployment {group} max unavailable {0|1|50%} max surge 1"),),
         menu=(MenuRow("group", "rollout deployment {name}", "replace 25% of the pods at a time by new ones"),)),
    Form(Rollout, "rollout statefulset <group:group> [max unavailable <max_unavailable:limit>]",
         "restart a group's pods, the last one first", {"workload": "statefulset", "max_surge": ""},
         random=(RandomFault(32, "statefulset", "rollout statefulset {group} max unavailable {1|2|50%}"),),
         menu=(MenuRow("group", "rollout statefulset {name}", "restart the pods one by one, as each is ready"),)),
    Form(EndRollout, "end rollout of <of:rollout>", "leave a rollout where it is"),
    Form(RollingRestart, "rolling restart <group:group> every <every_us:duration> [down <down_us:duration>]",
         "restart a group's members one by one",
         random=(RandomFault(19, "rolling restart", "rolling restart {group} every 2s down 1s"),)),
    Form(Cut, f"cut <a:process> -> <b:process> {_FOR}", "cut one direction of a link", {"one_way": True},
         kind="cut_one_way", undo="heal {0} {1}", label="link cut",
         random=(RandomFault(11, "cut one way", "cut {direction}", lasts=True, nemesis=True),)),
    Form(Cut, f"cut <a:process> <b:process> {_FOR}", "cut a link both ways", {"one_way": False}, undo="heal {0} {1}",
         label="link cut", random=(RandomFault(10, "cut", "cut {link}", lasts=True, nemesis=True),)),
    Form(Heal, "heal", "end the faults of every link", {"a": None, "b": None}),
    Form(Heal, "heal <a:process> <b:process>", "end the faults of a link"),
    Form(Hold, f"hold <a:process> <b:process> {_FOR}", "keep what is sent on a link", undo="release {0} {1}",
         label="link held", random=(RandomFault(13, "hold", "hold {link}", lasts=True, nemesis=True),)),
    Form(Release, "release <a:process> <b:process>", "deliver what a held link kept"),
    Form(SlowLink, f"slow <a:process> <b:process> to <to_us:duration> {_FOR}", "set a link's one-way latency",
         undo="heal {0} {1}", label="slow link",
         random=(RandomFault(12, "slow link", "slow {link} to {50|600}ms", lasts=True, nemesis=True),)),
    Form(LoseResponses, "lose next <count:count> responses of <api:api> from <broker:broker> [to <client:client>]",
         "lose answers that were given", undo="heal",
         random=(
             RandomFault(15, "lose responses", "lose next {1..3} responses of {api} from {broker}", nemesis=True),
         )),
    Form(AddPartitions, "add partitions <topic:topic> to <to:count>", "give a topic more partitions",
         random=(RandomFault(25, "add partitions", "add partitions {topic} to {5..6}"),)),
    Form(Subscribe, f"subscribe <member:member> to <topics:topics> {_FOR}", "change a member's subscription",
         random=(RandomFault(27, "subscribe", "subscribe {member} to {topics}"),)),
    Form(Set, f"set <scope:scope> <key:key> <value:value> {_FOR}", "change a configuration key or scenario field"),
    Form(Seek, "seek <group:group> <partition:partition> to <to:offset>", "move a group's position",
         random=(RandomFault(28, "seek", "seek {group} {partition} to {0..90}"),)),
    Form(AbandonTransaction, "abandon transaction of <producer:client>", "leave a transaction open",
         random=(RandomFault(29, "abandon", "abandon transaction of {producer}"),)),
    Form(AbortHangingTransaction, "abort hanging transaction <partition:partition>", "end a hanging transaction"),
    Form(Elect, "elect preferred <partition:partition>", "give leadership back", {"kind": "preferred"},
         random=(RandomFault(20, "preferred election", "elect preferred {partition}"),)),
    Form(Elect, "elect unclean <partition:partition>", "elect a replica out of sync", {"kind": "unclean"},
         random=(RandomFault(21, "unclean election", "elect unclean {partition}"),)),
    Form(Isolate, f"isolate <broker:broker> {_FOR}", "cut a broker from everything", undo="heal", label="isolated",
         random=(RandomFault(14, "isolate", "isolate {broker}", lasts=True, nemesis=True),)),
    Form(FailOverController, "fail over controller", "make another broker the controller",
         random=(RandomFault(22, "controller", "fail over controller", nemesis=True),)),
    Form(MoveCoordinator, "move coordinator of <group:group>", "move a group to another coordinator",
         random=(RandomFault(23, "coordinator", "move coordinator of {group}", nemesis=True),)),
    Form(SlowDisk, f"slow disk of <broker:broker> to <to_us:duration> {_FOR}", "each append takes this long",
         undo="slow disk of {0} to 0ms", label="slow disk",
         random=(RandomFault(16, "slow disk", "slow disk of {broker} to {2|40}ms", lasts=True, nemesis=True),),
         menu=(MenuRow("broker", "slow disk of {name} to 50ms", "each append takes 50 ms"),)),
    Form(FillDisk, f"fill disk of <broker:broker> {_FOR}", "a broker's log directory goes offline", label="disk full",
         random=(RandomFault(17, "full disk", "fill disk of {broker} for 3s", nemesis=True),),
         menu=(MenuRow("broker", "fill disk of {name}", "the log directory goes offline"),)),
    Form(DeleteRecords, "delete records <partition:partition> before <before:offset>", "move a log's start",
         random=(RandomFault(24, "delete records", "delete records {partition} before {1..60}"),)),
    Form(Nemesis, f"nemesis on [seed <seed:number>] {_FOR}", "start random faults", {"on": True}, undo="nemesis off"),
    Form(Nemesis, f"nemesis off {_FOR}", "stop random faults", {"on": False}),
    Form(Mark, "mark <text:text>", "leave a remark in the recording"),
)  # fmt: skip
"""Every command's forms, in the order of the console's palette."""

"""What an operator or a scenario can do to a running cluster: a frozen struct for each command.

A row of `COMMANDS` (`cluster.commands.forms`) is all that is known of a command besides its handler
(`cluster/simulation`) and its impact (`console/presenters`): its text, its undo, its label, its random faults, its
entries in the fault menus. Parsing, writing, completing, the nemesis, the swarm and the console read the rows.
Durations are µs; `for_us` undoes a command after that time.
"""

from typing import Literal

import msgspec

from cluster.commands.topic_commands import AddPartitions as AddPartitions  # noqa: PLC0414 - a command as the others
from cluster.commands.topic_commands import CancelReassignment as CancelReassignment  # noqa: PLC0414 - a command as the others
from cluster.commands.topic_commands import CreateTopic as CreateTopic  # noqa: PLC0414 - a command as the others
from cluster.commands.topic_commands import Reassign as Reassign  # noqa: PLC0414 - a command as the others

ResetTo = Literal["earliest", "latest", "current", "offset", "shift", "ago", "instant"]


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


class PausePartitions(msgspec.Struct, frozen=True, tag="pause_partitions"):
    """A member's application calls pause() for these of its partitions; () is all of them."""

    member: str
    partitions: tuple[str, ...] = ()
    for_us: int | None = None


class ResumePartitions(msgspec.Struct, frozen=True, tag="resume_partitions"):
    """A member's application calls resume() for these of its partitions; () is all that it has paused."""

    member: str
    partitions: tuple[str, ...] = ()


class Stall(msgspec.Struct, frozen=True, tag="stall"):
    """A member does not call poll(); its heartbeat thread continues."""

    member: str
    for_us: int | None = None


class SlowMember(msgspec.Struct, frozen=True, tag="slow_member"):
    """A member's processing takes `to_us` for each record."""

    member: str
    to_us: int
    for_us: int | None = None


class SlowDependency(msgspec.Struct, frozen=True, tag="slow_dependency"):
    """What a group's applications call for each record answers late: each record takes `to_us` longer."""

    group: str
    to_us: int
    for_us: int | None = None


class FailDependency(msgspec.Struct, frozen=True, tag="fail_dependency"):
    """What a group's applications call for each record answers with an error: each record fails."""

    group: str
    for_us: int | None = None


class RestoreDependency(msgspec.Struct, frozen=True, tag="restore_dependency"):
    """What a group's applications call answers without errors again, and as fast as ever."""

    group: str


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


class Subscribe(msgspec.Struct, frozen=True, tag="subscribe"):
    """A member subscribes to exactly these topics; with `for_us`, after that to the topics from before."""

    member: str
    topics: tuple[str, ...]
    for_us: int | None = None


class Unsubscribe(msgspec.Struct, frozen=True, tag="unsubscribe"):
    """A member's application calls unsubscribe(), and does not poll() before it subscribes again."""

    member: str


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


class ResetOffsets(msgspec.Struct, frozen=True, tag="reset_offsets"):
    """Commit other offsets for a group without members, as `kafka-consumer-groups.sh --reset-offsets --execute` does.

    `places`: topics and partitions; () is every partition with a committed offset. `amount`: the offset, the number of
    offsets (`shift`), how long before now (`ago`, µs), or the instant of the flight (`instant`, µs).
    """

    group: str
    where: ResetTo
    places: tuple[str, ...] = ()
    amount: int = 0


class ResetToPlan(msgspec.Struct, frozen=True, tag="reset_to_plan"):
    """Commit an offset for each of some partitions at once, all or none, as `--reset-offsets --from-file` does.

    `offsets`: one for each of `partitions`, in their order. Source: `OffsetsUtils.resetFromFile`.
    """

    group: str
    offsets: tuple[int, ...]
    partitions: tuple[str, ...]


class DeleteGroup(msgspec.Struct, frozen=True, tag="delete_group"):
    """Delete a group without members and its committed offsets, as `kafka-consumer-groups.sh --delete` does."""

    group: str


class DeleteOffsets(msgspec.Struct, frozen=True, tag="delete_offsets"):
    """Delete committed offsets of topics and partitions that no member of the group subscribes to."""

    group: str
    places: tuple[str, ...]


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
    | RollingRestart | RollingRestartBrokers | Rollout | EndRollout | Cut | Heal | Hold | Release | SlowLink
    | LoseResponses | AddPartitions | Subscribe | Set | Seek | AbandonTransaction | AbortHangingTransaction | Elect
    | Isolate | FailOverController | MoveCoordinator | SlowDisk | FillDisk | DeleteRecords | Nemesis | Mark
    | SlowDependency | PausePartitions | ResumePartitions | FailDependency | RestoreDependency | Unsubscribe
    | ResetOffsets | ResetToPlan | DeleteGroup | DeleteOffsets | CreateTopic | Reassign | CancelReassignment
)  # fmt: skip
"""Any command."""

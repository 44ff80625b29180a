"""What an operator or a scenario can do to a running cluster: one frozen struct for each command, and its text form.

The table `COMMANDS` is the only place that knows the grammar; parsing, writing, checking, completing and the hints of
the console all read it (`cluster/command_grammar.py` does the matching). Durations are µs; `for_us` undoes after that.
"""

from typing import Literal

import msgspec


class Kill(msgspec.Struct, frozen=True, tag="kill"):
    """End a process without a word to anyone (kill -9); with `for_us` it is started again after that."""

    target: str
    for_us: int | None = None


class Crash(msgspec.Struct, frozen=True, tag="crash"):
    """Lose a broker's host: like kill, and what its disk had not flushed is lost too."""

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
    """Let a frozen process go on; with `for_us` it freezes again after that."""

    target: str
    for_us: int | None = None


class PauseHeartbeats(msgspec.Struct, frozen=True, tag="pause_heartbeats"):
    """Freeze only a member's heartbeat thread."""

    member: str
    for_us: int | None = None


class Stall(msgspec.Struct, frozen=True, tag="stall"):
    """A member does not call poll(); its heartbeat thread goes on."""

    member: str
    for_us: int | None = None


class SlowMember(msgspec.Struct, frozen=True, tag="slow_member"):
    """A member's processing takes `to_us` for each record."""

    member: str
    to_us: int
    for_us: int | None = None


class Scale(msgspec.Struct, frozen=True, tag="scale"):
    """Give a group this many members: new numbers are started, the highest numbers stopped cleanly."""

    group: str
    to: int


class RollingRestart(msgspec.Struct, frozen=True, tag="rolling_restart"):
    """Stop member i of a group (from 0) i × `every_us` after now, and start it `down_us` later."""

    group: str
    every_us: int
    down_us: int = 0


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """Cut the link between two processes, both ways or only from `a` to `b`."""

    a: str
    b: str
    one_way: bool = False
    for_us: int | None = None


class Heal(msgspec.Struct, frozen=True, tag="heal"):
    """Mend a link (cut, held or slow) in both directions; without ends, every link."""

    a: str | None = None
    b: str | None = None


class Hold(msgspec.Struct, frozen=True, tag="hold"):
    """Keep what is sent on a link, in order, until it is released."""

    a: str
    b: str
    for_us: int | None = None


class Release(msgspec.Struct, frozen=True, tag="release"):
    """Deliver what a held link kept, in order."""

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
    """Give a topic this many partitions (only more than it has)."""

    topic: str
    to: int


class Subscribe(msgspec.Struct, frozen=True, tag="subscribe"):
    """A member subscribes to exactly these topics."""

    member: str
    topics: tuple[str, ...]


class Set(msgspec.Struct, frozen=True, tag="set"):
    """Change a configuration key or scenario field of a scope (`--set` in flight); `value` is its text."""

    scope: str
    key: str
    value: str
    for_us: int | None = None


class Seek(msgspec.Struct, frozen=True, tag="seek"):
    """Whoever owns the partition in the group moves its position to an offset."""

    group: str
    topic: str
    partition: int
    to: int


class AbandonTransaction(msgspec.Struct, frozen=True, tag="abandon_transaction"):
    """A producer neither commits nor aborts its open transaction and begins no other."""

    producer: str


class AbortHangingTransaction(msgspec.Struct, frozen=True, tag="abort_hanging_transaction"):
    """What `kafka-transactions.sh abort` does: end the transaction that holds back a partition's last stable offset."""

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
    """Start or stop the random injurer."""

    on: bool
    seed: int | None = None
    for_us: int | None = None


class Mark(msgspec.Struct, frozen=True, tag="mark"):
    """A remark for the recording; it changes nothing."""

    text: str


Command = (
    Kill
    | Crash
    | Stop
    | Start
    | Restart
    | Pause
    | Resume
    | PauseHeartbeats
    | Stall
    | SlowMember
    | Scale
    | RollingRestart
    | Cut
    | Heal
    | Hold
    | Release
    | SlowLink
    | LoseResponses
    | AddPartitions
    | Subscribe
    | Set
    | Seek
    | AbandonTransaction
    | AbortHangingTransaction
    | Elect
    | Isolate
    | FailOverController
    | MoveCoordinator
    | SlowDisk
    | FillDisk
    | DeleteRecords
    | Nemesis
    | Mark
)

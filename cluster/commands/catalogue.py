"""What an operator or a scenario can do to a running cluster: one frozen struct for each command, and its text form.

The table `COMMANDS` is the only place that knows the grammar; parsing, writing, checking, completing and the hints of
the console all read it (`cluster/commands/grammar.py` does the matching). Durations are µs; `for_us` undoes after that.
"""

from typing import Literal, cast

import msgspec

from cluster.commands.arguments import unknown
from cluster.commands.cluster_names import Names
from cluster.commands.grammar import CommandError, Form, Slot, read, tokens_of, wanted_after, write
from cluster.config import refusal

__all__ = ["COMMANDS", "Command", "CommandError", "Form", "Names", "check", "complete", "is_built", "parse", "text_of"]


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
    """Give a group this many members: new numbers are started, the highest numbers stopped cleanly.

    With `for_us` those that it started are stopped after that, and those that it stopped are started.
    """

    group: str
    to: int
    for_us: int | None = None


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
    """A member subscribes to exactly these topics; with `for_us`, after that to those it had before."""

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
    Kill | Crash | Stop | Start | Restart | Pause | Resume | PauseHeartbeats | Stall | SlowMember | Scale
    | RollingRestart | Cut | Heal | Hold | Release | SlowLink | LoseResponses | AddPartitions | Subscribe | Set | Seek
    | AbandonTransaction | AbortHangingTransaction | Elect | Isolate | FailOverController | MoveCoordinator | SlowDisk
    | FillDisk | DeleteRecords | Nemesis | Mark
)  # fmt: skip
"""Any command."""

_FOR = "[for <for_us:duration>]"

COMMANDS: tuple[Form, ...] = (
    Form(Kill, f"kill <target:process> {_FOR}", "end a process without a word (kill -9)", undo="start {0}"),
    Form(Crash, f"crash <broker:broker> {_FOR}", "lose a broker's host and what it had not flushed", undo="start {0}"),
    Form(Stop, f"stop <target:process> {_FOR}", "stop a process cleanly", undo="start {0}"),
    Form(Start, f"start <target:process> {_FOR}", "start a process that is down"),
    Form(Restart, f"restart <target:process> {_FOR}", "stop and start a process"),
    Form(Pause, f"pause <target:process> {_FOR}", "freeze a whole process", undo="resume {0}"),
    Form(Resume, f"resume <target:process> {_FOR}", "let a frozen process go on"),
    Form(PauseHeartbeats, f"pause heartbeats of <member:member> {_FOR}", "freeze only the heartbeat thread"),
    Form(Stall, f"stall <member:member> {_FOR}", "poll() is not called"),
    Form(SlowMember, f"slow <member:member> to <to_us:duration> {_FOR}", "each record takes this long", label="slowed"),
    Form(Scale, f"scale <group:group> to <to:number> {_FOR}", "start or stop members"),
    Form(RollingRestart, "rolling restart <group:group> every <every_us:duration> [down <down_us:duration>]",
         "restart a group's members one by one"),
    Form(Cut, f"cut <a:process> -> <b:process> {_FOR}", "cut one direction of a link", {"one_way": True},
         kind="cut_one_way", undo="heal {0} {1}", label="link cut"),
    Form(Cut, f"cut <a:process> <b:process> {_FOR}", "cut a link both ways", {"one_way": False}, undo="heal {0} {1}",
         label="link cut"),
    Form(Heal, "heal", "mend every link", {"a": None, "b": None}),
    Form(Heal, "heal <a:process> <b:process>", "mend a link"),
    Form(Hold, f"hold <a:process> <b:process> {_FOR}", "keep what is sent on a link", undo="release {0} {1}",
         label="link held"),
    Form(Release, "release <a:process> <b:process>", "deliver what a held link kept"),
    Form(SlowLink, f"slow <a:process> <b:process> to <to_us:duration> {_FOR}", "set a link's one-way latency",
         undo="heal {0} {1}", label="slow link"),
    Form(LoseResponses, "lose next <count:count> responses of <api:api> from <broker:broker> [to <client:client>]",
         "lose answers that were given", undo="heal"),
    Form(AddPartitions, "add partitions <topic:topic> to <to:count>", "give a topic more partitions"),
    Form(Subscribe, f"subscribe <member:member> to <topics:topics> {_FOR}", "change a member's subscription"),
    Form(Set, f"set <scope:scope> <key:key> <value:value> {_FOR}", "change a configuration key or scenario field"),
    Form(Seek, "seek <group:group> <partition:partition> to <to:offset>", "move a group's position"),
    Form(AbandonTransaction, "abandon transaction of <producer:client>", "leave a transaction open"),
    Form(AbortHangingTransaction, "abort hanging transaction <partition:partition>", "end a hanging transaction"),
    Form(Elect, "elect preferred <partition:partition>", "give leadership back", {"kind": "preferred"}),
    Form(Elect, "elect unclean <partition:partition>", "elect a replica out of sync", {"kind": "unclean"}),
    Form(Isolate, f"isolate <broker:broker> {_FOR}", "cut a broker from everything", undo="heal", label="isolated"),
    Form(FailOverController, "fail over controller", "make another broker the controller"),
    Form(MoveCoordinator, "move coordinator of <group:group>", "move a group to another coordinator"),
    Form(SlowDisk, f"slow disk of <broker:broker> to <to_us:duration> {_FOR}", "each append takes this long",
         undo="slow disk of {0} to 0ms", label="slow disk"),
    Form(FillDisk, f"fill disk of <broker:broker> {_FOR}", "a broker's log directory goes offline", label="disk full"),
    Form(DeleteRecords, "delete records <partition:partition> before <before:offset>", "move a log's start"),
    Form(Nemesis, f"nemesis on [seed <seed:number>] {_FOR}", "begin random injuries", {"on": True}, undo="nemesis off"),
    Form(Nemesis, f"nemesis off {_FOR}", "end random injuries", {"on": False}),
    Form(Mark, "mark <text:text>", "leave a remark in the recording"),
)  # fmt: skip
"""Every command's forms, in the order of the console's palette."""


def parse(text: str, names: Names | None = None) -> Command:
    """Read a command; with `names`, also check it against them, so that columns are those of this text.

    Raises CommandError: the reason, the column (from 0) where it is, and the nearest right word.
    """
    match = read(COMMANDS, text)
    command = cast(Command, match.form.command(**match.values))
    if names is not None:
        _refuse_unbuilt(command)
        for slot, value, column in match.columns:
            trouble = unknown(slot.kind, value, names)
            if trouble is not None:
                raise CommandError(trouble[0], column, trouble[1])
        ends = [(value, column) for slot, value, column in match.columns if slot.field in ("a", "b")]
        if len(ends) == 2 and ends[0][0] == ends[1][0]:
            raise CommandError("a process has no link to itself", ends[1][1])
    return command


def text_of(command: Command) -> str:
    """The command's canonical text: `parse(text_of(command)) == command`, and journals hold it."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(command)}
    return write(form_of(command), msgspec.structs.asdict(command), defaults)


def form_of(command: Command) -> Form:
    """The form in which a command is written."""
    values = msgspec.structs.asdict(command)
    return next(
        form
        for form in COMMANDS
        if form.command is type(command) and all(values[field] == value for field, value in form.fixed.items())
    )


def check(command: Command, names: Names) -> None:
    """Raise CommandError for what is not built yet or not there by name; columns are those of the canonical text."""
    parse(text_of(command), names)


def is_built(command: Command | type[Command]) -> bool:
    """Whether the cluster can execute this command, or this kind of command."""
    return refusal(f"command {command.__struct_config__.tag}") is None


def _refuse_unbuilt(command: Command) -> None:
    reason = refusal(f"command {command.__struct_config__.tag}")
    if reason is not None:
        raise CommandError(reason, 0)


def complete(text: str, names: Names) -> list[str]:
    """The words that could stand where the text ends: whole words, to replace the one that is begun (if any).

    Words of the grammar come first, then names in the scenario's order; commands not built yet are left out.
    """
    begun = "" if not text or text[-1].isspace() else text.rsplit(maxsplit=1)[-1]
    try:
        tokens = tokens_of(text[: len(text) - len(begun)])
    except CommandError:
        return []
    built = tuple(form for form in COMMANDS if is_built(cast(type[Command], form.command)))
    words: dict[str, None] = {}
    named: dict[str, None] = {}
    for _, part in wanted_after(built, tokens):
        if isinstance(part, Slot):
            named.update(dict.fromkeys(part.kind.known(names) if part.kind.known else ()))
        else:
            words[part] = None
    return [word for word in {**words, **named} if word.startswith(begun) and word != begun]

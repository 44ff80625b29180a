"""Commands as text: read, write, check and complete them by the rows of the catalogue."""

from functools import cache

import msgspec

from cluster.commands.arguments import unknown
from cluster.commands.catalogue import Command, CreateTopic, ResetToPlan, Rollout
from cluster.commands.cluster_names import Names
from cluster.commands.forms import COMMANDS
from cluster.commands.grammar import CommandError, Form, Slot, read, tokens_of, wanted_after, write
from cluster.commands.pod_limits import deployment_limits, statefulset_limit
from cluster.config import refusal
from cluster.protocol.names import TopicPartition


def parse(text: str, names: Names | None = None) -> Command:
    """Read a command; with `names`, also check it against them, so that columns are those of this text.

    Raises CommandError: the reason, the column (from 0) where it is, and the nearest valid word.
    """
    match = read(COMMANDS, text)
    command = match.form.command(**match.values)
    assert isinstance(command, Command)
    _check_plan(command, next((at for slot, _, at in match.columns if slot.field == "offsets"), 0))
    _check_assignment(command, next((at for slot, _, at in match.columns if slot.field == "assignment"), 0))
    if names is not None:
        _refuse_unbuilt(command)
        _check_limits(command)
        _check_new_topic(command, names, next((at for slot, _, at in match.columns if slot.field == "topic"), 0))
        for slot, value, column in match.columns:
            reason = unknown(slot.kind, value, names)
            if reason is not None:
                raise CommandError(reason[0], column, reason[1])
        ends = [(value, column) for slot, value, column in match.columns if slot.field in ("a", "b")]
        if len(ends) == 2 and ends[0][0] == ends[1][0]:
            raise CommandError("a process has no link to itself", ends[1][1])
    return command


def text_of(command: Command) -> str:
    """The command's canonical text: `parse(text_of(command)) == command`, and journals hold it."""
    return write(form_of(command), msgspec.structs.asdict(command), _defaults(type(command)))


@cache
def _defaults(kind: type[Command]) -> dict[str, object]:
    return {field.name: field.default for field in msgspec.structs.fields(kind)}


def form_of(command: Command) -> Form:
    """The form in which a command is written."""
    values = msgspec.structs.asdict(command)
    return next(
        form
        for form in COMMANDS
        if form.command is type(command) and all(values[field] == value for field, value in form.fixed.items())
    )


def check(command: Command, names: Names) -> None:
    """Raise CommandError for a command that is not built yet, or that names what `names` does not have.

    The command has no text here: the error's column is 0.
    """
    _refuse_unbuilt(command)
    _check_limits(command)
    _check_plan(command)
    _check_assignment(command)
    _check_new_topic(command, names)
    form, values = form_of(command), msgspec.structs.asdict(command)
    for slot in form.slots:
        value = values[slot.field]
        if slot.field == "partition":
            value = TopicPartition(values["topic"], value)
        reason = unknown(slot.kind, value, names) if value is not None else None
        if reason is not None:
            raise CommandError(reason[0], 0, reason[1])
    ends = [values[slot.field] for slot in form.slots if slot.field in ("a", "b")]
    if len(ends) == 2 and ends[0] == ends[1]:
        raise CommandError("a process has no link to itself", 0)


def is_built(command: type[msgspec.Struct]) -> bool:
    """Whether the cluster can execute commands of this type."""
    return refusal(f"command {command.__struct_config__.tag}") is None


def _refuse_unbuilt(command: Command) -> None:
    reason = refusal(f"command {command.__struct_config__.tag}")
    if reason is not None:
        raise CommandError(reason, 0)


def _check_new_topic(command: Command, names: Names, column: int = 0) -> None:
    """Raise CommandError for a new topic whose name is that of something else: names are scopes of settings."""
    if isinstance(command, CreateTopic) and (reason := names.why_not_free(command.topic)):
        raise CommandError(reason, column)


def _check_plan(command: Command, column: int = 0) -> None:
    """Raise CommandError for a plan that has not one offset for each of its partitions."""
    if isinstance(command, ResetToPlan) and len(command.offsets) != len(command.partitions):
        counts = f"{len(command.offsets)} for {len(command.partitions)}"
        raise CommandError(f"a plan has one offset for each partition: there are {counts}", column)


def _check_assignment(command: Command, column: int = 0) -> None:
    """Raise CommandError for a new topic that has an assignment and its numbers, as Kafka's tool does."""
    if isinstance(command, CreateTopic) and command.assignment and (command.partitions or command.replicas):
        other = "partitions" if command.partitions else "replicas"
        raise CommandError(f"an assignment says the {other}, too: leave `{other} N` out", column)


def _check_limits(command: Command) -> None:
    """Raise CommandError for limits of a rollout that Kubernetes refuses, whatever the number of members."""
    if isinstance(command, Rollout) and command.workload == "deployment":
        deployment_limits(command.max_surge, command.max_unavailable, 1)
    elif isinstance(command, Rollout):
        statefulset_limit(command.max_unavailable, 1)


def complete(text: str, names: Names) -> list[str]:
    """The words that may follow the text, or complete its last word.

    Words of the grammar come first, then names in the scenario's order; commands not built yet are left out.
    """
    begun = "" if not text or text[-1].isspace() else text.rsplit(maxsplit=1)[-1]
    try:
        tokens = tokens_of(text[: len(text) - len(begun)])
    except CommandError:
        return []
    built = tuple(form for form in COMMANDS if is_built(form.command))
    words: dict[str, None] = {}
    named: dict[str, None] = {}
    for _, part in wanted_after(built, tokens):
        if isinstance(part, Slot):
            named.update(dict.fromkeys(_names_after(begun, part, names)))
        else:
            words[part] = None
    return [word for word in {**words, **named} if word.startswith(begun) and word != begun]


def _names_after(begun: str, slot: Slot, names: Names) -> tuple[str, ...]:
    """The names that fill a slot; in a list, each behind the whole names that are there already."""
    known = slot.kind.known(names) if slot.kind.known else ()
    written, comma, _ = begun.rpartition(",")
    if not (comma and slot.kind.label.endswith(",…")):
        return known
    there = written.split(",")
    return tuple(f"{written},{name}" for name in known if name not in there)

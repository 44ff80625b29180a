"""What a command does and to what, as data: its kind and its targets, which events and recordings carry."""

from typing import Any

import msgspec

from cluster.commands.catalogue import Command
from cluster.commands.command_text import form_of
from cluster.commands.forms import COMMANDS
from cluster.protocol.names import TopicPartition


def kind_of(command: Command) -> str:
    """The kind of a command: its struct's tag, e.g. `slow_disk`; `cut_one_way` for a cut in one direction."""
    tag = command.__struct_config__.tag
    assert isinstance(tag, str)
    return form_of(command).kind or tag


def targets_of(command: Command) -> tuple[str, ...]:
    """The processes, groups, topics, partitions and scopes that a command names, in the order of its text."""
    form, values = form_of(command), msgspec.structs.asdict(command)
    return tuple(name for slot in form.slots if slot.kind.target for name in _names(slot.field, values))


def undo_of(kind: str, targets: tuple[str, ...]) -> str:
    """The text of the command that ends a fault of a kind earlier; empty for a fault that only its duration ends."""
    form = _FORMS.get(kind)
    if form is None or len(targets) < form.undo.count("{") - form.undo.count("{others}"):
        return ""
    last = targets[-1] if targets else ""
    return " ".join(form.undo.format(*targets, others=",".join(targets[:-1]), last=last).split())


def label_of(kind: str) -> str:
    """The words for a running target of a fault of a kind, e.g. `link cut`; empty for a kind without them."""
    form = _FORMS.get(kind)
    return form.label if form is not None else ""


def _names(field: str, values: dict[str, Any]) -> tuple[str, ...]:
    value = values[field]
    if field == "partition":
        return (str(TopicPartition(values["topic"], value)),)
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


_FORMS = {form.kind or str(form.command.__struct_config__.tag): form for form in reversed(COMMANDS)}
"""The first form of each kind."""

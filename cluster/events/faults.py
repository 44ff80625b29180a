"""Faults, settings and commands."""

from cluster.events.event import Event


class FaultStarted(Event, frozen=True, kw_only=True):
    """A command started a fault; `ends_at_us` is -1 for a fault that lasts until a command ends it.

    `fault_kind` is the kind of the command by `cluster.commands.kind_of`, e.g. `kill` or `cut_one_way`; `targets` are
    the processes, groups, topics and partitions that the command names, in the order of its text.
    """

    fault: int
    text: str
    ends_at_us: int
    fault_kind: str = ""
    targets: tuple[str, ...] = ()


class FaultEnded(Event, frozen=True, kw_only=True):
    """A fault ended: its time was over, a command ended it, or its process started again."""

    fault: int


class SettingChanged(Event, frozen=True, kw_only=True):
    """A configuration key or scenario field of a scope was set in the running cluster, or put back.

    `value` and `before` as a person writes them; `effect`: `now`, or `at the next start` of each of the `processes`.
    """

    scope: str
    key: str
    value: str
    before: str
    processes: tuple[str, ...]
    effect: str


class CommandRefused(Event, frozen=True, kw_only=True):
    """A command could not be carried out as things stood when its turn came; nothing was changed."""

    text: str
    reason: str

"""Rollouts and autoscaled groups."""

from cluster.events.event import Event


class RollingRestartStarted(Event, frozen=True, kw_only=True):
    """The members of a group begin to restart, one after another, by a schedule that nothing delays.

    `members` in their order: the first restarts now, each other one `every_us` after the one before; each is down for
    `down_us`.
    """

    group: str
    members: tuple[str, ...]
    every_us: int
    down_us: int


class RolloutStarted(Event, frozen=True, kw_only=True):
    """The members of a group, or the brokers, begin to be replaced; the limits are numbers of processes.

    `workload`: `deployment`, `statefulset` or `brokers`; `target`: the group, or `brokers`. `replaced`: those that are
    to be replaced; `ready`: those of them that are ready now; `names`: the processes that are there in the end.
    """

    target: str
    workload: str
    max_unavailable: int
    max_surge: int
    replaced: tuple[str, ...]
    ready: tuple[str, ...]
    names: tuple[str, ...]


class RolloutAdvanced(Event, frozen=True, kw_only=True):
    """A rollout asks processes to stop, and starts others; of one name in both it starts when it has stopped.

    `replicas` and the limits as they are now: a group can be scaled meanwhile. `awaits_isr`: with a replica out of sync
    it would not have gone on.
    """

    target: str
    workload: str
    stops: tuple[str, ...]
    starts: tuple[str, ...]
    replicas: int
    max_unavailable: int
    max_surge: int
    awaits_isr: bool = False


class GroupAutoscaled(Event, frozen=True, kw_only=True):
    """A group's autoscaler gives the command to scale it; `desired`: what its lag asks for, `to`: what it may have."""

    group: str
    lag: int
    desired: int
    members: int
    to: int


class RolloutEnded(Event, frozen=True, kw_only=True):
    """A rollout is over; `how`: `complete` (all are replaced and ready), `ended` (a command), `superseded`."""

    target: str
    workload: str
    how: str

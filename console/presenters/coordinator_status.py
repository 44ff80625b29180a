"""Whether a group's coordinator can do anything now: its partition's leader, that broker's process, what it has loaded.

While it cannot, a group's state is what was last known of it, and no member is waited for: nothing can complete.
"""

from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters.formatting import countdown

UP, NO_LEADER, DOWN, FROZEN, RESTARTED, LOADING = "up", "no leader", "down", "frozen", "restarted", "loading"
SETTLED = {"Stable", "PreparingRebalance", "CompletingRebalance"}


class CoordinatorStatus(NamedTuple):
    """The broker that leads the group's partition of __consumer_offsets (-1: none), and whether it can coordinate."""

    broker: int
    state: str


def coordinator_status(view: ClusterView, group: GroupView) -> CoordinatorStatus:
    """Who coordinates a group, and what keeps it from it."""
    partition = view.partitions.get(group.coordinator_partition)
    broker = view.brokers.get(partition.leader) if partition is not None else None
    if broker is None:
        return CoordinatorStatus(-1, NO_LEADER)
    number = broker.broker
    if not broker.alive:
        return CoordinatorStatus(number, DOWN)
    if broker.paused:
        return CoordinatorStatus(number, FROZEN)
    if not broker.registered:  # the controller still counts on the process before it
        return CoordinatorStatus(number, RESTARTED)
    if group.coordinated_by not in {NEVER, number} and group.members and group.state in SETTLED:
        return CoordinatorStatus(number, LOADING)
    return CoordinatorStatus(number, UP)


def is_up(view: ClusterView, group: GroupView) -> bool:
    """Whether the group has a coordinator that answers."""
    return coordinator_status(view, group).state == UP


def unavailable_reason(view: ClusterView, group: GroupView, now_us: int, session_us: int | None) -> str:
    """Why nothing can complete, and until when; `session_us` is broker.session.timeout.ms in µs, if it is known."""
    broker, state = coordinator_status(view, group)
    place = group.coordinator_partition
    match state:
        case "down":
            until_us = _new_leader_by_us(view, broker, session_us)
            by = f", within {countdown(until_us - now_us)} (broker.session.timeout.ms)" if until_us > now_us else ""
            return f"coordinator broker-{broker} is down: nothing can complete until its partition has a new leader{by}"
        case "frozen":
            words = "nothing can complete until it resumes or its partition has a new leader"
            return f"coordinator broker-{broker} is frozen: {words}"
        case "restarted":
            return f"coordinator broker-{broker} restarted: nothing can complete until it has registered again"
        case "loading":
            return f"coordinator broker-{broker} is loading the group from {place}"
    return f"no coordinator: {place} has no leader"


def _new_leader_by_us(view: ClusterView, broker: int, session_us: int | None) -> int:
    """When the controller fences a dead broker at the latest; NEVER when that is not known.

    A controller that was elected meanwhile gives every broker a new session.
    """
    controller = view.brokers.get(view.controller)
    if session_us is None or controller is None or not controller.alive or controller.paused or controller.fenced:
        return NEVER
    since_us = view.brokers[broker].since_us
    for noted in reversed(view.log_entries):
        if noted.at_us < since_us:
            break
        if noted.text.startswith("controller is now"):
            return noted.at_us + session_us
    return since_us + session_us

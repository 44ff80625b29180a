"""Whether a group's coordinator can answer: the leader of its partition, the broker's process, the loaded group.

Without a coordinator the view holds the group's last known state; the group waits for no member, and no rebalance ends.
"""

from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters.formatting import countdown

UP, NO_LEADER, DOWN, FROZEN, RESTARTED, LOADING = "up", "no leader", "down", "frozen", "restarted", "loading"
SETTLED = {"Stable", "PreparingRebalance", "CompletingRebalance"}


class CoordinatorStatus(NamedTuple):
    """The broker that leads a group's partition of __consumer_offsets (-1: none), and whether it can coordinate."""

    broker: int
    state: str


def coordinator_status(view: ClusterView, group: GroupView) -> CoordinatorStatus:
    """The coordinator of a group and its state: `up`, or the reason why it cannot coordinate."""
    partition = view.partitions.get(group.coordinator_partition)
    broker = view.brokers.get(partition.leader) if partition is not None else None
    if broker is None:
        return CoordinatorStatus(-1, NO_LEADER)
    number = broker.broker
    if not broker.alive:
        return CoordinatorStatus(number, DOWN)
    if broker.paused:
        return CoordinatorStatus(number, FROZEN)
    if not broker.registered:  # the registration is of the former process
        return CoordinatorStatus(number, RESTARTED)
    if group.coordinated_by not in {NEVER, number} and group.members and group.state in SETTLED:
        return CoordinatorStatus(number, LOADING)
    return CoordinatorStatus(number, UP)


def is_up(view: ClusterView, group: GroupView) -> bool:
    """Whether the group has a coordinator that answers."""
    return coordinator_status(view, group).state == UP


def unavailable_reason(view: ClusterView, group: GroupView, now_us: int, session_us: int | None) -> str:
    """Why no rebalance can end, and until when; `session_us` is broker.session.timeout.ms in µs, if known."""
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
    """When the controller fences a dead broker at the latest; NEVER if unknown.

    A controller elected since then gives every broker a new session.
    """
    controller = view.brokers.get(view.controller)
    if session_us is None or controller is None or not controller.alive or controller.paused or controller.fenced:
        return NEVER
    since_us = view.brokers[broker].since_us
    for entry in reversed(view.log_entries):
        if entry.at_us < since_us:
            break
        if entry.event == "controller_elected":
            return entry.at_us + session_us
    return since_us + session_us

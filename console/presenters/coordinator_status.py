"""Whether a group's coordinator can answer: the leader of its partition, the broker's process, the loaded group.

Without a coordinator the view holds the group's last known state. The group waits for no member; no rebalance ends.
"""

from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters.formatting import countdown

UP, NO_LEADER, DOWN, FROZEN, RESTARTED, LOADING = "up", "no leader", "down", "frozen", "restarted", "loading"
SETTLED = {"Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}


BLOCKED = "nothing can complete until"


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


class CoordinatorOutage(NamedTuple):
    """Why no coordinator answers a group: the reason, its explanation, and the time within which it ends, if known."""

    reason: str
    explanation: str = ""
    within: str = ""


def outage_of(view: ClusterView, group: GroupView, now_us: int, session_us: int | None) -> CoordinatorOutage:
    """The outage of a group's coordinator; `session_us` is broker.session.timeout.ms in µs, if known."""
    broker, state = coordinator_status(view, group)
    partition = group.coordinator_partition
    match state:
        case "down":
            until_us = new_leader_by_us(view, broker, session_us)
            within = f"{countdown(until_us - now_us)} (broker.session.timeout.ms)" if until_us > now_us else ""
            return CoordinatorOutage(
                f"coordinator broker-{broker} is down", f"{BLOCKED} its partition has a new leader", within
            )
        case "frozen":
            return CoordinatorOutage(
                f"coordinator broker-{broker} is frozen", f"{BLOCKED} it resumes or its partition has a new leader"
            )
        case "restarted":
            return CoordinatorOutage(f"coordinator broker-{broker} restarted", f"{BLOCKED} it has registered again")
        case "loading":
            return CoordinatorOutage(f"coordinator broker-{broker} is loading the group from {partition}")
    return CoordinatorOutage("no coordinator", f"{partition} has no leader")


def new_leader_by_us(view: ClusterView, broker: int, session_us: int | None) -> int:
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

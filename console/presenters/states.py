"""Kafka's names of states, each with a glyph, a tone and one line on its meaning."""

from typing import NamedTuple

from console.presenters.styled_text import ACCENT, ERROR, MOVING, MUTED, OK, WARN, Line


class State(NamedTuple):
    """The display of a state: its glyph, its tone and its meaning in plain words."""

    glyph: str
    tone: str
    meaning: str


UNKNOWN = State("?", MUTED, "unknown state")

GROUP: dict[str, State] = {
    "Empty": State("○", MUTED, "no members; committed offsets are kept for offsets.retention.minutes"),
    "PreparingRebalance": State("↻", MOVING, "the join barrier is open: every member must send JoinGroup again"),
    "CompletingRebalance": State("↻", MOVING, "members are fixed: they wait for the leader's assignment (SyncGroup)"),
    "Stable": State("●", OK, "the generation has its assignment; no rebalance is under way"),
    "Dead": State("✖", ERROR, "the coordinator has removed the group"),
}
CONSUMER_GROUP: dict[str, State] = {
    "Empty": GROUP["Empty"],
    "Assigning": State("↻", MOVING, "the target assignment is older than the group epoch"),
    "Reconciling": State("↻", MOVING, "each member reconciles on its own"),
    "Stable": State("●", OK, "every member has its target assignment"),
    "Dead": GROUP["Dead"],
}
"""Of groups of the new protocol (KIP-848)."""
MEMBER: dict[str, State] = {
    "Joining": State("↻", MOVING, "sends JoinGroup and waits at the barrier"),
    "Syncing": State("↻", MOVING, "sends SyncGroup and waits for its assignment"),
    "Stable": State("●", OK, "assigned: owns its partitions, polls and heartbeats"),
    "Assigned": State("●", OK, "reads the partitions that assign() named; it is in no group"),
    "Revoking": State("↻", MOVING, "commits and revokes partitions, inside poll()"),
    "Fenced": State("✖", ERROR, "fenced: the coordinator refuses its id or generation"),
    "Left": State("○", MUTED, "not a member: stopped, or left its group"),
    "Dead": State("✖", ERROR, "its process was killed: no LeaveGroup, its session has to expire"),
}
CONSUMER_MEMBER: dict[str, State] = {
    "UNSUBSCRIBED": State("○", MUTED, "not a member: it has not polled yet, or has left its group"),
    "JOINING": State("↻", MOVING, "sends a heartbeat with member epoch 0"),
    "RECONCILING": State("↻", MOVING, "commits, revokes and takes over partitions, inside poll()"),
    "ACKNOWLEDGING": State("↻", MOVING, "reports what it owns in its next heartbeat"),
    "STABLE": State("●", OK, "owns its target assignment, polls and heartbeats"),
    "FENCED": State("✖", ERROR, "fenced: it drops its partitions, then joins with member epoch 0"),
    "PREPARE_LEAVING": State("○", MUTED, "revokes its partitions before it leaves"),
    "LEAVING": State("○", MUTED, "leaves with its last heartbeat"),
    "STALE": State("○", WARN, "has left because poll() was too late; it joins at its next poll()"),
    "FATAL": State("✖", ERROR, "an error that it cannot recover from"),
}
"""The client's states under the new protocol."""
LAG: dict[str, State] = {
    "lag": State(" ", MUTED, "from the committed offset to the high watermark, as kafka-consumer-groups prints it"),
    "unread": State(" ", MUTED, "from a member's position to the end that it may read: the client's records-lag"),
    "time lag": State(" ", MUTED, "age of the first record that the group has not committed"),
}
"""The columns that tell how far readers are behind."""
MEMBER_AT_COORDINATOR: dict[str, State] = {
    "STABLE": State("●", OK, "has every partition that the coordinator assigned to it"),
    "UNREVOKED_PARTITIONS": State("↻", WARN, "must revoke partitions before its member epoch rises"),
    "UNRELEASED_PARTITIONS": State("↻", MOVING, "waits for partitions that other members still own"),
}
"""A member's state as the coordinator of a group of the new protocol keeps it."""
PRODUCER: dict[str, State] = {
    "Running": State("●", OK, "sends records"),
    "Paused": State("‖", WARN, "its process is frozen"),
    "Fenced": State("✖", ERROR, "the coordinator refuses its producer id or epoch: it stops sending"),
    "Stopped": State("○", MUTED, "not started, or closed cleanly"),
    "Dead": State("✖", ERROR, "its process was killed"),
}
TRANSACTION: dict[str, State] = {
    "Empty": State("○", MUTED, "initialized, no transaction yet"),
    "Ongoing": State("▶", ACCENT, "accepts partitions and records"),
    "PrepareCommit": State("↻", MOVING, "committing: writes its markers"),
    "PrepareAbort": State("↻", MOVING, "aborting: writes its markers"),
    "CompleteCommit": State("●", OK, "committed: all markers written"),
    "CompleteAbort": State("✖", WARN, "aborted: all markers written"),
    "PrepareEpochFence": State("↻", MOVING, "epoch raised, abort follows"),
    "Dead": State("✖", MUTED, "expired: its record is deleted"),
}
BROKER: dict[str, State] = {
    "up": State("●", OK, "runs, registered with the controller"),
    "starting": State("↻", MOVING, "loads its logs or registers with the controller: accepts no connections yet"),
    "stopping": State("↻", MOVING, "shuts down: leads nothing, and answers until other brokers know the new leaders"),
    "fenced": State("✖", ERROR, "runs, and the controller has fenced it: leads nothing until its heartbeats arrive"),
    "frozen": State("‖", WARN, "its process is frozen; the controller fences it when its session ends"),
    "silent": State("✖", ERROR, "down, not fenced yet"),
    "down": State("✖", ERROR, "fenced: leads nothing"),
}


CONTROLLER = "◆"
"""Beside the broker that is the active controller."""


def group(name: str, *, consumer: bool = False) -> State:
    """The display of a group's state; `consumer`: of a group of the new protocol."""
    return (CONSUMER_GROUP if consumer else GROUP).get(name, UNKNOWN)


def member(name: str) -> State:
    """The display of a member's own state."""
    return MEMBER.get(name) or CONSUMER_MEMBER.get(name, UNKNOWN)


def member_at_coordinator(name: str) -> State:
    """The display of a member's state at the coordinator of a group of the new protocol."""
    return MEMBER_AT_COORDINATOR.get(name, UNKNOWN)


def producer(name: str) -> State:
    """The display of a producer's state."""
    return PRODUCER.get(name, UNKNOWN)


def transaction(name: str) -> State:
    """The display of a transactional id's state."""
    return TRANSACTION.get(name, UNKNOWN)


def word(state: State, name: str) -> Line:
    """A state's glyph and name."""
    return ((f"{state.glyph} {name}", state.tone),)

"""Kafka's own words for states, each with a glyph, a tone and one line that says what it means."""

from typing import NamedTuple

from console.presenters.styled_text import ACCENT, ERROR, MOVING, MUTED, OK, WARN, Line


class State(NamedTuple):
    """How a state is shown: its glyph and tone, and what it means in plain words."""

    glyph: str
    tone: str
    meaning: str


UNKNOWN = State("?", MUTED, "a state that this console does not know")

GROUP: dict[str, State] = {
    "Empty": State("○", MUTED, "no members; committed offsets are kept for offsets.retention.minutes"),
    "PreparingRebalance": State("↻", MOVING, "the join barrier is open: every member must send JoinGroup again"),
    "CompletingRebalance": State("↻", MOVING, "members are fixed: they wait for the leader's assignment (SyncGroup)"),
    "Stable": State("●", OK, "the generation has its assignment; no rebalance is under way"),
    "Dead": State("✖", ERROR, "the group is gone from its coordinator"),
}
MEMBER: dict[str, State] = {
    "Joining": State("↻", MOVING, "sends JoinGroup and waits at the barrier"),
    "Syncing": State("↻", MOVING, "sends SyncGroup and waits for its assignment"),
    "Stable": State("●", OK, "assigned: owns its partitions, polls and heartbeats"),
    "Revoking": State("↻", MOVING, "commits and gives partitions back, inside poll()"),
    "Fenced": State("✖", ERROR, "fenced: the coordinator does not accept its id or generation"),
    "Left": State("○", MUTED, "not a member: stopped, or left by itself"),
    "Dead": State("✖", ERROR, "its process was killed: no LeaveGroup, its session has to expire"),
}
PRODUCER: dict[str, State] = {
    "Running": State("●", OK, "sends records"),
    "Paused": State("‖", WARN, "its process stands still"),
    "Fenced": State("✖", ERROR, "the coordinator refuses its producer id or epoch: it stops sending"),
    "Stopped": State("○", MUTED, "not started, or closed cleanly"),
    "Dead": State("✖", ERROR, "its process was killed"),
}
TRANSACTION: dict[str, State] = {
    "Empty": State("○", MUTED, "has a producer id, no transaction yet"),
    "Ongoing": State("▶", ACCENT, "partitions were added; records are written"),
    "PrepareCommit": State("↻", MOVING, "decided: commit markers are being written"),
    "PrepareAbort": State("↻", MOVING, "decided: abort markers are being written"),
    "CompleteCommit": State("●", OK, "committed: every partition has its marker"),
    "CompleteAbort": State("✖", WARN, "aborted: every partition has its marker"),
    "PrepareEpochFence": State("↻", MOVING, "the epoch is raised, to abort what its producer left open"),
    "Dead": State("✖", MUTED, "expired: its record is being deleted"),
}
BROKER: dict[str, State] = {
    "up": State("●", OK, "runs, registered with the controller"),
    "starting": State("↻", MOVING, "loads its logs or registers with the controller: takes no connections yet"),
    "stopping": State("↻", MOVING, "shuts down: leads nothing, and answers until the others know who leads now"),
    "frozen": State("‖", WARN, "its process stands still; the controller fences it when its session ends"),
    "silent": State("✖", ERROR, "down, and the controller does not know it yet"),
    "down": State("✖", ERROR, "down and fenced: leads nothing"),
}


def group(name: str) -> State:
    """How a group's state is shown."""
    return GROUP.get(name, UNKNOWN)


def member(name: str) -> State:
    """How a member's own state is shown."""
    return MEMBER.get(name, UNKNOWN)


def producer(name: str) -> State:
    """How a producer's state is shown."""
    return PRODUCER.get(name, UNKNOWN)


def transaction(name: str) -> State:
    """How the state of a transactional id is shown."""
    return TRANSACTION.get(name, UNKNOWN)


def word(state: State, name: str) -> Line:
    """A state's glyph and name."""
    return ((f"{state.glyph} {name}", state.tone),)

"""Kafka's own words for states, each with a glyph, a tone and one line that says what it means."""

from typing import NamedTuple

from console.presenters.text import ERROR, MOVING, MUTED, OK, WARN, Line


class State(NamedTuple):
    """How a state is shown: its glyph and tone, and what it means in plain words."""

    glyph: str
    tone: str
    gloss: str


UNKNOWN = State("?", MUTED, "a state that this console does not know")

GROUP: dict[str, State] = {
    "Empty": State("○", MUTED, "no members: nobody reads; committed offsets are kept"),
    "PreparingRebalance": State("↻", MOVING, "the join barrier is open: every member must send JoinGroup again"),
    "CompletingRebalance": State("↻", MOVING, "members are fixed: all wait for the leader's assignment (SyncGroup)"),
    "Stable": State("●", OK, "shared out: each member reads its partitions and heartbeats"),
    "Dead": State("✖", ERROR, "the group is gone from its coordinator"),
}
MEMBER: dict[str, State] = {
    "Joining": State("↻", MOVING, "sends JoinGroup and waits at the barrier"),
    "Syncing": State("↻", MOVING, "sends SyncGroup and waits for its share"),
    "Stable": State("●", OK, "owns its partitions, heartbeats and polls"),
    "Revoking": State("↻", MOVING, "commits and gives partitions back, inside poll()"),
    "Fenced": State("✖", ERROR, "thrown out: the coordinator does not accept its id or generation"),
    "Left": State("○", MUTED, "not a member: stopped, or left by itself"),
    "Dead": State("✖", ERROR, "its process was killed: the coordinator learns it by silence only"),
}
PRODUCER: dict[str, State] = {
    "Running": State("●", OK, "sends records"),
    "Paused": State("‖", WARN, "its process stands still"),
    "Fenced": State("✖", ERROR, "a newer producer with its transactional.id took over"),
    "Stopped": State("○", MUTED, "not started, or closed cleanly"),
    "Dead": State("✖", ERROR, "its process was killed"),
}
BROKER: dict[str, State] = {
    "up": State("●", OK, "runs, registered with the controller"),
    "starting": State("↻", MOVING, "runs, not yet registered with the controller"),
    "frozen": State("‖", WARN, "its process stands still; the controller fences it when its session ends"),
    "silent": State("✖", ERROR, "down, and the controller does not know it yet"),
    "down": State("✖", ERROR, "down and fenced: leads nothing"),
}
CAUSES: dict[str, str] = {
    "member joined": "a consumer joined: partitions are shared out anew",
    "member left": "a consumer closed and said so (LeaveGroup)",
    "session expired": "no heartbeat came for session.timeout.ms: the coordinator gave the member up",
    "poll interval exceeded": "poll() was not called for max.poll.interval.ms: the member left by itself",
    "subscription changed": "a member subscribes to other topics than before",
    "metadata changed": "the leader saw other partitions than before and asked for a new assignment",
    "leader rejoined": "the leader joined again, which forces a new assignment",
    "static member replaced": "another process came with the same group.instance.id",
    "sync timed out": "a member did not send SyncGroup in time",
    "coordinator moved": "the coordinator's broker changed while members were joining",
    "partitions revoked": "the second round of a cooperative rebalance: what was given back is shared out",
}
REMEDIES: dict[str, str] = {
    "member joined": "Start consumers together: group.initial.rebalance.delay.ms gathers them into one rebalance. "
    "With cooperative-sticky, members keep what does not move.",
    "member left": "A restart with group.instance.id (static membership) leaves no group: nothing is rebalanced if "
    "the member is back within session.timeout.ms.",
    "session expired": "A shorter session.timeout.ms finds a dead member sooner; a longer one rides out pauses. "
    "A clean close() needs neither.",
    "poll interval exceeded": "Fewer records for each poll() (max.poll.records), a longer max.poll.interval.ms, or "
    "processing on another thread.",
    "subscription changed": "Change subscriptions of all members in one deploy, or give each topic its own group.",
    "metadata changed": "Add partitions when a rebalance hurts least: every reader of the topic goes through one.",
    "leader rejoined": "The leader's restart costs a rebalance; group.instance.id spares it.",
    "static member replaced": "One group.instance.id for each process: twins fence each other.",
    "sync timed out": "Look for what held the member up between JoinGroup and SyncGroup: a pause or the network.",
    "coordinator moved": "Nothing on the client's side: members find the new coordinator and join again.",
    "partitions revoked": "This round is the price of cooperative rebalancing; what did not move was read on.",
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


def word(state: State, name: str) -> Line:
    """A state's glyph and name."""
    return ((f"{state.glyph} {name}", state.tone),)

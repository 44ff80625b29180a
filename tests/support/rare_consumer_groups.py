"""Flights of groups of the new protocol that take the edges which the library and the swarm seldom take."""

_HEAD = """
title = "rare"
until = "60s"
[network]
latency = "{latency}"
jitter = 0.0
[cluster.config]
"group.consumer.session.timeout.ms" = 6000
"group.consumer.min.session.timeout.ms" = 6000
"group.consumer.heartbeat.interval.ms" = 1000
"group.consumer.min.heartbeat.interval.ms" = 1000
[[topic]]
name = "orders"
partitions = 4
[[topic]]
name = "returns"
partitions = 2
[[producer]]
name = "checkout"
topics = ["orders", "returns"]
rate = "20/s"
[[group]]
name = "billing"
topics = ["orders", "returns"]
members = {members}
config = {{ "group.protocol" = "consumer", "max.poll.interval.ms" = 40000{more} }}
[group.application]
on_revoked = "commit"
revoke_takes = "{revoke_takes}"
"""


def _flight(
    *steps: tuple[str, str],
    members: int = 1,
    latency: str = "1ms",
    revoke_takes: str = "5s",
    twins: bool = False,
    more: str = "",
) -> str:
    twin = ', "group.instance.id" = "one"' if twins else ""
    head = _HEAD.format(members=members, latency=latency, revoke_takes=revoke_takes, more=f"{more}{twin}")
    return head + "".join(f'[[at]]\ntime = "{time}"\ndo = "{do}"\n' for time, do in steps)


_RESUBSCRIBES = ("15s", "subscribe billing-1 to returns")
_SILENT = ("16s", "pause heartbeats of billing-1 for 10s")  # its session ends at 22 s
_TWIN_JOINS = ("22100ms", "start billing-2")

RARE_CONSUMER_GROUPS: dict[str, tuple[str, tuple[str, str]]] = {
    "the only member dies while it gives up partitions": (
        _flight(_RESUBSCRIBES, ("17s", "kill billing-1")), ("consumer group", "Reconciling → Empty"),
    ),
    "its session ends while onPartitionsRevoked runs": (
        _flight(_RESUBSCRIBES, _SILENT, revoke_takes="14s"), ("consumer group member", "RECONCILING → FENCED"),
    ),
    "it has given up partitions while the heartbeat is in flight that is answered UNKNOWN_MEMBER_ID": (
        _flight(_RESUBSCRIBES, _SILENT, latency="400ms", revoke_takes="6700ms"),
        ("consumer group member", "ACKNOWLEDGING → FENCED"),
    ),
    "a twin has its instance id before onPartitionsRevoked has ended": (
        _flight(_RESUBSCRIBES, _SILENT, _TWIN_JOINS, members=2, revoke_takes="14s", twins=True),
        ("consumer group member", "RECONCILING → FATAL"),
    ),
    "a twin has its instance id, and FENCED_INSTANCE_ID is on its way": (
        _flight(_RESUBSCRIBES, _SILENT, _TWIN_JOINS, members=2, latency="400ms", revoke_takes="6700ms", twins=True),
        ("consumer group member", "ACKNOWLEDGING → FATAL"),
    ),
    "a refused twin closes before it learns of the refusal, and its background thread stands still": (
        _flight(
            ("20s", "restart billing-2"), ("21900ms", "pause heartbeats of billing-2"), ("22s", "stop billing-2"),
            members=2, latency="400ms", twins=True,
        ),
        ("consumer group member", "LEAVING → FATAL"),
    ),
    "a fenced member closes before its application has called poll() again": (
        _flight(
            ("15s", "stall billing-1 for 20s"), ("16s", "pause heartbeats of billing-1 for 8s"),
            ("27s", "stop billing-1"),
        ),
        ("consumer group member", "FENCED → UNSUBSCRIBED"),
    ),
    "its target changes while it gives up partitions, because its subscription has changed": (
        _flight(
            ("5s", "stop billing-2"), ("15s", "start billing-2"), ("17s", "subscribe billing-1 to orders"),
            members=2, more=', "group.remote.assignor" = "range"',
        ),
        ("consumer group member", "ACKNOWLEDGING → RECONCILING"),
    ),
}  # fmt: skip
"""What happens → the flight, and the edge that it takes."""

"""The order in which the packaged scenarios are best flown: from one group to a cluster in trouble."""

import re
import tomllib
from functools import cache

import msgspec

from cluster.config import parse_duration
from recordings.scenarios.loader import LIBRARY
from recordings.scenarios.toml_text import read_text

# fmt: off
COURSE: dict[str, tuple[str, ...]] = {
    "start": ("first-flight",),
    "reading": (
        "offset-is-next-to-read", "fetcher-buffer", "two-groups", "order-per-partition", "order-per-key",
        "offset-reset", "committed-offset-moves-back", "pause-and-resume", "paused-by-hand", "add-partitions",
        "hot-key", "compacted-topic",
    ),
    "groups": (
        "first-join", "coordinator-placement", "two-heartbeats-lost", "session-expired", "poll-too-slow",
        "dynamic-restart", "static-restart", "static-twins", "rolling-restart-dynamic", "rolling-restart-static",
        "scale-out", "idle-consumer", "slow-start", "slow-dependency", "failing-dependency", "one-slow-pod",
        "dead-letters", "commit-on-revoke", "assigned-by-hand", "regex-subscription", "assignor-upgrade",
        "consumer-protocol-first-join", "one-slow-member", "consumer-session-expired", "consumer-static-restart",
        "consumer-epoch-fenced", "consumer-coordinator-failover",
    ),
    "assignors": (
        "range-two-topics", "round-robin-uneven", "sticky-member-leaves", "cooperative-join", "eager-vs-cooperative",
        "subscription-change", "rack-aware-assignment", "your-own-assignor", "eager-cooperative-consumer",
        "uniform-vs-range",
    ),
    "rebalancing": ("migration-rolling", "migration-back"),
    "producing": (
        "sticky-vs-round-robin-partitioner", "two-partitioners", "partition-load", "linger-and-batch", "at-most-once",
        "at-least-once", "idempotent", "dedupe-survives-leader-change", "dedupe-survives-deletion",
    ),
    "producers": ("output-acks", "fan-out"),
    "transactions": (
        "commit-before-processing", "commit-after-processing", "transaction-step-by-step", "transaction-abort",
        "read-process-write", "crash-between-commit-and-answer", "zombie-producer", "stuck-last-stable-offset",
        "hanging-transaction", "hanging-transaction-prevented", "external-sink",
    ),
    "brokers": (
        "broker-down", "below-min-isr", "unclean-election", "slow-follower", "coordinator-failover",
        "fetch-from-follower",
    ),
    "network": ("network-flap", "asymmetric-partition"),
    "operations": (
        "broker-rolling-restart", "broker-drained", "deployment-or-statefulset", "deploy-storm",
        "autoscaler-chases-its-lag", "poison-pill",
    ),
}
"""Modules in their order, each with its scenarios in theirs."""
# fmt: on

_HEAD = re.compile(r"^\[", re.MULTILINE)


class Lesson(msgspec.Struct, frozen=True):
    """A scenario of the library: its name, what it teaches, and the length of its flight in µs."""

    name: str
    module: str
    title: str
    lesson: str
    until_us: int


@cache
def lessons() -> tuple[Lesson, ...]:
    """The packaged scenarios in the order of the course; those without a place in it come last.

    Only the head of each file is read: a fortieth of what loading the library takes.
    """
    order = {name: (place, number) for place, names in enumerate(COURSE.values()) for number, name in enumerate(names)}
    last = (len(COURSE), 0)
    names = sorted((path.stem for path in LIBRARY.glob("*.toml")), key=lambda name: (order.get(name, last), name))
    return tuple(map(_lesson, names))


def _lesson(name: str) -> Lesson:
    head = _HEAD.split(read_text(LIBRARY / f"{name}.toml"), maxsplit=1)[0]
    data = tomllib.loads(head)
    module, until_us = str(data.get("module", "other")), parse_duration(str(data["until"]))
    return Lesson(name, module, str(data["title"]), str(data.get("lesson", "")).strip(), until_us)

"""A flight whose reassignments wait for a frozen broker, are cancelled, and arrive."""

from functools import cache

from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import parse_scenario

WAITING = """
title = "Reassignments that wait for a frozen broker"
until = "40s"
[cluster]
brokers = 4
[[topic]]
name = "orders"
partitions = 4
replication = 2
config = { "min.insync.replicas" = 2 }
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "20/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[at]]
time = "10s"
do = "pause broker-4 for 15s"
[[at]]
time = "11s"
do = "reassign orders-0 to 4,2"
[[at]]
time = "11s"
do = "reassign orders-1 to 3,2,1"
[[at]]
time = "12s"
do = "reassign orders-2 to 4,1"
[[at]]
time = "14s"
do = "cancel reassignment of orders-2"
[[at]]
time = "30s"
do = "reassign orders-1 to 3"
[[at]]
time = "35s"
do = "reassign orders-3 to 2,3"
"""


@cache
def waiting() -> ScenarioSpec:
    """Four partitions on four brokers, for 40 s."""
    return parse_scenario(WAITING, "waiting.toml").spec

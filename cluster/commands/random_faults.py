"""Classes of faults, and how chance draws one: whom it strikes, and in which words.

The swarm of `flightdeck check` draws its schedules from this table before a flight, the nemesis while one is under way.
"""

from collections.abc import Callable, Sequence
from random import Random

import msgspec

from cluster.commands.cluster_names import Names


class Victims(msgspec.Struct):
    """Whom a fault may strike, by kind, and the luck that chooses among them."""

    luck: Random
    brokers: list[str]
    members: list[str]
    producers: list[str]
    groups: list[str]
    partitions: list[str]
    topics: list[str]

    def anybody(self) -> str:
        """A process; brokers are struck twice as often."""
        return self.luck.choice([*self.brokers, *self.brokers, *self.members, *self.producers])

    def ends(self) -> tuple[str, str]:
        """A broker and another process: the two ends of a link."""
        first = self.luck.choice(self.brokers)
        others = [*self.brokers, *self.members, *self.producers]
        return first, self.luck.choice([name for name in others if name != first])

    def either(self) -> tuple[str, str]:
        """The two ends of a link, in either order."""
        first, second = self.ends()
        return (first, second) if self.luck.random() < 0.5 else (second, first)

    def one(self, names: Sequence[str]) -> str:
        """One of these."""
        return self.luck.choice(names)


def victims(luck: Random, names: Names) -> Victims:
    """Everybody whom `names` has."""
    return Victims(
        luck,
        list(names.brokers),
        list(names.members()),
        [name for instances in names.producers.values() for name in instances],
        list(names.groups),
        list(names.partitions()),
        list(names.topics),
    )


APIS = (
    "Produce", "Produce", "Fetch", "OffsetCommit", "JoinGroup", "SyncGroup", "Heartbeat", "FindCoordinator",
    "InitProducerId", "EndTxn", "AddPartitionsToTxn",
)  # fmt: skip

FAULTS: dict[str, tuple[Callable[[Victims], str], bool]] = {
    "kill brokers": (lambda there: f"kill {there.one(there.brokers)}", True),
    "kill members": (lambda there: f"kill {there.one(there.members)}", True),
    "kill producers": (lambda there: f"kill {there.one(there.producers)}", True),
    "crash": (lambda there: f"crash {there.one(there.brokers)}", True),
    "stop": (lambda there: f"stop {there.anybody()}", True),
    "restart": (lambda there: f"restart {there.anybody()}", False),
    "pause": (lambda there: f"pause {there.anybody()}", True),
    "pause heartbeats": (lambda there: f"pause heartbeats of {there.one(there.members)}", True),
    "stall": (lambda there: f"stall {there.one(there.members)}", True),
    "cut": (lambda there: "cut {} {}".format(*there.ends()), True),
    "cut one way": (lambda there: "cut {} -> {}".format(*there.either()), True),
    "slow link": (lambda there: "slow {} {} to {}ms".format(*there.ends(), there.luck.choice((50, 600))), True),
    "hold": (lambda there: "hold {} {}".format(*there.ends()), True),
    "isolate": (lambda there: f"isolate {there.one(there.brokers)}", True),
    "lose responses": (
        lambda there: (
            f"lose next {there.luck.randint(1, 3)} responses of {there.luck.choice(APIS)} from"
            f" {there.one(there.brokers)}"
        ),
        False,
    ),
    "slow disk": (lambda there: f"slow disk of {there.one(there.brokers)} to {there.luck.choice((2, 40))}ms", True),
    "full disk": (lambda there: f"fill disk of {there.one(there.brokers)} for 3s", False),
    "scale": (lambda there: f"scale {there.one(there.groups)} to {there.luck.randint(0, 5)}", False),
    "rolling restart": (lambda there: f"rolling restart {there.one(there.groups)} every 2s down 1s", False),
    "preferred election": (lambda there: f"elect preferred {there.one(there.partitions)}", False),
    "unclean election": (lambda there: f"elect unclean {there.one(there.partitions)}", False),
    "controller": (lambda _: "fail over controller", False),
    "coordinator": (lambda there: f"move coordinator of {there.one(there.groups)}", False),
    "delete records": (
        lambda there: f"delete records {there.one(there.partitions)} before {there.luck.randint(1, 60)}",
        False,
    ),
    "add partitions": (lambda there: f"add partitions {there.one(there.topics)} to {there.luck.randint(5, 6)}", False),
}
"""Each class of faults: the text of one, and whether it lasts for a while (the text may go on with `for DURATION`)."""

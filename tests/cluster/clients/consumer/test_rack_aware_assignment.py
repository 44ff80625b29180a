"""Racks in a group: the leader matches them (KIP-881), and joins again when those of its partitions change."""

import msgspec
import pytest

from cluster import events as e
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.spec import BrokerSpec, MemberSpec, ScenarioSpec
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import group_of

RACKS = tuple(BrokerSpec(number, rack) for number, rack in ((1, "a"), (2, "b"), (3, "c")))
SOON = {"metadata.max.age.ms": 3_000}


def in_racks(
    *steps: tuple[float, str], racks: dict[str, str], assignor: str = "range", replication: int = 1
) -> ScenarioSpec:
    """Members that stand in these racks; partition p of orders begins at broker p mod 3 + 1."""
    made = group_of(*steps, until_s=32, members=3, assignors=(assignor,), consumer=dict(SOON))
    own = tuple(MemberSpec(member, config={"client.rack": rack}) for member, rack in racks.items())
    (group,) = made.groups
    quiet = tuple(msgspec.structs.replace(producer, rate_per_second=3.0) for producer in made.producers)
    topics = tuple(msgspec.structs.replace(topic, replication=replication) for topic in made.topics)
    groups = (msgspec.structs.replace(group, own=own),)
    return msgspec.structs.replace(made, brokers=RACKS, topics=topics, producers=quiet, groups=groups)


def owned(flight: Flown) -> dict[str, list[str]]:
    """The partitions of each member at the end."""
    return {name: member["owned"] for name, member in flight.document["members"].items()}


def rebalances_for_racks(flight: Flown) -> int:
    """How often the group rebalanced because its leader saw other metadata."""
    return len(flight.all(e.RebalanceStarted, cause=RebalanceCause.METADATA_CHANGED))


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_each_member_gets_the_partitions_in_its_rack(assignor: str) -> None:
    near = flown(in_racks(racks={"g-1": "c", "g-2": "a", "g-3": "b"}, assignor=assignor))
    assert owned(near) == {
        "g-1": ["orders-2", "orders-5"],
        "g-2": ["orders-0", "orders-3"],
        "g-3": ["orders-1", "orders-4"],
    }


def test_roundrobin_knows_no_racks_and_nor_does_a_group_in_which_no_replica_is_near() -> None:
    plain = owned(flown(in_racks(racks={}, assignor="roundrobin")))
    assert owned(flown(in_racks(racks={"g-1": "c", "g-2": "a", "g-3": "b"}, assignor="roundrobin"))) == plain
    elsewhere = in_racks(racks={"g-1": "x", "g-2": "y", "g-3": "z"})
    assert owned(flown(elsewhere)) == owned(flown(in_racks(racks={})))


def test_where_every_rack_has_every_partition_racks_change_nothing_but_cost_rebalances() -> None:
    """Metadata lists no rack for a broker that is down, so the leader sees other racks, twice."""
    everywhere = {"g-1": "c", "g-2": "a", "g-3": "b"}
    steps = ((15.0, "stop broker-3"), (22.0, "start broker-3"))
    near, plain = (flown(in_racks(*steps, racks=racks, replication=3)) for racks in (everywhere, {}))
    assert owned(near) == owned(plain)
    assert (rebalances_for_racks(near), rebalances_for_racks(plain)) == (2, 0)


def test_only_the_rack_of_the_leader_makes_it_watch_racks() -> None:
    made = flown(in_racks(racks={}))
    leader = made.document["groups"]["g"]["leader"]
    others = {name: "a" for name in ("g-1", "g-2", "g-3") if name != leader}
    steps = ((15.0, "stop broker-3"), (22.0, "start broker-3"))
    assert rebalances_for_racks(flown(in_racks(*steps, racks=others, replication=3))) == 0

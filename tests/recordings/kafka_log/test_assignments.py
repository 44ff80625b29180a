"""What the sticky assignors write of their assignments: the cooperative one before it holds back what changes hands."""

import pytest

from cluster import events as e
from cluster.assignors import Subscription, TopicPartition
from cluster.assignors.cooperative_sticky import partitions_changing_hands
from cluster.events import Event
from recordings.flights.runner import fly, make_plan
from recordings.kafka_log.assignments import before_holding_back
from recordings.kafka_log.renderer import RENDERERS
from recordings.kafka_log.state import KafkaLogState
from recordings.scenarios.loader import load
from tests.support.kafka_log_lines import CLIENT, ID, OTHER, lines_of, rebalance, state

SCENARIOS = (
    "recordings/library/cooperative-join.toml",
    "tests/fidelity/scenarios/s23-cooperative-faults.toml",
    "tests/fidelity/scenarios/s34-cooperative-topics.toml",
)


def barrier(generation: int, *members: str, protocol: str = "cooperative-sticky") -> Event:
    ids = (ID, OTHER)
    return e.JoinBarrierCompleted(
        group="billing", generation=generation, protocol=protocol, leader=members[0],
        members=dict(zip(ids, members, strict=False)), session_deadlines_us={}, last_joined="", waited_us=0,
    )  # fmt: skip


def test_the_cooperative_assignor_says_what_it_then_holds_back() -> None:
    newcomer = e.MemberDeclared(
        group="billing", member="billing-2", instance_id="", topics=("orders",), session_timeout_ms=1,
        heartbeat_interval_ms=1, max_poll_interval_ms=1,
    )  # fmt: skip
    joins = e.MemberStateChanged(
        group="billing", member="billing-2", member_id=OTHER, generation=-1, state="Joining", reason=""
    )
    owned = ("orders-0", "orders-1")
    owns = e.PartitionsAssigned(group="billing", member="billing-1", generation=3, partitions=owned)
    share = e.AssignmentMade(
        group="billing", member="billing-1", generation=4, assignments={ID: ("orders-0",), OTHER: ()}
    )
    lines = lines_of(
        owns, newcomer, rebalance("any"), state("Joining", generation=3), joins, barrier(4, "billing-1", "billing-2"),
        share,
    )  # fmt: skip
    assert lines[-2:] == [
        f"Final assignment of partitions to consumers: \n{{{ID}=[orders-0], {OTHER}=[orders-1]}}",
        (
            f"{CLIENT}Finished assignment for group at generation 4: {{{ID}=Assignment(partitions=[orders-0]),"
            f" {OTHER}=Assignment(partitions=[])}}"
        ),
    ]


@pytest.mark.parametrize("file", SCENARIOS)
def test_what_was_held_back_is_the_only_difference(file: str) -> None:
    """The line is computed from what the members said when they joined: held back again, it is what was assigned."""
    known = KafkaLogState()
    held_back: list[TopicPartition] = []

    def log(event: Event) -> None:
        if isinstance(event, e.AssignmentMade) and event.generation in known.group(event.group).subscriptions:
            said = known.group(event.group).subscriptions[event.generation]
            final = before_holding_back(said, event.assignments)
            parsed = {member: [TopicPartition.parse(str(one)) for one in given] for member, given in final.items()}
            going = partitions_changing_hands(parsed, said)
            left = {member: [str(one) for one in given if one not in going] for member, given in parsed.items()}
            assert left == {member: list(given) for member, given in event.assignments.items()}
            held_back.extend(going)
        for renderer in RENDERERS.get(type(event), ()):
            renderer(known, event)

    fly(make_plan(load(file)), log=log)
    assert held_back


def test_without_what_members_own_the_line_would_be_another() -> None:
    """That members own what is held back is what the line is computed from."""
    said = {ID: Subscription(("orders",), (TopicPartition("orders", 0), TopicPartition("orders", 1)), 3)}
    said[OTHER] = Subscription(("orders",))
    shares = {ID: ("orders-0",), OTHER: ()}
    assert before_holding_back(said, shares) != shares
    assert before_holding_back({member: Subscription(("orders",)) for member in said}, shares) == shares


def test_the_other_assignors_say_nothing_of_their_own() -> None:
    share = e.AssignmentMade(group="billing", member="billing-1", generation=4, assignments={ID: ("orders-0",)})
    lines = lines_of(rebalance("any"), barrier(4, "billing-1", protocol="range"), share)
    assert not [line for line in lines if line.startswith("Final assignment")]

"""assignor_sticky.json: groups that change step by step, for the sticky and the cooperative sticky assignor.

Each step is one rebalance for `sticky`, and as many as the group needs to settle for `cooperative-sticky`. Where the
Java result did not depend on the order of its hash maps it is compared exactly; elsewhere the shape and the properties
that hold for every result are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cluster.assignors import ASSIGNORS, Subscription, TopicPartition
from tests.oracles.outcome import Skip

Assignment = dict[str, list[TopicPartition]]
MOST_ROUNDS = 10


class Round(NamedTuple):
    """One rebalance: what each member said, and what it got."""

    subscriptions: dict[str, Subscription]
    assignment: Assignment


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    for assignor in vector["assignors"]:
        previous: Assignment = {}
        for number, step in enumerate(vector["steps"], start=1):
            rounds = _settle(assignor, step["partitions_per_topic"], _subscriptions(step["members"], previous))
            try:
                _judge(assignor, step, rounds)
            except AssertionError as error:
                raise AssertionError(f"{assignor}, step {number} ({step.get('what', '')}): {error}") from error
            previous = rounds[-1].assignment


def _subscriptions(members: Mapping[str, Any], previous: Assignment) -> dict[str, Subscription]:
    def owned(member: str) -> tuple[TopicPartition, ...]:
        told = members[member].get("owned", [])
        if told == "previous":
            return tuple(previous.get(member, ()))
        return tuple(TopicPartition.parse(partition) for partition in told)

    return {
        member: Subscription(
            tuple(told["topics"]), owned(member), told.get("generation", -1), told.get("group_instance_id")
        )
        for member, told in members.items()
    }


def _settle(assignor: str, counts: dict[str, int], subscriptions: dict[str, Subscription]) -> list[Round]:
    """Rebalance, in the cooperative case until no member has to revoke anything."""
    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS:
        assignment = ASSIGNORS[assignor].assign(counts, subscriptions)
        rounds.append(Round(subscriptions, assignment))
        revoking = any(
            partition not in assignment[member]
            for member, told in subscriptions.items()
            for partition in told.owned_partitions
        )
        if assignor == "sticky" or not revoking:
            return rounds
        generation = max(told.generation_id for told in subscriptions.values()) + 1
        subscriptions = {
            member: Subscription(told.topics, tuple(assignment[member]), generation, told.group_instance_id)
            for member, told in subscriptions.items()
        }
    raise AssertionError(f"not settled after {MOST_ROUNDS} rounds")


def _judge(assignor: str, step: dict[str, Any], rounds: list[Round]) -> None:
    _judge_properties(step["partitions_per_topic"], rounds)
    if assignor == "cooperative-sticky":
        for told, assignment in rounds:
            _judge_hand_over(told, assignment)
    if "expect" in step:
        _judge_expected(assignor, step["expect"], rounds)
    for named in step.get("kafka_test_properties", []):
        _judge_named_property(named, rounds)
    executed = step.get("executed", {}).get(assignor)
    if executed is None or executed["order_independent"]:
        _judge_literally(assignor, step, rounds)
    if executed is None:
        return
    for name, expected in executed.get("invariants", {}).items():
        assert _invariant(name, rounds) == expected, name
    if executed["order_independent"]:
        assert len(rounds) == len(executed["rounds"]), "number of rounds"
        for number, expected in enumerate(executed["rounds"]):
            assert _text(rounds[number].assignment) == _sorted(expected["assignment"]), f"round {number + 1}"
            if "held_back" in expected:
                assert _held_back(step["partitions_per_topic"], rounds, number) == expected["held_back"]


def _judge_expected(assignor: str, expect: dict[str, Any], rounds: list[Round]) -> None:
    """`assignment` after the last round, `rounds`; of all assignors, or under the name of each."""
    expect = expect.get(assignor, expect)
    for key, wanted in expect.items():
        if key == "assignment":
            assert _text(rounds[-1].assignment) == _sorted(wanted), "as expected"
        elif key == "rounds":
            assert len(rounds) == wanted, f"{len(rounds)} rounds"
        elif key == "sizes":
            assert sorted(map(len, rounds[-1].assignment.values())) == sorted(wanted), "sizes"
        elif key not in ASSIGNORS:
            raise Skip(f"expectation {key!r} is not known")


def _judge_literally(assignor: str, step: dict[str, Any], rounds: list[Round]) -> None:
    """What Kafka's own test pins: the result of the first round, and what changes hands in it."""
    pinned = step.get("kafka_test_asserts", {})
    expected = pinned.get(assignor, pinned.get("both"))
    if expected is not None:
        assert _text(rounds[0].assignment) == _sorted(expected), "as the named test asserts"
    if assignor == "cooperative-sticky" and "kafka_test_asserts_transferring" in step:
        held_back = _held_back(step["partitions_per_topic"], rounds, 0)
        assert held_back == step["kafka_test_asserts_transferring"], "partitions that change hands"


def _invariant(name: str, rounds: list[Round]) -> object:
    match name:
        case "final_sizes_sorted":
            return sorted(map(len, rounds[-1].assignment.values()))
        case "rounds":
            return len(rounds)
    raise AssertionError(f"no such invariant: {name}")


def _judge_properties(counts: Mapping[str, int], rounds: list[Round]) -> None:
    subscriptions, final = rounds[-1]
    wanted = {topic for told in subscriptions.values() for topic in told.topics}
    every = sorted(TopicPartition(topic, n) for topic in wanted for n in range(counts.get(topic, 0)))
    assert sorted(partition for held in final.values() for partition in held) == every, "each partition once"
    assert not _unbalanced(final), "balanced"
    for told, assignment in rounds:
        for member, held in assignment.items():
            assert {partition.topic for partition in held} <= set(told[member].topics), f"{member} subscribes"


def _judge_named_property(named: str, rounds: list[Round]) -> None:
    """What a Kafka test asserts without pinning a result; prose outside these forms is covered by the comparison."""
    final = rounds[-1].assignment
    if sizes := re.fullmatch(r"sizes (\d+(?:/\d+)*)|(\d+(?:/\d+)+) after settling", named):
        expected = sorted(int(size) for size in (sizes[1] or sizes[2]).split("/"))
        assert sorted(map(len, final.values())) == expected, named
    elif keeper := re.fullmatch(r"(\S+) keeps what it had", named):
        assert set(rounds[0].subscriptions[keeper[1]].owned_partitions) <= set(final[keeper[1]]), named
    elif count := re.fullmatch(r"(\d+) partitions are assigned", named):
        assert sum(map(len, final.values())) == int(count[1]), named


def _judge_hand_over(subscriptions: Mapping[str, Subscription], assignment: Assignment) -> None:
    """Nothing is both revoked from one member and given to another in the same round."""
    revoked = {
        partition
        for member, told in subscriptions.items()
        for partition in told.owned_partitions
        if partition not in assignment[member]
    }
    for member, held in assignment.items():
        given = set(held) - set(subscriptions[member].owned_partitions)
        assert not given & revoked, f"given to {member} before it was revoked"


def _unbalanced(assignment: Assignment) -> bool:
    """As Kafka's test defines it: sizes differ by more than one although the members share an assigned topic."""
    topics = {member: {partition.topic for partition in held} for member, held in assignment.items()}
    return any(
        len(fuller) > len(emptier) + 1 and topics[a] & topics[b]
        for a, fuller in assignment.items()
        for b, emptier in assignment.items()
    )


def _held_back(counts: Mapping[str, int], rounds: list[Round], number: int) -> dict[str, str]:
    """The partitions that no member got in a round, with their owners in the next one."""
    given = {partition for held in rounds[number].assignment.values() for partition in held}
    later = rounds[number + 1].assignment if number + 1 < len(rounds) else {}
    return {
        str(partition): member for member, held in sorted(later.items()) for partition in held if partition not in given
    }


def _text(assignment: Assignment) -> dict[str, list[str]]:
    return {member: sorted(str(partition) for partition in held) for member, held in assignment.items()}


def _sorted(expected: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {member: sorted(partitions) for member, partitions in expected.items()}

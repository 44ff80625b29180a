"""assignor_server.json: groups that change step by step, for the coordinator's assignors (KIP-848).

Each step is one computation of the target. A member's `target` is its partitions so far, "previous" for what the step
before expects for it, or "previous of ID" for a static member that replaces another one. Where the Java result did not
depend on the order of hash maps it is compared exactly. The other results are compared exactly if the document says
`"iteration_order": "sorted"` (topics by name, members by id), else by their sizes and by how much the members keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cluster.coordinators.assignors import (
    SERVER_ASSIGNORS,
    ConsumerGroupSpec,
    ConsumerMemberSpec,
    TargetAssignment,
    subscription_type,
)
from tests.oracles.outcome import Skip
from tests.support.targets import assert_valid, in_order, kept

Held = Mapping[str, list[str]]


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    exact = document.get("iteration_order") == "sorted"
    previous: Held = {}
    for number, step in enumerate(vector["steps"], start=1):
        group = _group(step, previous)
        target = SERVER_ASSIGNORS[vector["assignor"]].assign(group)
        try:
            assert_valid(group, target)
            previous = _judge(step["expect"], group, target, exact=exact)
        except AssertionError as error:
            raise AssertionError(f"step {number} ({step.get('what', '')}): {error}") from error


def groups_of(vector: dict[str, Any]) -> list[ConsumerGroupSpec]:
    """What each step gives the assignor, for other checks than the comparison."""
    groups: list[ConsumerGroupSpec] = []
    previous: Held = {}
    for step in vector["steps"]:
        groups.append(_group(step, previous))
        previous = step["expect"].get("assignment", {})
    return groups


def _group(step: dict[str, Any], previous: Held) -> ConsumerGroupSpec:
    def so_far(member: str, given: str | list[str]) -> tuple[str, ...]:
        if isinstance(given, str):
            given = previous.get(member if given == "previous" else given.removeprefix("previous of "), [])
        return tuple(in_order(given))

    members = {
        member: ConsumerMemberSpec(
            tuple(given["topics"]), given.get("instance_id"), so_far(member, given.get("target", []))
        )
        for member, given in step["members"].items()
    }
    kind = step.get("subscription_type") or subscription_type([(member.topics, "") for member in members.values()])
    return ConsumerGroupSpec(members, step["partitions_per_topic"], kind)


def _judge(expect: dict[str, Any], group: ConsumerGroupSpec, target: TargetAssignment, *, exact: bool) -> Held:
    """Compare; returns the target that the next step begins with: the expected one where there is one."""
    for key in expect:
        if key not in {"assignment", "order_independent", "sizes", "unchanged"}:
            raise Skip(f"expectation {key!r} is not known")
    given = {member: list(held) for member, held in target.items()}
    if "sizes" in expect:
        assert sorted(map(len, target.values())) == sorted(expect["sizes"]), "sizes"
    if expect.get("unchanged"):
        assert given == {member: list(spec.assigned) for member, spec in sorted(group.members.items())}, "unchanged"
    if "assignment" not in expect:
        return given
    wanted = {member: in_order(expect["assignment"].get(member, [])) for member in sorted(group.members)}
    if exact or expect.get("order_independent", True):
        assert given == wanted
    else:
        assert sorted(map(len, given.values())) == sorted(map(len, wanted.values())), "sizes"
        if group.subscription_type == "HOMOGENEOUS":
            stay = [sum(kept(group, held, member) for member in group.members) for held in (given, wanted)]
            assert stay[0] == stay[1], "partitions that stay where they are"
    return wanted

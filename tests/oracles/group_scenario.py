"""What a scenario of the group coordinator is played with: its cast, its clock, and its set-ups."""

from __future__ import annotations

from typing import Any

from cluster.coordinators.group.group import ClassicGroup
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    MemberMetadata,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.oracles.outcome import Skip
from tests.support.coordinator_driver import MS, Call, Desk

GROUP = "group"
TOPIC = "t"
KNOWN_ID_VERSION = 9
NO_ROUND_TRIP_VERSION = 3
STATIC_NAMES = ("leader", "follower", "third")


class Actor:
    """A member of the scenario: what its process knows."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self.name = name
        self.member_id = ""
        self.instance_id: str | None = None
        self.generation = -1
        self.protocols: list[str] = list(config["protocols"])
        self.session_timeout_ms: int = config["session_timeout_ms"]
        self.rebalance_timeout_ms: int = config["rebalance_timeout_ms"]
        self.join: Call | None = None
        self.sync: Call | None = None

    def learn(self) -> None:
        """Take over what the answered JoinGroup said."""
        answer = self.join.response if self.join is not None else None
        if isinstance(answer, JoinGroupResponse):
            if answer.member_id:
                self.member_id = answer.member_id
            if answer.error is ErrorCode.NONE:
                self.generation = answer.generation


class Stage:
    """A coordinator, the cast, and the scenario's clock over it."""

    def __init__(self, config: dict[str, Any], *, version: int, protocols: list[str]) -> None:
        self.config = config
        self.version = version
        self.extra_protocols = protocols  # those that the scenario changes to: the static set-up supports them too
        self.cast: dict[str, Actor] = {}
        self.instance_ids: dict[str, str] = {}  # of static members that the scenario does not call as usual
        self.bindings: dict[str, int] = {}  # "generation": "g" binds g
        self.origin_us = 0
        self.new_desk()

    def new_desk(self) -> None:
        """A coordinator without groups. What expires is out of these scenarios, whose clock may jump by ten minutes."""
        config = {key: value for key, value in self.config.items() if "." in key}
        self.desk = Desk({"offsets.retention.check.interval.ms": 86_400_000, **config})

    @property
    def group(self) -> ClassicGroup:
        group = self.desk.coordinator.groups.get(GROUP)
        assert group is not None, "the group does not exist"
        return group

    def actor(self, name: str) -> Actor:
        return self.cast.setdefault(name, Actor(name, self.config))

    def at(self, t_ms: int) -> None:
        self.desk.jump_to(self.origin_us + t_ms * MS)
        self.learn()

    def learn(self) -> None:
        for actor in self.cast.values():
            actor.learn()

    def join(self, actor: Actor, request: JoinGroupRequest | None = None) -> Call:
        if request is None:
            request = self.join_request(actor)
        actor.sync = None
        actor.join = self.desk.send(request)
        self.learn()
        return actor.join

    def join_request(self, actor: Actor, **changes: object) -> JoinGroupRequest:
        fields: dict[str, Any] = {
            "group": GROUP,
            "member_id": actor.member_id,
            "client_id": actor.name,
            "session_timeout_ms": actor.session_timeout_ms,
            "rebalance_timeout_ms": actor.rebalance_timeout_ms,
            "protocols": {name: MemberMetadata((TOPIC,)) for name in actor.protocols},
            "instance_id": actor.instance_id,
            "version": self.version if actor.instance_id is not None else NO_ROUND_TRIP_VERSION,
        }
        return JoinGroupRequest(**{**fields, **changes})

    def sync(self, actor: Actor, request: SyncGroupRequest) -> Call:
        actor.sync = self.desk.send(request)
        return actor.sync

    def even_assignment(self) -> dict[str, tuple[str, ...]]:
        return {member_id: (f"{TOPIC}-{index}",) for index, member_id in enumerate(self.group.members)}

    # --- set-ups ------------------------------------------------------------------------------------------------------

    def set_up(self, step: dict[str, Any]) -> None:
        """Reach the state that the call names; the clock then stands at the step's t_ms."""
        call: str = step["call"]
        match call.split("_"):
            case ["force", "completing", "rebalance"]:
                self._rejoin_all(self._members())
                return
            case ["two", "members", "rejoined", "with", "pending", pending]:
                self._form(step, "two", static=False)
                self._stabilize()
                named = step.get("pending", pending)
                for name in named if isinstance(named, list) else [named]:
                    self._pending(name, step)
                self._rejoin_all(self._members(), wait=False)
            case ["group", "of", "one", goal]:
                self._form(step, "one", static=False)
                self._reach(goal)
            case [number, "members" | "static" as kind, goal]:
                self._form(step, number, static=kind == "static")
                self._reach(goal)
            case _:
                raise Skip(f"a set-up that is not known: {call}")
        if isinstance(step.get("generation"), int):
            self._up_to(step["generation"], call)
        elif isinstance(step.get("generation"), str):
            self.bindings[step["generation"]] = self.group.generation
        self.origin_us = self.desk.now_us - step["t_ms"] * MS

    def _reach(self, goal: str) -> None:
        if goal == "stable":
            self._stabilize()
        elif goal != "completing":
            raise Skip(f"a set-up that is not known: … {goal}")

    def _form(self, step: dict[str, Any], number: str, *, static: bool) -> None:
        count = {"one": 1, "two": 2, "three": 3}.get(number)
        names: list[str] = list(step.get("members") or ([step["member"]] if "member" in step else []))
        if count is None or len(names) not in {0, count}:
            raise Skip(f"a set-up that is not known: {step['call']} with {names}")
        names = names or ["A", "B", "C"][:count]
        leader = step.get("leader", names[0])
        names = [leader, *(name for name in names if name != leader)]
        for index, name in enumerate(names):
            actor = self.actor(name)
            actor.session_timeout_ms = step.get("session_timeout_ms", actor.session_timeout_ms)
            actor.rebalance_timeout_ms = step.get("rebalance_timeout_ms", actor.rebalance_timeout_ms)
            actor.protocols = list(step.get("protocols", actor.protocols))
            if static:
                actor.instance_id = self.instance_ids.get(name, STATIC_NAMES[index])
                actor.protocols += [name for name in self.extra_protocols if name not in actor.protocols]
            else:
                actor.instance_id = step.get("group_instance_id")
            self.join(actor)
        self._until_answered()

    def _members(self) -> list[Actor]:
        return [
            actor for member_id in self.group.members for actor in self.cast.values() if actor.member_id == member_id
        ]

    def _until_answered(self) -> None:
        while any(actor.join is not None and actor.join.pending for actor in self.cast.values()):
            due_us = self.desk.coordinator.next_deadline_us()
            assert due_us is not None, "nothing would ever answer the joins"
            self.desk.jump_to(due_us)
        self.learn()

    def _stabilize(self) -> None:
        members = self._members()
        for actor in reversed(members):  # the leader, who joined first, comes last
            assignments = self.even_assignment() if actor is members[0] else {}
            request = SyncGroupRequest(
                GROUP, actor.generation, actor.member_id, actor.instance_id, assignments=assignments
            )
            self.sync(actor, request)
        for actor in members:
            assert isinstance(actor.sync and actor.sync.response, SyncGroupResponse)

    def _rejoin_all(self, actors: list[Actor], *, wait: bool = True) -> None:
        for actor in actors:
            self.join(actor)
        if wait:
            self._until_answered()

    def _pending(self, name: str, step: dict[str, Any]) -> None:
        actor = self.actor(name)
        actor.session_timeout_ms = step.get("session_timeout_ms", actor.session_timeout_ms)
        self.join(actor, self.join_request(actor, version=KNOWN_ID_VERSION))

    def _up_to(self, generation: int, call: str) -> None:
        while self.group.generation < generation:
            self._rejoin_all(self._members())
            if call.endswith("stable"):
                self._stabilize()
        assert self.group.generation == generation

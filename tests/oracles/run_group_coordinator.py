"""group_coordinator_scenarios.json: a scenario of calls to the classic group coordinator.

The clock jumps from step to step, as Kafka's mock timer does: what became due in between happens at the later instant.
Names of members are the scenario's; the ids are whatever the coordinator minted. A scenario that expects different
answers by the version of a request is run once for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cluster import events as e
from cluster.coordinators.group.coordinator import answer_while_loading
from cluster.coordinators.group.group import ClassicGroup, GroupMember
from cluster.coordinators.group.offset_commit import TransactionProducer
from cluster.protocol.api import Request, Response
from cluster.protocol.api_table import error_response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupRequest,
    DescribeGroupResponse,
    HeartbeatRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    ListGroupsRequest,
    ListGroupsResponse,
    MemberMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
)
from tests.oracles.group_scenario import GROUP, KNOWN_ID_VERSION, NO_ROUND_TRIP_VERSION, TOPIC, Actor, Stage
from tests.oracles.outcome import Skip
from tests.support.coordinator_driver import MS, Call

SET_UPS = ("group_of_", "two_", "three_", "force_")
SITUATIONS = ("group does not exist", "coordinator not on this broker", "not fenced", "while loading")


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    steps: list[dict[str, Any]] = vector["steps"]
    versions = {key for step in steps for key in step.get("expect", {}) if key in {"v8-", "v9+"}}
    loading = "loading" in vector["id"]
    for version in (9, 8) if versions else (9,):
        scenario = Scenario({**document["default_config"], **vector.get("config", {})}, version, steps, loading=loading)
        for index, step in enumerate(steps):
            scenario.play(step, steps[index + 1]["t_ms"] if index + 1 < len(steps) else None)


class Scenario:
    """One run of a vector."""

    def __init__(self, config: dict[str, Any], version: int, steps: list[dict[str, Any]], *, loading: bool) -> None:
        joins = [step for step in steps if step["call"] == "join" and isinstance(step.get("protocols"), list)]
        accepted = [step for step in joins if step.get("expect", {}).get("error") != "INCONSISTENT_GROUP_PROTOCOL"]
        self.stage = Stage(config, version=version, protocols=[name for s in accepted for name in s["protocols"]])
        self.stage.instance_ids = _instance_ids(steps)
        self.version = version
        self.loading = loading
        self.next_ms: int | None = None
        self.before: str = ""  # the member id before a join that replaced it
        self.given: dict[str, tuple[str, ...]] = {}  # what each actor was assigned by name
        self.old_ids: dict[str, str] = {}  # instance id → the member id that was replaced

    def play(self, step: dict[str, Any], next_ms: int | None) -> None:
        self.next_ms = next_ms
        call: str = step["call"]
        situation = step.get("situation", "")
        if situation and not any(known in situation for known in SITUATIONS):
            raise Skip(f"a situation that cannot be set up: {situation}")
        self.stage.at(step["t_ms"])
        if call.startswith(SET_UPS):
            self.stage.set_up(step)
            self._remember_assignment()
            return
        method: Callable[[dict[str, Any]], None] | None = getattr(self, f"_{call}", None)
        if method is None:
            raise Skip(f"a call that is not known: {call}")
        method(step)

    # --- names and numbers ----------------------------------------------------------------------------------------

    def _actor(self, step: dict[str, Any]) -> Actor:
        return self.stage.actor(step.get("member", "nobody in particular"))

    def _member_id(self, text: str, actor: Actor) -> str:
        """What the scenario calls a member id: a word for one, or the id itself."""
        if text in {"known", "the returned id"}:
            return actor.member_id
        for words in ("old id of ", "id of "):
            if text.startswith(words):
                named = self.stage.actor(text.removeprefix(words))
                return self.old_ids.get(named.instance_id or "", named.member_id) if "old" in words else named.member_id
        if text in {"old id", "the old id"}:
            return self.old_ids.get(actor.instance_id or "", actor.member_id)
        return text

    def _sender(self, step: dict[str, Any], actor: Actor) -> tuple[str, str | None]:
        """(member id, instance id) of a request; an unknown actor's id is its name."""
        instance_id = step.get("group_instance_id", actor.instance_id)
        if "member_id" in step:
            return self._member_id(step["member_id"], actor), instance_id
        return actor.member_id or step.get("member", ""), instance_id

    def _generation(self, value: int | str | None, default: int = -1) -> int:
        if value is None:
            return default
        if isinstance(value, int):
            return value
        name, plus, more = value.partition("+")
        known = self.stage.group.generation if name == "current" else self.stage.bindings[name]
        return known + (int(more) if plus else 0)

    def _current(self) -> int:
        group = self.stage.desk.coordinator.groups.get(GROUP)
        return group.generation if group is not None else -1

    def _label(self, member_id: str, instance_id: str | None, expected: list[str]) -> str:
        """How the scenario calls this member: by its instance id when the expectation has it, else by its name."""
        if instance_id is not None and instance_id in expected:
            return instance_id
        named = [actor.name for actor in self.stage.cast.values() if actor.member_id == member_id]
        return next((name for name in named if name in expected), named[0] if named else member_id)

    def _remember_assignment(self) -> None:
        for actor in self.stage.cast.values():
            member = self.stage.group.members.get(actor.member_id)
            if member is not None:
                self.given[actor.name] = member.assignment

    # --- calls ----------------------------------------------------------------------------------------------------

    def _ask(self, step: dict[str, Any], request: Request) -> Response | None:
        situation = step.get("situation", "")
        if "not on this broker" in situation:
            return error_response(request, ErrorCode.NOT_COORDINATOR)
        if self.loading or "while loading" in situation:
            return answer_while_loading(request)
        if "group does not exist" in situation:
            self.stage.new_desk()
        return self.stage.desk.send(request).response

    def _join(self, step: dict[str, Any]) -> None:
        actor = self._actor(step)
        if isinstance(step.get("protocols"), list):
            actor.protocols = step["protocols"]
        if "group_instance_id" in step and ("expect" not in step or step.get("member_id") == ""):
            actor.instance_id = step["group_instance_id"]
        member_id, instance_id = self._sender({"member_id": actor.member_id, **step}, actor)
        if "member id not empty" in step.get("situation", ""):
            member_id = f"{actor.name}-id"
        timeouts = {key: step[key] for key in ("session_timeout_ms", "rebalance_timeout_ms") if key in step}
        first_version = KNOWN_ID_VERSION if step.get("require_known_member_id") or member_id else NO_ROUND_TRIP_VERSION
        request = self.stage.join_request(
            actor,
            group=step.get("group_id", GROUP),
            member_id=member_id,
            instance_id=instance_id,
            protocol_type=step.get("protocol_type", "consumer"),
            version=first_version if instance_id is None else self.version,
            **timeouts,
        )
        if self.loading or "situation" in step:
            self._judge(step, self._ask(step, request), actor)
            return
        for _ in range(step.get("repeat", 1)):
            self.before = actor.member_id or self._holder(instance_id)
            if not member_id and instance_id is not None and self._holder(instance_id):
                self.old_ids[instance_id] = self._holder(instance_id)
            answer = self.stage.join(actor, request).response
            if answer is None or _errors(answer) <= {"NONE", "MEMBER_ID_REQUIRED"}:
                for key, value in timeouts.items():  # it joins again with what it was accepted with
                    setattr(actor, key, value)
            if "expect" in step:
                self._judge(step, self._answer_in_time(actor.join), actor)

    def _holder(self, instance_id: str | None) -> str:
        group = self.stage.desk.coordinator.groups.get(GROUP)
        return group.static_members.get(instance_id or "", "") if group is not None else ""

    def _answer_in_time(self, call: Call | None) -> Response | None:
        """The answer, if it comes before the next step."""
        assert call is not None
        desk, stage = self.stage.desk, self.stage
        while call.pending and (due_us := desk.coordinator.next_deadline_us()) is not None:
            if self.next_ms is not None and due_us > stage.origin_us + self.next_ms * MS:
                break
            desk.jump_to(due_us)
        stage.learn()
        return call.response

    def _sync(self, step: dict[str, Any]) -> None:
        actor = self._actor(step)
        member_id, instance_id = self._sender(step, actor)
        generation = self._generation(step.get("generation"), self._current())
        assignments: dict[str, tuple[str, ...]] = {}
        if "assignments" in step:
            named = step["assignments"].items()
            assignments = {self.stage.actor(name).member_id: tuple(partitions) for name, partitions in named}
        elif step.get("leader"):
            assignments = self.stage.even_assignment()
        request = SyncGroupRequest(GROUP, generation, member_id, instance_id, assignments=assignments)
        if self.loading or "situation" in step:
            self._judge(step, self._ask(step, request), actor)
            return
        call = self.stage.sync(actor, request)
        if "expect" in step:
            self._judge(step, self._answer_in_time(call), actor)

    def _heartbeat(self, step: dict[str, Any]) -> None:
        actor = self._actor(step)
        member_id, instance_id = self._sender(step, actor)
        generation = self._generation(step.get("generation"), self._current())
        self._judge(step, self._ask(step, HeartbeatRequest(GROUP, generation, member_id, instance_id)), actor)

    def _leave(self, step: dict[str, Any]) -> None:
        actor = self._actor(step)
        if "members" in step:
            identities = [
                (self._member_id(given.get("member_id", ""), actor), given.get("group_instance_id"))
                for given in step["members"]
            ]
        else:
            identities = [self._sender(step, actor)]
        leaving = tuple(LeavingMember(member_id, instance_id) for member_id, instance_id in identities)
        self._judge(step, self._ask(step, LeaveGroupRequest(GROUP, leaving)), actor)

    def _commit_request(self, step: dict[str, Any], generation: int) -> OffsetCommitRequest:
        actor = self._actor(step)
        member_id, instance_id = self._sender(step, actor)
        offsets = {step.get("partition", f"{TOPIC}-0"): (step.get("offset", 0), -1, step.get("metadata", ""))}
        return OffsetCommitRequest(
            GROUP, self._generation(step.get("generation"), generation), member_id, instance_id, offsets
        )

    def _offset_commit(self, step: dict[str, Any]) -> None:
        named = "member" in step or "member_id" in step
        request = self._commit_request(step, self._current() if named else -1)
        self._judge(step, self._ask(step, request), self._actor(step))

    def _txn_offset_commit(self, step: dict[str, Any]) -> None:
        request = self._commit_request(step, self._current() if step.get("member_id") else -1)
        call, desk = Call(request), self.stage.desk
        desk.run(
            desk.coordinator.commit_in_transaction(
                request, TransactionProducer(step.get("pid", 1), 0), call, desk.now_us
            )
        )
        self._judge(step, call.response, self._actor(step))

    def _txn_marker(self, step: dict[str, Any]) -> None:
        desk = self.stage.desk
        desk.run(desk.coordinator.end_transaction(step.get("pid", 1), step["type"] == "COMMIT", desk.now_us))

    def _offset_fetch(self, step: dict[str, Any]) -> None:
        partition = step.get("partition", f"{TOPIC}-0")
        request = OffsetFetchRequest(GROUP, [partition], step.get("require_stable", False))
        self._judge(step, self._ask(step, request), self._actor(step))

    def _describe_group(self, step: dict[str, Any]) -> None:
        self._judge(step, self._ask(step, DescribeGroupRequest(GROUP)), self._actor(step))

    def _list_groups(self, step: dict[str, Any]) -> None:
        self._judge(step, self._ask(step, ListGroupsRequest(tuple(step.get("states", ())))), self._actor(step))

    def _delete_group(self, step: dict[str, Any]) -> None:
        self._judge(step, self._ask(step, DeleteGroupsRequest((GROUP,))), self._actor(step))

    def _vote(self, step: dict[str, Any]) -> None:
        group = ClassicGroup(GROUP, 0)
        for name, protocols in step["members"].items():
            metadata = {protocol: MemberMetadata((TOPIC,)) for protocol in protocols}
            group.add(GroupMember(GROUP, name, None, name, (500, 500), metadata), "consumer")
        assert group.select_protocol() in step["expect"]["selected_one_of"]

    def _check(self, step: dict[str, Any]) -> None:
        for key, expected in step["expect"].items():
            name, dot, what = key.rpartition(".")
            if dot:
                self._check_call(getattr(self.stage.actor(name), what), expected, self.stage.actor(name))
            else:
                self._check_group(key, expected)

    def _check_call(self, call: Call | None, expected: Any, actor: Actor) -> None:  # noqa: ANN401 - it is JSON
        assert call is not None, f"{actor.name} has sent nothing"
        if expected == "pending":
            assert call.pending, f"{actor.name} was answered {call.response}"
        else:
            self._judge({"expect": expected}, call.response, actor)

    # --- judging --------------------------------------------------------------------------------------------------

    def _check_group(self, key: str, expected: Any) -> None:  # noqa: ANN401 - it is JSON
        group = self.stage.group
        if key in {"group_state", "state"}:
            assert group.state.value == expected
        elif key == "pending_members":
            assert len(group.pending) == expected
        elif key == "members":
            self._compare_members([(m.member_id, m.instance_id) for m in group.members.values()], expected)
        elif key == "rebalances":
            told = self.stage.desk.emitted(e.RebalanceStarted)
            assert len([event for event in told if not event.initial]) == expected
        elif key == "generation":
            assert group.generation == self._generation(expected)
        elif key in {"leader", "leader_one_of"}:
            names = [expected] if key == "leader" else expected
            assert group.leader in [self.stage.actor(name).member_id for name in names]
        elif key == "protocol":
            assert group.protocol == expected
        else:
            raise Skip(f"an expectation that is not known: {key}")

    def _compare_members(self, found: list[tuple[str, str | None]], expected: list[str] | int) -> None:
        if isinstance(expected, int):
            assert len(found) == expected
            return
        assert sorted(self._label(*member, expected) for member in found) == sorted(expected)

    def _judge(self, step: dict[str, Any], response: Response | None, actor: Actor) -> None:
        expectations = dict(step.get("expect", {}))
        by_version = (expectations.pop("v8-", {}), expectations.pop("v9+", {}))
        expectations.update(by_version[self.version >= KNOWN_ID_VERSION])
        if not expectations:
            return
        assert response is not None, "not answered in time"
        for key, expected in expectations.items():
            self._judge_field(key, expected, response, actor)

    def _judge_field(self, key: str, expected: Any, response: Response, actor: Actor) -> None:  # noqa: ANN401 - it is JSON
        match key:
            case "error":
                assert _errors(response) == {expected}, f"{_errors(response)} for {expected}"
            case "member_error":
                assert isinstance(response, LeaveGroupResponse)
                assert response.members[0][2].name == expected
            case "generation" | "skip_assignment" | "protocol" | "state":
                wanted = self._generation(expected) if key == "generation" else expected
                assert getattr(response, key) == wanted
            case "leader" | "leader_one_of":
                assert isinstance(response, JoinGroupResponse)
                names = expected if isinstance(expected, list) else [expected]
                assert response.leader in [self._named_id(name) for name in names]
            case "member_id":
                assert isinstance(response, JoinGroupResponse)
                self._judge_member_id(expected, response.member_id, actor)
            case "member_id_prefix":
                assert isinstance(response, JoinGroupResponse)
                assert response.member_id.startswith(expected)
            case "members" if isinstance(response, JoinGroupResponse):
                self._compare_members([(m.member_id, m.instance_id) for m in response.members], expected)
            case "members" if isinstance(response, LeaveGroupResponse):
                assert [{"error": error.name} for _, _, error in response.members] == expected
            case "members" if isinstance(response, DescribeGroupResponse):
                self._compare_members([(m[0], m[1]) for m in response.members], expected)
            case "assignment":
                assert tuple(getattr(response, key)) == self._assignment(expected)
            case "offset":
                assert isinstance(response, OffsetFetchResponse)
                assert [offset for _, offset, _, _ in response.offsets.values()] == [expected]
            case _:
                raise Skip(f"an expectation that is not known: {key}")

    def _named_id(self, name: str) -> str:
        actor = self.stage.cast.get(name)
        return actor.member_id if actor is not None else self._member_id(name, self.stage.actor(name))

    def _judge_member_id(self, expected: str, found: str, actor: Actor) -> None:
        if expected == "client-uuid":
            assert found.startswith(f"{actor.name}-")
        elif expected.startswith("different from"):
            assert found != self.before
        else:
            assert found == self._member_id(expected, actor)

    def _assignment(self, expected: Any) -> tuple[str, ...]:  # noqa: ANN401 - it is JSON
        words = str(expected).split()
        if isinstance(expected, str) and words[:2] == ["the", "one"]:  # "the one F had"
            return self.given[words[2]]
        return tuple(expected)


def _instance_ids(steps: list[dict[str, Any]]) -> dict[str, str]:
    """Member → the `group.instance.id` that it has from the set-up on, where a later step says it of its own id."""
    own = [step for step in steps if step.get("member_id") in {"known", "old id"} and step.get("group_instance_id")]
    founders = {name for step in steps if "static" in step["call"] for name in step.get("members", ())}
    found: dict[str, str] = {}
    for step in own:
        wrong = step.get("expect", {}).get("error") in {"UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"}
        if step.get("member") in founders and not (wrong and step["member_id"] == "known"):
            found.setdefault(step["member"], step["group_instance_id"])
    return found


def _errors(response: Response) -> set[str]:
    """The error names of a response, whether it has one for all or one for each partition or group."""
    match response:
        case OffsetCommitResponse() | DeleteGroupsResponse():
            return {error.name for error in response.errors.values()}
        case OffsetFetchResponse() if response.error is ErrorCode.NONE:
            return {error.name for error, _, _, _ in response.offsets.values()}
        case ListGroupsResponse() | LeaveGroupResponse():
            return {response.error.name}
        case _:
            error: ErrorCode = getattr(response, "error")  # noqa: B009 - every other response has one
            return {error.name}

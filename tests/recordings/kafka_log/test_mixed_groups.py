"""Log lines of a group whose members speak both protocols: each has those of its own client."""

from typing import Any

from cluster import events as e
from recordings.kafka_log.renderer import KafkaLog

GROUP: dict[str, Any] = {"at_us": 0, "seq": 0, "group": "g"}


def lines_of(events: list[e.Event]) -> list[str]:
    lines: list[str] = []
    log = KafkaLog(lines.append)
    for event in events:
        log(event)
    return lines


def declared(member: str) -> e.Event:
    times: dict[str, Any] = {
        "session_timeout_ms": 6_000,
        "heartbeat_interval_ms": 2_000,
        "max_poll_interval_ms": 12_000,
    }
    return e.MemberDeclared(**GROUP, member=member, instance_id="", topics=("t",), **times)


def started(member: str, *, asynchronous: bool) -> list[e.Event]:
    first: dict[str, Any] = {"member_id": "", "generation": -1, "reason": ""}
    states = [e.MemberStateChanged(**GROUP, member=member, state="UNSUBSCRIBED", **first)] if asynchronous else []
    return [
        e.MemberStarted(**GROUP, member=member),
        *states,
        e.CoordinatorFound(**GROUP, member=member, broker=1),
    ]


def is_set(value: str, before: str) -> e.Event:
    where: dict[str, Any] = {"scope": "g", "key": "group.protocol", "effect": "at the next start", "processes": ("a",)}
    return e.SettingChanged(at_us=0, seq=0, value=value, before=before, **where)


def loggers(lines: list[str], member: str) -> list[str]:
    return [line.rpartition(".")[2].rstrip(")") for line in lines if f"clientId={member}," in line]


CLASSIC = ["ClassicKafkaConsumer", "ConsumerCoordinator"]
ASYNCHRONOUS = ["AsyncKafkaConsumer", "CoordinatorRequestManager"]


def test_a_members_lines_are_those_of_its_own_client() -> None:
    """`a` is restarted with the new protocol, and back; `b` stays classic in what is a consumer group by then."""
    upgraded = e.GroupProtocolConverted(**GROUP, protocol="consumer", broker=1)
    lines = lines_of(
        [
            *(declared("a"), declared("b"), *started("a", asynchronous=False)),
            *(is_set("consumer", "classic"), *started("a", asynchronous=True), upgraded),
            *started("b", asynchronous=False),
            *(is_set("classic", "consumer"), *started("a", asynchronous=False)),
        ]
    )
    assert loggers(lines, "a") == [*CLASSIC, *ASYNCHRONOUS, *CLASSIC]
    assert loggers(lines, "b") == CLASSIC


def test_a_member_with_a_protocol_of_its_own_says_so_from_its_first_line_on() -> None:
    own = e.MemberProtocolDeclared(**GROUP, member="b", protocol="consumer")
    lines = lines_of([declared("a"), declared("b"), own, *started("a", asynchronous=False)])
    lines += lines_of([declared("b"), own, *started("b", asynchronous=True)])
    assert loggers(lines, "a") == CLASSIC
    assert loggers(lines, "b") == ASYNCHRONOUS


def downgraded(*before: e.Event, rebalances: bool) -> list[str]:
    """The end of each line of a downgrade, which events precede."""
    kept: dict[str, Any] = {"generation": 4, "members": {"id": "a"}, "session_deadlines_us": {}, "leader": "a"}
    events = [*before, e.ConsumerGroupDowngraded(**GROUP, broker=1, protocol="range", assignment={}, **kept)]
    if rebalances:
        why: dict[str, Any] = {"trigger": "b", "member_id": "id-b", "detail": "Downgrade", "cause": "member left"}
        events.append(e.RebalanceStarted(**GROUP, broker=1, generation=4, initial=False, closes_at_us=9, **why))
    said = [line for line in lines_of(events) if "GroupCoordinator" in line]
    return [word for line in said for word in ("left", "Preparing to rebalance", "Converted") if word in line]


def test_a_downgraded_group_rebalances_before_it_is_said_to_be_converted() -> None:
    upgraded = e.GroupProtocolConverted(**GROUP, protocol="consumer", broker=1)
    leaves = e.MemberRemoved(**GROUP, member="b", member_id="id-b", reason="member left", client_reason="")
    said = downgraded(upgraded, leaves, rebalances=True)
    assert said[-2:] == ["Preparing to rebalance", "Converted"]
    assert downgraded(upgraded, rebalances=False)[-1:] == ["Converted"], "a static member has taken another's place"


def test_a_refused_member_says_why_its_group_was_not_converted() -> None:
    why = "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
    refused = e.GroupConversionRefused(**GROUP, broker=1, protocol="consumer", reason="online upgrade is disabled")
    state: dict[str, Any] = {"member_id": "id", "generation": 0, "state": "FATAL", "reason": "GROUP_ID_NOT_FOUND"}
    lines = lines_of([declared("a"), refused, e.MemberStateChanged(**GROUP, member="a", **state)])
    assert any(f"failed due to unexpected error GROUP_ID_NOT_FOUND: {why}" in line for line in lines)


def test_a_member_that_is_declared_later_has_the_protocol_that_was_set() -> None:
    lines = lines_of([declared("a"), is_set("consumer", "classic"), declared("b"), *started("b", asynchronous=True)])
    assert loggers(lines, "b") == ASYNCHRONOUS

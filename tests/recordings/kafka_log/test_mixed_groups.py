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


def test_a_member_that_is_declared_later_has_the_protocol_that_was_set() -> None:
    lines = lines_of([declared("a"), is_set("consumer", "classic"), declared("b"), *started("b", asynchronous=True)])
    assert loggers(lines, "b") == ASYNCHRONOUS

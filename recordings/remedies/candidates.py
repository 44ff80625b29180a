"""The settings to try for a group and the cause of its rebalance: a short list, and none that it already has."""

from typing import Any, Final

import msgspec

from cluster.protocol.rebalance_causes import RebalanceCause as Cause
from cluster.spec import GroupSpec, ScenarioSpec

COOPERATIVE: Final = "cooperative-sticky"
SHORT_SESSION_MS: Final = 10_000
SHORT_HEARTBEAT_MS: Final = 1_000
CLUSTER: Final = "cluster"
_TRANSACTION_TIMEOUTS: Final = (
    ("transaction.timeout.ms", "10000"),
    ("delivery.timeout.ms", "40000"),
    ("linger.ms", "0"),
)
_TRANSACTION_SCAN: Final = ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "1000")
FEW_RECORDS: Final = 50
SLACK: Final = 2
"""How much longer a timeout is tried than the group's own."""

CandidateSettings = tuple[tuple[str | None, str, str], ...]


class Candidate(msgspec.Struct, frozen=True):
    """Settings to try together."""

    settings: CandidateSettings

    def text(self, group: str) -> str:
        """As it is written in a configuration, with the producer that has it: `session.timeout.ms = 10000`."""
        known = (group, CLUSTER)
        return ", ".join(
            f"{key} = {value}" if scope in known else f"{scope}: {key} = {value}" for scope, key, value in self.settings
        )


_OF_CAUSE: Final[dict[str, tuple[str, ...]]] = {
    Cause.SESSION_EXPIRED: ("short session", "long session", "heartbeat", "static", "assignor"),
    Cause.POLL_INTERVAL_EXCEEDED: ("poll interval", "poll records", "assignor", "static"),
    Cause.MEMBER_JOINED: ("static", "static and long session", "assignor", "heartbeat"),
    Cause.MEMBER_LEFT: ("static", "static and long session", "assignor", "heartbeat"),
    Cause.STATIC_MEMBER_REPLACED: ("static", "long session", "assignor"),
    Cause.SUBSCRIPTION_CHANGED: ("assignor", "heartbeat"),
    Cause.METADATA_CHANGED: ("assignor", "heartbeat"),
    Cause.LEADER_REJOINED: ("assignor", "heartbeat"),
    Cause.PARTITIONS_REVOKED: ("heartbeat", "static", "assignor"),
    Cause.SYNC_TIMED_OUT: ("long session", "heartbeat"),
    Cause.COORDINATOR_MOVED: ("heartbeat", "assignor"),
}

_OF_BOTH_PROTOCOLS: Final = ("static", "poll interval", "poll records")


def candidates(spec: ScenarioSpec, group: GroupSpec, cause: str, *, initial: bool) -> list[Candidate]:
    """What to try for a group's rebalance with this cause; `initial`: it formed the group. "" without a rebalance."""
    words = ("initial delay", "short initial delay") if initial else _OF_CAUSE.get(cause, ())
    tried = [_of_group(spec, group, word) for word in words]
    tried += _of_transactions(spec, group)
    return list(dict.fromkeys(each for each in tried if each is not None))


def _of_transactions(spec: ScenarioSpec, group: GroupSpec) -> list[Candidate | None]:
    """Timeouts of the transactions that the group commits in, or whose end its read_committed readers wait for."""
    topics = {*group.topics, *(topic for topics in group.subscriptions.values() for topic in topics)}
    owners = [group.name] if group.application.commit == "transaction" else []
    if group.config.get("isolation.level") == "read_committed":
        owners += [each.name for each in spec.producers if each.transactions and topics.intersection(each.topics)]
    tried = [Candidate(((name, key, value),)) for name in owners for key, value in _TRANSACTION_TIMEOUTS]
    return [*tried, Candidate(((CLUSTER, *_TRANSACTION_SCAN),))] if tried else []


def _of_group(spec: ScenarioSpec, group: GroupSpec, word: str) -> Candidate | None:
    config: dict[str, Any] = dict(group.consumer_config(group.instances()[0])) if group.members else {}
    if config.get("group.protocol") == "consumer" and word not in _OF_BOTH_PROTOCOLS:
        return _of_consumer_group(spec, group, word)
    session_ms, heartbeat_ms = config.get("session.timeout.ms", 45_000), config.get("heartbeat.interval.ms", 3_000)
    long_session = str(SLACK * session_ms)
    match word:
        case "short session" if session_ms > SHORT_SESSION_MS:
            return _of(group, ("session.timeout.ms", str(max(SHORT_SESSION_MS, heartbeat_ms + 1_000))))
        case "long session":
            return _of(group, ("session.timeout.ms", long_session))
        case "heartbeat" if heartbeat_ms > SHORT_HEARTBEAT_MS:
            return _of(group, ("heartbeat.interval.ms", str(SHORT_HEARTBEAT_MS)))
        case "static" if config.get("group.instance.id") is None or group.static:
            return _of(group, ("static", str(not group.static).lower()))
        case "static and long session" if not group.static and config.get("group.instance.id") is None:
            return _of(group, ("static", "true"), ("session.timeout.ms", long_session))
        case "assignor" if group.assignors != (COOPERATIVE,):
            return _of(group, ("assignors", COOPERATIVE))
        case "poll interval":
            return _of(group, ("max.poll.interval.ms", str(SLACK * config.get("max.poll.interval.ms", 300_000))))
        case "poll records" if config.get("max.poll.records", 500) > FEW_RECORDS:
            return _of(group, ("max.poll.records", str(FEW_RECORDS)))
        case "initial delay" | "short initial delay":
            return _initial_delay(spec, word)
    return None


def _of_consumer_group(spec: ScenarioSpec, group: GroupSpec, word: str) -> Candidate | None:
    """Settings of the coordinator, which has the timeouts of the new protocol; each with the bound that permits it."""
    broker: Any = spec.broker_config(spec.brokers[0])
    session, heartbeat = "session.timeout.ms", "heartbeat.interval.ms"
    session_ms, heartbeat_ms = broker[f"group.consumer.{session}"], broker[f"group.consumer.{heartbeat}"]
    long_session = _bounded("max", session, SLACK * session_ms)
    match word:
        case "short session" if session_ms > SHORT_SESSION_MS:
            return Candidate(_bounded("min", session, max(SHORT_SESSION_MS, heartbeat_ms + 1_000)))
        case "long session":
            return Candidate(long_session)
        case "heartbeat" if heartbeat_ms > SHORT_HEARTBEAT_MS:
            return Candidate(_bounded("min", heartbeat, SHORT_HEARTBEAT_MS))
        case "static and long session" if not group.static:
            return Candidate(((group.name, "static", "true"), *long_session))
    return None


def _bounded(bound: str, key: str, value_ms: int) -> CandidateSettings:
    return (CLUSTER, f"group.consumer.{bound}.{key}", str(value_ms)), (CLUSTER, f"group.consumer.{key}", str(value_ms))


def _initial_delay(spec: ScenarioSpec, word: str) -> Candidate | None:
    key = "group.initial.rebalance.delay.ms"
    now: Any = spec.broker_config(spec.brokers[0])[key]
    value = 0 if word == "short initial delay" else max(SLACK * now, 10_000)
    return None if value == now else Candidate(((CLUSTER, key, str(value)),))


def _of(group: GroupSpec, *settings: tuple[str, str]) -> Candidate:
    return Candidate(tuple((group.name, key, value) for key, value in settings))

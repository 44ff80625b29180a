"""Spring Boot's, Spring Cloud Stream's, Quarkus' and Strimzi's ways to write Kafka's keys.

Sources: `KafkaProperties` of Spring Boot 3.5, `KafkaMessageListenerContainer` of Spring for Apache Kafka 3.3 (which
turns auto commit off unless it is configured), `KafkaConnector` of SmallRye Reactive Messaging 4.27.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec.structs import replace

from cluster.config import parse_iso_duration
from cluster.config.units import MICROSECONDS
from recordings.lint.kafka_keys import Role, all_names, kafka_keys, roles_of
from recordings.lint.parts import Part, PartKind, Setting, UnknownKey
from recordings.lint.reading.lint_input import LintInputError
from recordings.lint.reading.near import MOST_LOOKED_UP, meant_by

Frame = Literal["", "spring", "quarkus", "strimzi", "scenario"]

_SPRING: Final[Mapping[str, Mapping[str, str]]] = {
    "consumer": {
        "auto-commit-interval": "auto.commit.interval.ms",
        "auto-offset-reset": "auto.offset.reset",
        "bootstrap-servers": "bootstrap.servers",
        "client-id": "client.id",
        "enable-auto-commit": "enable.auto.commit",
        "fetch-max-wait": "fetch.max.wait.ms",
        "fetch-min-size": "fetch.min.bytes",
        "group-id": "group.id",
        "heartbeat-interval": "heartbeat.interval.ms",
        "isolation-level": "isolation.level",
        "key-deserializer": "key.deserializer",
        "value-deserializer": "value.deserializer",
        "max-poll-records": "max.poll.records",
        "max-poll-interval": "max.poll.interval.ms",
    },
    "producer": {
        "acks": "acks",
        "batch-size": "batch.size",
        "bootstrap-servers": "bootstrap.servers",
        "buffer-memory": "buffer.memory",
        "client-id": "client.id",
        "compression-type": "compression.type",
        "key-serializer": "key.serializer",
        "value-serializer": "value.serializer",
        "retries": "retries",
        "transaction-id-prefix": "transaction-id-prefix",
    },
}
"""What `spring.kafka.consumer` and `.producer` have beside `properties`, `ssl` and `security`."""

_SPRING_LISTENER: Final = frozenset({
    "type", "ack-mode", "async-acks", "client-id", "concurrency", "poll-timeout", "no-poll-threshold", "ack-count",
    "ack-time", "idle-between-polls", "idle-event-interval", "idle-partition-event-interval", "monitor-interval",
    "log-container-config", "missing-topics-fatal", "immediate-stop", "auto-startup", "change-consumer-thread-name",
    "observation-enabled", "auth-exception-retry-interval",
})  # fmt: skip

_DURATIONS: Final = frozenset({
    "auto.commit.interval.ms", "fetch.max.wait.ms", "heartbeat.interval.ms", "max.poll.interval.ms",
})  # fmt: skip
_ISOLATION_LEVELS: Final = {"readcommitted": "read_committed", "readuncommitted": "read_uncommitted"}
"""An enum of Spring's, which binds it in any spelling (`LenientObjectToEnumConverterFactory`)."""
_SIZES: Final = frozenset({"fetch.min.bytes", "batch.size", "buffer.memory"})

_SPRING_UNITS: Final = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SPRING_SIZES: Final = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_WRITTEN: Final = re.compile(r"([0-9]{1,18})\s*([A-Za-z]{0,2})")

_QUARKUS_OWN: Final = frozenset({
    "connector", "topic", "topics", "pattern", "enabled", "health-enabled", "health-readiness-enabled",
    "health-readiness-topic-verification", "health-readiness-timeout", "health-topic-verification-enabled",
    "health-topic-verification-timeout", "tracing-enabled", "cloud-events", "kafka-configuration", "client-id-prefix",
    "lazy-client", "assign-seek", "retry", "retry-attempts", "retry-max-wait", "broadcast", "failure-strategy",
    "commit-strategy", "throttled.unprocessed-record-max-age.ms", "checkpoint.state-store", "checkpoint.state-type",
    "checkpoint.unsynced-state-max-age.ms", "dead-letter-queue.topic", "dead-letter-queue.producer-client-id",
    "dead-letter-queue.key.serializer", "dead-letter-queue.value.serializer", "delayed-retry-topic.topics",
    "delayed-retry-topic.max-retries", "delayed-retry-topic.timeout", "partitions", "requests", "concurrency",
    "consumer-rebalance-listener.name", "key-deserialization-failure-handler",
    "value-deserialization-failure-handler", "fail-on-deserialization-failure", "graceful-shutdown", "poll-timeout",
    "pause-if-no-requests", "batch", "max-queue-size-factor", "key", "partition", "waitForWriteCompletion",
    "max-inflight-messages", "cloud-events-source", "cloud-events-type", "cloud-events-subject",
    "cloud-events-data-content-type", "cloud-events-data-schema", "cloud-events-insert-timestamp",
    "cloud-events-mode", "close-timeout", "merge", "propagate-record-key", "propagate-headers",
    "key-serialization-failure-handler", "interceptor-bean", "host", "port", "tls-configuration-name",
})  # fmt: skip

MOST_CHANNELS: Final = 300

_CHANNEL: Final = re.compile(r"mp\.messaging\.(incoming|outgoing)\.(\"[^\"]+\"|[^.]+)\.(.+)", re.DOTALL)
_CONNECTORS: Final = ("mp.messaging.connector.smallrye-kafka.", "kafka.")
_BINDINGS: Final = re.compile(
    r"spring\.cloud\.stream\.kafka\.(?:default|bindings\.[^.]+)\.(consumer|producer)\.configuration\.(.+)", re.DOTALL
)
_BINDER: Final = re.compile(
    r"spring\.cloud\.stream\.kafka\.binder\.(consumer-properties|producer-properties|configuration)\.(.+)", re.DOTALL
)


def is_framed(settings: Iterable[Setting]) -> bool:
    """Whether a framework reads these keys, and not Kafka itself."""
    return any(each.written.startswith(("spring.", "mp.messaging.", "quarkus.")) for each in settings)


def framed_parts(settings: list[Setting], file: str) -> list[Part]:
    """The consumers and producers that a framework makes of dotted keys."""
    return [*_spring_parts(settings, file), *_quarkus_parts(settings, file)]


class _Draft:
    """A part while its keys are being collected; a later value of a key wins."""

    def __init__(self, kind: PartKind, name: str, frame: Frame) -> None:
        self.kind, self.name, self.frame = kind, name, frame
        self.settings: dict[str, Setting] = {}
        self.unknown: list[UnknownKey] = []
        self.facts: dict[str, Setting] = {}
        self._looked_up = 0

    def put(self, key: str, setting: Setting) -> None:
        self.settings[key] = setting

    def look_up(self, key: str, setting: Setting, own: Iterable[str] = ()) -> None:
        """Take a key of Kafka's; one that Kafka does not have is noted if it is nearly one."""
        role: Role = "consumer" if self.kind == "consumer" else "producer"
        if key in kafka_keys(role):
            self.put(key, setting)
            return
        of = roles_of(key)
        if of:
            self.unknown.append(UnknownKey(setting, of=of))
        elif (meant := self.near(key, role, own)) is not None:
            self.unknown.append(UnknownKey(setting, meant))

    def near(self, key: str, role: Role | None, own: Iterable[str] = ()) -> str | None:
        """The name that was probably meant, searched for the first unknown keys of a part only."""
        self._looked_up += 1
        return meant_by(key, role, own) if self._looked_up <= MOST_LOOKED_UP else None

    def part(self, common: Mapping[str, Setting], defaults: dict[str, str | None], file: str) -> Part:
        role: Role = "consumer" if self.kind == "consumer" else "producer"
        shared = {key: setting for key, setting in common.items() if key in kafka_keys(role)}
        settings = shared | self.settings
        lines = [each.line for each in self.settings.values()] or [each.line for each in shared.values()]
        return Part(
            self.kind, self.name, file, min(lines, default=1), settings, self.facts, defaults, tuple(self.unknown),
            self.frame,
        )  # fmt: skip


def _spring_parts(settings: list[Setting], file: str) -> list[Part]:
    """A consumer and a producer, as far as the file has something of theirs."""
    consumer, producer = _Draft("consumer", "spring.kafka", "spring"), _Draft("producer", "spring.kafka", "spring")
    drafts = {"consumer": consumer, "producer": producer}
    common: dict[str, Setting] = {}
    rest_of = _Draft("client", "spring.kafka", "spring")
    seen = set[str]()
    for setting in settings:
        written = setting.written.replace("properties[", "properties.[")
        cloud = _BINDINGS.fullmatch(written) or _BINDER.fullmatch(written)
        if cloud is not None:
            side = cloud[1].partition("-")[0]
            _spring_key(cloud[2], setting, drafts.get(side, rest_of), common)
            seen.add(side)
            continue
        below = written.removeprefix("spring.kafka.")
        if below == written:
            continue
        section, _, rest = below.partition(".")
        if section == "properties":
            _spring_key(rest, setting, rest_of, common)
        elif section in drafts:
            seen.add(section)
            _spring_section(section, rest, setting, drafts[section], common)
        elif section == "listener":
            seen.add("consumer")
            _spring_listener(rest, setting, consumer)
    off: dict[str, str | None] = {"enable.auto.commit": "false", "group.id": None}
    parts = [
        draft.part(common, off if side == "consumer" else {}, file)
        for side, draft in drafts.items()
        if side in seen
    ]  # fmt: skip
    return parts + ([rest_of.part({}, {}, file)] if rest_of.unknown else [])


def _spring_key(key: str, setting: Setting, draft: _Draft, common: dict[str, Setting]) -> None:
    """A key of Kafka's in a map of properties: of one client, or of all."""
    key = key.removeprefix("[").removesuffix("]")
    if draft.kind != "client":
        draft.look_up(key, setting)
    elif key in all_names():
        common[key] = setting
    elif (meant := draft.near(key, "consumer") or draft.near(key, "producer")) is not None:
        draft.unknown.append(UnknownKey(setting, meant))


def _spring_section(section: str, rest: str, setting: Setting, draft: _Draft, common: dict[str, Setting]) -> None:
    """A key of `spring.kafka.consumer` or `spring.kafka.producer`."""
    head, _, below = rest.partition(".")
    if head in ("properties", "ssl", "security"):
        if head == "properties":
            _spring_key(below, setting, draft, common)
        return
    named = {_canonical(name): key for name, key in _SPRING[section].items()}
    key = named.get(_canonical(rest))
    if key is None:
        role: Role = "consumer" if section == "consumer" else "producer"
        meant = draft.near(rest, role, _SPRING[section])
        if meant is not None:
            meant = meant if meant in _SPRING[section] else f"properties[{meant}]"
            draft.unknown.append(UnknownKey(setting, f"spring.kafka.{section}.{meant}"))
        return
    if setting.value is None or setting.value.strip():  # an empty value is bound to nothing
        draft.put(key, _in_kafka_units(key, setting))


def _spring_listener(rest: str, setting: Setting, draft: _Draft) -> None:
    name = next((one for one in _SPRING_LISTENER if _canonical(one) == _canonical(rest)), None)
    below = rest.removeprefix("properties.").strip("[]")
    if below != rest and below in kafka_keys("consumer"):  # a listener has no properties
        draft.unknown.append(UnknownKey(setting, f"spring.kafka.consumer.properties[{below}]"))
    elif name is None:
        meant = draft.near(rest, None, _SPRING_LISTENER)
        if meant is not None:
            draft.unknown.append(UnknownKey(setting, f"spring.kafka.listener.{meant}"))
    elif name in ("ack-mode", "concurrency") and (setting.value is None or setting.value.strip()):
        draft.put(f"listener.{name}", setting)


def _canonical(name: str) -> str:
    """A name of Spring's as relaxed binding compares it: `maxPollRecords`, `max_poll_records`, `max-poll-records`."""
    return name.replace("-", "").replace("_", "").lower()


def _in_kafka_units(key: str, setting: Setting) -> Setting:
    """Spring's `10s`, `64KB` and `read-committed` as Kafka's milliseconds, bytes and word."""
    if setting.value is None:
        return setting
    if key == "isolation.level":
        level = _ISOLATION_LEVELS.get(_canonical(setting.value.strip()), setting.value)
        return replace(setting, value=level)
    if key not in _DURATIONS | _SIZES:
        return setting
    number = _milliseconds(setting.value) if key in _DURATIONS else _size_bytes(setting.value)
    return setting if number is None else replace(setting, value=str(number))


def _milliseconds(text: str) -> int | None:
    """A duration in ms; a number alone is in ms, the default of `DurationStyle`. None when it is none."""
    text = text.strip()
    match = _WRITTEN.fullmatch(text)
    if match is not None:
        factor = _SPRING_UNITS.get(match[2].lower())
        return None if factor is None else int(match[1]) * factor
    try:
        return parse_iso_duration(text) // MICROSECONDS["ms"]
    except ValueError:
        return None


def _size_bytes(text: str) -> int | None:
    """A size in bytes (`DataSize`: binary units, whatever they are called). None when it is none."""
    match = _WRITTEN.fullmatch(text.strip())
    factor = _SPRING_SIZES.get(match[2].upper()) if match is not None else None
    return int(match[1]) * factor if match is not None and factor is not None else None


_READ = ("commit-strategy", "failure-strategy", "partitions", "concurrency", "topic", "topics", "pattern")
"""Keys of a channel that are no key of Kafka's, and of which something is said."""


def _quarkus_parts(settings: list[Setting], file: str) -> list[Part]:
    """A consumer for each incoming channel of Kafka, a producer for each outgoing one."""
    drafts: dict[tuple[str, str], _Draft] = {}
    others = set[tuple[str, str]]()
    common: dict[str, Setting] = {}
    for setting in settings:
        channel = _CHANNEL.fullmatch(setting.written)
        if channel is None:
            prefix = next((one for one in _CONNECTORS if setting.written.startswith(one)), None)
            if prefix is not None and setting.written.removeprefix(prefix) in all_names():
                common[setting.written.removeprefix(prefix)] = setting
            continue
        place, key = (channel[1], channel[2].strip('"')), channel[3]
        kind: PartKind = "consumer" if channel[1] == "incoming" else "producer"
        draft = drafts.setdefault(place, _Draft(kind, place[1], "quarkus"))
        if key == "connector" and setting.value not in (None, "smallrye-kafka"):
            others.add(place)
        elif key in _READ:
            draft.put(f"channel.{key}", setting)
        elif key not in _QUARKUS_OWN:
            draft.look_up(key, setting, _QUARKUS_OWN)
    off: dict[str, str | None] = {"enable.auto.commit": "false", "group.id": None}
    ours = [draft for place, draft in drafts.items() if place not in others]
    if len(ours) > MOST_CHANNELS:
        raise LintInputError(file, 0, f"it has more than {MOST_CHANNELS} channels")
    return [draft.part(common, off if draft.kind == "consumer" else {}, file) for draft in ours]

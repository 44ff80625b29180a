"""Kafka's own `.properties`: which roles the keys of a file have, and a part for each of them."""

from typing import Final

from msgspec.structs import replace

from recordings.lint.kafka_keys import Role, kafka_keys, roles_of
from recordings.lint.parts import Part, PartKind, Setting, UnknownKey
from recordings.lint.reading.near import MOST_LOOKED_UP, meant_by

_WORKER: Final = frozenset({
    "config.storage.topic", "offset.storage.topic", "status.storage.topic", "offset.storage.file.filename",
    "plugin.path", "connector.class", "clusters",
})  # fmt: skip
"""Keys of Connect's workers and connectors and of MirrorMaker, whose other keys are not judged here."""

REMOVED: Final = {
    "zookeeper.connect": ("broker", "process.roles and controller.quorum.bootstrap.servers"),
    "zookeeper.connection.timeout.ms": ("broker", "nothing: brokers keep their metadata by KRaft"),
    "zookeeper.session.timeout.ms": ("broker", "broker.session.timeout.ms"),
    "inter.broker.protocol.version": ("broker", "the metadata.version that kafka-features.sh sets"),
    "log.message.format.version": ("broker", "nothing: all records have format 2"),
    "message.format.version": ("topic", "nothing: all records have format 2"),
    "offsets.commit.required.acks": ("broker", "nothing: a commit waits for all in-sync replicas"),
    "log.message.timestamp.difference.max.ms": ("broker", "log.message.timestamp.before.max.ms and …after.max.ms"),
    "message.timestamp.difference.max.ms": ("topic", "message.timestamp.before.max.ms and …after.max.ms"),
    "auto.commit.enable": ("consumer", "enable.auto.commit"),
    "fetch.message.max.bytes": ("consumer", "max.partition.fetch.bytes"),
    "fetch.wait.max.ms": ("consumer", "fetch.max.wait.ms"),
    "request.required.acks": ("producer", "acks"),
    "block.on.buffer.full": ("producer", "max.block.ms"),
    "metadata.fetch.timeout.ms": ("producer", "max.block.ms"),
    "timeout.ms": ("producer", "request.timeout.ms"),
}
"""Keys of earlier releases that 4.x does not have: the role, and what has their place."""

_LIBRDKAFKA: Final = frozenset({
    "statistics.interval.ms", "topic.metadata.refresh.interval.ms", "socket.timeout.ms", "socket.keepalive.enable",
    "socket.nagle.disable", "receive.message.max.bytes", "broker.address.ttl", "broker.address.family",
    "log.connection.close", "enable.random.seed",
})  # fmt: skip
"""Keys that librdkafka alone has; it also keeps names that Kafka has removed. Source: its CONFIGURATION.md."""

_PREFIXES: Final[dict[str, PartKind]] = {
    "consumer.override.": "consumer", "producer.override.": "producer", "main.consumer.": "consumer",
    "consumer.": "consumer", "producer.": "producer",
}  # fmt: skip
_EXACTLY_ONCE: Final = ("processing.guarantee", "exactly_once_v2")


def plain_parts(settings: list[Setting], file: str) -> list[Part]:
    """The parts of a file whose keys are Kafka's own."""
    prefixed, plain = _divided(settings)
    names = {each.written for each in plain}
    if names & _LIBRDKAFKA:
        plain = [each for each in plain if each.written not in REMOVED]
    kinds = _kinds(names) if plain else []
    parts = [_part(kind, plain, file, first=place == 0) for place, kind in enumerate(kinds)]
    for kind, of_kind in prefixed.items():
        parts.append(_part(kind, of_kind, file, first=True, name=kind))
    exactly_once = [each for each in plain if (each.written, each.value) == _EXACTLY_ONCE]
    return [_of_streams(part, exactly_once[-1]) for part in parts] if exactly_once and "streams" in kinds else parts


def _of_streams(part: Part, exactly_once: Setting) -> Part:
    """A part of Streams with exactly once: its producers are idempotent, whatever the file says.

    Source: `StreamsConfig.PRODUCER_EOS_OVERRIDES`.
    """
    if part.kind != "producer":
        return part
    idempotent = replace(exactly_once, value="true", raw="true")
    return replace(part, settings=part.settings | {"enable.idempotence": idempotent})


def _divided(settings: list[Setting]) -> tuple[dict[PartKind, list[Setting]], list[Setting]]:
    """The settings below a client's prefix (`consumer.max.poll.records`), by kind; and the others."""
    prefixed: dict[PartKind, list[Setting]] = {}
    plain = []
    for setting in settings:
        prefix = next((one for one in _PREFIXES if setting.written.startswith(one)), None)
        if prefix is None:
            plain.append(setting)
        else:
            prefixed.setdefault(_PREFIXES[prefix], []).append(setting)
    return prefixed, plain


def _kinds(names: set[str]) -> list[PartKind]:
    """What a file with these keys configures."""
    if names & _WORKER:
        return []
    if "application.id" in names:
        return ["streams"]
    if any(roles_of(name) == ("broker",) or REMOVED.get(name, ("",))[0] == "broker" for name in names):
        return ["broker"]
    clients: list[PartKind] = []
    if any(_is_of(name, "consumer") and not _is_of(name, "producer") for name in names):
        clients.append("consumer")
    if any(_is_of(name, "producer") and not _is_of(name, "consumer") for name in names):
        clients.append("producer")
    if clients:
        return clients
    known = {name for name in names if roles_of(name)}
    if known and all("topic" in roles_of(name) for name in known):
        return ["topic"]
    return ["client"]


def _is_of(name: str, role: str) -> bool:
    return role in roles_of(name) or REMOVED.get(name, ("",))[0] == role


def _part(kind: PartKind, settings: list[Setting], file: str, *, first: bool, name: str = "") -> Part:
    """A part of all settings that its kind has; the first part of a file has the keys that none has, too."""
    own: dict[str, Setting] = {}
    unknown = list[UnknownKey]()
    looked_up = 0
    for setting in settings:
        key = _bare(setting.written) if name else setting.written
        if kind != "client" and (key in kafka_keys(kind) or key in REMOVED):
            own[key] = setting
        elif first and not roles_of(key) and key not in REMOVED:
            looked_up += 1
            meant = _meant(key, kind) if looked_up <= MOST_LOOKED_UP else None
            unknown += [UnknownKey(setting, meant)] if meant is not None else []
        elif first and name:
            unknown.append(UnknownKey(setting, of=roles_of(key)))
        elif kind == "client":
            own[key] = setting
        elif first and _is_foreign(key, kind):
            unknown.append(UnknownKey(setting, of=roles_of(key)))
    lines = [each.line for each in settings]
    return Part(kind, name, file, min(lines, default=1), own, unknown=tuple(unknown))


def _bare(written: str) -> str:
    prefix = next(one for one in _PREFIXES if written.startswith(one))
    return written.removeprefix(prefix)


def _is_foreign(key: str, kind: PartKind) -> bool:
    """Whether a broker's or topic's file has a client's key; consumers and producers may share a file."""
    return kind in ("broker", "topic") and kind not in roles_of(key)


def _meant(key: str, kind: PartKind) -> str | None:
    roles: tuple[Role, ...] = ("consumer", "producer", "broker") if kind == "client" else (kind,)
    found = (meant_by(key, role) for role in roles)
    return next((meant for meant in found if meant is not None), None)

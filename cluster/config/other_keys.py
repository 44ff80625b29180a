"""Kafka's configuration keys that no rule of the simulation reads: those without effect here, and those not built.

A file from a real cluster is full of listeners, directories and certificates. Such a key cannot change what is
simulated: the file is read, and a note says why the key has no effect. A key that would change something is refused,
unless it has Kafka's default. Together with `keys.py` these are all keys of the release that FIDELITY.md names.
Source: `ConsumerConfig`, `ProducerConfig`, `AbstractKafkaConfig`, `LogConfig`.
"""

from fnmatch import fnmatchcase
from typing import Final

from cluster.config.keys import Scope

_SECURITY: Final = "no client is authenticated or refused here"
_METRICS: Final = "a flight's events are its metrics"
_NETWORK: Final = "links are declared in [network]"
_THREADS: Final = "a broker's threads are never short here"
_STORAGE: Final = "a broker's files are not simulated"
_DECLARED: Final = "every topic is declared in the file"
_QUORUM: Final = "there is no quorum of controllers"
_OTHER_GROUPS: Final = "share groups and groups of Kafka Streams are not simulated"
_TIERED: Final = "there is no tiered storage"
_CLOCK: Final = "every producer stamps its records with the true time"
_CODE: Final = "records have no content that code could read"

_CLIENT: dict[str, tuple[str, ...]] = {
    _SECURITY: ("sasl.*", "security.*", "ssl.*"),
    _METRICS: ("metric.reporters", "metrics.*", "enable.metrics.push"),
    _NETWORK: ("client.dns.lookup", "metadata.recovery.*", "receive.buffer.bytes", "send.buffer.bytes"),
    "every client knows every broker": ("bootstrap.servers",),
    _CODE: ("config.providers", "interceptor.classes"),
}

WITHOUT_EFFECT: dict[Scope, dict[str, tuple[str, ...]]] = {
    "consumer": _CLIENT
    | {
        _DECLARED: ("allow.auto.create.topics",),
        "topics are subscribed to by name": ("exclude.internal.topics",),
        "records have no content": ("check.crcs", "key.deserializer", "value.deserializer"),
        _OTHER_GROUPS: ("share.*",),
        "every broker has the newest protocol": ("internal.throw.on.fetch.stable.offset.unsupported",),
    },
    "producer": _CLIENT | {"records have no content": ("key.serializer", "value.serializer")},
    "broker": {
        _SECURITY: (
            *("authorizer.class.name", "connection.failed.authentication.delay.ms", "connections.max.reauth.ms"),
            *("delegation.token.*", "principal.builder.class", "sasl.*", "security.*", "ssl.*"),
            *("allow.everyone.if.no.acl.found", "super.users"),  # of `StandardAuthorizer`
        ),
        _METRICS: ("kafka.metrics.*", "log4j*", "metric.reporters", "metrics.*", "telemetry.max.bytes"),
        _NETWORK: (
            *("advertised.listeners", "controller.listener.names", "early.start.listeners", "listeners"),
            *("inter.broker.listener.name", "listener.*", "socket.listen.backlog.size", "socket.receive.buffer.bytes"),
            *("socket.send.buffer.bytes", "replica.socket.receive.buffer.bytes"),
        ),
        _THREADS: (
            *(
                "background.threads",
                "group.coordinator.background.threads",
                "group.coordinator.threads",
            ),
            *("log.cleaner.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir"),
            *("num.replica.alter.log.dirs.threads", "num.replica.fetchers", "queued.max.request*"),
        ),
        _STORAGE: (
            *("cordoned.log.dirs", "log.dir", "log.dirs", "log.dir.failure.timeout.ms", "log.index.*"),
            *("log.flush.*checkpoint.interval.ms", "log.flush.scheduler.interval.ms", "log.initial.task.delay.ms"),
            *("log.preallocate", "log.segment.delete.delay.ms", "log.cleaner.dedupe.buffer.size", "log.cleaner.io.*"),
            *("offsets.load.buffer.size", "offsets.topic.compression.codec", "offsets.topic.segment.bytes"),
            *("transaction.state.log.load.buffer.size", "transaction.state.log.segment.bytes"),
            *("group.coordinator.cached.buffer.max.bytes", "*.purgatory.purge.interval.requests"),
            *("delete.records.purgatory.*", "replica.high.watermark.checkpoint.interval.ms"),
        ),
        _QUORUM: (
            *("controller.performance.*", "controller.quorum.append.linger.ms", "controller.quorum.auto.join.enable"),
            *("controller.quorum.bootstrap.servers", "controller.quorum.fetch.max.bytes", "internal.metadata.*"),
            *("controller.quorum.fetch.snapshot.max.bytes", "controller.quorum.request.timeout.ms"),
            *("controller.quorum.retry.backoff.ms", "controller.quorum.voters", "metadata.*"),
            *("controller.socket.timeout.ms", "process.roles", "server.max.startup.time.ms", "unstable.*"),
        ),
        _DECLARED: (
            *("alter.config.policy.class.name", "create.topic.policy.class.name", "delete.topic.enable"),
            "auto.create.topics.enable",
        ),
        _OTHER_GROUPS: ("group.share.*", "group.streams.*", "share.*"),
        _TIERED: (
            *("follower.fetch.last.tiered.offset.enable", "log.local.retention.*", "remote.fetch.*"),
            *("remote.list.*", "remote.log.index.*", "remote.log.manager.*", "remote.log.metadata.*"),
            *("remote.log.reader.*", "remote.log.storage.manager.*"),
        ),
        _CODE: ("config.providers",),
        "there are no fetch sessions": ("max.incremental.fetch.session.cache.slots",),
        "no quota is set": (
            *("alter.log.dirs.replication.quota.*", "controller.quota.*", "quota.window.*", "replication.quota.*"),
        ),
        _CLOCK: ("log.message.timestamp.after.max.ms", "log.message.timestamp.before.max.ms"),
    },
    "topic": {
        _STORAGE: ("file.delete.delay.ms", "index.interval.bytes", "preallocate"),
        _TIERED: ("local.retention.*", "remote.log.copy.disable", "remote.log.delete.on.disable"),
        _CLOCK: ("message.timestamp.after.max.ms", "message.timestamp.before.max.ms"),
    },
}
"""Keys that change nothing here, by the reason; `*` stands for any letters."""

_LEVELS = {"compression.gzip.level": "-1", "compression.lz4.level": "9", "compression.zstd.level": "3"}

NOT_BUILT: Final[dict[Scope, dict[str, str]]] = {
    "consumer": {"connections.max.idle.ms": "540000"},
    "producer": _LEVELS
    | {
        "connections.max.idle.ms": "540000",
        "metadata.max.idle.ms": "300000",
        "transaction.two.phase.commit.enable": "false",
    },
    "broker": _LEVELS
    | {
        "client.quota.callback.class": "null",
        "compression.type": "producer",
        "connections.max.idle.ms": "600000",
        "controller.quorum.election.backoff.max.ms": "1000",
        "controller.quorum.election.timeout.ms": "1000",
        "controller.quorum.fetch.timeout.ms": "2000",
        "fetch.max.bytes": "57671680",
        "initial.broker.registration.timeout.ms": "60000",
        "log.cleaner.enable": "true",
        "log.message.timestamp.type": "CreateTime",
        "log.retention.minutes": "null",
        "log.roll.jitter.hours": "0",
        "log.roll.jitter.ms": "null",
        "log.roll.ms": "null",
        "max.connection.creation.rate": "2147483647",
        "max.connections": "2147483647",
        "max.connections.per.ip": "2147483647",
        "max.connections.per.ip.overrides": "",
        "max.request.partition.size.limit": "2000",
        "remote.log.storage.system.enable": "false",
        "replica.fetch.backoff.ms": "1000",
        "replica.fetch.response.max.bytes": "10485760",
        "replica.selector.class": "null",
        "replica.socket.timeout.ms": "30000",
        "request.timeout.ms": "30000",
        "socket.connection.setup.timeout.max.ms": "30000",
        "socket.connection.setup.timeout.ms": "10000",
        "socket.request.max.bytes": "104857600",
        "transaction.two.phase.commit.enable": "false",
        "unclean.leader.election.interval.ms": "300000",
    },
    "topic": _LEVELS
    | {
        "compression.type": "producer",
        "follower.replication.throttled.replicas": "",
        "leader.replication.throttled.replicas": "",
        "message.timestamp.type": "CreateTime",
        "remote.storage.enable": "false",
        "segment.index.bytes": "10485760",
        "segment.jitter.ms": "0",
    },
}
"""Keys that would change something, and are not built: they may have Kafka's default (as text), and no other value."""


def without_effect(scope: Scope, name: str) -> str | None:
    """Why a key has no effect in the simulation; None for a key that it reads, and for one that Kafka does not have."""
    for reason, names in WITHOUT_EFFECT[scope].items():
        if any(name == known or ("*" in known and fnmatchcase(name, known)) for known in names):
            return reason
    return None


def default_of_unbuilt(scope: Scope, name: str) -> str | None:
    """Kafka's default, as text, of a key that would change something and is not built; None for any other key."""
    return NOT_BUILT[scope].get(name)


def other_names(scope: Scope) -> list[str]:
    """The names of the keys that are written out here, for suggestions."""
    plain = [name for names in WITHOUT_EFFECT[scope].values() for name in names if "*" not in name]
    return [*plain, *NOT_BUILT[scope]]

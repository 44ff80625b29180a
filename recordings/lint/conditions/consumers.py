"""Conditions of consumers and their groups. Kafka's own rules come from `ConsumerConfig` of 4.3.1."""

from collections.abc import Iterator, Mapping
from typing import Final

from cluster.config.assignor_names import KAFKA_ASSIGNORS, KAFKA_PACKAGE
from recordings.lint.parts import Part
from recordings.lint.reading.placeholders import names_a_pod
from recordings.lint.world import Condition, Hit, World, spoken_ms

UNSUPPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    "classic": ("group.remote.assignor", "share.acknowledgement.mode", "share.acquire.mode"),
    "consumer": (
        "partition.assignment.strategy",
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "share.acknowledgement.mode",
        "share.acquire.mode",
    ),
}
"""Source: `CLASSIC_PROTOCOL_UNSUPPORTED_CONFIGS` and `CONSUMER_PROTOCOL_UNSUPPORTED_CONFIGS`."""

COOPERATIVE: Final = "cooperative-sticky"
MARGIN: Final = 2
"""A suggested timeout is this many times what it has to outlast."""


def assignors(part: Part) -> tuple[str, ...]:
    """The part's assignors by the names of their protocols; a class of one's own keeps its name."""
    names = (word.removeprefix(KAFKA_PACKAGE) for word in part.words("partition.assignment.strategy"))
    return tuple(KAFKA_ASSIGNORS.get(name, name) for name in names)


def session_ms(part: Part, world: World) -> tuple[int | None, str]:
    """The member's session and the key that decides it: the broker's in the new protocol."""
    if part.word("group.protocol") == "consumer":
        return world.brokers_number("group.consumer.session.timeout.ms"), "group.consumer.session.timeout.ms"
    return part.number("session.timeout.ms"), "session.timeout.ms"


def session_shorter_than_restart(part: Part, world: World) -> Iterator[Hit]:
    """A static member is away for longer than its session lasts."""
    session, key = session_ms(part, world)
    restart = part.fact_ms("restart")
    if part.has("group.instance.id") and session is not None and restart is not None and restart >= session:
        words = {"restart": spoken_ms(restart), "session": spoken_ms(session), "key": key}
        yield Hit((key, "group.instance.id", "restart"), words | {"enough": str(MARGIN * restart)})


def static_id_of_changing_pods(part: Part, _world: World) -> Iterator[Hit]:
    """The instance id is made of a name that each rollout changes."""
    setting = part.settings.get("group.instance.id")
    if (
        setting is not None
        and setting.value is None
        and names_a_pod(setting.raw)
        and part.fact("pod-names") == "changing"
    ):
        yield Hit(("group.instance.id",))


def static_id_of_several(part: Part, world: World) -> Iterator[Hit]:
    """Several processes have one instance id: by their number, or because two parts of a group write the same."""
    setting = part.settings.get("group.instance.id")
    if setting is None or setting.value is None or not setting.value.strip():
        return
    twins = [
        other
        for other in world.sharing(part, "group.id")
        if (other.file, other.name) != (part.file, part.name)  # a profile of its own
        and other.text("group.instance.id") == setting.value
    ]
    if twins or (part.count("instances") or 1) > 1:
        yield Hit(("group.instance.id",))


def poll_outlasts_interval(part: Part, _world: World) -> Iterator[Hit]:
    """The records of one poll() take longer than max.poll.interval.ms."""
    records, interval = part.number("max.poll.records"), part.number("max.poll.interval.ms")
    each = part.fact_ms("per-record")
    if records is None or interval is None or not each or (part.count("worker-threads") or 0) > 0:
        return
    if records * each > interval:
        words = {"records": str(records), "each": spoken_ms(each), "takes": spoken_ms(records * each)}
        words |= {"interval": spoken_ms(interval), "fewer": str(max(1, interval // (MARGIN * each)))}
        yield Hit(("max.poll.records", "max.poll.interval.ms", "per-record"), words)


def retries_outlast_interval(part: Part, _world: World) -> Iterator[Hit]:
    """The attempts for one record keep poll() away for longer than max.poll.interval.ms."""
    takes, interval = part.fact_ms("retries-take"), part.number("max.poll.interval.ms")
    if takes is not None and interval is not None and takes > interval:
        words = {"takes": spoken_ms(takes), "interval": spoken_ms(interval), "enough": str(MARGIN * takes)}
        yield Hit(("max.poll.interval.ms", "retries-take"), words)


def heartbeat_above_a_third(part: Part, _world: World) -> Iterator[Hit]:
    """Fewer than three heartbeats fit into a session. Source: `CommonClientConfigs.HEARTBEAT_INTERVAL_MS_DOC`."""
    heartbeat, session = part.number("heartbeat.interval.ms"), part.number("session.timeout.ms")
    if part.word("group.protocol") == "consumer" or heartbeat is None or session is None:
        return
    if session > heartbeat > session / 3 and (part.has("heartbeat.interval.ms") or part.has("session.timeout.ms")):
        words = {"heartbeat": spoken_ms(heartbeat), "session": spoken_ms(session), "third": str(session // 3)}
        yield Hit(("heartbeat.interval.ms", "session.timeout.ms"), words)


def session_outside_bounds(part: Part, world: World) -> Iterator[Hit]:
    """The coordinator refuses the session. Source: `GroupCoordinatorService.joinGroup`."""
    session = part.number("session.timeout.ms")
    low = world.brokers_number("group.min.session.timeout.ms")
    high = world.brokers_number("group.max.session.timeout.ms")
    if part.word("group.protocol") == "consumer" or session is None or low is None or high is None:
        return
    if not low <= session <= high:
        words = {"session": spoken_ms(session), "low": spoken_ms(low), "high": spoken_ms(high)}
        yield Hit(("session.timeout.ms",), words | {"nearest": str(low if session < low else high)})


def keys_of_the_other_protocol(part: Part, _world: World) -> Iterator[Hit]:
    """Keys that the client refuses under its protocol. Source: `ConsumerConfig.checkUnsupportedConfigsPostProcess`."""
    protocol = part.word("group.protocol") or "classic"
    for key in UNSUPPORTED.get(protocol, ()):
        if part.has(key):
            yield Hit((key,), {"key": key, "protocol": protocol})


def remote_assignor_unknown(part: Part, world: World) -> Iterator[Hit]:
    """The brokers do not have the assignor. Source: `GroupMetadataManager`, UNSUPPORTED_ASSIGNOR."""
    wanted, broker = part.text("group.remote.assignor"), world.broker()
    if part.word("group.protocol") != "consumer" or not wanted:
        return
    offered = broker.words("group.consumer.assignors") if broker is not None else ("uniform", "range")
    builtin = all(word in ("uniform", "range") for word in offered)
    if builtin and wanted.strip() not in offered:
        yield Hit(("group.remote.assignor",), {"offered": " and ".join(offered)})


def half_migrated_assignors(part: Part, _world: World) -> Iterator[Hit]:
    """Cooperative first and an eager one behind it: the first of two bounces. Source: `ConsumerCoordinator`."""
    names = assignors(part)
    if part.word("group.protocol") == "consumer" or not part.has("partition.assignment.strategy"):
        return
    eager = [name for name in names if name in ("range", "roundrobin", "sticky")]
    if names[:1] == (COOPERATIVE,) and eager:
        yield Hit(("partition.assignment.strategy",), {"eager": eager[0]})


def assignor_is_no_class(part: Part, _world: World) -> Iterator[Hit]:
    """A protocol's name, as librdkafka takes it, where Java's client loads a class."""
    if part.frame not in ("spring", "quarkus") and not part.has("key.deserializer"):
        return  # the configuration may be one of librdkafka's
    for word in part.words("partition.assignment.strategy"):
        class_name = next((each for each, name in KAFKA_ASSIGNORS.items() if name == word), None)
        if class_name is not None:
            yield Hit(("partition.assignment.strategy",), {"name": word, "class": f"{KAFKA_PACKAGE}{class_name}"})


def no_common_assignor(part: Part, world: World) -> Iterator[Hit]:
    """Members of one group have no assignor in common: the one that joins later is refused."""
    mine = set(assignors(part))
    if part.word("group.protocol") == "consumer" or not mine:
        return
    for other in world.sharing(part, "group.id"):
        if other.word("group.protocol") == "consumer":
            continue
        theirs = set(assignors(other))
        if theirs and not mine & theirs and all(name in KAFKA_ASSIGNORS.values() for name in mine | theirs):
            yield Hit(("partition.assignment.strategy", "group.id"), {"mine": _listed(mine), "theirs": _listed(theirs)})
            return


def _listed(names: set[str]) -> str:
    return " and ".join(sorted(names))


def mixed_protocols(part: Part, world: World) -> Iterator[Hit]:
    """Members of one group speak both protocols, and the brokers do not migrate groups."""
    broker = world.broker()
    policy = (broker.word("group.consumer.migration.policy") if broker is not None else None) or "bidirectional"
    if part.word("group.protocol") != "consumer" or policy not in ("disabled", "downgrade"):
        return
    if any(other.word("group.protocol") == "classic" for other in world.sharing(part, "group.id")):
        yield Hit(("group.protocol", "group.id"), {"policy": policy})


def auto_commit_with_outside_sink(part: Part, _world: World) -> Iterator[Hit]:
    """Positions are committed by the clock, and the results go elsewhere."""
    if part.flag("enable.auto.commit") and part.fact("sink") == "outside":
        yield Hit(("enable.auto.commit", "sink"))


def auto_commit_with_workers(part: Part, _world: World) -> Iterator[Hit]:
    """poll() commits what worker threads have not finished."""
    if part.flag("enable.auto.commit") and (part.count("worker-threads") or 0) > 0:
        yield Hit(("enable.auto.commit", "worker-threads"))


def auto_commit_without_group(part: Part, _world: World) -> Iterator[Hit]:
    """Source: `ConsumerConfig.maybeOverrideEnableAutoCommit`."""
    asked = part.has("enable.auto.commit") and part.flag("enable.auto.commit")
    if asked and part.frame == "" and "group.id" not in part.settings:
        yield Hit(("enable.auto.commit",))


def auto_commit_with_transactions(part: Part, world: World) -> Iterator[Hit]:
    """The same application produces in transactions, and its offsets are committed outside of them."""
    if not part.flag("enable.auto.commit"):
        return
    if any(_transactional(producer) for producer in _of_one_application(part, world)):
        yield Hit(("enable.auto.commit",))


def reads_aborted_records(part: Part, world: World) -> Iterator[Hit]:
    """The same application produces in transactions, and reads what other transactions have aborted."""
    if part.word("isolation.level") != "read_uncommitted" or part.has("isolation.level"):
        return
    if any(_transactional(producer) for producer in _of_one_application(part, world)):
        yield Hit(("isolation.level",))


def _of_one_application(part: Part, world: World) -> list[Part]:
    """The producers beside a consumer; in a scenario those of its own group."""
    producers = world.beside(part, "producer")
    return [each for each in producers if each.name == part.name] if part.frame == "scenario" else producers


def _transactional(part: Part) -> bool:
    return part.has("transactional.id") or part.has("transaction-id-prefix")


def reset_skips_records(part: Part, _world: World) -> Iterator[Hit]:
    """Offsets are committed with care, and where there are none the group begins at the end."""
    careful = part.has("enable.auto.commit") and part.flag("enable.auto.commit") is False
    if careful and not part.has("auto.offset.reset") and part.frame != "scenario":
        yield Hit(("enable.auto.commit",))


def interval_holds_rebalances(part: Part, _world: World) -> Iterator[Hit]:
    """An eager group waits for its slowest member for as long as max.poll.interval.ms allows."""
    interval = part.number("max.poll.interval.ms")
    if part.word("group.protocol") == "consumer" or interval is None or not part.has("max.poll.interval.ms"):
        return
    if interval > LONGEST_INTERVAL_MS and next(iter(assignors(part)), "") != COOPERATIVE:
        yield Hit(("max.poll.interval.ms",), {"interval": spoken_ms(interval)})


LONGEST_INTERVAL_MS: Final = 600_000
"""Twice Kafka's default."""


def long_session_of_dynamic_members(part: Part, _world: World) -> Iterator[Hit]:
    """A crash of a member without instance id is noticed late, and a long session gives it nothing."""
    session = part.number("session.timeout.ms")
    if part.word("group.protocol") == "consumer" or session is None or part.has("group.instance.id"):
        return
    if session > LONGEST_SESSION_MS and part.has("session.timeout.ms"):
        yield Hit(("session.timeout.ms",), {"session": spoken_ms(session)})


LONGEST_SESSION_MS: Final = 120_000
SHORTEST_SESSION_MS: Final = 10_000
"""Kafka's default before KIP-735, which the KIP found too short."""


def short_session(part: Part, world: World) -> Iterator[Hit]:
    """A pause of a few seconds ends the session."""
    session, low = part.number("session.timeout.ms"), world.brokers_number("group.min.session.timeout.ms")
    if part.word("group.protocol") == "consumer" or session is None or not part.has("session.timeout.ms"):
        return
    if (low or 0) <= session < SHORTEST_SESSION_MS:
        yield Hit(("session.timeout.ms",), {"session": spoken_ms(session)})


def more_members_than_partitions(part: Part, _world: World) -> Iterator[Hit]:
    """Members without a partition."""
    members, partitions = part.count("instances"), part.count("partitions")
    threads = part.number("listener.concurrency") or part.number("channel.concurrency") or 1
    if members is not None and partitions is not None and members * threads > partitions:
        words = {"members": str(members * threads), "idle": str(members * threads - partitions)}
        words["partitions"] = f"{partitions} partition{'s' if partitions != 1 else ''}"
        yield Hit(("instances", "partitions"), words)


def rack_without_selector(part: Part, world: World) -> Iterator[Hit]:
    """Consumers say their rack, and the brokers let them fetch from leaders only."""
    broker = world.broker()
    if broker is None or not part.has("client.rack"):
        return
    selector = broker.text("replica.selector.class")
    if "replica.selector.class" not in broker.settings or (selector or "").endswith("LeaderSelector"):
        yield Hit(("client.rack",))


def manual_acknowledgement_with_auto_commit(part: Part, _world: World) -> Iterator[Hit]:
    """Source: `KafkaMessageListenerContainer.determineAutoCommit` of Spring for Apache Kafka."""
    mode = part.settings.get("listener.ack-mode")
    if mode is None or not part.flag("enable.auto.commit"):
        return
    if (mode.value or "").lower().replace("-", "_").startswith("manual"):
        yield Hit(("listener.ack-mode",))


def channel_commits_what_it_received(part: Part, _world: World) -> Iterator[Hit]:
    """SmallRye's `latest` and `ignore` commit without regard to records that are in hand."""
    strategy = part.settings.get("channel.commit-strategy")
    if strategy is not None and strategy.value == "latest":
        yield Hit(("channel.commit-strategy",))


CONDITIONS: Final[Mapping[str, Condition]] = {
    "session-shorter-than-restart": session_shorter_than_restart,
    "static-id-of-changing-pods": static_id_of_changing_pods,
    "static-id-of-several": static_id_of_several,
    "poll-outlasts-interval": poll_outlasts_interval,
    "retries-outlast-interval": retries_outlast_interval,
    "heartbeat-above-a-third": heartbeat_above_a_third,
    "session-outside-bounds": session_outside_bounds,
    "keys-of-the-other-protocol": keys_of_the_other_protocol,
    "remote-assignor-unknown": remote_assignor_unknown,
    "half-migrated-assignors": half_migrated_assignors,
    "assignor-is-no-class": assignor_is_no_class,
    "no-common-assignor": no_common_assignor,
    "mixed-protocols": mixed_protocols,
    "auto-commit-with-outside-sink": auto_commit_with_outside_sink,
    "auto-commit-with-workers": auto_commit_with_workers,
    "auto-commit-without-group": auto_commit_without_group,
    "auto-commit-with-transactions": auto_commit_with_transactions,
    "reads-aborted-records": reads_aborted_records,
    "reset-skips-records": reset_skips_records,
    "interval-holds-rebalances": interval_holds_rebalances,
    "long-session-of-dynamic-members": long_session_of_dynamic_members,
    "short-session": short_session,
    "more-members-than-partitions": more_members_than_partitions,
    "rack-without-selector": rack_without_selector,
    "manual-acknowledgement-with-auto-commit": manual_acknowledgement_with_auto_commit,
    "channel-commits-latest": channel_commits_what_it_received,
}

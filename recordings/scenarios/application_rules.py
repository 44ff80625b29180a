"""Check what must fit together in `[group.application]`: topics, keys of records, and the producer's configuration."""

from collections.abc import Iterator, Mapping
from typing import cast

from cluster.config import Value, cross_errors, defaults, nearest, refused_config, resolve
from cluster.spec import MOST_BATCHES, MOST_KEYS, ApplicationSpec, GroupSpec, ProducerSpec, ScenarioSpec
from recordings.scenarios.toml_lines import Place
from recordings.scenarios.toml_tables import Problem


def check_application(spec: ScenarioSpec, group: GroupSpec, place: Place) -> Iterator[Problem]:
    """Errors of one group's application."""
    application = group.application
    if application.poison is not None and application.poison.key:
        yield from refused(_no_such_key(spec, "poison", application.poison.key), (*place, "poison"))
    yield from _failures(spec, group, place)
    yield from check_listener(group, place)
    if application.slow_keys is not None:
        keys = application.slow_keys.keys or ("0",)  # of a share: whether there are any
        for index, key in enumerate(keys):
            yield from refused(_no_such_key(spec, "slow_keys", key), (*place, "slow_keys", "keys", index))
    if application.writes is not None:
        yield from _topic(spec, group, application.writes, (*place, "writes"))
    for index, output in enumerate(application.outputs):
        yield from _topic(spec, group, output.topic, (*place, "outputs", index, "topic"))
        if output.topic in [earlier.topic for earlier in application.outputs[:index]]:
            reason = f"outputs: {output.topic} is listed twice: `records` says how many records an input gives"
            yield Problem((*place, "outputs", index, "topic"), reason)
        if output.share == 0:
            yield Problem((*place, "outputs", index, "share"), "share: no input is written with a share of 0")
    if application.worker_threads:
        yield from _workers(application, place)
    if application.producer:
        yield from _producer(group.name, application, (*place, "producer"))


def check_listener(group: GroupSpec, place: Place) -> Iterator[Problem]:
    """What the rebalance listener of a group, or of one of its members, cannot be asked for."""
    reason = group.why_no_listener()
    if reason is not None:
        yield Problem((*place, "on_revoked"), reason, "nothing")


def _workers(application: ApplicationSpec, place: Place) -> Iterator[Problem]:
    """What an application with worker threads cannot be asked for."""
    there = (*place, "worker_threads")
    if application.processing is not None or application.slow_keys is not None:
        yield Problem(there, "worker_threads: workers take `per_record` for each record, with `jitter`")
    if application.has_producer:
        yield Problem(there, "worker_threads: an application that writes does so in the thread that polls")
    if application.poison is not None or application.fail is not None:
        yield Problem(there, "worker_threads: a record that fails is met in the thread that polls")
    if application.commit == "before-processing":
        reason = 'worker_threads: commit = "before-processing" processes in the thread that polls'
        yield Problem((*place, "commit"), reason, "after-each-poll")


def _failures(spec: ScenarioSpec, group: GroupSpec, place: Place) -> Iterator[Problem]:
    """Errors of what happens to records that fail."""
    application = group.application
    if application.fail is not None and application.fail.share == 0:
        yield Problem((*place, "fail", "share"), "share: no record fails with a share of 0")
    letters = application.dead_letter
    if letters is not None:
        yield from _topic(spec, group, letters, (*place, "dead_letter"))
        if letters in [output.topic for output in application.written]:
            yield Problem((*place, "dead_letter"), f"dead_letter: {letters} is an output of {group.name} already")


def _producer(name: str, application: ApplicationSpec, place: Place) -> Iterator[Problem]:
    """Errors of the configuration of the producer inside each member."""
    config = application.producer
    if not application.has_producer:
        reason = f"producer: {name} has no producer: it writes to no topic, and commits outside transactions"
        yield Problem(place, reason, 'writes = "TOPIC"')
        return
    misfits = cross_errors("producer", config)
    for error in misfits:
        yield Problem((*place, error.key), error.reason)
    yield from refused_keys(config, place)
    if misfits:
        return
    if application.commit == "transaction" and not resolve("producer", config)["enable.idempotence"]:
        key = next((key for key in ("enable.idempotence", "acks", "retries") if key in config), "")
        reason = 'commit = "transaction" needs enable.idempotence (and so acks=all, and retries above 0)'
        yield Problem((*place, key), f"producer: {reason}")
    values = defaults("producer") | config
    reserve = max(cast(int, values["batch.size"]), ProducerSpec("", ()).size_bytes)
    waiting = cast(int, values["buffer.memory"]) // reserve
    if waiting > MOST_BATCHES:
        reason = f"buffer.memory: {waiting:,} batches of {reserve} bytes can wait in it: at most {MOST_BATCHES:,}"
        yield Problem((*place, "buffer.memory"), reason, str(MOST_BATCHES * reserve))


def _topic(spec: ScenarioSpec, group: GroupSpec, topic: str, place: Place) -> Iterator[Problem]:
    """Errors of a topic that the application writes to."""
    declared, key = [each.name for each in spec.topics], next(each for each in place[3:] if isinstance(each, str))
    if topic and topic not in declared:
        yield Problem(place, f"{key}: no topic is named {topic}", nearest(topic, declared))
    elif topic in _read(group):
        yield Problem(place, f"{key}: {group.name} reads {topic} itself, without an end")


def _read(group: GroupSpec) -> set[str]:
    """The topics that members of a group subscribe to, or whose partitions they name in assign()."""
    subscribed = {topic for topics in group.subscriptions.values() for topic in topics}
    assigned = {name.rpartition("-")[0] for names in group.assign.values() for name in names}
    return {*group.topics, *subscribed, *assigned}


def _no_such_key(spec: ScenarioSpec, word: str, key: str) -> str | None:
    """The reason why no record can have a key; None if one can."""
    if not (key.isascii() and key.isdigit() and len(key) <= len(str(MOST_KEYS))):
        return f"{word}: no record has the key {key}: keys are the numbers 0 … distinct - 1"
    distinct = [producer.keys.distinct for producer in spec.producers if producer.keys.kind != "none"]
    if not distinct:
        return f"{word}: no record has the key {key}: no producer has `keys`"
    if int(key) >= max(distinct):
        return f"{word}: no record has the key {key}: the highest is {max(distinct) - 1} (`distinct`)"
    return None


def refused_keys(config: Mapping[str, Value], place: Place) -> Iterator[Problem]:
    """Keys with values that nothing obeys yet."""
    for name, value in config.items():
        yield from refused(refused_config(name, value), (*place, name))


def refused(reason: str | None, place: Place) -> Iterator[Problem]:
    """A problem at this place, if there is a reason for one."""
    if reason is not None:
        yield Problem(place, reason)

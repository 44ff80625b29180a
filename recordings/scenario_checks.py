"""What must fit together in a scenario: names, numbers against each other, commands, expectations, what is not built.

Each check yields problems at places of the file, so that a spec changed by settings is held to the same rules.
"""

import re
from collections.abc import Iterator, Mapping

from cluster.commands import CommandError, check
from cluster.config import Value, cross_errors
from cluster.events import EVENT_KINDS
from cluster.spec import ApplicationSpec, ExpectationSpec, GroupSpec, ProducerSpec, ScenarioSpec
from cluster.unbuilt import refusal, refused_config
from cluster.words import nearest
from recordings.document_shape import Possible
from recordings.predicates import Predicate, PredicateError
from recordings.scenario_lines import Place
from recordings.scenario_tables import Problem

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_RESERVED = re.compile(r"cluster|broker(-[0-9]+)?|\.\.?|__consumer_offsets|__transaction_state")


def check_scenario(spec: ScenarioSpec) -> Iterator[Problem]:
    """Every problem of a spec whose values are each right alone."""
    yield from _names(spec)
    yield from _cluster(spec)
    for index, producer in enumerate(spec.producers):
        yield from _producer(spec, producer, ("producer", index))
    for index, group in enumerate(spec.groups):
        yield from _group(spec, group, ("group", index))
    yield from _steps(spec)
    possible = Possible(spec)
    for index, expectation in enumerate(spec.expectations):
        yield from _expectation(spec, possible, expectation, ("expect", index))


def _names(spec: ScenarioSpec) -> Iterator[Problem]:
    declared: dict[str, str] = {}
    instances = {name: group.name for group in spec.groups for name in group.instances()}
    instances |= {name: producer.name for producer in spec.producers for name in producer.instances()}
    kinds = {
        "topic": [topic.name for topic in spec.topics],
        "producer": [producer.name for producer in spec.producers],
        "group": [group.name for group in spec.groups],
    }
    for kind, names in kinds.items():
        for index, name in enumerate(names):
            place = (kind, index, "name")
            if not name:
                continue
            if not _NAME.fullmatch(name):
                yield Problem(place, f"name: {name!r} has other characters than letters, digits, `.`, `_` and `-`")
            elif _RESERVED.fullmatch(name):
                yield Problem(place, f"name: {name} means something else")
            elif name in declared:
                yield Problem(place, f"name: {name} is already the name of a {declared[name]}")
            elif name in instances:
                yield Problem(place, f"name: {name} is already an instance of {instances[name]}")
            declared.setdefault(name, kind)


def _cluster(spec: ScenarioSpec) -> Iterator[Problem]:
    reasons = []
    for error in cross_errors("broker", spec.config):
        reasons.append(error.reason)
        yield Problem(("cluster", "config", error.key), error.reason)
    for broker in spec.brokers:
        for error in cross_errors("broker", spec.config | broker.config):
            if error.reason not in reasons:
                yield Problem(("cluster", "brokers"), f"{broker.name}: {error.reason}")
        yield from _refused_config(broker.config, ("cluster", "brokers"))
    yield from _refused_config(spec.config, ("cluster", "config"))
    for index, topic in enumerate(spec.topics):
        yield from _refused_config(topic.config, ("topic", index, "config"))
        if topic.replication > len(spec.brokers):
            reason = f"replication: {topic.replication} replicas need as many brokers, there are {len(spec.brokers)}"
            yield Problem(("topic", index, "replication"), reason)
    processes = spec.names().processes()
    for index, link in enumerate(spec.network.links):
        for end, name in enumerate(link.between):
            if name and name not in processes:
                place: Place = ("network", "links", index, "between", end)
                yield Problem(place, f"no broker, member or producer is named {name}", nearest(name, processes))


def _topics(spec: ScenarioSpec, topics: tuple[str, ...], place: Place) -> Iterator[Problem]:
    declared = [topic.name for topic in spec.topics]
    for index, topic in enumerate(topics):
        if topic not in declared:
            yield Problem((*place, index), f"no topic is named {topic}", nearest(topic, declared))


def _producer(spec: ScenarioSpec, producer: ProducerSpec, place: Place) -> Iterator[Problem]:
    yield from _topics(spec, producer.topics, (*place, "topics"))
    for error in cross_errors("producer", producer.config):
        yield Problem((*place, "config", error.key), error.reason)
    yield from _refused_config(producer.config, (*place, "config"))
    if producer.config.get("retries") == 0 and "enable.idempotence" not in producer.config:
        yield from _refused(refused_config("enable.idempotence", False), (*place, "config", "retries"))
    if producer.transactions is not None:
        transactions: Place = (*place, "transactions")
        yield from _refused(refusal("transactions"), transactions)
        idempotent = producer.config.get("enable.idempotence", producer.config.get("acks", "all") == "all")
        if not idempotent:
            yield Problem(transactions, "transactions need enable.idempotence (and so acks=all)")


def _group(spec: ScenarioSpec, group: GroupSpec, place: Place) -> Iterator[Problem]:
    yield from _topics(spec, group.topics, (*place, "topics"))
    members = spec.names().groups.get(group.name, ())
    for member, topics in group.subscriptions.items():
        if member not in members:
            reason = f"subscriptions: {group.name} has no member {member}"
            yield Problem((*place, "subscriptions", member), reason, nearest(member, members))
        yield from _topics(spec, topics, (*place, "subscriptions", member))
    missing = [member for member in members if not group.topics_of(member)]
    if missing and group.subscriptions:
        yield Problem((*place, "subscriptions"), f"subscriptions: {missing[0]} has none, and the group has no topics")
    for error in cross_errors("consumer", group.config):
        yield Problem((*place, "config", error.key), error.reason)
    yield from _refused_config(group.config, (*place, "config"))
    for index, assignor in enumerate(group.assignors):
        yield from _refused(refusal(f"assignor {assignor}"), (*place, "assignors", index))
    if group.static:
        yield from _refused(refusal("static"), (*place, "static"))
    yield from _application(spec, group.application, (*place, "application"))


def _application(spec: ScenarioSpec, application: ApplicationSpec, place: Place) -> Iterator[Problem]:
    yield from _refused(refusal(f"commit {application.commit}"), (*place, "commit"))
    for field in ("writes", "sink", "poison"):
        if getattr(application, field) is not None:
            yield from _refused(refusal(field), (*place, field))
    topics = [topic.name for topic in spec.topics]
    if application.writes is not None and application.writes not in topics:
        reason = f"writes: no topic is named {application.writes}"
        yield Problem((*place, "writes"), reason, nearest(application.writes, topics))


def _refused_config(config: Mapping[str, Value], place: Place) -> Iterator[Problem]:
    for name, value in config.items():
        yield from _refused(refused_config(name, value), (*place, name))


def _refused(reason: str | None, place: Place) -> Iterator[Problem]:
    if reason is not None:
        yield Problem(place, reason)


def _steps(spec: ScenarioSpec) -> Iterator[Problem]:
    names = spec.names()
    for index, step in enumerate(spec.steps):
        if step.at_us > spec.until_us:
            yield Problem(("at", index, "time"), "time: it is after the end of the flight (`until`)")
        try:
            check(step.command, names)
        except CommandError as error:
            yield Problem(("at", index, "do"), f"do: {error.message}", error.suggestion)


def _expectation(
    spec: ScenarioSpec, possible: Possible, expectation: ExpectationSpec, place: Place
) -> Iterator[Problem]:
    for key, instant in (("at", expectation.at_us), ("from", expectation.from_us)):
        if instant is not None and instant > spec.until_us:
            yield Problem((*place, key), f"{key}: it is after the end of the flight (`until`)")
    if expectation.that is not None:
        try:
            troubles = Predicate(expectation.that).trouble_in(possible)
        except PredicateError as error:
            troubles = [(error.reason, error.suggestion)]
        for reason, suggestion in troubles:
            yield Problem((*place, "that"), f"that: {reason}", suggestion)
    if expectation.event is not None:
        yield from _event(expectation.event, list(expectation.where), place)


def _event(kind: str, fields: list[str], place: Place) -> Iterator[Problem]:
    event = EVENT_KINDS.get(kind)
    if event is None:
        yield Problem((*place, "event"), f"no event is named {kind}", nearest(kind, EVENT_KINDS))
        return
    for field in fields:
        if field not in event.__struct_fields__:
            suggestion = nearest(field, event.__struct_fields__)
            yield Problem((*place, "where", field), f"where: {kind} has no {field}", suggestion)

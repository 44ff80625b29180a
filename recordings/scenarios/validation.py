"""Check what must fit together in a scenario: names, numbers, commands, expectations, unsupported features.

Each check yields errors at places of the file, so that a spec changed by settings is held to the same rules.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from cluster.commands import CommandError, CreateTopic, Set, check, is_reserved
from cluster.config import DEFAULT_ASSIGNORS, ConfigError, cross_errors, defaults, format_duration, nearest
from cluster.events import EVENT_KINDS
from cluster.protocol.re2_syntax import TopicPatternError
from cluster.protocol.topic_pattern import TopicPatternLimitError, topic_pattern, valid_instead
from cluster.spec import (
    INTERNAL_REPLICATION,
    INTERNAL_TOPICS,
    ExpectationSpec,
    GroupSpec,
    MemberSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
    created_topic,
    deployed,
    why_not,
    with_protocol_remedy,
    write_over,
)
from recordings.scenarios import custom_assignors
from recordings.scenarios.application_rules import check_application, check_listener, refused_keys
from recordings.scenarios.document_schema import KnownNames
from recordings.scenarios.predicates import Predicate, PredicateError
from recordings.scenarios.sizes import check_sizes
from recordings.scenarios.toml_lines import Place
from recordings.scenarios.toml_tables import Problem, Scalar, shown

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SCALARS = {int: "a whole number", bool: "true or false", str: "text"}
_KAFKAS = re.compile(r"\.\.?|__consumer_offsets|__transaction_state")


def check_scenario(spec: ScenarioSpec) -> Iterator[Problem]:
    """Every error of a spec whose values are each right alone; of a too large spec, only its size."""
    too_large = list(check_sizes(spec))
    yield from too_large
    if too_large:  # checking the rest would take the memory that this limit protects
        return
    yield from _names(spec)
    yield from _cluster(spec)
    for index, producer in enumerate(spec.producers):
        yield from _producer(spec, producer, ("producer", index))
    for index, group in enumerate(spec.groups):
        yield from _group(spec, group, ("group", index))
    yield from _steps(spec)
    known_names = KnownNames(spec)
    for index, expectation in enumerate(spec.expectations):
        yield from _expectation(spec, known_names, expectation, ("expect", index))


def notes_on(spec: ScenarioSpec) -> Iterator[Problem]:
    """What Kafka accepts in a configuration and refuses in the flight: the scenario is flown all the same."""
    compacted = [topic.name for topic in spec.topics if _compacts(topic.topic_config(spec.config)["cleanup.policy"])]
    for index, producer in enumerate(spec.producers):
        refusing = [name for name in producer.topics if name in compacted]
        if refusing and producer.keys.kind == "none":
            reason = (
                f"keys: {producer.name} sends records without a key, and {refusing[0]} is compacted: its leaders refuse"
                ' each with INVALID_RECORD (give keys = { kind = "uniform" })'
            )
            yield Problem(("producer", index, "topics"), reason, is_note=True)


def _compacts(policy: object) -> bool:
    return isinstance(policy, tuple) and "compact" in policy


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
                yield Problem(place, f"name: {name!r} may contain only letters, digits, `.`, `_` and `-`")
            elif is_reserved(name) or _KAFKAS.fullmatch(name) or (kind == "group" and name == "brokers"):
                yield Problem(place, f"name: {name} is a reserved word")
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
        yield from refused_keys(broker.config, ("cluster", "brokers"))
    yield from refused_keys(spec.config, ("cluster", "config"))
    for index, topic in enumerate(spec.topics):
        for error in cross_errors("topic", topic.config):
            yield Problem(("topic", index, "config", error.key), error.reason)
        yield from refused_keys(topic.config, ("topic", index, "config"))
        if topic.replica_assignment:
            yield from _assignment(spec, topic, ("topic", index))
        elif topic.replication > len(spec.brokers):
            reason = f"replication: {topic.replication} replicas need as many brokers, there are {len(spec.brokers)}"
            yield Problem(("topic", index, "replication"), reason)
    yield from _internal_assignment(spec)
    processes = spec.names().processes()
    for index, link in enumerate(spec.network.links):
        for end, name in enumerate(link.between):
            if name and name not in processes:
                place: Place = ("network", "links", index, "between", end)
                yield Problem(place, f"no broker, member or producer is named {name}", nearest(name, processes))


def _assignment(spec: ScenarioSpec, topic: TopicSpec, place: Place) -> Iterator[Problem]:
    """What an assignment of replicas contradicts: the numbers of its topic, and the brokers of the cluster."""
    said = {"partitions": topic.partitions, "replication": topic.replication}
    assigned = {"partitions": len(topic.replica_assignment), "replication": len(topic.replica_assignment[0])}
    for key, number in assigned.items():
        if said[key] != number:
            reason = f"{key}: replica_assignment has {number}, not {said[key]}"
            yield Problem((*place, key), reason, str(number))
    yield from _assigned_brokers(spec, topic.replica_assignment, (*place, "replica_assignment"))


def _internal_assignment(spec: ScenarioSpec) -> Iterator[Problem]:
    """The same of Kafka's own topics, whose numbers are keys of the brokers."""
    for topic, assigned in spec.internal_assignment.items():
        place: Place = ("cluster", "replica_assignment", topic)
        numbers = {INTERNAL_TOPICS[topic]: len(assigned), INTERNAL_REPLICATION[topic]: len(assigned[0])}
        for key, number in numbers.items():
            said = spec.config.get(key, number if key in INTERNAL_REPLICATION.values() else defaults("broker")[key])
            if said != number:
                yield Problem(place, f"{topic}: {key} is {said}, and its replica_assignment has {number}")
        yield from _assigned_brokers(spec, assigned, place)


def _assigned_brokers(spec: ScenarioSpec, assigned: tuple[tuple[int, ...], ...], place: Place) -> Iterator[Problem]:
    """The first broker of an assignment that the cluster does not have."""
    brokers = [broker.id for broker in spec.brokers]
    for number, replicas in enumerate(assigned):
        for unknown in (broker for broker in replicas if broker not in brokers):
            reason = f"replica_assignment: partition {number} has broker {unknown}, and the cluster has no such broker"
            yield Problem(place, reason, str(min(brokers, key=lambda one: abs(one - unknown))))
            return


def _topics(spec: ScenarioSpec, topics: tuple[str, ...], start_us: int, place: Place) -> Iterator[Problem]:
    declared = spec.created_us()
    for index, topic in enumerate(topics):
        if topic not in declared:
            yield Problem((*place, index), f"no topic is named {topic}", nearest(topic, declared))
        elif declared[topic] > start_us:
            created = format_duration(declared[topic])
            reason = f"{topic} is created at {created}: what names it starts then at the earliest"
            yield Problem((*place, index), reason, f'start = "{created}"')


def _producer(spec: ScenarioSpec, producer: ProducerSpec, place: Place) -> Iterator[Problem]:
    yield from _topics(spec, producer.topics, producer.start_us, (*place, "topics"))
    misfits = cross_errors("producer", producer.config)
    for error in misfits:
        yield Problem((*place, "config", error.key), error.reason)
    yield from refused_keys(producer.config, (*place, "config"))
    if producer.transactions is not None and not misfits and not producer.producer_config()["enable.idempotence"]:
        reason = "transactions need enable.idempotence (and so acks=all, and retries above 0)"
        yield Problem((*place, "transactions"), reason)


def _topic_regex(spec: ScenarioSpec, group: GroupSpec, place: Place) -> Iterator[Problem]:
    """Source: `ClassicKafkaConsumer.subscribe(SubscriptionPattern)`, which refuses."""
    if not group.topic_regex:
        return
    if group.topics or group.subscriptions:
        yield Problem(place, "topic_regex: a consumer subscribes to topics or to a regular expression, not to both")
    if group.config.get("group.protocol") != "consumer":
        reason = "topic_regex: Subscribe to RE2/J pattern is not supported when using the CLASSIC protocol"
        yield Problem(place, f"{reason} defined in config group.protocol")
    try:
        topic_pattern(group.topic_regex)
    except TopicPatternLimitError as error:
        yield Problem(place, f"topic_regex: Kafka accepts {group.topic_regex!r}, Flightdeck does not: {error}")
    except TopicPatternError as error:
        reason = f"topic_regex: {group.topic_regex!r} is not a valid regular expression of RE2/J: {error}"
        yield Problem(place, reason, valid_instead(group.topic_regex, [topic.name for topic in spec.topics]))


def _group(spec: ScenarioSpec, group: GroupSpec, place: Place) -> Iterator[Problem]:
    yield from _topics(spec, group.topics, group.start_us, (*place, "topics"))
    yield from _topic_regex(spec, group, (*place, "topic_regex"))
    members = spec.names().groups.get(group.name, ())
    for member, topics in group.subscriptions.items():
        if member not in members:
            reason = f"subscriptions: {group.name} has no member {member}"
            yield Problem((*place, "subscriptions", member), reason, nearest(member, members))
        yield from _topics(spec, topics, group.start_us, (*place, "subscriptions", member))
    yield from _assign(spec, group, members, (*place, "assign"))
    missing = [member for member in members if not group.topics_of(member) and not group.topic_regex]
    if missing and group.subscriptions:
        yield Problem((*place, "subscriptions"), f"subscriptions: {missing[0]} has none, and the group has no topics")
    for error in cross_errors("consumer", group.config):
        yield Problem((*place, "config", error.key), error.reason)
    yield from refused_keys(group.config, (*place, "config"))
    if group.config.get("group.protocol") == "consumer" and group.assignors != DEFAULT_ASSIGNORS:
        reason = "partition.assignment.strategy cannot be set when group.protocol=CONSUMER"
        yield Problem((*place, "assignors"), f"assignors: {reason}")
    for index, assignor in enumerate(group.assignors):
        unloadable = custom_assignors.load_error(assignor)
        if unloadable is not None:
            yield Problem((*place, "assignors", index), f"assignors: {unloadable}")
    if group.static and group.config.get("group.instance.id") is not None:
        yield Problem((*place, "static"), "static: group.instance.id in config says another id than the member's name")
    yield from check_application(spec, group, (*place, "application"))
    for own in group.own:
        yield from _member(group, own, members, (*place, "member", own.name))


def _assign(spec: ScenarioSpec, group: GroupSpec, members: tuple[str, ...], place: Place) -> Iterator[Problem]:
    """The partitions of members that call assign(); the other members subscribe."""
    partitions = spec.names().partitions()
    for member, names in group.assign.items():
        if member not in members:
            yield Problem((*place, member), f"assign: {group.name} has no member {member}", nearest(member, members))
        if member in group.subscriptions:
            reason = f"assign: {member} has a subscription, and a consumer calls subscribe() or assign()"
            yield Problem((*place, member), reason)
        for index, name in enumerate(names):
            if name not in partitions:
                reason = f"assign: no partition is named {name}"
                yield Problem((*place, member, index), reason, nearest(name, partitions))
    alone = [member for member in group.instances() if not group.topics_of(member)]
    if group.assign and group.autoscaler is not None:
        reason = "assign: an autoscaler starts members that have no partitions, so the group has one or the other"
        yield Problem(place, reason)
    if alone and group.assign and not group.subscriptions:
        yield Problem(place, f"assign: {alone[0]} has no partitions, and the group has no topics")


def _member(group: GroupSpec, own: MemberSpec, members: tuple[str, ...], place: Place) -> Iterator[Problem]:
    """The settings of one member, over those of its group."""
    if own.name not in members:
        yield Problem(place, f"member: {group.name} has no member {own.name}", nearest(own.name, members))
    of_all = [error.reason for error in cross_errors("consumer", group.config)]
    for error in cross_errors("consumer", group.of(own.name).config):
        if error.reason not in of_all:
            yield Problem((*place, "config", error.key), with_protocol_remedy(group, own, error.key, error.reason))
    yield from refused_keys(own.config, (*place, "config"))
    if own.on_revoked is not None:
        yield from check_listener(group.of(own.name), place)
    for index, assignor in enumerate(own.assignors or ()):
        unloadable = custom_assignors.load_error(assignor)
        if unloadable is not None:
            yield Problem((*place, "assignors", index), f"assignors: {unloadable}")
    if group.static and own.config.get("group.instance.id") is not None:
        there = (*place, "config", "group.instance.id")
        yield Problem(there, "group.instance.id: static = true gives the member's name as its id")


def _steps(spec: ScenarioSpec) -> Iterator[Problem]:
    names, creating = spec.names(), [step.command for step in spec.steps if isinstance(step.command, CreateTopic)]
    running = deployed(spec, creating)  # a step is read with the group protocols of those before it
    for index, step in sorted(enumerate(spec.steps), key=lambda one: one[1].at_us):
        if step.at_us > spec.until_us:
            yield Problem(("at", index, "time"), "time: it is after the end of the flight (`until`)")
        try:
            check(step.command, names)
        except CommandError as error:
            yield Problem(("at", index, "do"), f"do: {error.message}", error.suggestion)
            continue
        if isinstance(step.command, CreateTopic):
            yield from _created(spec, step.command, ("at", index, "do"))
        if isinstance(step.command, Set):
            setting = step.command.scope, step.command.key, step.command.value
            if (reason := why_not(running, *setting)) is not None:
                yield Problem(("at", index, "do"), f"do: {reason}")
            elif setting[1] == "group.protocol" and step.command.for_us is None:
                running = write_over(running, *setting)


def _created(spec: ScenarioSpec, command: CreateTopic, place: Place) -> Iterator[Problem]:
    """A configuration that no topic can have; whether its name is free is known in the flight."""
    try:
        created_topic(spec, command)
    except ConfigError as error:
        yield Problem(place, f"do: {error.reason}", error.suggestion)


def _expectation(
    spec: ScenarioSpec, known_names: KnownNames, expectation: ExpectationSpec, place: Place
) -> Iterator[Problem]:
    instants = {"at": expectation.at_us, "from": expectation.from_us}
    yield from _after_the_end(spec, instants, place)
    if expectation.after is not None:
        yield from _after(spec, expectation, expectation.after, place)
    if expectation.that is not None:
        try:
            errors = Predicate(expectation.that).errors_in(known_names)
        except PredicateError as error:
            errors = [(error.reason, error.suggestion)]
        for reason, suggestion in errors:
            yield Problem((*place, "that"), f"that: {reason}", suggestion)
    if expectation.event is not None:
        yield from _event(expectation.event, expectation.where, place)


def check_deadlines(spec: ScenarioSpec) -> Iterator[Problem]:
    """Expectations that can never fail: an error in a file, but earlier versions flew and recorded them."""
    for index, expectation in enumerate(spec.expectations):
        place: Place = ("expect", index)
        instants = {"by": expectation.by_us}
        if expectation.event is not None and expectation.count is None:
            instants["to"] = expectation.to_us
        yield from _after_the_end(spec, instants, place)
        if expectation.event is not None and expectation.by_us is not None and expectation.to_us is not None:
            yield Problem((*place, "to"), "to: a window ends once, and `by` says when")


def _after_the_end(spec: ScenarioSpec, instants: Mapping[str, int | None], place: Place) -> Iterator[Problem]:
    for key, instant in instants.items():
        if instant is not None and instant > spec.until_us:
            yield Problem((*place, key), f"{key}: it is after the end of the flight (`until`)")


def _after(spec: ScenarioSpec, expectation: ExpectationSpec, after: str, place: Place) -> Iterator[Problem]:
    """A window must begin with a step of the file: with any other command its expectation is never judged."""
    given_us = spec.given_us(after)
    if not given_us:
        # A step without a text could not be read, and may be the one that is meant.
        if all(step.text for step in spec.steps):
            suggestion = nearest(after, dict.fromkeys(step.text for step in spec.steps))
            yield Problem((*place, "after"), f"after: no [[at]] step gives `{after}`", suggestion)
    elif len(given_us) < expectation.nth:
        times = "once" if len(given_us) == 1 else f"{len(given_us)} times"
        yield Problem((*place, "nth"), f"nth: the [[at]] steps give `{after}` {times}, not {expectation.nth} times")
    else:
        began_us = given_us[expectation.nth - 1]
        for key, end_us in (("by", expectation.by_us), ("to", expectation.to_us)):
            if end_us is not None and end_us < began_us:
                yield Problem((*place, key), f"{key}: it is before `{after}` at {format_duration(began_us)}")


def _event(kind: str, where: Mapping[str, Scalar], place: Place) -> Iterator[Problem]:
    event = EVENT_KINDS.get(kind)
    if event is None:
        yield Problem((*place, "event"), f"no event is named {kind}", nearest(kind, EVENT_KINDS))
        return
    types = {field.name: field.type for field in msgspec.structs.fields(event)}
    for field, wanted in where.items():
        there: Place = (*place, "where", field)
        if field not in types:
            yield Problem(there, f"where: {kind} has no {field}", nearest(field, types))
        elif types[field] in _SCALARS and types[field] is not type(wanted):
            yield Problem(there, f"where: {field} is {_SCALARS[types[field]]}, not {shown(wanted)}")

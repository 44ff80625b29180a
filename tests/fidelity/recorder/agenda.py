"""A scenario as orders for real clients: what each is started with, and what is done when."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from cluster.clients.producer.arrivals import Keys
from cluster.commands import (
    AbandonTransaction,
    AddPartitions,
    CancelReassignment,
    Command,
    DeleteRecords,
    Elect,
    Kill,
    LoseResponses,
    Mark,
    Pause,
    PausePartitions,
    Reassign,
    Restart,
    Resume,
    ResumePartitions,
    Set,
    SlowMember,
    Stall,
    Start,
    Stop,
    Subscribe,
)
from cluster.config import Value
from cluster.random_streams import NumberedDraws, random_stream
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec
from tests.fidelity.recorder.proxy import API_KEYS

CONSUMER = "org.apache.kafka.clients.consumer"
ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
STRATEGY = "partition.assignment.strategy"
LOOKS = ("offsets of ", "committed of ", "description of ", "positions of ", "records of ")
"""What a mark is called that looks at a topic, a group or a member."""

Words = tuple[str, ...]
"""One line to a driver: the verb, the name, then key=value."""


class Action(NamedTuple):
    """Something to do at an instant: `start`, `kill`, `pause`, `resume` or `stop` a process, or `order` its driver.

    `set`: a group's members that start from now on have another setting. `lose`: a broker's proxy loses responses.
    `log`: a topic's segment files are read.
    """

    at_us: int
    verb: str
    target: str
    words: Words = ()

    def __str__(self) -> str:
        return " ".join(self.words if self.verb == "order" else (self.verb, self.target, *self.words))


class CannotRecord(Exception):  # noqa: N818 - what it says is that a scenario is none for a real cluster
    """A scenario asks for something that is not done to a real cluster."""


def clients(spec: ScenarioSpec) -> dict[str, tuple[int, Words]]:
    """Each client: when it starts, and the words that start it."""
    found: dict[str, tuple[int, Words]] = {}
    for producer in spec.producers:
        for number, name in enumerate(producer.instances(), start=1):
            found[name] = (producer.start_us, (*_producer(producer, name, number), *_keys(producer, name, spec.seed)))
    for group in spec.groups:
        for number, name in enumerate(group.instances()):
            found[name] = (group.start_us + number * group.stagger_us, _member(group, name))
    return found


def _producer(spec: ProducerSpec, name: str, number: int) -> Words:
    words = [f"topics={','.join(spec.topics)}", f"rate={spec.rate_per_second}", f"size={spec.size_bytes}"]
    words += [f"limit={spec.limit}"] if spec.limit is not None else []
    if spec.transactions is not None:
        transaction_loop = spec.transactions
        words += [f"transactional_id={transaction_loop.id_of(number)}", f"records={transaction_loop.records}"]
        words += ["aborts=true"] if transaction_loop.abort == 1 else []
        if transaction_loop.abort not in (0, 1):
            raise CannotRecord(f"{name}: a share of transactions that are aborted is Flightdeck's choice, not Kafka's")
    return ("producer", name, *words, *_settings(spec.config))


def _keys(spec: ProducerSpec, name: str, seed: int) -> Words:
    """The key of each record that Flightdeck draws; `!`: it has no value, in a topic of one partition."""
    if spec.keys.kind == "none":
        return ()
    if spec.limit is None or len(spec.topics) > 1:
        raise CannotRecord(f"{name}: keys are given to a producer with a limit and one topic")
    keys, tombstones = Keys(spec.keys, partial(random_stream, seed, f"keys/{name}")), NumberedDraws(seed, "tombstones")
    sequence = (name, f"{spec.topics[0]}-0")
    empty = ["!" if tombstones.draw(sequence, serial) < spec.tombstones else "" for serial in range(spec.limit)]
    return (f"keys={','.join(f'{keys.draw()}{each}' for each in empty)}",)


def _member(group: GroupSpec, name: str) -> Words:
    spec = group.of(name)
    application = spec.application
    words = [f"group={spec.name}", f"topics={','.join(spec.topics_of(name))}", f"commit={application.commit}"]
    words += [f"regex={spec.topic_regex}"] if spec.topic_regex else []
    words += [f"per_record_ms={application.per_record_us / 1_000}"]
    words += [f"assign={','.join(spec.assign[name])}"] if spec.assign.get(name) else []
    words += [f"revoke_ms={application.revoke_takes_us // 1_000}"] if application.revoke_takes_us else []
    words += [f"writes={application.writes}"] if application.writes is not None else []
    given = dict(spec.config)
    given["enable.auto.commit"] = application.commit == "auto"
    if given.get("group.protocol") != "consumer":
        words.append(_strategy(spec.assignors))
    if spec.static:
        given["group.instance.id"] = name
    return ("member", name, *words, *_settings(given))


def _strategy(assignors: Sequence[str]) -> str:
    """The classic assignors, as a setting by the names of Kafka's classes."""
    return f"cfg.{STRATEGY}={','.join(f'{CONSUMER}.{ASSIGNORS[each]}' for each in assignors)}"


def _next_settings(spec: ScenarioSpec, scope: str, key: str, value: str) -> Words:
    """What a group's members are started with from now on."""
    if key == STRATEGY:
        return (_strategy(value.split(",")),)
    assignors = next(group.assignors for group in spec.groups if group.name == scope)
    return (f"cfg.{key}={value}", *([_strategy(assignors)] if value == "classic" else []))


def with_settings(words: Words, given: Words) -> Words:
    """A client's words with other settings; the new protocol forbids the classic assignors."""
    keys = {word.partition("=")[0] for word in given}
    if "cfg.group.protocol=consumer" in given:
        keys.add(f"cfg.{STRATEGY}")
    return (*(word for word in words if word.partition("=")[0] not in keys), *given)


def protocols(spec: ScenarioSpec) -> set[str]:
    """The group protocols that clients ever speak; the classic one for producers alone, too."""
    members = [group.of(name) for group in spec.groups for name in group.instances()]
    found = {"consumer" if member.speaks_new_protocol else "classic" for member in members}
    steps = [step.command for step in spec.steps]
    found |= {step.value for step in steps if isinstance(step, Set) and step.key == "group.protocol"}
    return found or {"classic"}


def _settings(config: dict[str, Value]) -> Iterator[str]:
    for key, value in config.items():
        yield f"cfg.{key}={text_of(value)}"


def text_of(value: Value) -> str:
    """A configuration value as Kafka reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


def sources(spec: ScenarioSpec) -> dict[str, list[str]]:
    """The producers whose records reach each group, straight or through the groups that write."""
    writers: dict[str, set[str]] = {}
    for producer in spec.producers:
        for topic in producer.topics:
            writers.setdefault(topic, set()).update(producer.instances())
    for group in spec.groups:  # a file declares a group that writes before the one that reads what it wrote
        if group.application.writes is not None:
            through = {name for topic in group.topics for name in writers.get(topic, ())}
            writers.setdefault(group.application.writes, set()).update(through)
    return {
        group.name: sorted(
            {
                name
                for member in group.instances()
                for topic in group.topics_of(member)
                for name in writers.get(topic, ())
            }
        )
        for group in spec.groups
    }


def actions(spec: ScenarioSpec) -> list[Action]:
    """Everything that is done to the cluster and its clients, in order. Raises CannotRecord."""
    starts = [Action(at_us, "start", name) for name, (at_us, _) in clients(spec).items()]
    steps = [action for step in spec.steps for action in _actions(step.at_us, step.command, spec)]
    return sorted([*starts, *steps], key=lambda action: action.at_us)


def alone(spec: ScenarioSpec) -> set[str]:
    """Clients that are killed or frozen: each of their lives is a process of its own."""
    return {step.command.target for step in spec.steps if isinstance(step.command, Kill | Pause)} & clients(spec).keys()


def _actions(at_us: int, command: Command, spec: ScenarioSpec) -> Iterator[Action]:
    match command:
        case Kill(target=target, for_us=for_us):
            yield from _for(at_us, "kill", "start", target, for_us)
        case Stop(target=target, for_us=for_us):
            yield from _for(at_us, "stop", "start", target, for_us)
        case Restart(target=target, for_us=for_us):
            yield from _for(at_us, "stop", "start", target, for_us) if for_us else [Action(at_us, "restart", target)]
        case Start(target=target):
            yield Action(at_us, "start", target)
        case Pause(target=target, for_us=for_us):
            yield from _for(at_us, "pause", "resume", target, for_us)
        case Resume(target=target):
            yield Action(at_us, "resume", target)
        case LoseResponses(count=count, api=api, broker=broker, client=client) if api in API_KEYS:
            yield Action(at_us, "lose", broker, (str(count), api, client or ""))
        case Set(scope=scope, key=key, value=value, for_us=None) if scope in [topic.name for topic in spec.topics]:
            yield Action(at_us, "order", "", ("configure", scope, f"key={key}", f"value={value}"))
        case Set(scope=scope, key="partition.assignment.strategy" | "group.protocol" as key, value=value, for_us=None):
            yield Action(at_us, "set", scope, _next_settings(spec, scope, key, value))
        case Mark(text=text) if text.startswith("log of "):
            yield Action(at_us, "log", text.removeprefix("log of "))
        case _:
            yield Action(at_us, "order", *_order(command))


def _for(at_us: int, verb: str, undone: str, target: str, for_us: int | None) -> Iterator[Action]:
    yield Action(at_us, verb, target)
    if for_us is not None:
        yield Action(at_us + for_us, undone, target)


def _order(command: Command) -> tuple[str, Words]:
    """The target, and the words for its driver."""
    match command:
        case Stall(member=member, for_us=int(for_us)):
            return member, ("client", member, "verb=stall", f"ms={for_us // 1_000}")
        case SlowMember(member=member, to_us=to_us, for_us=None):
            return member, ("client", member, "verb=slow", f"ms={to_us / 1_000}")
        case Subscribe(member=member, topics=topics, for_us=None):
            return member, ("client", member, "verb=subscribe", f"topics={','.join(topics)}")
        case AbandonTransaction(producer=producer):
            return producer, ("client", producer, "verb=abandon")
        case AddPartitions(topic=topic, to=to):
            return "", ("grow", topic, f"to={to}")
        case DeleteRecords(topic=topic, partition=partition, before=before):
            return "", ("delete_records", f"{topic}-{partition}", f"before={before}")
        case Elect(kind=kind, topic=topic, partition=partition):
            return "", ("elect", f"{topic}-{partition}", f"kind={kind.upper()}")
        case Reassign() | CancelReassignment():
            replicas = ",".join(map(str, command.replicas)) if isinstance(command, Reassign) else ""
            return "", ("reassign", f"{command.topic}-{command.partition}", f"to={replicas}")
        case PausePartitions(member=member, partitions=partitions, for_us=None):
            return member, ("client", member, "verb=pause", f"partitions={','.join(partitions)}")
        case ResumePartitions(member=member, partitions=partitions):
            return member, ("client", member, "verb=resume", f"partitions={','.join(partitions)}")
        case Mark(text=text) if text.startswith(LOOKS):
            what, _, name = text.partition(" of ")
            return (name, ("client", name, "verb=positions")) if what == "positions" else ("", (what, name))
        case _:
            raise CannotRecord(f"{command}: not done to a real cluster")

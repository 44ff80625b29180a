"""Flightdeck's scenarios: the same rules hold of what a scenario declares, and its steps say what a file cannot."""

from collections.abc import Iterable

from msgspec import structs

from cluster.commands import Kill, Restart, RollingRestart, Rollout, Stop
from cluster.config import Value, format_duration
from cluster.spec import ApplicationSpec, GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec
from recordings.lint.parts import Part, PartKind, Setting
from recordings.scenarios.defaults import line_of
from recordings.scenarios.loader import parse_scenario
from recordings.scenarios.toml_lines import Place, locate

POD_NAME = "${POD_NAME}"
"""The instance id of a static member: its own name."""


def scenario_parts(text: str, file: str) -> list[Part]:
    """The brokers, topics, producers and groups of a scenario. Raises ScenarioErrors."""
    spec = parse_scenario(text, file).spec
    drafts = _Placed(file, locate(text))
    parts = [_brokers(spec, drafts)]
    parts += [_topic(topic, number, drafts) for number, topic in enumerate(spec.topics)]
    parts += [_producer(producer, number, drafts) for number, producer in enumerate(spec.producers)]
    for number, group in enumerate(spec.groups):
        if not group.assigns_all:
            parts += _group(spec, group, number, drafts)
    return parts


class _Placed:
    """Settings with the lines that the scenario gives them on."""

    def __init__(self, file: str, lines: dict[Place, int]) -> None:
        self.file, self._lines = file, lines

    def setting(self, value: str | None, place: Place, raw: str = "") -> Setting:
        written = next((str(part) for part in reversed(place) if isinstance(part, str)), "")
        return Setting(value, self.file, line_of(self._lines, place), written, raw)

    def config(self, values: dict[str, Value], place: Place) -> dict[str, Setting]:
        return {key: self.setting(_text(value), (*place, key)) for key, value in values.items() if value is not None}

    def part(
        self, kind: PartKind, name: str, place: Place, settings: dict[str, Setting], facts: dict[str, Setting]
    ) -> Part:
        line = line_of(self._lines, place)
        return Part(kind, name, self.file, line, settings, facts, frame="scenario")


def _text(value: Value) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _brokers(spec: ScenarioSpec, lines: _Placed) -> Part:
    facts = {"brokers": lines.setting(str(len(spec.brokers)), ("cluster", "brokers"))}
    return lines.part("broker", "cluster", ("cluster",), lines.config(spec.config, ("cluster", "config")), facts)


def _topic(topic: TopicSpec, number: int, lines: _Placed) -> Part:
    place: Place = ("topic", number)
    facts = {
        "replication-factor": lines.setting(str(topic.replication), (*place, "replication")),
        "partitions": lines.setting(str(topic.partitions), (*place, "partitions")),
    }
    return lines.part("topic", topic.name, place, lines.config(topic.config, (*place, "config")), facts)


def _producer(producer: ProducerSpec, number: int, lines: _Placed) -> Part:
    place: Place = ("producer", number)
    settings = lines.config(producer.config, (*place, "config"))
    if producer.transactions is not None:
        transactional_id = producer.transactions.id
        known = None if "{n}" in transactional_id else transactional_id
        settings["transactional.id"] = lines.setting(known, (*place, "transactions"), transactional_id)
    facts = {"instances": lines.setting(str(producer.count), (*place, "count"))}
    return structs.replace(lines.part("producer", producer.name, place, settings, facts), topics=tuple(producer.topics))


def _group(spec: ScenarioSpec, group: GroupSpec, number: int, lines: _Placed) -> list[Part]:
    """A part for the group, one for each member with settings of its own, and one for its producer."""
    place: Place = ("group", number)
    parts = [_members(spec, group, group.name, place, lines)]
    parts += [
        _members(spec, group.of(own.name), own.name, (*place, "member", own.name), lines, group) for own in group.own
    ]
    if group.application.has_producer:
        inside: Place = (*place, "application")
        settings = lines.config(group.application.producer, (*inside, "producer"))
        if group.application.commit == "transaction":
            settings["transactional.id"] = lines.setting(None, (*inside, "commit"), POD_NAME)
        facts = {"instances": lines.setting(str(group.members), (*place, "members"))}
        parts.append(lines.part("producer", group.name, inside, settings, facts))
    return parts


def _members(
    spec: ScenarioSpec, group: GroupSpec, name: str, place: Place, lines: _Placed, whole: GroupSpec | None = None
) -> Part:
    settings = lines.config(group.config, (*place, "config"))
    settings["group.id"] = lines.setting(group.name, (*place, "name"))
    if group.static and "group.instance.id" not in settings:
        settings["group.instance.id"] = lines.setting(None, (*place, "static"), POD_NAME)
    if group.config.get("group.protocol") != "consumer":
        settings["partition.assignment.strategy"] = lines.setting(",".join(group.assignors), (*place, "assignors"))
    if "enable.auto.commit" not in settings:
        auto = "true" if group.application.commit == "auto" else "false"
        settings["enable.auto.commit"] = lines.setting(auto, (*place, "application", "commit"))
    facts = _facts(spec, group, place, lines)
    if whole is not None:
        facts.pop("instances")
    return lines.part("consumer", name, place, settings, facts)


def _facts(spec: ScenarioSpec, group: GroupSpec, place: Place, lines: _Placed) -> dict[str, Setting]:
    application, inside = group.application, (*place, "application")
    facts = {"instances": lines.setting(str(group.members), (*place, "members"))}
    partitions = {topic.name: topic.partitions for topic in spec.topics}
    if group.topics and not group.subscriptions and not group.topic_regex:
        count = sum(partitions.get(topic, 0) for topic in group.topics)
        facts["partitions"] = lines.setting(str(count), (*place, "topics"))
    if (slowest_us := _slowest_us(application)) > 0:
        facts["per-record"] = lines.setting(format_duration(slowest_us), (*inside, "per_record"))
    if application.retries is not None:
        facts["retries-take"] = lines.setting(format_duration(_retries_us(application)), (*inside, "retries"))
    if application.sink is not None:
        facts["sink"] = lines.setting("outside", (*inside, "sink"))
    if application.worker_threads:
        facts["worker-threads"] = lines.setting(str(application.worker_threads), (*inside, "worker_threads"))
    away = [_away_us(command, group) for command in _commands(spec)]
    if (longest_us := max((each for each in away if each is not None), default=None)) is not None:
        facts["restart"] = lines.setting(format_duration(longest_us + group.startup_us), (*place, "startup"))
    if any(
        isinstance(command, Rollout) and command.workload == "deployment" and command.group == group.name
        for command in _commands(spec)
    ):
        facts["pod-names"] = lines.setting("changing", (*place, "static"))
    return facts


def _commands(spec: ScenarioSpec) -> Iterable[object]:
    return (step.command for step in spec.steps)


def _slowest_us(application: ApplicationSpec) -> int:
    usual = application.processing.p99_us if application.processing is not None else application.per_record_us
    return max(usual, application.slow_keys.per_record_us if application.slow_keys is not None else 0)


def _retries_us(application: ApplicationSpec) -> int:
    """What all attempts for one record take: each its processing, and the growing waits between them."""
    retries = application.retries
    if retries is None:
        return 0
    attempts = min(retries.times, 1_000)
    waits = sum(min(retries.backoff_us * retries.multiplier**number, 1e15) for number in range(attempts))
    return min(int(waits) + (attempts + 1) * _slowest_us(application), 10**12)


def _away_us(command: object, group: GroupSpec) -> int | None:
    """How long a command keeps a member of the group away; None if it does not restart one."""
    if isinstance(command, RollingRestart):
        return command.down_us if command.group == group.name else None
    if isinstance(command, Kill | Stop | Restart) and command.target in group.instances():
        return command.for_us if command.for_us is not None or not isinstance(command, Restart) else 0
    return None

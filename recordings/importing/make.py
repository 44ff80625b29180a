"""A scenario of what files say of a cluster. What no file says is guessed, and each guess is a line of the scenario."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from cluster.config import DEFAULT_ASSIGNORS, defaults, format_duration
from cluster.spec import (
    INTERNAL_REPLICATION,
    INTERNAL_TOPICS,
    MOST_BROKERS,
    START_JITTER_US,
    STARTUP_US,
    ApplicationSpec,
    ArrivalsSpec,
    BrokerSpec,
    GroupSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
    TransactionsSpec,
)
from recordings.bounded_files import RecordingError
from recordings.importing.client_configs import read_configuration
from recordings.importing.draft import ClusterDraft, GroupDraft, ImportFileError, ProducerDraft, TopicDraft, text_of
from recordings.importing.lag_series import PROMETHEUS, TABLE, read_lag_table, read_prometheus
from recordings.importing.names import ScenarioNames
from recordings.importing.settings import scenario_config
from recordings.importing.stops import fitted
from recordings.importing.tool_output import ASSIGNORS, read_tool_output
from recordings.lint.reading.files import PROPERTIES, YAML
from recordings.scenarios.loader import ScenarioErrors, parse_scenario
from recordings.scenarios.writer import write_scenario

GUESSED_BROKERS: Final = 3
GUESSED_PARTITIONS: Final = 12
GUESSED_MEMBERS: Final = 3
GUESSED_RATE: Final = 10.0
GUESSED_PER_RECORD_US: Final = 1_000
Reader = Callable[[str, str, ClusterDraft], None]
MOST_FILES: Final = 200
UNTIL_US: Final = 300_000_000


class Imported(msgspec.Struct, frozen=True):
    """A scenario made of files: its text, what was guessed for it, what the files say and it does not have."""

    text: str
    spec: ScenarioSpec
    guessed: list[str]
    left_out: list[str]


def read_files(paths: Sequence[Path]) -> ClusterDraft:
    """What all the files say, whatever their order. Raises ImportFileError."""
    if len(paths) > MOST_FILES:
        raise ImportFileError(str(paths[MOST_FILES]), 0, f"more than {MOST_FILES} files at once")
    draft = ClusterDraft()
    readers = [(path, _reader_of(path)) for path in paths]
    for wanted in _IN_ORDER:
        for path, reader in readers:
            if reader is wanted:
                reader(text_of(path), str(path), draft)
    return draft


def _reader_of(path: Path) -> Reader:
    """Who reads a file, by its suffix; any other than a configuration's is what a tool has printed."""
    suffix = path.suffix.lower()
    if suffix == ".toml":
        raise ImportFileError(str(path), 0, "it is a scenario already: `flightdeck run` flies it")
    if suffix in (*YAML, *PROPERTIES):
        return read_configuration
    return read_lag_table if suffix in TABLE else read_prometheus if suffix in PROMETHEUS else read_tool_output


_IN_ORDER: Final[tuple[Reader, ...]] = (read_tool_output, read_configuration, read_lag_table, read_prometheus)


def scenario_of(draft: ClusterDraft, title: str, lesson: str) -> Imported:
    """The scenario of a draft. Raises RecordingError: it is larger than a scenario may be."""
    maker = _Maker(draft)
    spec = maker.spec(title, lesson)
    return with_spec(Imported("", spec, maker.guessed, maker.left_out), spec)


def with_spec(imported: Imported, spec: ScenarioSpec) -> Imported:
    """The same with another spec, and its text. Raises RecordingError: the spec is larger than a scenario may be."""
    comments = [f"# guessed: {_printable(one)}" for one in imported.guessed]
    comments += [f"# not in the scenario: {_printable(one)}" for one in imported.left_out]
    text = "".join(f"{line}\n" for line in comments) + ("\n" if comments else "") + write_scenario(spec)
    try:
        loaded = parse_scenario(text, "the scenario")
    except ScenarioErrors as errors:
        raise RecordingError(f"no scenario can be made of this: {errors.errors[0].reason}") from None
    return Imported(text, loaded.spec, imported.guessed, imported.left_out)


def keep_scenario(imported: Imported, path: Path) -> None:
    """Write a scenario's file. Raises RecordingError: it exists already, or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(imported.text)
    except FileExistsError:
        raise RecordingError(f"{path} already exists; choose another name, or remove it first") from None
    except (OSError, ValueError) as error:
        raise RecordingError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error


def _ids(count: int, named: set[int]) -> tuple[int, ...]:
    """The ids of so many brokers: those that files name, and the lowest of the others."""
    others = (number for number in range(1, count + len(named) + 1) if number not in named)
    return tuple(sorted([*named, *islice(others, count - len(named))]))


def _printable(text: str) -> str:
    """A sentence that may stand in a comment: TOML has no control characters there."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


class _Maker:
    """Makes the parts of a scenario; `guessed` and `left_out` grow meanwhile."""

    def __init__(self, draft: ClusterDraft) -> None:
        self._draft = draft
        self.guessed, self.left_out = list(draft.guessed), list(draft.left_out)
        self._names = ScenarioNames(draft.groups, draft.producers)
        self._group_names = {name: self._names.of("group", name) for name in draft.groups}
        self._producer_names = {name: self._names.of("producer", name) for name in draft.producers}
        self._topic_names: dict[str, str] = {}
        self._brokers: tuple[int, ...] = ()
        self._stops = fitted(draft, self.guessed)

    def spec(self, title: str, lesson: str) -> ScenarioSpec:
        """The scenario."""
        known = {name: topic for name, topic in self._draft.topics.items() if not name.startswith("__")}
        own = sorted(self._draft.topics.keys() - known.keys() - INTERNAL_TOPICS.keys())
        if own:
            self.left_out.append(f"topics that begin with __: {', '.join(own)}")
        if not known:
            known = self._guessed_topic()
        self._topic_names = {name: self._names.of("topic", name) for name in known}
        internal = self._internal()
        self._brokers = _ids(self._count_of_brokers(known), self._draft.brokers)
        topics = [self._topic(name, topic) for name, topic in known.items()]
        groups = [self._group(name, group, topics) for name, group in self._draft.groups.items()]
        producers = self._producers(topics, groups)
        steps = [
            step
            for name, group in zip(self._draft.groups, groups, strict=True)
            for step in self._stops.steps(name, group)
        ]
        self.left_out += self._names.changed
        return ScenarioSpec(
            title,
            lesson=lesson,
            until_us=self._stops.until_us(UNTIL_US),
            start_jitter_us=START_JITTER_US,
            startup_us=STARTUP_US,
            brokers=tuple(map(BrokerSpec, self._brokers)),
            config=scenario_config("broker", "the brokers", self._draft.config, self.left_out),
            topics=tuple(topics),
            producers=tuple(producers),
            groups=tuple(groups),
            steps=tuple(steps),
            internal_assignment=internal,
        )

    def _internal(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """The brokers of Kafka's own topics; their partitions are as many as there are, whatever the brokers' keys."""
        found = {}
        for name, key in INTERNAL_TOPICS.items():
            topic = self._draft.topics.get(name, TopicDraft())
            if topic.partitions is not None:
                if str(topic.partitions) != self._draft.config.get(key, str(defaults("broker")[key])):
                    self._draft.config[key] = str(topic.partitions)
                found[name] = self._assigned(name, topic, topic.partitions, topic.replication or 0)
        found = {name: assigned for name, assigned in found.items() if assigned}
        for name, assigned in found.items():
            if INTERNAL_REPLICATION[name] in self._draft.config:  # which a topic keeps from when it was created
                self._draft.config[INTERNAL_REPLICATION[name]] = str(len(assigned[0]))
        return found

    def _guessed_topic(self) -> dict[str, TopicDraft]:
        self.guessed.append(f"topic orders with {GUESSED_PARTITIONS} partitions: no file names a topic")
        return {"orders": TopicDraft(partitions=GUESSED_PARTITIONS)}

    def _count_of_brokers(self, topics: dict[str, TopicDraft]) -> int:
        most = max((topic.replication or 1 for topic in topics.values()), default=1)
        ids = self._draft.brokers
        needed = max(most, self._draft.count or 0, len(ids))
        if needed > MOST_BROKERS:
            raise RecordingError(f"the files need {needed:,} brokers; a cluster has at most {MOST_BROKERS:,} here")
        if self._draft.count is not None:
            return needed
        if not ids:
            count = max(GUESSED_BROKERS, most)
            self.guessed.append(f"{count} brokers: no file has their number")
            return count
        self.guessed.append(f"{needed} brokers: so many are named; a broker without a replica is not")
        return needed

    def _topic(self, name: str, topic: TopicDraft) -> TopicSpec:
        partitions, replication = topic.partitions, topic.replication
        if partitions is None:
            partitions = topic.seen + 1 if topic.seen >= 0 else GUESSED_PARTITIONS
            why = "the highest number that a row names" if topic.seen >= 0 else "no file has their number"
            self.guessed.append(f"{name}: {partitions} partitions, {why}")
        if replication is None:
            replication = min(3, len(self._brokers))
            self.guessed.append(f"{name}: {replication} replicas of each partition")
        config = scenario_config("topic", name, topic.config, self.left_out)
        assigned = self._assigned(name, topic, partitions, replication)
        return TopicSpec(self._topic_names[name], partitions, replication, config, replica_assignment=assigned)

    def _assigned(self, name: str, topic: TopicDraft, partitions: int, replication: int) -> tuple[tuple[int, ...], ...]:
        """The brokers of each partition, where rows have those of all; empty: the flight places them."""
        missing = next((number for number in range(partitions) if number not in topic.replicas), None)
        lists = tuple(topic.replicas[number] for number in range(partitions)) if missing is None else ()
        if lists and all(len(set(replicas)) == len(replicas) == replication for replicas in lists):
            return lists
        if topic.replicas:
            why = "not all partitions have as many" if lists else f"no row has those of {name}-{missing}"
            self.left_out.append(f"the brokers of the replicas of {name}: {why}")
        return ()

    def _group(self, name: str, group: GroupDraft, topics: Sequence[TopicSpec]) -> GroupSpec:
        read = tuple(self._topic_names[topic] for topic in sorted(group.topics) if topic in self._topic_names)
        if not read:
            read = tuple(topic.name for topic in topics)
            self.guessed.append(f"{name}: it reads all topics, as no file says which")
        if group.lag:
            self.left_out.append(f"the lag of {name}: {group.lag:,} records; a flight begins with empty topics")
        config = dict(group.config)
        if group.protocol:
            config["group.protocol"] = group.protocol
        assignors = self._assignors(name, group, config)
        partitions = sum(topic.partitions for topic in topics if topic.name in read)
        members = self._members(name, group, partitions)
        return GroupSpec(
            self._group_names[name],
            read,
            members=members,
            static=group.static,
            assignors=assignors,
            config=scenario_config("consumer", name, config, self.left_out),
            application=self._application(name, group, min(members, partitions)),
        )

    def _members(self, name: str, group: GroupDraft, partitions: int) -> int:
        if group.members is not None:
            if group.members == 0:
                self.left_out.append(f"members of {name}: it had none when the tool was run")
            return group.members
        if group.consumer_ids:
            count = len(group.consumer_ids)
            self.guessed.append(f"{name}: {count} members, those with partitions; --members has the others, too")
            return count
        count = min(GUESSED_MEMBERS, partitions)
        self.guessed.append(f"{name}: {count} members, as no file has their number")
        return count

    def _assignors(self, name: str, group: GroupDraft, config: dict[str, str]) -> tuple[str, ...]:
        """The assignors of a classic group; of a group of the new protocol the coordinator's, in `config`."""
        if group.protocol == "consumer" or config.get("group.protocol", "").lower() == "consumer":
            config["group.protocol"] = "consumer"
            if group.assignor in ("uniform", "range"):
                config["group.remote.assignor"] = group.assignor
            return DEFAULT_ASSIGNORS
        listed = tuple(word.strip() for word in group.assignor.split(",") if word.strip())
        known = tuple(word for word in listed if word in ASSIGNORS)
        if known != listed:
            self.left_out.append(f"assignors of {name} that are not Kafka's")
        return known or DEFAULT_ASSIGNORS

    def _application(self, name: str, group: GroupDraft, readers: int) -> ApplicationSpec:
        """`readers`: the members that have partitions."""
        per_record_us = self._stops.per_record_us(name, readers)
        if group.per_record_us is not None:
            per_record_us = group.per_record_us * self._stops.records_each
        if per_record_us is None:
            per_record_us = GUESSED_PER_RECORD_US
            self.guessed.append(f"{name}: one record takes 1ms")
        elif group.per_record_us is None:
            self.guessed.append(f"{name}: one record takes {format_duration(per_record_us)}, as fast as it catches up")
        return ApplicationSpec(per_record_us=per_record_us, commit="after-each-poll" if group.commit else "auto")

    def _producers(self, topics: Sequence[TopicSpec], groups: Sequence[GroupSpec]) -> list[ProducerSpec]:
        read = {name for group in groups for name in group.topics}
        wanted = tuple(topic.name for topic in topics if topic.name in read or not read)
        drafts = dict(self._draft.producers)
        names = dict(self._producer_names)
        if not drafts:
            drafts["load"] = ProducerDraft()
            names["load"] = self._names.of("producer", "load")
        return [self._producer(name, names[name], draft, wanted, topics) for name, draft in drafts.items()]

    def _producer(
        self, name: str, given: str, draft: ProducerDraft, wanted: tuple[str, ...], topics: Sequence[TopicSpec]
    ) -> ProducerSpec:
        written = tuple(self._topic_names[topic] for topic in draft.topics if topic in self._topic_names) or wanted
        rate = None if draft.rate is None else draft.rate / self._stops.records_each
        if rate is None and self._stops.rate is not None:
            rate = round(self._stops.rate / max(1, len(self._draft.producers)), 3)
        if rate is None:
            rate = GUESSED_RATE * len(written)
            self.guessed.append(f"{given}: {rate:g} records/s, {GUESSED_RATE:g} for each topic; no file has a rate")
        made = ProducerSpec(
            given,
            written,
            rate_per_second=rate,
            arrivals=ArrivalsSpec("poisson"),
            config=scenario_config("producer", name, draft.config, self.left_out),
        )
        compacted = {topic.name for topic in topics if "compact" in str(topic.config.get("cleanup.policy", ""))}
        if compacted & set(written):
            self.guessed.append(f"{given}: 1,000 distinct keys, as a compacted topic needs keys")
            made = msgspec.structs.replace(made, keys=msgspec.structs.replace(made.keys, kind="uniform"))
        if draft.transactional_id:
            made = msgspec.structs.replace(made, transactions=TransactionsSpec(draft.transactional_id))
        return made

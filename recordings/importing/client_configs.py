"""Configurations of clients, topics and brokers: `recordings.lint.reading` makes parts of a file, parts become keys."""

from collections.abc import Sequence
from pathlib import Path

from cluster.config.assignor_names import assignor_of
from recordings.importing.draft import ClusterDraft, GroupDraft, ImportFileError, ProducerDraft, whole_number
from recordings.lint.parts import Part
from recordings.lint.reading.files import read_text
from recordings.lint.reading.lint_input import LintInputError


def read_configuration(text: str, file: str, draft: ClusterDraft) -> None:
    """Fill the draft with the parts of a configuration's text. Raises ImportFileError."""
    try:
        parts = read_text(text, file).parts
    except LintInputError as error:
        raise ImportFileError(error.file, error.line, error.reason) from None
    if not any(part.settings or part.facts for part in parts):
        raise ImportFileError(file, 0, "it configures nothing of Kafka")
    for part in _of_one_profile(parts, file, draft):
        match part.kind:
            case "consumer":
                _consumer(part, draft)
            case "producer":
                _producer(part, draft)
            case "broker":
                draft.config.update(_texts(part, draft))
                draft.count = part.count("brokers") or draft.count
            case "topic":
                _topic(part, draft)
            case _:
                draft.left_out.append(f"{part.file}: the keys of {part.name or 'a client'}, a {part.kind}")


def _of_one_profile(parts: Sequence[Part], file: str, draft: ClusterDraft) -> list[Part]:
    """What holds in all profiles, which are alternatives; or the first one, where only profiles have such a client."""
    kinds: dict[str, set[str]] = {"": set()}
    for part in parts:
        kinds.setdefault(part.profile, set()).update({part.kind} if part.settings else ())
    chosen = next((name for name, has in kinds.items() if has - kinds[""]), "")
    if chosen:
        draft.guessed.append(f"{file}: it is read as in profile {chosen}, the first that has clients of its own")
    others = [name for name in kinds if name not in ("", chosen)]
    if others:
        draft.left_out.append(f"{file}: what is otherwise in profile {', '.join(others)}")
    return [part for part in parts if part.profile == chosen]


def _texts(part: Part, draft: ClusterDraft) -> dict[str, str]:
    """The values that the file knows; `listener.concurrency` and its like are no keys of Kafka."""
    texts = {}
    for key, setting in part.settings.items():
        if key.startswith(("listener.", "channel.")):
            continue
        if setting.value is None:
            draft.left_out.append(f"{key} at {setting.file}:{setting.line}: only the running process knows its value")
        elif setting.value.strip():
            texts[key] = setting.value
    for unknown in part.unknown:
        where = f"{unknown.setting.file}:{unknown.setting.line}"
        meant = f" (did you mean {unknown.meant}?)" if unknown.meant else ""
        draft.left_out.append(f"{unknown.setting.written} at {where}, which is no key of a {part.kind}{meant}")
    return texts


def _consumer(part: Part, draft: ClusterDraft) -> None:
    """A consumer's keys are its group's."""
    texts = _texts(part, draft)
    name = _group_of(part, texts, draft)
    group = draft.group(name)
    if "group.instance.id" in part.settings:
        group.static = True
        texts.pop("group.instance.id", None)
    _assignors(part, group, texts, draft)
    group.commit = "" if part.flag("enable.auto.commit") in (True, None) else "after-each-poll"
    group.config.update(texts)
    for topic in _channel_topics(part):
        draft.topic(topic)
        group.topics.add(topic)
    _facts(part, name, group, draft)


def _group_of(part: Part, texts: dict[str, str], draft: ClusterDraft) -> str:
    """The name of the consumer's group: its `group.id`, else the only group that is known, else the part's name."""
    if (said := texts.get("group.id", "").strip()) != "":
        return said
    if len(draft.groups) == 1:
        (only,) = draft.groups
        draft.guessed.append(f"{part.file}: a consumer of {only}, the only group: the file has no group.id")
        return only
    name = part.name if part.name and part.name not in ("consumer", "spring.kafka") else Path(part.file).stem
    draft.guessed.append(f"{part.file}: a consumer of a group {name}: the file has no group.id")
    return name


def _assignors(part: Part, group: GroupDraft, texts: dict[str, str], draft: ClusterDraft) -> None:
    found = []
    texts.pop("partition.assignment.strategy", None)
    for word in part.words("partition.assignment.strategy") if part.has("partition.assignment.strategy") else ():
        try:
            found.append(assignor_of(word))
        except ValueError:
            draft.left_out.append(f"an assignor of {part.file} that is not Kafka's")
    group.assignor = ",".join(found) or group.assignor


def _facts(part: Part, name: str, group: GroupDraft, draft: ClusterDraft) -> None:
    """What a comment `# flightdeck: per-record=200ms, instances=4` says, and how many consumers a process has."""
    if (per_record_ms := part.fact_ms("per-record")) is not None:
        group.per_record_us = per_record_ms * 1_000
    concurrency = part.settings.get("listener.concurrency") or part.settings.get("channel.concurrency")
    each = whole_number(concurrency.value.strip()) if concurrency is not None and concurrency.value else None
    instances = part.count("instances")
    if group.members is None and not group.consumer_ids and (each or instances):
        group.members = (each or 1) * (instances or 1)
        if instances is None:
            draft.guessed.append(f"{name}: one process with {each} consumers; # flightdeck: instances=4 says more")
    partitions = part.count("partitions")
    if partitions is not None and not group.topics:
        topic = draft.topic(f"topic-of-{name}")
        topic.partitions = partitions
        group.topics.add(f"topic-of-{name}")


def _producer(part: Part, draft: ClusterDraft) -> None:
    texts = _texts(part, draft)
    name = texts.get("client.id", "").strip() or part.name
    if name in ("", "producer", "spring.kafka"):
        name = f"{Path(part.file).stem}-writer" if Path(part.file).stem in draft.groups else Path(part.file).stem
    known = draft.producers.setdefault(name, ProducerDraft())
    known.config.update(texts)
    for topic in _channel_topics(part):
        draft.topic(topic)
        known.topics = (*known.topics, topic)
    known.transactional_id = texts.get("transactional.id", known.transactional_id)


def _channel_topics(part: Part) -> list[str]:
    """What a channel of Quarkus reads or writes: the topics that it names, else its own name; none for a pattern."""
    if part.frame != "quarkus" or "channel.pattern" in part.settings:
        return []
    said = part.settings.get("channel.topics") or part.settings.get("channel.topic")
    if said is None:
        return [part.name]
    return [name.strip() for name in (said.value or "").split(",") if name.strip()]


def _topic(part: Part, draft: ClusterDraft) -> None:
    """A topic of Strimzi; a file of topic keys alone names no topic, and is every topic's."""
    texts = _texts(part, draft)
    if not part.name:
        draft.guessed.append(f"{part.file}: its keys are those of every topic, as it names none")
    for topic in [draft.topic(part.name)] if part.name else list(draft.topics.values()):
        topic.config.update(texts)
        topic.partitions = part.count("partitions") or topic.partitions
        topic.replication = part.count("replication-factor") or topic.replication

"""Configurations of clients, topics and brokers as a scenario, and what is left out of it."""

import gzip
import re
from pathlib import Path

import pytest

from recordings.bounded_files import RecordingError
from recordings.importing.make import Imported, read_files, scenario_of
from recordings.lint.reading.files import read_file
from recordings.lint.reading.lint_input import LintInputError
from recordings.scenarios.loader import parse_scenario
from tests.support.kafka_tools_recorded import LOOKS

CONSUMER = """
# flightdeck: per-record=20ms, instances=4
bootstrap.servers=kafka:9092
group.id=billing
ssl.key.password=hunter2
session.timeout.ms=20000
max.poll.records=50
enable.auto.commit=false
partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor
"""
SPRING = """
spring:
  kafka:
    consumer:
      group-id: billing
      max-poll-records: 250
      properties:
        session.timeout.ms: ${SESSION}
    producer:
      acks: "1"
      client-id: checkout
    listener:
      concurrency: 3
"""
QUARKUS = """
mp.messaging.incoming.orders.connector=smallrye-kafka
mp.messaging.incoming.orders.group.id=billing
mp.messaging.incoming.orders.heartbeat.interval.ms=1000
mp.messaging.outgoing.bills.connector=smallrye-kafka
mp.messaging.outgoing.bills.linger.ms=20
"""
STRIMZI = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata: {name: orders}
spec:
  partitions: 24
  replicas: 2
  config: {retention.ms: 7200000}
"""


def made(folder: Path, **files: str) -> Imported:
    paths = []
    for name, text in files.items():
        paths.append(folder / name.replace("__", "."))
        paths[-1].write_text(text)
    found = scenario_of(read_files(paths), "t", "l")
    assert parse_scenario(found.text, "a.toml").spec == found.spec
    return found


def test_keys_of_a_consumer_go_to_the_group_of_the_tools(tmp_path: Path) -> None:
    tools = LOOKS["topics"]["printed"] + "\n" + LOOKS["billing-stable-members-verbose"]["printed"]
    found = made(tmp_path, a__properties=CONSUMER, b__txt=tools)  # whatever the order
    (group,) = found.spec.groups
    assert (group.name, group.topics, group.members) == ("billing", ("orders",), 2)
    assert group.config == {"session.timeout.ms": 20_000, "max.poll.records": 50}
    assert group.assignors == ("cooperative-sticky",)
    assert (group.application.commit, group.application.per_record_us) == ("after-each-poll", 20_000)
    assert "keys of billing that a flight does not have: bootstrap.servers, ssl.key.password" in found.left_out
    assert "hunter2" not in found.text


def test_a_configuration_alone_makes_a_group_and_a_guessed_topic(tmp_path: Path) -> None:
    found = made(tmp_path, a__properties=CONSUMER)
    (group,) = found.spec.groups
    assert (group.members, group.topics) == (4, ("orders",))
    assert "topic orders with 12 partitions: no file names a topic" in found.guessed


def test_spring_with_its_defaults_and_units(tmp_path: Path) -> None:
    found = made(tmp_path, application__yaml=SPRING)
    (group,), (producer,) = found.spec.groups, found.spec.producers
    assert (group.name, group.members, group.application.commit) == ("billing", 3, "after-each-poll")
    assert group.config == {"max.poll.records": 250}
    assert (producer.name, producer.config) == ("checkout", {"acks": "1"})
    assert any(words.startswith("session.timeout.ms at ") for words in found.left_out)


def test_quarkus_and_a_topic_of_strimzi(tmp_path: Path) -> None:
    found = made(tmp_path, application__properties=QUARKUS, topic__yaml=STRIMZI)
    (group,), (producer,) = found.spec.groups, found.spec.producers
    (topic,) = [topic for topic in found.spec.topics if topic.name == "orders"]
    assert group.config == {"heartbeat.interval.ms": 1_000}
    assert (producer.name, producer.config) == ("bills", {"linger.ms": 20})
    assert (topic.name, topic.partitions, topic.replication) == ("orders", 24, 2)
    assert topic.config == {"retention.ms": 7_200_000}


PROFILES = """spring.kafka.bootstrap-servers: kafka:9092
{everywhere}
---
spring.config.activate.on-profile: prod
spring.kafka.consumer: {{group-id: billing, max-poll-records: 10}}
---
spring.config.activate.on-profile: dev
spring.kafka.consumer: {{group-id: billing, max-poll-records: 20}}
"""


@pytest.mark.parametrize(
    ("everywhere", "records", "guessed", "left_out"),
    [
        ("spring.kafka.consumer: {group-id: billing, max-poll-records: 50}", 50, None, "prod, dev"),
        ("", 10, "it is read as in profile prod, the first that has clients of its own", "dev"),
    ],
)
def test_profiles_are_alternatives(
    everywhere: str, records: int, guessed: str | None, left_out: str, tmp_path: Path
) -> None:
    found = made(tmp_path, a__yaml=PROFILES.format(everywhere=everywhere))
    (group,) = found.spec.groups
    assert (group.name, group.config["max.poll.records"]) == ("billing", records)
    assert [words.split(": ", 1)[1] for words in found.guessed if "profile" in words] == [guessed][
        : guessed is not None
    ]
    assert f"{tmp_path / 'a.yaml'}: what is otherwise in profile {left_out}" in found.left_out


CHANNEL = """mp.messaging.{way}.bills.connector=smallrye-kafka
mp.messaging.{way}.bills.group.id=billing
mp.messaging.{way}.bills.{key}={value}
"""


@pytest.mark.parametrize(
    ("key", "value", "topics"),
    [
        ("topic", "invoices", ("invoices",)),
        ("topics", "invoices, refunds", ("invoices", "refunds")),
        ("max.poll.records", "50", ("bills",)),
        ("pattern", "true", ("orders",)),
    ],
)
def test_a_channel_of_quarkus_has_its_topics(key: str, value: str, topics: tuple[str, ...], tmp_path: Path) -> None:
    read = made(tmp_path, a__properties=CHANNEL.format(way="incoming", key=key, value=value))
    assert read.spec.groups[0].topics == topics
    assert any("no file names a topic" in words for words in read.guessed) == (key == "pattern")
    if key == "topic":
        written = made(tmp_path, b__properties=CHANNEL.format(way="outgoing", key=key, value=value))
        assert written.spec.producers[0].topics == topics


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Topic: orders".encode("utf-16"), "it is in UTF-16; convert it, e.g. iconv -f UTF-16 -t UTF-8 given.txt"),
        (gzip.compress(b"Topic: orders"), "it is compressed; unpack it first, e.g. with gunzip or unzstd"),
        (b"Topic: \xe9", "it is not text in UTF-8"),
        (None, "it is a directory; name the files in it"),
    ],
    ids=["UTF-16", "gzip", "Latin-1", "directory"],  # what gzip makes has an instant in it
)
def test_what_is_no_text_is_said_with_what_to_do(content: bytes | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "given.txt"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(RecordingError, match=f"given.txt: {re.escape(reason)}$"):
        read_files([path])
    with pytest.raises(LintInputError, match=f"given.txt: {re.escape(reason)}$"):
        read_file(path)


@pytest.mark.timeout(20)  # it must not count up to what a file says
def test_a_topic_with_more_partitions_than_a_flight_has_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="partitions: 111,111,111,111,111,111 are too many: at most 50,000"):
        made(tmp_path, topic__yaml=STRIMZI.replace("24", "1" * 18))


def test_keys_that_contradict_are_left_out_with_kafkas_reason(tmp_path: Path) -> None:
    wrong = "group.id=a\nsession.timeout.ms=1000\nheartbeat.interval.ms=5000\nmax.poll.records=zero\n"
    found = made(tmp_path, a__properties=wrong)
    assert len([words for words in found.left_out if "heartbeat.interval.ms of a" in words]) == 1
    assert "max.poll.records of a: Kafka does not accept its value, or a flight does not" in found.left_out

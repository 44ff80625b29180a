"""Readers of configurations: lines, spellings, profiles and placeholders; and no input makes a traceback."""

import string
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recordings.lint.kafka_keys import all_names
from recordings.lint.linter import findings_of
from recordings.lint.parts import Part
from recordings.lint.reading.files import read_text
from recordings.lint.reading.lint_input import LintInputError
from recordings.lint.reading.near import MOST_LOOKED_UP
from recordings.lint.reading.properties_text import read_properties
from recordings.lint.reading.yaml_text import MOST_LEVELS, read_yaml
from recordings.lint.rules import rules
from recordings.lint.world import World
from recordings.scenarios.loader import ScenarioErrors

CASES = Path(__file__).with_name("cases")
SUFFIXES = (".properties", ".yaml", ".toml")


def parts_of(text: str, name: str = "application.yaml") -> list[Part]:
    return read_text(text, name).parts


def found(text: str, name: str) -> list[str]:
    parts = parts_of(text, name)
    world = World(parts)
    return [finding.message for part in parts for finding in findings_of(part, world, rules())]


def refusal_of(text: str, name: str) -> str | None:
    """The words that refuse a text; None for one that every rule has seen."""
    try:
        found(text, name)
    except (LintInputError, ScenarioErrors) as error:
        return str(error)
    return None


def test_properties_are_read_as_java_reads_them() -> None:
    text = "a=1\n  b : 2 \nc\t3\n# d=4\n! e=5\nf\\ g\\:h=i\\\n   j\\u0041\\\\\nk\n\nl=\\t"
    (document,) = read_properties(text, "f")
    assert [(each.written, each.value, each.line) for each in document] == [
        ("a", "1", 1), ("b", "2 ", 2), ("c", "3", 3), ("f g:h", "ijA\\", 6), ("k", "", 8), ("l", "\t", 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "lines"),
    [("a: {b: 1_000, c: yes}\nd: [x, 'y']", [("a.b", "1000", 1), ("a.c", "true", 1), ("d", "x,y", 2)]),
     ("base: &b\n  k: 1\n  l: 2\nown:\n  <<: *b\n  l: 3",
      [("base.k", "1", 2), ("base.l", "2", 3), ("own.k", "1", 2), ("own.l", "2", 3), ("own.l", "3", 6)])],
)  # fmt: skip
def test_yaml_is_flattened_with_its_lines(text: str, lines: list[tuple[str, str, int]]) -> None:
    (document,) = read_yaml(text, "f")
    assert [(".".join(path), value, line) for path, value, line in document] == lines


@pytest.mark.parametrize(
    "written", ["max-poll-records: 7", "maxPollRecords: 7", "max_poll_records: 7", "properties: {max.poll.records: 7}",
                "properties: {'[max.poll.records]': 7}", "properties:\n        max:\n          poll.records: 7"],
)  # fmt: skip
def test_springs_spellings_are_one_key(written: str) -> None:
    (part,) = parts_of(f"spring:\n  kafka:\n    consumer:\n      {written}\n")
    assert part.number("max.poll.records") == 7


def test_springs_units_become_kafkas() -> None:
    text = "spring.kafka:\n  consumer: {max-poll-interval: 5m, fetch-min-size: 64KB, heartbeat-interval: PT2S}"
    (part,) = parts_of(text)
    wanted = {"max.poll.interval.ms": 300_000, "fetch.min.bytes": 65_536, "heartbeat.interval.ms": 2_000}
    assert {key: part.number(key) for key in wanted} == wanted


@pytest.mark.parametrize("level", ["read-committed", "READ_COMMITTED", "readCommitted", "read_committed"])
def test_springs_isolation_level_is_an_enum_in_any_spelling(level: str) -> None:
    (part,) = parts_of(f"spring.kafka.consumer.isolation-level: {level}")
    assert part.word("isolation.level") == "read_committed"


@pytest.mark.parametrize(
    ("guarantee", "said"),
    [
        ("exactly_once_v2", "enable.idempotence is true, and acks is 1."),
        ("at_least_once", "acks turns idempotence off, which is Kafka's default."),
    ],
)
def test_streams_with_exactly_once_has_idempotent_producers(guarantee: str, said: str) -> None:
    text = f"application.id=w\nprocessing.guarantee={guarantee}\nproducer.acks=1\n"
    assert found(text, "streams.properties") == [said]


def test_a_profile_is_read_over_what_holds_everywhere() -> None:
    text = (
        "spring.kafka.consumer.group-id: billing\n---\nspring:\n  config.activate.on-profile: prod\n"
        "  kafka.consumer.properties: {session.timeout.ms: 5000}\n"
    )
    everywhere, prod = parts_of(text)
    assert (everywhere.number("session.timeout.ms"), prod.number("session.timeout.ms")) == (45_000, 5_000)
    assert prod.text("group.id") == "billing"


def test_quarkus_channels_are_parts_and_profiles_have_a_percent_sign() -> None:
    text = (
        "kafka.session.timeout.ms=30000\nmp.messaging.incoming.orders.max.poll.records=7\n"
        "mp.messaging.incoming.rabbit.connector=smallrye-rabbitmq\nmp.messaging.outgoing.bills.acks=1\n"
        "%prod.mp.messaging.incoming.orders.max.poll.records=9\n"
    )
    parts = parts_of(text, "application.properties")
    records = [part.number("max.poll.records") for part in parts if part.kind == "consumer"]
    assert records == [7, 9]
    assert {part.number("session.timeout.ms") for part in parts if part.kind == "consumer"} == {30_000}
    assert {part.name for part in parts if part.kind == "producer"} == {"bills"}


def test_what_only_the_process_knows_fires_no_rule_and_a_default_does() -> None:
    text = "spring.kafka.consumer.properties.session.timeout.ms=${{SESSION{}}}\nspring.kafka.consumer.group-id=${{G}}\n"
    assert found(text.format(""), "a.properties") == []
    assert len(found(text.format(":5000"), "a.properties")) == 2
    assert found("group.id=g\nsession.timeout.ms=${env:SESSION}\n", "plain.properties") == []


def test_the_files_of_a_config_map_have_its_lines() -> None:
    text = "kind: ConfigMap\ndata:\n  application.yaml: |\n    spring.kafka.consumer:\n      sesion-timeout: 3s\n"
    (part,) = parts_of(text)
    assert [unknown.setting.line for unknown in part.unknown] == [5]


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [("a: [", "a.yaml", 1), ("a: *b", "a.yaml", 1), ("[" * (MOST_LEVELS + 1), "a.yaml", 1),
     ("a=\\u12G4", "a.properties", 1), ("# flightdeck: restart=soon", "a.properties", 1),
     ("\n# flightdeck: restrat=3s", "a.properties", 2), ("a: &a\n  b: *a", "a.yaml", 1), ("x", "a.txt", 0)],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_line(text: str, name: str, line: int) -> None:
    with pytest.raises(LintInputError) as error:
        read_text(text, name)
    assert error.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a:\n\tb: 1\n", 2, ": a tab indents the line"),
        ("a: [1\n", 2, ": a bracket or brace has no end"),
        ("a: b: c\n", 1, ": a second `:` in the line, or a line above it is indented otherwise"),
        ("a:\n  b: 1\n c: 2\n", 3, ": it is indented otherwise than the lines above"),
        ("a: 'x\n", 2, ": a quote has no end, or a wrong escape"),
        ("a: 1\nb\nc: 2\n", 3, ": a `:` is missing above it"),
        (
            "{{- if .Values.x }}\na: 1\n{{- end }}\n",
            1,
            ", but a template: lint what it renders, e.g. with `helm template`",
        ),
        ("a: @secret\n", 1, ""),
        ("a: \r0", 2, ": a `:` is missing above it"),
        ("a:\r\tb: 1\r", 2, ": a tab indents the line"),
    ],
)
def test_what_is_no_yaml_has_a_reason_that_quotes_nothing(text: str, line: int, reason: str) -> None:
    assert refusal_of(text, "a.yaml") == f"a.yaml:{line}: it is not YAML{reason}"


def test_a_value_of_a_template_is_unknown_and_no_key() -> None:
    text = "spring.kafka:\n  consumer:\n    group-id: {{ .Values.g | quote }}\n    max-poll-records: {{ .n }}0\n"
    (part,) = parts_of(text)
    assert part.unknown == ()
    assert {key: setting.value for key, setting in part.settings.items()} == {
        "group.id": None,
        "max.poll.records": None,
    }
    assert found(text, "a.yaml") == []
    assert read_yaml("- {{ .a }}\n- '{{ b }}'\n", "a.yaml") == [[((), "$( .a ),{{ b }}", 1)]]


def test_names_that_librdkafka_keeps_are_not_removed_ones() -> None:
    text = "group.id=a\nfetch.message.max.bytes=1048576\n"
    assert len(found(text, "a.properties")) == 1
    assert found(f"{text}statistics.interval.ms=60000\n", "a.properties") == []


def test_hocon_is_no_file_of_properties() -> None:
    text = '# Akka\nkafka.clients {\n  group.id = "x"\n}\n'
    assert refusal_of(text, "application.conf") == (
        "application.conf:2: it is HOCON, which is not read; properties and YAML are"
    )
    assert refusal_of("group.id=${x\na={}\nb = {{ c }}\n", "application.conf") is None


MEANT = {
    "spring.kafka.consumer.session-timeout": "spring.kafka.consumer.properties[session.timeout.ms]",
    "spring.kafka.consumer.max-poll-interval-ms": "spring.kafka.consumer.properties[max.poll.interval.ms]",
    "spring.kafka.consumer.max-poll-record": "spring.kafka.consumer.max-poll-records",
    "spring.kafka.producer.linger-ms": "spring.kafka.producer.properties[linger.ms]",
    "spring.kafka.listener.properties.max.poll.records": "spring.kafka.consumer.properties[max.poll.records]",
    "spring.kafka.properties.security-protocol": "security.protocol",
    "mp.messaging.incoming.a.max-poll-records": "max.poll.records",
    "max_poll_records": "max.poll.records",
}
"""Keys as people write them, and what they mean."""


@pytest.mark.parametrize(("written", "meant"), MEANT.items())
def test_a_key_that_nothing_reads_has_the_one_that_was_meant(written: str, meant: str) -> None:
    parts = parts_of(f"{written}=1\n", "a.properties")
    assert [unknown.meant for part in parts for unknown in part.unknown] == [meant]


@pytest.mark.parametrize(
    "written",
    ["schema.registry.url", "spring.kafka.consumer.properties.spring.json.trusted.packages", "auto.register.schemas",
     "listener.name.internal.ssl.keystore.location", "mp.messaging.incoming.a.topic", "A.bootstrap.servers"],
)  # fmt: skip
def test_a_key_of_the_applications_own_is_none(written: str) -> None:
    assert found(f"{written}=1\n", "a.properties") == []


def test_strimzis_brokers_are_counted_in_the_node_pools_of_their_cluster() -> None:
    head = "apiVersion: kafka.strimzi.io/v1\nkind: "
    pool = (
        f"---\n{head}KafkaNodePool\nmetadata: {{labels: {{strimzi.io/cluster: C}}}}\n"
        "spec: {replicas: 2, roles: [broker]}\n"
    )
    kafka = f"{head}Kafka\nmetadata: {{name: C}}\nspec: {{kafka: {{config: {{a: b}}}}}}\n"
    (part,) = parts_of(kafka + pool + pool + pool.replace(" C", " D"))
    assert part.count("brokers") == 4


WORKLOAD = """kind: {kind}
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: billing
          env:
            - name: SPRING_KAFKA_CONSUMER_MAX_POLL_RECORDS
              value: "50"
            - name: SPRING_KAFKA_CONSUMER_PROPERTIES_GROUP_INSTANCE_ID
              {value}
            - name: SPRING_KAFKA_PROPERTIES_SASL_JAAS_CONFIG
              valueFrom: {{secretKeyRef: {{name: kafka, key: jaas}}}}
"""
POD_NAME = "valueFrom: {fieldRef: {fieldPath: metadata.name}}"


def test_a_container_configures_by_its_environment() -> None:
    (part,) = parts_of(WORKLOAD.format(kind="Deployment", value=POD_NAME))
    assert (part.number("max.poll.records"), part.count("instances")) == (50, 3)
    assert part.settings["max.poll.records"].line == 9
    assert part.settings["sasl.jaas.config"].value is None


@pytest.mark.parametrize(
    ("kind", "value", "wrong"),
    [("Deployment", POD_NAME, "pod's name"), ("StatefulSet", POD_NAME, None), ("StatefulSet", "value: x", "same"),
     ("Deployment", "value: $(POD_NAME)", "pod's name"), ("CronJob", POD_NAME, None)],
)  # fmt: skip
def test_a_workload_says_whether_pods_keep_their_names(kind: str, value: str, wrong: str | None) -> None:
    messages = found(WORKLOAD.format(kind=kind, value=value), "deployment.yaml")
    assert [wrong in message for message in messages if wrong is not None] == ([True] if wrong else [])
    assert len(messages) == (1 if wrong else 0)


def test_aliases_are_followed_within_a_budget() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)
    )
    with pytest.raises(LintInputError, match="values"):
        read_text(bomb, "bomb.yaml")
    long = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 2_000)}]\n"
    with pytest.raises(LintInputError, match="values"):
        read_text(long, "long.yaml")


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [("".join(f"mp.messaging.incoming.c{n}.group.id=g\n" for n in range(301)), "a.properties", "300 channels"),
     ("--- a\n" * 501, "a.yaml", "500 documents"), ("- {a: b}\n" * 10_001, "a.yaml", "20,000 values")],
    ids=("channels", "documents", "values"),
)  # fmt: skip
def test_what_would_take_long_is_refused(text: str, name: str, reason: str) -> None:
    with pytest.raises(LintInputError, match=reason):
        read_text(text, name)


@pytest.mark.parametrize(
    ("text", "line", "first"),
    [
        ("spring:\n  kafka.consumer.group-id: a\nserver: 1\nspring:\n  main: b\n", 4, 1),
        ("a: {b: 1, b: 2}\n", 1, 1),
        ("- a: 1\n  a: 2\n", 2, 1),
    ],
)
def test_a_key_that_a_mapping_has_twice_is_refused(text: str, line: int, first: int) -> None:
    """SnakeYAML, as Spring has it, ends with DuplicateKeyException; a reader that takes the last value hides one."""
    with pytest.raises(LintInputError, match=f"^a.yaml:{line}: line {first} has this key already"):
        read_text(text, "a.yaml")


def test_mappings_and_documents_have_keys_of_their_own() -> None:
    text = "one: &one {a: 1}\nb: {<<: *one, <<: {a: 2}, a: 3}\n---\none: {a: 1}\n"
    read_text(text, "a.yaml")


def test_near_keys_are_searched_for_the_first_unknown_ones_only() -> None:
    text = "group.id=g\n" + "".join(f"sesion.timeot{n}.ms=5\n" for n in range(2 * MOST_LOOKED_UP))
    (part,) = parts_of(text, "a.properties")
    assert len(part.unknown) == MOST_LOOKED_UP


words = st.sampled_from([*sorted(all_names()), "spring.kafka.consumer", "mp.messaging.incoming.a", "kind", "data"])
loose = st.text(st.sampled_from(string.printable + "äé\x00\x1b\u2028"), max_size=12)
lines = st.tuples(words | loose, st.sampled_from(["=", ": ", ":", " ", "\n  ", ""]), loose).map("".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(lines, max_size=12).map("\n".join), st.sampled_from(SUFFIXES))
@example("? [a]\n: b", ".yaml")
@example("!!python/object/apply:os.system ['x']", ".yaml")
@example("a: 2001-99-99\nb: 0o9\nc: !!int x", ".yaml")
@example("%YAML 9.9\n---\na", ".yaml")
@example("\\", ".properties")
def test_any_text_is_read_or_refused_in_words(text: str, suffix: str) -> None:
    refused = refusal_of(text, f"any{suffix}")
    assert refused is None or refused.startswith(f"any{suffix}:")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_damaged_case_is_read_or_refused_in_words(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(CASES.glob("*/*/*"))))
    text = path.read_text(encoding="utf-8")
    place = data.draw(st.integers(0, len(text)))
    damaged = text[:place] + data.draw(loose) + text[place + data.draw(st.integers(0, 3)) :]
    refused = refusal_of(damaged, path.name)
    assert refused is None or refused.startswith(path.name)

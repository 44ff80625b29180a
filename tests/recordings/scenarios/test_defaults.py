"""`[defaults]`: what each table gets, which line an error in them has, and what cannot have a default."""

import pytest

from recordings.scenarios.loader import ScenarioErrors, parse_scenario

BLOCK = """\
title = "t"
[defaults.topic]
partitions = 6
config = { "min.insync.replicas" = 2, retention.ms = "7h" }
[defaults.producer]
rate = "20/s"
size = 2048
[defaults.group]
members = 2
assignors = ["org.apache.kafka.clients.consumer.RangeAssignor", "CooperativeStickyAssignor"]
config = { session.timeout.ms = "30s", "max.poll.records" = 50 }
[defaults.group.application]
per_record = "3ms"
commit = "after-each-poll"
"""
TABLES = """\
[[topic]]
name = "orders"
[[topic]]
name = "refunds"
partitions = 1
config = { "retention.ms" = 1000 }
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "1/s"
[[group]]
name = "billing"
topics = ["orders"]
[[group]]
name = "audit"
topics = ["refunds"]
config = { "session.timeout.ms" = 20000 }
[group.application]
commit = "async"
"""


def errors_of(text: str) -> list[str]:
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(text, "f.toml")
    return str(caught.value).splitlines()


def test_a_table_has_what_it_says_and_the_defaults_below() -> None:
    spec = parse_scenario(BLOCK + TABLES, "f.toml").spec
    orders, refunds = spec.topics
    assert (orders.partitions, orders.config) == (6, {"min.insync.replicas": 2, "retention.ms": 25_200_000})
    assert (refunds.partitions, refunds.config) == (1, {"min.insync.replicas": 2, "retention.ms": 1_000})
    assert (spec.producers[0].rate_per_second, spec.producers[0].size_bytes) == (1.0, 2_048)
    billing, audit = spec.groups
    assert (billing.members, billing.assignors) == (2, ("range", "cooperative-sticky"))
    assert billing.config == {"session.timeout.ms": 30_000, "max.poll.records": 50}
    assert audit.config == {"session.timeout.ms": 20_000, "max.poll.records": 50}
    assert (billing.application.per_record_us, billing.application.commit) == (3_000, "after-each-poll")
    assert (audit.application.per_record_us, audit.application.commit) == (3_000, "async")


@pytest.mark.parametrize(
    ("written", "instead", "error"),
    [
        ("partitions = 6", "partitions = 0", "3: partitions: 0 is below 1"),
        ("partitions = 6", "partitons = 6", "3: unknown key partitons (did you mean partitions?)"),
        ("partitions = 6", "replication = 9", "3: replication: 9 replicas need as many brokers, there are 3"),
        ("session.timeout.ms", "sesion.timeout.ms", "11: unknown consumer configuration key sesion.timeout.ms (did"),
        ('"30s"', "30", "11: heartbeat.interval.ms (3000) must be below session.timeout.ms (30)"),
        ('per_record = "3ms"', "per_record = 3", '13: per_record: 3 needs a unit and quotation marks: "30s"'),
        ('per_record = "3ms"', 'writes = "oders"', "13: writes: no topic is named oders (did you mean orders?)"),
        ("[defaults.topic]", '[defaults.topic]\nname = "x"', "3: name: each topic has its own"),
        ("[defaults.topic]", "[defaults.topics]", "2: unknown key topics (did you mean topic?)"),
        ("[defaults.topic]", "[default.topic]", "2: unknown key default (did you mean defaults?)"),
        ("[defaults.topic]", "[[defaults.topic]]", "2: topic: [{'partitions': 6, 'config': {'min.insync.replicas"),
    ],
)
def test_an_error_in_a_default_has_its_line(written: str, instead: str, error: str) -> None:
    (found,) = errors_of(BLOCK.replace(written, instead, 1) + TABLES)
    assert found.startswith(f"f.toml:{error}"), found


def test_defaults_of_nothing_are_an_error() -> None:
    assert errors_of('title = "t"\n[defaults.producer]\nrate = "1/s"\n[[topic]]\nname = "a"\n') == [
        "f.toml:2: defaults.producer: the file has no [[producer]]"
    ]


def test_a_block_has_a_bound() -> None:
    many = "".join(f"key{number} = 1\n" for number in range(200))
    text = f'title = "t"\n[defaults.topic]\n{many}' + "[[topic]]\n" * 5_000
    assert "f.toml:2: defaults.topic: it has more than 100 keys" in errors_of(text)


@pytest.mark.parametrize(
    ("policy", "meant"),
    [
        ("sync", "after-each-poll"),
        ("commitSync", "after-each-poll"),
        ("manual", "after-each-poll"),
        ("MANUAL_IMMEDIATE", "after-each-poll"),
        ("at-least-once", "after-each-poll"),
        ("at-most-once", "before-processing"),
        ("exactly-once", "transaction"),
        ("exactly_once_v2", "transaction"),
        ("commitAsync", "async"),
        ("none", "never"),
        ("periodic", "auto"),
        ("asyn", "async"),
    ],
)
def test_another_word_for_a_commit_policy_suggests_what_it_means(policy: str, meant: str) -> None:
    text = (BLOCK + TABLES).replace('"after-each-poll"', f'"{policy}"')
    (error,) = errors_of(text)
    assert error.startswith(f"f.toml:14: commit: '{policy}' is none of auto, ")
    assert error.endswith(f"(did you mean {meant}?)")


NOTED = """\
title = "t"
[cluster]
config = { "log.dirs" = "/data", listeners = "PLAINTEXT://:9092", "auto.create.topics.enable" = false }
[defaults.topic]
config = { "preallocate" = true, "compression.type" = "producer" }
"""


def test_a_key_without_effect_is_a_note_with_its_line() -> None:
    scenario = parse_scenario(NOTED + TABLES, "f.toml")
    assert [str(note) for note in scenario.notes] == [
        "f.toml:3: log.dirs has no effect: a broker's files are not simulated",
        "f.toml:3: listeners has no effect: links are declared in [network]",
        "f.toml:3: auto.create.topics.enable has no effect: every topic is declared in the file",
        "f.toml:5: preallocate has no effect: a broker's files are not simulated",
    ]
    assert scenario.spec.config == {"auto.create.topics.enable": False}
    assert scenario.spec.topics[0].config == {}


COMPACTED = """\
title = "No keys"
[[topic]]
name = "prices"
config = { "cleanup.policy" = "compact,delete" }
[[topic]]
name = "orders"
[[producer]]
name = "feed"
topics = ["orders", "prices"]
"""


def test_a_producer_without_keys_on_a_compacted_topic_is_a_note_with_its_line() -> None:
    why = 'its leaders refuse each with INVALID_RECORD (give keys = { kind = "uniform" })'
    sends = "f.toml:9: keys: feed sends records without a key, and prices is compacted:"
    assert [str(note) for note in parse_scenario(COMPACTED, "f.toml").notes] == [f"{sends} {why}"]
    assert parse_scenario(f'{COMPACTED}keys = {{ kind = "uniform" }}', "f.toml").notes == ()
    assert parse_scenario(COMPACTED.replace("compact,delete", "delete"), "f.toml").notes == ()
    by_default = COMPACTED.replace('config = { "cleanup.policy" = "compact,delete" }', "")
    cluster = '[cluster]\nconfig = { "log.cleanup.policy" = "compact" }\n'
    (note,) = parse_scenario(f"{by_default}{cluster}", "f.toml").notes
    assert "orders is compacted" in str(note)


def test_notes_do_not_hide_errors_and_many_are_no_error() -> None:
    keys = ", ".join(f'"ssl.key{number}" = 1' for number in range(80))
    many = f"{NOTED.replace('listeners', f'{keys}, listeners')}{TABLES}"
    assert len(parse_scenario(many, "f.toml").notes) == 50
    assert errors_of(many.replace('"compression.type" = "producer"', '"compression.type" = "zstd"')) == [
        "f.toml:5: not built yet: compression.type other than Kafka's default"
    ]


@pytest.mark.parametrize(
    ("block", "tables", "error"),
    [
        ("group]\nmembers = 'two'", "members = 2", "3: members: 'two' is not a whole number"),
        ("group]\nmembers = -1", "members = 2", "3: members: -1 is below 0"),
        ("group]\nstatic = 1", "static = true", "3: static: 1 is not true or false"),
        ("group]\napplication = 7", "application = {}", "3: application: 7 is not a table"),
        ("group]\nconfig = 7", "config = {}", "3: config: 7 is not a table"),
        ("group.application]\nper_record = 3", "application = { per_record = '1s' }", "3: per_record: 3 needs a unit"),
        ("group.config]\n'max.poll.records' = 'x'", "config = { 'max.poll.records' = 5 }", "3: max.poll.records"),
        ("group.autoscaler]\nmax = 'x'", "autoscaler = { lag_per_member = 1, max = 2 }", "3: max: 'x' is not"),
        ("topic]\npartitions = true", "", "3: partitions: true is not a whole number"),
    ],
)
def test_a_default_that_no_table_takes_must_be_readable_all_the_same(block: str, tables: str, error: str) -> None:
    rest = f"[[topic]]\nname = 'o'\npartitions = 1\n[[group]]\nname = 'g'\ntopics = ['o']\n{tables}\n"
    (found,) = errors_of(f"title = 't'\n[defaults.{block}\n{rest}")
    assert found.startswith(f"f.toml:{error}"), found


def test_a_default_may_need_what_each_table_adds() -> None:
    """`queue` alone is an error; it goes with the worker threads that a group has."""
    rest = "[[topic]]\nname = 'o'\n[[group]]\nname = 'g'\ntopics = ['o']\napplication = { worker_threads = 2 }\n"
    spec = parse_scenario(f"title = 't'\n[defaults.group.application]\nqueue = 4\n{rest}", "f.toml").spec
    assert (spec.groups[0].application.queue, spec.groups[0].application.worker_threads) == (4, 2)

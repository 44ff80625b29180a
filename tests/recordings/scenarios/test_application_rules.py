"""`[group.application]`: what is wrong with it, with its line and a suggestion; what is right is written back."""

import pytest

from cluster.spec import (
    ApplicationSpec,
    FailSpec,
    OutputSpec,
    ProcessingSpec,
    RetriesSpec,
    SettingError,
    SlowKeysSpec,
)
from recordings.scenarios.loader import ScenarioErrors, apply_settings, parse_scenario, parse_setting
from recordings.scenarios.writer import write_scenario
from tests.support.minimal_scenario import DECLARED

HEAD = 'title = "t"\n[[topic]]\nname = "out"\n'
READER = f"{HEAD}{DECLARED}[group.application]\n"
FAILING = f"{READER}fail = {{ share = 0.01 }}\n"
KEYED = READER.replace('name = "checkout"', 'name = "checkout"\nkeys = { kind = "uniform", distinct = 100 }')
WRITER = f'{READER}writes = "out"\n'


def application(text: str) -> ApplicationSpec:
    """What this text says of the group's application, after being written and read again."""
    spec = parse_scenario(text, "f.toml").spec
    again = parse_scenario(write_scenario(spec), "again.toml").spec
    assert again == spec
    return spec.groups[0].application


def line_of(text: str) -> int:
    """The number of its last line."""
    return len(text.rstrip("\n").split("\n"))


PRODUCER_MISTAKES = [
    (READER, 'producer = { "acks" = "1" }', "producer: billing has no producer: it writes to no topic"),
    (WRITER, 'producer = { "aks" = "1" }', "unknown producer configuration key aks (did you mean acks?)"),
    (WRITER, 'producer = { "session.timeout.ms" = 9000 }', "session.timeout.ms is a consumer key, not a producer key"),
    (WRITER, 'producer = { "acks" = "2" }', "acks is one of all, -1, 1, 0, not '2'"),
    (WRITER, "producer = 3", "producer: 3 is not a table"),
    (WRITER, 'producer = { "delivery.timeout.ms" = 1000 }', "delivery.timeout.ms"),
    (WRITER, 'producer = { "transactional.id" = "x" }', 'or a group\'s `commit = "transaction"`'),
    (
        WRITER,
        'producer = { "metadata.max.idle.ms" = 9 }',
        "not built yet: metadata.max.idle.ms other than Kafka's default",
    ),
    (WRITER, 'producer = { "batch.size" = 1, "buffer.memory" = 9000000000 }', "can wait in it: at most 1,000,000"),
    (
        f'{WRITER}commit = "transaction"\n',
        'producer = { "acks" = "1" }',
        'commit = "transaction" needs enable.idempotence (and so acks=all',
    ),
]


OUTPUT_MISTAKES = [
    (READER, 'outputs = [{ topic = "ot" }]', "outputs: no topic is named ot (did you mean out?)"),
    (READER, 'outputs = [{ topik = "out" }]', "topic is missing"),
    (READER, 'outputs = [{ topic = "out", share = 2 }]', "share: 2 is above 1"),
    (READER, 'outputs = [{ topic = "out", share = 0 }]', "share: no input is written with a share of 0"),
    (READER, 'outputs = [{ topic = "out", records = 0 }]', "records: 0 is below 1"),
    (READER, 'outputs = [{ topic = "out", record = 2 }]', "unknown key record (did you mean records?)"),
    (READER, 'outputs = [{ topic = "out" }, { topic = "out" }]', "outputs: out is listed twice"),
    (READER, 'outputs = [{ topic = "orders" }]', "outputs: billing reads orders itself, without an end"),
    (READER, 'outputs = "out"', "outputs is written as"),
    (WRITER, 'outputs = [{ topic = "out" }]', "outputs: `writes` is the short form for one output"),
    (READER, 'output = [{ topic = "out" }]', "unknown key output (did you mean outputs?)"),
]


TIME_MISTAKES = [
    (READER, 'processing = { p50 = "2ms" }', "p99 is missing"),
    (READER, 'processing = { p50 = "2ms", p99 = "1ms" }', "p99: it is below p50"),
    (READER, 'processing = { p50 = "0ms", p99 = "1ms" }', "p50: a log-normal time is above 0"),
    (READER, 'processing = { p50 = 2, p99 = "8ms" }', "p50: 2 needs a unit and quotation marks"),
    (READER, 'processing = { p50 = "2ms", p95 = "8ms" }', "p99 is missing"),
    (READER, 'processing = "2ms"', "processing: '2ms' is not a table"),
    (
        f'{READER}processing = {{ p50 = "2ms", p99 = "80ms" }}\n',
        'per_record = "2ms"',
        "per_record: `processing` gives a time to each record: use only one of them",
    ),
    (
        f'{READER}processing = {{ p50 = "2ms", p99 = "80ms" }}\n',
        "jitter = 0.5",
        "jitter: `processing` gives a time to each record: it needs `per_record`",
    ),
    (
        KEYED,
        'slow_keys = { keys = ["100"], per_record = "1s" }',
        "no record has the key 100: the highest is 99",
    ),
    (READER, 'slow_keys = { keys = ["1"], per_record = "1s" }', "slow_keys: no record has the key 1: no producer has"),
    (READER, 'slow_keys = { share = 0.1, per_record = "1s" }', "no producer has `keys`"),
    (KEYED, 'slow_keys = { per_record = "1s" }', "slow_keys: say which `keys`, or which `share` of them"),
    (KEYED, 'slow_keys = { share = 0, per_record = "1s" }', "share: no key is slow with a share of 0"),
    (KEYED, "slow_keys = { share = 0.1 }", "per_record is missing"),
    (KEYED, 'slow_key = { share = 0.1, per_record = "1s" }', "unknown key slow_key (did you mean slow_keys?)"),
]


FAILURE_MISTAKES = [
    (READER, "fail = { share = 0 }", "share: no record fails with a share of 0"),
    (READER, "fail = { share = 1.5 }", "share: 1.5 is above 1"),
    (READER, "fail = { times = 2 }", "share is missing"),
    (READER, "fail = { share = 0.1, time = 2 }", "unknown key time (did you mean times?)"),
    (READER, "fail = 0.01", "fail: 0.01 is not a table"),
    (FAILING, "retries = { times = 0 }", "times: 0 is below 1"),
    (FAILING, "retries = { times = 3, backoff = 1 }", "backoff: 1 needs a unit and quotation marks"),
    (FAILING, "retries = { times = 3, multiplier = 0.5 }", "multiplier: 0.5 is below 1"),
    (FAILING, "retry = { times = 3 }", "unknown key retry (did you mean retries?)"),
    (FAILING, 'dead_letter = "ot"', "dead_letter: no topic is named ot (did you mean out?)"),
    (FAILING, 'dead_letter = "orders"', "dead_letter: billing reads orders itself, without an end"),
    (f'{FAILING}writes = "out"\n', 'dead_letter = "out"', "dead_letter: out is an output of billing already"),
]
MISTAKES = [*PRODUCER_MISTAKES, *OUTPUT_MISTAKES, *TIME_MISTAKES, *FAILURE_MISTAKES]


@pytest.mark.parametrize(("text", "addition", "reason"), MISTAKES)
def test_a_mistake_has_its_line_and_its_reason(text: str, addition: str, reason: str) -> None:
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(text + addition, "f.toml")
    error = caught.value.errors[0]
    assert error.line == line_of(text + addition)
    assert reason in str(error)


def test_producer_settings_are_read_and_written() -> None:
    made = application(f'{WRITER}producer = {{ "linger.ms" = 20, acks = "1" }}')
    assert made.producer == {"linger.ms": 20, "acks": "1"}


def test_outputs_are_read_and_written() -> None:
    made = application(f'{READER}outputs = [{{ topic = "out", share = 0.1, records = 3 }}]')
    assert made.outputs == made.written == (OutputSpec("out", 0.1, 3),)
    short = application(WRITER)
    assert (short.outputs, short.written, short.topics_written) == ((), (OutputSpec("out"),), ("out",))


def test_processing_times_are_read_and_written() -> None:
    made = application(f'{READER}processing = {{ p50 = "2ms", p99 = "80ms" }}')
    assert (made.processing, made.slow_keys) == (ProcessingSpec(2_000, 80_000), None)
    listed = application(f'{KEYED}slow_keys = {{ keys = ["42"], per_record = "1s" }}')
    assert listed.slow_keys == SlowKeysSpec(1_000_000, keys=("42",))
    drawn = application(f'{KEYED}slow_keys = {{ share = 0.25, per_record = "1s" }}')
    assert drawn.slow_keys == SlowKeysSpec(1_000_000, share=0.25)


def test_failures_are_read_and_written() -> None:
    made = application(
        f'{READER}fail = {{ share = 0.1, times = 2, crashes = false }}\ndead_letter = "out"\n'
        'retries = { times = 3, backoff = "1s", multiplier = 2 }'
    )
    assert (made.fail, made.retries) == (FailSpec(0.1, 2, crashes=False), RetriesSpec(3, 1_000_000, 2.0))
    assert (made.dead_letter, made.topics_written, made.has_producer, made.crashes) == ("out", ("out",), True, False)


# --- settings ---------------------------------------------------------------------------------------------------------


def test_a_groups_scope_writes_keys_that_only_producers_have() -> None:
    spec = parse_scenario(WRITER, "f.toml").spec
    (group,) = apply_settings(spec, [parse_setting("billing:linger.ms=20"), parse_setting("billing.acks=1")]).groups
    assert (group.application.producer, group.config) == ({"linger.ms": 20, "acks": "1"}, {})


def test_a_key_that_consumers_have_too_is_the_consumers() -> None:
    spec = parse_scenario(WRITER, "f.toml").spec
    (group,) = apply_settings(spec, [parse_setting("billing:request.timeout.ms=9000")]).groups
    assert (group.application.producer, group.config) == ({}, {"request.timeout.ms": 9_000})


def test_without_a_scope_a_producer_key_is_that_of_the_declared_producers() -> None:
    spec = apply_settings(parse_scenario(WRITER, "f.toml").spec, [parse_setting("linger.ms=20")])
    assert (spec.producers[0].config, spec.groups[0].application.producer) == ({"linger.ms": 20}, {})


@pytest.mark.parametrize(
    ("text", "setting", "reason"),
    [
        (READER, "billing:linger.ms=20", "linger.ms is a producer key, not a consumer key"),
        (f'{WRITER}commit = "transaction"', "billing:acks=1", "needs enable.idempotence"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(text: str, setting: str, reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        apply_settings(parse_scenario(text, "f.toml").spec, [parse_setting(setting)])


BY_HAND = """\
title = "t"
[[topic]]
name = "orders"
partitions = 2
[[group]]
name = "mirror"
static = true
assignors = ["range"]
config = { "group.instance.id" = "x" }
[group.assign]
mirror-1 = ["orders-0", "orders-1"]
"""


def test_what_only_joining_members_read_is_noted_where_all_call_assign() -> None:
    def notes(text: str) -> list[str]:
        return [str(each) for each in parse_scenario(text, "f.toml").notes]

    text = BY_HAND.replace('config = { "group.instance.id" = "x" }\n', "")
    why = "has no effect: members of mirror call assign(), and join no group"
    assert notes(text) == [f"f.toml:7: static {why}", f"f.toml:8: assignors {why}"]
    assert notes(BY_HAND.replace("static = true\n", "")) == [
        f"f.toml:7: assignors {why}",
        f"f.toml:8: group.instance.id {why}",
    ]
    assert notes(text.replace("static = true", 'members = 2\ntopics = ["orders"]\nstatic = true')) == []
    default = '[defaults.group]\nassignors = ["range"]\n'
    lines = text.replace('assignors = ["range"]\n', "").replace("[[topic]]", f"{default}[[topic]]").splitlines()
    assert notes("\n".join(lines)) == [f"f.toml:3: assignors {why}", f"f.toml:9: static {why}"]

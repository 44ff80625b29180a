"""`--set [SCOPE:]KEY=VALUE`: where a setting is written, and what is refused."""

import re

import msgspec
import pytest

from cluster.spec import ProcessingSpec, ScenarioSpec, why_not
from recordings.scenarios.loader import ScenarioErrors, SettingError, apply_settings, parse_scenario, parse_setting

SPEC = parse_scenario(
    """\
title = "t"
[[topic]]
name = "orders"
partitions = 4
[[topic]]
name = "payments.eu"
[[producer]]
name = "checkout"
topics = ["orders"]
[[producer]]
name = "refunds"
topics = ["orders"]
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[group]]
name = "audit"
topics = ["orders"]
""",
    "t.toml",
).spec


def after(*settings: str) -> ScenarioSpec:
    return apply_settings(SPEC, [parse_setting(text) for text in settings])


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("billing:members=3", ("billing", "members", "3")),
        ("billing.session.timeout.ms=10000", (None, "billing.session.timeout.ms", "10000")),
        ("checkout:rate=3/m", ("checkout", "rate", "3/m")),
        ("linger.ms = 5", (None, "linger.ms", "5")),
        ("billing:client.rack=a=b", ("billing", "client.rack", "a=b")),
    ],
)
def test_a_setting_is_read(text: str, setting: tuple[str | None, str, str]) -> None:
    assert parse_setting(text) == setting


@pytest.mark.parametrize("text", ["members", "=3", ":members=3", "billing:=3", ""])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="is not a setting: write it like"):
        parse_setting(text)


def test_a_scope_is_written_to_and_nothing_else() -> None:
    spec = after("billing:session.timeout.ms=10000", "orders:min.insync.replicas=2", "checkout:linger.ms=7")
    assert [group.config for group in spec.groups] == [{"session.timeout.ms": 10_000}, {}]
    assert [topic.config for topic in spec.topics] == [{"min.insync.replicas": 2}, {}]
    assert [producer.config for producer in spec.producers] == [{"linger.ms": 7}, {}]
    assert spec.config == {}
    assert SPEC.groups[0].config == {}


def test_a_name_before_the_first_dot_is_a_scope_when_it_is_declared() -> None:
    assert after("billing.session.timeout.ms=10000") == after("billing:session.timeout.ms=10000")
    assert after("broker-2.min.insync.replicas=2").brokers[1].config == {"min.insync.replicas": 2}
    assert after("billing.members=3").groups[0].members == 3
    with pytest.raises(SettingError, match="there is no key or field payments"):
        after("payments.eu.min.insync.replicas=2")
    for text in ("bilking.session.timeout.ms=10000", "bilking.members=3"):
        with pytest.raises(SettingError, match="nothing in the scenario is named bilking"):
            after(text)
    assert after("payments.eu:min.insync.replicas=2").topics[1].config == {"min.insync.replicas": 2}


def test_a_whole_key_is_the_clusters_or_everybodys_who_has_it() -> None:
    assert after("min.insync.replicas=2").config == {"min.insync.replicas": 2}
    assert after("cluster:min.insync.replicas=2") == after("min.insync.replicas=2")
    assert [group.config for group in after("session.timeout.ms=9000").groups] == [{"session.timeout.ms": 9_000}] * 2
    assert [topic.config for topic in after("retention.ms=604800000").topics] == [{"retention.ms": 604_800_000}] * 2
    both = after("request.timeout.ms=5000")
    assert [group.config for group in both.groups] == [{"request.timeout.ms": 5_000}] * 2
    assert [producer.config for producer in both.producers] == [{"request.timeout.ms": 5_000}] * 2


def test_a_broker_differs_from_the_cluster() -> None:
    spec = after("min.insync.replicas=2", "broker-2:min.insync.replicas=1")
    assert [spec.broker_config(broker)["min.insync.replicas"] for broker in spec.brokers] == [2, 1, 2]


def test_scenario_fields_are_set_in_their_own_units() -> None:
    spec = after("members=5", "checkout:rate=3/m", "billing:assignors=range", "billing:per_record=20ms", "static=false")
    assert [group.members for group in spec.groups] == [5, 5]
    assert [producer.rate_per_second for producer in spec.producers] == [0.05, 10.0]
    assert [group.application.per_record_us for group in spec.groups] == [20_000, 0]
    assert spec.groups[0].assignors == ("range",)


def test_fields_that_a_flight_begins_with_are_set_before_it() -> None:
    spec = after("stagger=2s", "start=5s", "orders:partitions=8", "checkout:count=3", "size=2KiB", "replication=2")
    assert [(group.stagger_us, group.start_us) for group in spec.groups] == [(2_000_000, 5_000_000)] * 2
    assert [producer.start_us for producer in spec.producers] == [5_000_000] * 2
    assert [producer.count for producer in spec.producers] == [3, 1]
    assert [producer.size_bytes for producer in spec.producers] == [2_048] * 2
    assert [(topic.partitions, topic.replication) for topic in spec.topics] == [(8, 2), (1, 2)]
    assert after("billing:commit=before-processing").groups[0].application.commit == "before-processing"


def test_a_rebalance_listener_is_set_for_a_group_or_one_member() -> None:
    billing, audit = after("billing:on_revoked=commit", "revoke_takes=2s", "billing-2:on_revoked=nothing").groups
    assert (billing.application.on_revoked, audit.application.on_revoked) == ("commit", "nothing")
    assert [group.application.revoke_takes_us for group in (billing, audit)] == [2_000_000] * 2
    assert [billing.of(name).application.on_revoked for name in ("billing-1", "billing-2")] == ["commit", "nothing"]


def test_a_time_for_all_records_is_refused_where_each_draws_its_own() -> None:
    drawn = msgspec.structs.replace(SPEC.groups[0].application, processing=ProcessingSpec(2_000, 80_000))
    spec = msgspec.structs.replace(
        SPEC, groups=(msgspec.structs.replace(SPEC.groups[0], application=drawn), *SPEC.groups[1:])
    )
    reason = "per_record has no effect: `processing` of billing gives a time to each record"
    for text in ("billing:per_record=3ms", "per_record=3ms"):
        with pytest.raises(SettingError, match=reason):
            apply_settings(spec, [parse_setting(text)])
    own = apply_settings(spec, [parse_setting("billing-1:per_record=3ms")]).groups[0]
    assert own.of("billing-1").application.processing is None
    assert why_not(spec, "billing", "per_record", "3ms") == why_not(spec, "billing-1", "per_record", "3ms") == reason
    assert why_not(spec, "audit", "per_record", "3ms") is None


def test_values_may_be_numbers_and_lists_as_a_sweep_gives_them() -> None:
    spec = apply_settings(
        SPEC, [("billing", "members", 4), ("billing", "assignors", ["range"]), (None, "linger.ms", 9)]
    )
    assert spec.groups[0].members == 4
    assert spec.producers[1].config == {"linger.ms": 9}


def test_a_key_that_the_scenario_says_in_other_words_changes_them_too() -> None:
    quiet = after("billing:enable.auto.commit=false").groups[0]
    assert quiet.application.commit == "never"
    assert quiet.consumer_config("billing-1")["enable.auto.commit"] is False
    assert after("billing:partition.assignment.strategy=range").groups[0].assignors == ("range",)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["biling:members=3"], "biling:members=3: nothing is named biling (did you mean billing?)"),
        (["membres=3"], "membres=3: there is no key or field membres (did you mean members?)"),
        (["session.timout.ms=3"], "(did you mean session.timeout.ms?)"),
        (["orders:members=3"], "members is a field of a group, and orders is a topic"),
        (["broker-1:rate=3/s"], "rate is a field of a producer, and broker-1 is a broker"),
        (["billing:linger.ms=3"], "linger.ms is a producer key, not a consumer key"),
        (["billing:members=three"], "'three' is not a whole number"),
        (["billing:topics=orders"], "topics is said in the scenario file (in flight: subscribe MEMBER to TOPIC,…)"),
        (["limit=3"], "settings write Kafka's keys and members, assignors, static, per_record, rate"),
        (["checkout:arrivals=poisson"], "arrivals is said in the scenario file; settings write"),
        (["orders:partitions=0"], "0 is below 1"),
        (["orders:replication=4"], "4 replicas need as many brokers, there are 3"),
        (["checkout:count=100000"], "100000 is above 2000"),
        (["checkout:size=2KB"], "'2KB': unknown unit"),
        (["billing:commit=sync"], "'sync' is none of auto, after-each-poll"),
        (["billing:on_revoked=commits"], "'commits' is none of nothing, commit (did you mean commit?)"),
        (["billing:revoke_takes=4"], "'4' has no unit"),
        (["checkout:on_revoked=commit"], "on_revoked is a field of a group or a member, and checkout is a producer"),
        (["billing:on_revoked=commit", "billing:commit=never"], 'with commit = "never" commitSync has nothing'),
        (["billing:stagger=1"], "'1' has no unit"),
        (["checkout:stagger=1s"], "stagger is a field of a group, and checkout is a producer"),
        (["orders:start=1s"], "start is a field of a group or a producer, and orders is a topic"),
        (["billing:members=-1"], "'-1' is not a whole number"),
        (["billing:per_record=20"], "'20' has no unit"),
        (["checkout:rate=0/s"], "a rate is above 0"),
        (["billing:assignors=rnge"], "partition.assignment.strategy is one of range"),
        (["billing:static=maybe"], "'maybe' is not true or false"),
        (["billing:assignors=recordings.library.your_assignors.Mine"], "your_assignors has no class Mine"),
        (["checkout:acks=1", "checkout:enable.idempotence=true"], "enable.idempotence needs acks=all"),
        (["billing:heartbeat.interval.ms=50000"], "must be below session.timeout.ms"),
        (["broker-1:broker.session.timeout.ms=1000"], "broker-1: broker.heartbeat.interval.ms (2000) must be below"),
        (["billing:members=2", "cluster:session.timeout.ms=3"], "is a consumer key, not a broker key"),
    ],
)
def test_a_setting_that_cannot_be_made_says_which_and_why(settings: list[str], reason: str) -> None:
    with pytest.raises(SettingError, match=re.escape(reason)):
        after(*settings)


def test_settings_are_checked_together_not_one_by_one() -> None:
    spec = after("billing:heartbeat.interval.ms=50000", "billing:session.timeout.ms=60000")
    assert spec.groups[0].config == {"heartbeat.interval.ms": 50_000, "session.timeout.ms": 60_000}


def test_a_member_has_settings_of_its_own() -> None:
    group = after("billing-2:session.timeout.ms=9s", "billing-2.assignors=StickyAssignor", "billing-1:per_record=3ms")
    billing = group.groups[0]
    assert [own.name for own in billing.own] == ["billing-1", "billing-2"]
    assert (billing.of("billing-1").assignors, billing.of("billing-2").assignors) == (billing.assignors, ("sticky",))
    assert billing.consumer_config("billing-1")["session.timeout.ms"] == 45_000
    assert billing.consumer_config("billing-2")["session.timeout.ms"] == 9_000
    assert billing.of("billing-1").application.per_record_us == 3_000
    of_all = apply_settings(group, [("billing", "session.timeout.ms", "7000"), (None, "max.poll.records", "9")])
    assert of_all.groups[0].consumer_config("billing-2")["session.timeout.ms"] == 9_000  # still its own
    assert of_all.groups[0].consumer_config("billing-2")["max.poll.records"] == 9


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("billing-1:members=3", "members is a field of a group, and billing-1 is a member"),
        ("billing-3:per_record=3ms", "nothing is named billing-3 (did you mean billing-1?)"),
        ("billing-1:linger.ms=3", "linger.ms is a producer key, not a consumer key"),
        ("billing-1:enable.auto.commit=false", "is the same for all members of a group"),
        ("billing-1:session.timeout.ms=3s", "heartbeat.interval.ms (3000) must be below session.timeout.ms (3000)"),
        ("billing-1:assignors=StikyAssignor", "(did you mean StickyAssignor?)"),
    ],
)
def test_a_wrong_setting_of_a_member_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SettingError, match=re.escape(reason)):
        after(text)


def test_what_a_step_creates_is_set_in_the_step() -> None:
    text = '[[at]]\ntime = "{}"\ndo = "{}"\n'
    steps = text.format("6s", "create topic returns") + text.format("7s", "set returns retention.ms 5s")
    made = parse_scenario(f'title = "t"\n[[topic]]\nname = "orders"\n{steps}', "t.toml").spec
    for setting in ("returns:retention.ms=5s", "returns:partitions=7", "retention.ms=5s"):
        with pytest.raises(SettingError, match=r"a step creates returns at 6s: change its \S+ there"):
            apply_settings(made, [parse_setting(setting)])
    assert apply_settings(made, [parse_setting("orders:retention.ms=5s")]).topics[0].config == {"retention.ms": 5_000}
    assert why_not(made, "returns", "retention.ms", "5s") == "there is no topic returns yet: a step creates it at 6s"
    wrong = steps.replace("5s", "5x")
    with pytest.raises(ScenarioErrors, match=r"retention\.ms"):
        parse_scenario(f'title = "t"\n[[topic]]\nname = "orders"\n{wrong}', "t.toml")

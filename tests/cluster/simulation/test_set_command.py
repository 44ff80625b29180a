"""`set` and `seek` in running clusters: what changes at once, at the next start, or not at all, and is undone."""

from itertools import pairwise

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.commands import parse
from cluster.config import CONFIG_KEYS, SET_IN_FLIGHT, Scope, Value, in_flight_keys
from cluster.simulation import Simulation
from cluster.simulation.set_command import BROKER_SETTERS, TOPIC_SETTERS
from cluster.spec import CommitPolicy, MemberSpec, ScenarioSpec, TopicSpec, TransactionsSpec
from tests.support.completed_flight import Flown, flown, last_heartbeat_us
from tests.support.random_flights import lies
from tests.support.scenario_builders import MS, SECOND_US, spec


def refused(flight: Flown) -> list[str]:
    return [refusal.reason for refusal in flight.all(e.CommandRefused)]


# --- consumers --------------------------------------------------------------------------------------------------------


def test_a_session_timeout_counts_from_the_next_join_on() -> None:
    steps = ((10, "set g session.timeout.ms 9000"), (12, "start g-1"), (13, "scale g to 2"), (20.2, "kill g-2"))
    flight = flown(spec(*steps, until_s=40))
    (changed,) = flight.all(e.SettingChanged)
    assert (changed.value, changed.before, changed.effect, changed.processes) == ("9000", "6000", "now", ("g-1",))
    joins = flight.all(e.JoinReceived, 13 * SECOND_US)
    assert {join.session_timeout_ms for join in joins} == {9_000}
    (removed,) = flight.all(e.MemberRemoved, reason="session expired")
    assert removed.at_us == last_heartbeat_us(flight, "g-2", 21 * SECOND_US) + 9 * SECOND_US
    assert flight.simulation.view.members["g-1"].session_timeout_ms == 9_000


def test_a_heartbeat_interval_changes_at_once() -> None:
    flight = flown(spec((20, "set g heartbeat.interval.ms 3000"), until_s=40))
    beats = [beat.at_us for beat in flight.all(e.HeartbeatAnswered, 25 * SECOND_US)]
    assert {after - before for before, after in pairwise(beats)} == {3 * SECOND_US}


def test_a_deploy_of_the_other_protocol_leaves_running_members_their_timeouts() -> None:
    """A classic member heartbeats as it did; its successor of the new protocol takes no key of classic members."""
    steps = ((10, "set g group.protocol consumer"), (20, "restart g-1"), (25, "set g group.protocol classic"))
    late = ((26, "set g session.timeout.ms 9000"), (26, "set g heartbeat.interval.ms 700"), (35, "restart g-1"))
    flight = flown(spec(*steps, *late, until_s=50))
    effects = [(one.key, one.effect) for one in flight.all(e.SettingChanged, 26 * SECOND_US)]
    assert effects == [("session.timeout.ms", "at the next start"), ("heartbeat.interval.ms", "at the next start")]
    beats = [beat.at_us for beat in flight.all(e.HeartbeatAnswered) if beat.at_us < 20 * SECOND_US]
    assert len({after - before for before, after in pairwise(beats[1:])}) == 1
    declared = [one.session_timeout_ms for one in flight.all(e.MemberDeclared)]
    assert declared == [6_000, 45_000, 9_000]
    beats = [beat.at_us for beat in flight.all(e.HeartbeatAnswered, 42 * SECOND_US)]
    assert {after - before for before, after in pairwise(beats)} == {700 * MS}


def test_processing_time_changes_at_once_and_is_put_back() -> None:
    flight = flown(spec((10, "set g per_record 100ms for 5s"), until_s=25))
    assert [(one.value, one.before) for one in flight.all(e.SettingChanged)] == [("100ms", "0s"), ("0s", "100ms")]
    (started,), (ended,) = flight.all(e.FaultStarted), flight.all(e.FaultEnded)
    assert ended.at_us - started.at_us == 5 * SECOND_US
    work = [
        ended.at_us - began.at_us
        for began, ended in zip(flight.all(e.PollReturned), flight.all(e.PollStarted), strict=False)
        if 11 * SECOND_US < began.at_us < 14 * SECOND_US
    ]
    assert min(work) >= 100 * MS


def committing(commit: CommitPolicy, *steps: tuple[float, str], until_s: float) -> ScenarioSpec:
    made = spec(*steps, until_s=until_s)
    application = msgspec.structs.replace(made.groups[0].application, commit=commit)
    return msgspec.structs.replace(made, groups=(msgspec.structs.replace(made.groups[0], application=application),))


def test_a_rebalance_listener_is_that_of_the_next_process() -> None:
    steps = ((10, "set g on_revoked commit"), (10, "set g revoke_takes 2s"), (12, "scale g to 2"))
    flight = flown(committing("after-each-poll", *steps, (20, "restart g-1"), (30, "scale g to 3"), until_s=45))
    assert [(one.value, one.before, one.effect) for one in flight.all(e.SettingChanged)] == [
        ("commit", "nothing", "at the next start"),
        ("2s", "0s", "at the next start"),
    ]
    called = flight.all(e.RebalanceListenerCalled, member="g-1")
    assert called
    assert min(one.at_us for one in called) > 20 * SECOND_US
    returned = flight.all(e.RebalanceListenerReturned, member="g-1")
    assert {after.at_us - before.at_us >= 2 * SECOND_US for before, after in zip(called, returned, strict=True)} == {
        True
    }
    assert flight.all(e.RebalanceListenerCalled, member="g-2")  # it was started later


@pytest.mark.parametrize(
    ("commit", "text", "reason"),
    [
        ("never", "set g on_revoked commit", 'on_revoked: with commit = "never" commitSync has nothing to commit'),
        ("auto", "set g-1 on_revoked maybe", "'maybe' is none of nothing, commit"),
        ("auto", "set g revoke_takes 3", "'3' has no unit"),
    ],
)
def test_a_listener_that_cannot_be_is_refused_in_flight(commit: CommitPolicy, text: str, reason: str) -> None:
    (found,) = refused(flown(committing(commit, (10, text), until_s=12)))
    assert found.startswith(reason)


def test_a_slowed_member_keeps_its_speed_until_that_is_over() -> None:
    steps = ((10, "slow g-1 to 50ms for 5s"), (12, "set g per_record 7ms"))
    application = flown(spec(*steps, until_s=14)).simulation.consumers["g-1"].application
    assert application.per_record_us == 50 * MS
    application = flown(spec(*steps, until_s=16)).simulation.consumers["g-1"].application
    assert application.per_record_us == 7 * MS


def test_what_a_process_reads_at_its_start_waits_for_it() -> None:
    steps = ((10, "set g enable.auto.commit true"), (15, "restart g-1"))
    flight = flown(spec(*steps, until_s=30, initial_delay_ms=0))
    (changed,) = flight.all(e.SettingChanged)
    assert changed.effect == "at the next start"
    commits = flight.all(e.OffsetsCommitted)
    assert commits
    assert min(commit.at_us for commit in commits) > 15 * SECOND_US


def test_a_restarted_consumer_fetches_with_the_isolation_level_that_was_set() -> None:
    steps = ((10, "set g isolation.level read_committed"), (20, "restart g-1"))
    before = flown(spec(*steps, until_s=19)).simulation.consumers["g-1"].fetcher
    after = flown(spec(*steps, until_s=25)).simulation.consumers["g-1"].fetcher
    assert (before._read_committed, after._read_committed) == (False, True)


def test_a_restarted_producer_begins_with_the_transaction_timeout_that_was_set() -> None:
    made = spec((10, "set p transaction.timeout.ms 7000"), (20, "restart p-1"), until_s=30)
    (producer,) = made.producers
    producer = msgspec.structs.replace(producer, transactions=TransactionsSpec("pay", 10))
    flight = flown(msgspec.structs.replace(made, producers=(producer,)))
    assert {one.effect for one in flight.all(e.SettingChanged)} == {"at the next start"}
    timeouts = [one.timeout_ms for one in flight.all(e.TransactionStateChanged)]
    assert list(dict.fromkeys(timeouts)) == [60_000, 7_000]


def test_members_that_are_made_later_are_made_by_the_new_setting() -> None:
    flight = flown(spec((10, "set g max.poll.records 3"), (11, "scale g to 2"), until_s=25))
    assert flight.simulation.consumers["g-2"].max_poll_records == 3
    assert max(poll.records for poll in flight.all(e.PollReturned, 11 * SECOND_US)) <= 3


def test_the_number_of_members_is_scaled() -> None:
    flight = flown(spec((10, "set g members 3"), until_s=25))
    assert flight.document["groups"]["g"]["members"] == 3


def test_the_number_of_members_is_put_back() -> None:
    """As `scale … for`: those that came go, those that went come."""
    for text in ("set g members 3 for 10s", "scale g to 3 for 10s"):
        flight = flown(spec((10, text), until_s=40, members=1))
        (started,), (ended,) = flight.all(e.FaultStarted), flight.all(e.FaultEnded)
        assert ended.at_us - started.at_us == 10 * SECOND_US
        stopped = flight.all(e.MemberStopped)
        assert sorted((one.member, one.how) for one in stopped) == [("g-2", "stop"), ("g-3", "stop")]
        assert flight.document["groups"]["g"]["members"] == 1
    fewer = flown(spec((10, "scale g to 1 for 10s"), until_s=40, members=3))
    assert {one.member for one in fewer.all(e.MemberStarted, 15 * SECOND_US)} == {"g-2", "g-3"}
    assert fewer.document["groups"]["g"]["members"] == 3


def test_the_last_size_of_a_group_holds() -> None:
    flight = flown(spec((10, "scale g to 3 for 10s"), (15, "scale g to 2"), until_s=40, members=1))
    assert flight.document["groups"]["g"]["members"] == 2
    assert not flight.document["faults"]


def test_a_subscription_is_put_back() -> None:
    made = spec((10, "subscribe g-1 to others for 10s"), until_s=40, members=1)
    flight = flown(msgspec.structs.replace(made, topics=(*made.topics, TopicSpec("others", 1, 1))))
    assert [one.topics for one in flight.all(e.SubscriptionChanged)] == [("others",), ("orders",)]
    assert {name.rpartition("-")[0] for name in flight.document["members"]["g-1"]["owned"]} == {"orders"}


def test_what_was_before_is_what_held() -> None:
    """A topic that does not say itself has the cluster's word, a producer what Kafka derives from the others."""
    made = spec((10, "set orders min.insync.replicas 1"), (10, "set p linger.ms 7"), until_s=12)
    orders = msgspec.structs.replace(made.topics[0], config={})
    flight = flown(msgspec.structs.replace(made, topics=(orders,), config={**made.config, "min.insync.replicas": 2}))
    assert {one.key: one.before for one in flight.all(e.SettingChanged)} == {
        "min.insync.replicas": "2",
        "linger.ms": "5",
    }


# --- producers, brokers, topics ---------------------------------------------------------------------------------------


def test_a_rate_changes_at_once_and_is_put_back() -> None:
    flight = flown(spec((10, "set p rate 100/s for 10s"), until_s=30, rate=10.0))
    produced = [
        sum(sent.records.values()) for sent in flight.all(e.ProduceSent) if 10.5 < sent.at_us / SECOND_US < 19.5
    ]
    assert sum(produced) == pytest.approx(900, abs=20)
    produced = [
        sum(sent.records.values()) for sent in flight.all(e.ProduceSent) if 20.5 < sent.at_us / SECOND_US < 29.5
    ]
    assert sum(produced) == pytest.approx(90, abs=3)
    assert flight.simulation.view.producers["p-1"].rate_per_second == 10.0


def test_linger_changes_at_once_and_batch_size_at_the_next_start() -> None:
    steps = ((10, "set p linger.ms 1000"), (10, "set p batch.size 2200"), (20, "restart p-1"))
    flight = flown(spec(*steps, until_s=30, rate=100.0))
    sizes = [added.count for added in flight.all(e.RecordsAppended, 12 * SECOND_US, producer="p-1")]
    before = [count for count in sizes if count > 2]
    late = [added.count for added in flight.all(e.RecordsAppended, 22 * SECOND_US, producer="p-1")]
    assert max(before) > 10
    assert max(late) == 2


def test_a_topics_min_insync_replicas_refuses_the_next_batch() -> None:
    steps = ((5, "kill broker-3"), (20, "set orders min.insync.replicas 3"))
    flight = flown(spec(*steps, until_s=30))
    errors = {retried.error for retried in flight.all(e.BatchRetried, 21 * SECOND_US)}
    assert errors == {"NOT_ENOUGH_REPLICAS"}
    assert flight.simulation.view.topics["orders"].min_insync_replicas == 3


def test_the_initial_delay_of_the_next_empty_group_is_the_new_one() -> None:
    steps = ((5, "set cluster group.initial.rebalance.delay.ms 500"), (6, "stop g-1"), (10, "start g-1"))
    flight = flown(spec(*steps, until_s=20))
    began, closed = flight.all(e.RebalanceStarted, 10 * SECOND_US), flight.all(e.JoinBarrierCompleted, 10 * SECOND_US)
    assert closed[0].at_us - began[0].at_us == 500 * MS


# --- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("set g session.timout.ms 1", "unknown consumer configuration key session.timout.ms"),
        ("set g heartbeat.interval.ms 50000", "must be below session.timeout.ms"),
        ("set g session.timeout.ms soon", "is a whole number of ms"),
        ("set g linger.ms 5", "linger.ms is a producer key, not a consumer key"),
        ("set p per_record 5ms", "per_record is a field of a group or a member, and p is a producer"),
        ("set cluster offsets.topic.num.partitions 7", "is only read when the cluster is built"),
        ("set broker-1 log.roll.hours 7", "is only read when the cluster is built"),
        ("set orders flush.messages 7", "is only read when the cluster is built"),
        ("set orders partitions 7", "is only read when the flight begins (in flight: add partitions TOPIC to N)"),
        ("set g stagger 7s", "stagger is only read when the flight begins"),
        ("set g members 100000000", "100000000 is above 2000"),
        ("seek g orders-0 to 5", "no member of g holds orders-0 now"),
    ],
)
def test_what_cannot_be_set_is_refused_with_the_reason_and_changes_nothing(command: str, reason: str) -> None:
    flight = flown(spec((1, command), until_s=2))
    (said,) = refused(flight)
    assert reason in said
    assert not flight.all(e.SettingChanged)
    assert flight.simulation.spec == spec((1, command), until_s=2)


def test_the_tables_know_every_key_that_is_marked() -> None:
    assert tuple(BROKER_SETTERS) == SET_IN_FLIGHT["broker"]
    assert tuple(TOPIC_SETTERS) == SET_IN_FLIGHT["topic"]
    marked = {(key.scope, key.name) for key in CONFIG_KEYS if key.in_flight and key.scope in SET_IN_FLIGHT}
    assert marked == {(scope, name) for scope, names in SET_IN_FLIGHT.items() for name in names}


@pytest.mark.parametrize("scope", ["consumer", "producer"])
def test_a_client_that_was_configured_in_flight_is_one_that_was_made_so(scope: Scope) -> None:
    values = {
        "session.timeout.ms": 8_000, "heartbeat.interval.ms": 1_500, "max.poll.interval.ms": 9_000,
        "max.poll.records": 7, "fetch.max.wait.ms": 70, "fetch.max.bytes": 7_000, "max.partition.fetch.bytes": 700,
        "auto.commit.interval.ms": 700, "request.timeout.ms": 7_000, "retry.backoff.ms": 70,
        "retry.backoff.max.ms": 700, "linger.ms": 7, "delivery.timeout.ms": 70_000, "max.request.size": 7_000,
        "auto.offset.reset": "earliest",
    }  # fmt: skip
    keys = [key for key in in_flight_keys(scope) if key in values]
    name = {"consumer": "g", "producer": "p"}[scope]
    steps = tuple((1.0, f"set {name} {key} {values[key]}") for key in keys)
    changed = flown(spec(*steps, until_s=2)).simulation
    made = flown(configured(spec(until_s=2), scope, {key: values[key] for key in keys})).simulation
    if scope == "consumer":
        reads = [(each.consumers["g-1"], each.consumers["g-1"].fetcher) for each in (changed, made)]
    else:
        reads = [
            (each.producers["p-1"], each.producers["p-1"].sender, each.producers["p-1"].accumulator)  # type: ignore[misc]
            for each in (changed, made)
        ]
    ends = ("timeout_us", "backoff_us", "max_us", "interval_us", "linger_us", "_delivery_us", "_size", "_bytes", "_ms")
    for now, fresh in zip(*reads, strict=True):
        wanted = {name: value for name, value in vars(fresh).items() if name.endswith(ends) and name != "free_bytes"}
        assert wanted
        assert {name: vars(now)[name] for name in wanted} == wanted
    assert reads[0][0].config == reads[1][0].config


def configured(scenario: ScenarioSpec, scope: str, config: dict[str, object]) -> ScenarioSpec:
    """The scenario with these keys for its group or producer."""
    kind = {"consumer": "groups", "producer": "producers"}[scope]
    (thing,) = getattr(scenario, kind)
    changed = msgspec.structs.replace(thing, config=thing.config | config)
    return msgspec.structs.replace(scenario, **{kind: (changed,)})


# --- seek -------------------------------------------------------------------------------------------------------------


def test_whoever_holds_the_partition_reads_on_from_there() -> None:
    consumer: dict[str, Value] = {"max.poll.records": 5}
    step = (10, "seek g orders-0 to 3")
    flight = flown(spec(step, until_s=20, members=2, rate=40.0, consumer=consumer, commit="after-each-poll"))
    (reset,) = flight.all(e.PositionsReset, 9 * SECOND_US)
    assert (reset.reason, reset.positions) == ("seek", {"orders-0": 3})
    after = next(poll for poll in flight.all(e.PollReturned, 10 * SECOND_US) if "orders-0" in poll.positions)
    assert after.member == reset.member
    assert flight.document["delivery"]["duplicated"] > 10
    committed = [one.offsets["orders-0"] for one in flight.all(e.OffsetsCommitted) if "orders-0" in one.offsets]
    assert any(later < earlier for earlier, later in pairwise(committed)), "the group never went back"


def test_a_seek_forward_loses_what_it_skips_once_that_is_committed() -> None:
    consumer: dict[str, Value] = {"auto.offset.reset": "earliest", "max.poll.records": 1}
    steps = ((2, "stall g-1 for 10s"), (3, "seek g orders-0 to 30"))
    made = spec(*steps, until_s=40, consumer=consumer, commit="after-each-poll", initial_delay_ms=0)
    flight = flown(made)
    (reset,) = flight.all(e.PositionsReset, 2 * SECOND_US)
    done = flight.all(e.RecordsProcessed, partition="orders-0")
    read = max((one.next_offset for one in done if one.seq < reset.seq), default=0)
    assert flight.document["delivery"]["lost"] == 30 - read
    assert flight.document["delivery"]["duplicated"] == 0
    assert lies(made) == []


@pytest.mark.parametrize(("policy", "lands"), [("earliest", "earliest"), ("latest", "latest")])
def test_a_seek_beyond_the_log_is_out_of_range_and_reset(policy: str, lands: str) -> None:
    flight = flown(spec((10, "seek g orders-0 to 1000000"), until_s=20, consumer={"auto.offset.reset": policy}))
    resets = [reset.reason for reset in flight.all(e.PositionsReset, 10 * SECOND_US)]
    assert resets == ["seek", lands]


def test_without_a_policy_a_seek_beyond_the_log_ends_the_process_with_kafkas_words() -> None:
    steps = ((8, "set g auto.offset.reset none"), (10, "seek g orders-0 to 1000000"))
    flight = flown(spec(*steps, until_s=20, consumer={"auto.offset.reset": "latest"}))
    (end,) = flight.all(e.MemberStopped)
    assert end.reason.startswith("OffsetOutOfRangeException: position 1000000 of orders-0 is not in the log")


# --- single members ---------------------------------------------------------------------------------------------------


def test_a_setting_of_one_member_is_that_members_alone() -> None:
    steps = (
        *((10, "set g-2 heartbeat.interval.ms 2000"), (20, "set g-2 assignors sticky,range"), (21, "restart g-2")),
        *((30, "set g heartbeat.interval.ms 500"), (32, "set g-1 session.timeout.ms 7s for 2s")),
    )
    scenario = spec(*steps, until_s=50, members=2)
    ranged = msgspec.structs.replace(scenario.groups[0], assignors=("range",))
    flight = flown(msgspec.structs.replace(scenario, groups=(ranged,)))
    changes = [(one.scope, one.value, one.before, one.processes) for one in flight.all(e.SettingChanged)]
    assert changes == [
        ("g-2", "2000", "1000", ("g-2",)),
        ("g-2", "sticky,range", "range", ("g-2",)),
        ("g", "500", "1000", ("g-1", "g-2")),
        ("g-1", "7000", "6000", ("g-1",)),
        ("g-1", "6000", "7000", ("g-1",)),
    ]
    offered = {name: tuple(one.name for one in each.assignors) for name, each in flight.simulation.consumers.items()}
    assert offered == {"g-1": ("range",), "g-2": ("sticky", "range")}
    for member, apart_us in (("g-1", 500 * MS), ("g-2", 2 * SECOND_US)):
        beats = [beat.at_us for beat in flight.all(e.HeartbeatAnswered, 36 * SECOND_US, member=member)]
        assert {after - before for before, after in pairwise(beats)} == {apart_us}


def test_a_member_begins_with_what_the_file_says_of_it() -> None:
    scenario = spec(until_s=20, members=2)
    own = MemberSpec("g-2", config={"session.timeout.ms": 9_000, "max.poll.records": 1}, per_record_us=2_000)
    group = msgspec.structs.replace(scenario.groups[0], own=(own,))
    flight = flown(msgspec.structs.replace(scenario, groups=(group,)))
    declared = {one.member: one.session_timeout_ms for one in flight.all(e.MemberDeclared)}
    assert declared == {"g-1": 6_000, "g-2": 9_000}
    assert {one.records for one in flight.all(e.PollReturned, member="g-2")} == {1}


# --- all of it told ---------------------------------------------------------------------------------------------------

STEPS = (
    (8.0, "set g session.timeout.ms 7000"),
    (9.0, "set g per_record 3ms for 9s"),
    (10.0, "set p rate 40/s"),
    (11.0, "set g auto.offset.reset earliest"),
    (12.0, "seek g orders-1 to 2"),
    (13.0, "seek g orders-0 to 999999"),
    (14.0, "set orders min.insync.replicas 2"),
    (15.0, "set g session.timeout.ms 7500 for 3s"),
    (20.0, "restart g-1"),
)


def test_the_truth_agrees_about_every_setting() -> None:
    assert lies(spec(*STEPS, until_s=40, members=2, commit="auto")) == []


def test_settings_from_outside_are_repeated_at_their_turn() -> None:
    def emitted(commands: list[tuple[int, str]]) -> list[e.Event]:
        scenario = spec(until_s=20)
        events: list[e.Event] = []
        simulation = Simulation(scenario, 1, sinks=[events.append])

        async def main() -> None:
            async with simulation.running():
                for at_us, text in commands:
                    await simulation.timeline.fly(at_us)
                    simulation.timeline.submit(parse(text))
                await simulation.timeline.fly(scenario.until_us)

        trio.run(main, clock=simulation.timeline)
        return events

    commands = [(int(at_s * SECOND_US), text) for at_s, text in STEPS]
    first, second = emitted(commands), emitted(commands)
    assert first == second
    assert sum(isinstance(event, e.SettingChanged) for event in first) >= 6


def given(scenario: ScenarioSpec, *commands: tuple[float, str]) -> Simulation:
    """Fly a scenario in which an operator gives commands that no step foretells."""
    simulation = Simulation(scenario, 1)

    async def main() -> None:
        async with simulation.running():
            for at_s, text in commands:
                await simulation.timeline.fly(int(at_s * SECOND_US))
                simulation.timeline.submit(parse(text))
            await simulation.timeline.fly(scenario.until_us)

    trio.run(main, clock=simulation.timeline)
    return simulation


@pytest.mark.parametrize("made_by", ["scale g to 2", "rollout deployment g"])
def test_a_member_that_an_operator_added_is_set_like_one_that_is_declared(made_by: str) -> None:
    added = (10, made_by), (20, "set g-2 max.poll.records 7 for 5s"), (21, "set g-2 session.timeout.ms 9000")
    for until_s, most in ((24, 7), (30, 500)):
        consumers = given(spec(until_s=until_s), *added, (22, "restart g-2")).consumers
        config = consumers["g-2"].config
        assert (config.max_poll_records, config.session_timeout_ms) == (most, 9_000)
        assert {consumers[name].config.session_timeout_ms for name in consumers if name != "g-2"} == {6_000}

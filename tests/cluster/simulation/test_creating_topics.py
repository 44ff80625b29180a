"""Topics that are created in flight: who learns of them when, and what happens without a live replica."""

import itertools

import msgspec
import pytest

from cluster import events as e
from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import ScenarioErrors, parse_scenario
from tests.support.completed_flight import flown
from tests.support.random_flights import lies

SECOND_US = 1_000_000
TEXT = """
title = "t"
module = "groups"
lesson = "l"
until = "60s"
[cluster]
brokers = 3
[[topic]]
name = "orders"
partitions = 2
[[topic]]
name = "late"
partitions = 3
created = "20s"
[[producer]]
name = "p"
topics = ["orders"]
rate = "10/s"
[[producer]]
name = "q"
topics = ["late"]
rate = "10/s"
start = "30s"
[[group]]
name = "g"
topic_regex = ".*"
members = 2
config = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest" }
"""


def spec(*steps: tuple[str, str]) -> ScenarioSpec:
    return parse_scenario(TEXT + "".join(f'[[at]]\ntime = "{at}"\ndo = "{do}"\n' for at, do in steps), "t.toml").spec


def test_the_view_is_the_truth_before_and_after_a_topic_is_created() -> None:
    assert lies(spec(("40s", "add partitions late to 4"))) == []


def test_a_topic_is_led_produced_to_and_read() -> None:
    flight = flown(spec())
    created = [fact for fact in flight.all(e.TopicCreated) if fact.at_us]
    assert [(fact.topic, fact.at_us) for fact in created] == [("late", 20 * SECOND_US)]
    led = [fact.partition for fact in flight.all(e.LeaderElected) if fact.reason == "created" and fact.at_us]
    assert led == ["late-0", "late-1", "late-2"]
    counts = flight.document["delivery"]["by_group"]["g"]
    assert counts["lost"] == counts["skipped"] == 0
    assert counts["delivered"] + counts["unread"] == counts["appended"] > 850


def test_an_administrator_tries_again_until_a_replica_of_each_partition_lives() -> None:
    kills = [("19s", f"kill broker-{number} for 10s") for number in (1, 2, 3)]
    (created,) = [fact for fact in flown(spec(*kills)).all(e.TopicCreated) if fact.at_us]
    assert created.at_us > 29 * SECOND_US


def test_a_command_on_a_topic_that_is_not_there_yet_is_refused() -> None:
    flight = flown(spec(("10s", "add partitions late to 4"), ("11s", "delete records late-0 before 1")))
    assert [fact.at_us // SECOND_US for fact in flight.all(e.CommandRefused)] == [10, 11]


# --- by a command, as kafka-topics.sh --create does ------------------------------------------------------------------

CREATE = "create topic returns partitions 4 replicas 2"
SMALL = """
title = "t"
until = "8s"
[cluster]
brokers = 3
config = { "offsets.topic.num.partitions" = 2, "group.initial.rebalance.delay.ms" = 0 }
[[producer]]
name = "w"
topics = ["returns"]
start = "2s"
rate = "20/s"
limit = 40
[[group]]
name = "g"
topics = ["returns"]
start = "2s"
config = { "auto.offset.reset" = "earliest", "metadata.max.age.ms" = "1s" }
"""


def small(*steps: tuple[str, str], create: str = CREATE) -> ScenarioSpec:
    """A topic that a step creates at 2 s, with a producer and a group that begin then."""
    given = [("2s", create), *steps]
    return parse_scenario(SMALL + "".join(f'[[at]]\ntime = "{at}"\ndo = "{do}"\n' for at, do in given), "t.toml").spec


def refusals(*steps: tuple[str, str]) -> list[str]:
    return [refused.reason for refused in flown(small(*steps)).all(e.CommandRefused)]


def test_a_created_topic_is_written_read_and_seen_as_it_is() -> None:
    made = small(("3s", "add partitions returns to 5"), create=f"{CREATE} config retention.ms=60000")
    assert lies(made) == []
    flight = flown(made)
    (created,) = flight.all(e.TopicCreated, topic="returns")
    assert (created.at_us, created.partitions, created.replication_factor) == (2 * SECOND_US, 4, 2)
    (setting,) = flight.all(e.SettingChanged)
    assert (setting.scope, setting.key, setting.value) == ("returns", "retention.ms", "60000")
    assert sum(fact.count for fact in flight.all(e.RecordsAppended) if fact.partition.startswith("returns-")) == 40
    assert flight.document["delivery"]["by_group"]["g"]["delivered"] == 40


def test_its_minimum_of_in_sync_replicas_counts_up_to_its_replication_factor() -> None:
    for least, counted in ((2, 2), (3, 2)):
        flight = flown(small(create=f"{CREATE} config min.insync.replicas={least}"))
        assert flight.simulation.view.topics["returns"].min_insync_replicas == counted


def test_its_size_is_the_brokers_default() -> None:
    text = SMALL.replace("config = {", 'config = { "num.partitions" = 5, "default.replication.factor" = 2,', 1)
    made = parse_scenario(f'{text}[[at]]\ntime = "2s"\ndo = "create topic returns"\n', "t.toml")
    (created,) = flown(made.spec).all(e.TopicCreated, topic="returns")
    assert (created.partitions, created.replication_factor) == (5, 2)
    assert [note for note in made.notes if "num.partitions" in str(note)] == []


def test_the_controller_refuses_what_kafka_refuses() -> None:
    steps = (
        ("3s", CREATE),
        ("3s", CREATE.replace("returns", "returns if not exists")),
        ("4s", "create topic __consumer_offsets"),
        ("4s", "create topic __consumer.offsets"),
        ("4s", "create topic wide replicas 4"),
    )
    said = refusals(*steps)
    assert [reason.partition(":")[0] for reason in said] == [
        "TOPIC_ALREADY_EXISTS", "TOPIC_ALREADY_EXISTS", "INVALID_TOPIC_EXCEPTION", "INVALID_REPLICATION_FACTOR"
    ]  # fmt: skip
    assert said[0].endswith("Topic 'returns' already exists.")
    assert "collides with existing topic: __consumer_offsets" in said[2]
    assert "Unable to replicate the partition 4 time(s)" in said[3]


def test_a_fenced_broker_leads_nothing_new_and_is_a_replica_where_the_others_do_not_suffice() -> None:
    steps = ("3s", "stop broker-2"), ("7s", "create topic two partitions 3 replicas 2")
    flight = flown(small(*steps, ("7s", "create topic three partitions 3 replicas 3")))
    placed = {fact.partition: fact for fact in flight.all(e.LeaderElected, reason="created")}
    for number in range(3):
        assert sorted(placed[f"two-{number}"].replicas) == [1, 3]
        full = placed[f"three-{number}"]
        assert full.replicas[-1] == 2
        assert sorted(full.isr) == [1, 3]
    assert {placed[f"two-{number}"].leader for number in range(3)} == {1, 3}


def test_added_partitions_of_it_are_placed_as_the_first_ones() -> None:
    """By the controller, on brokers that are not fenced. Source: `ReplicationControlManager.createPartitions`."""
    steps = ("3s", "stop broker-2"), ("7s", "add partitions returns to 8")
    flight = flown(small(*steps))
    placed = {fact.partition: fact.replicas for fact in flight.all(e.LeaderElected, reason="created") if fact.at_us}
    assert [placed[f"returns-{number}"] for number in range(4)] == [(3, 1), (1, 2), (2, 3), (3, 1)]
    assert {tuple(sorted(placed[f"returns-{number}"])) for number in range(4, 8)} == {(1, 3)}
    (setting,) = flown(small(create=f"{CREATE} config retention.ms=60000")).all(e.SettingChanged)
    (created, *_) = flight.all(e.TopicCreated, topic="returns")
    assert setting.seq == created.seq + 1  # Kafka writes ConfigRecords before PartitionRecords


def test_without_a_broker_nothing_is_created() -> None:
    kills = [("1s", f"kill broker-{number}") for number in (1, 2, 3)]
    assert refusals(*kills) == ["there is no active controller"]


def test_a_declared_topic_that_a_command_creates_first_is_not_created_again() -> None:
    text = SMALL.replace("[[producer]]", '[[topic]]\nname = "returns"\ncreated = "2s"\n[[producer]]')
    step = '[[at]]\ntime = "1s"\ndo = "create topic returns partitions 2"\n'
    (created,) = flown(parse_scenario(text + step, "t.toml").spec).all(e.TopicCreated, topic="returns")
    assert (created.at_us, created.partitions) == (SECOND_US, 2)


def test_a_send_waits_for_a_topic_that_is_not_there_yet() -> None:
    """A producer may start before its topic: the file's creation waits for brokers. Source: `waitOnMetadata`."""
    made = small()
    (writer,) = made.producers
    writer = msgspec.structs.replace(writer, start_us=0, config={"max.block.ms": 1_500})
    flight = flown(msgspec.structs.replace(made, producers=(writer,)))
    assert [(one.at_us, one.waited_for) for one in flight.all(e.SendRefused)] == [(1_500_000, "metadata")]
    assert sum(fact.count for fact in flight.all(e.RecordsAppended) if fact.partition.startswith("returns-")) == 40 - 1


TWO = """
title = "t"
until = "8s"
[cluster]
brokers = 3
[[topic]]
name = "orders"
[[topic]]
name = "returns"
created = "4s"
[[producer]]
name = "w"
topics = ["orders", "returns"]
start = "4s"
rate = "20/s"
[producer.config]
"max.block.ms" = 1000
"""


def early(*topics: str, steps: str = "") -> ScenarioSpec:
    """A producer that starts at 1 s, before one of its topics is there, which a file does not allow."""
    made = parse_scenario(TWO + steps, "t.toml").spec
    (writer,) = made.producers
    return msgspec.structs.replace(
        made, producers=(msgspec.structs.replace(writer, topics=topics, start_us=SECOND_US),)
    )


def test_a_send_waits_for_the_topic_of_its_record_alone() -> None:
    """The application thread: 20 records a second, every other one to a topic that is created at 4 s."""
    made = early("orders", "returns")
    flight = flown(made)
    appended = flight.all(e.RecordsAppended)
    assert {fact.partition.rpartition("-")[0] for fact in appended if fact.at_us < 4 * SECOND_US} == {"orders"}
    assert min(fact.at_us for fact in appended) < SECOND_US * 1.2
    refused = flight.all(e.SendRefused)
    assert {(one.topic, one.waited_for, one.error) for one in refused} == {("returns", "metadata", "TimeoutException")}
    waits = [later.at_us - one.at_us for one, later in itertools.pairwise(refused)]
    assert len(refused) >= 2
    assert set(waits) == {SECOND_US}  # the next record to `returns` has arrived long ago
    sent = sum(fact.count for fact in appended)
    assert sent + len(refused) == 7 * 20  # none waits any more
    assert lies(made) == []


def test_a_producer_whose_send_waits_for_a_topic_can_be_closed() -> None:
    """Kafka's close() ends the wait: "Producer closed while send in progress" (`KafkaProducer.doSend`)."""
    stop = '[[at]]\ntime = "2500ms"\ndo = "stop w-1"\n'
    for topics in (("orders", "returns"), ("returns",)):
        made = early(*topics, steps=stop)
        flight = flown(made)
        (stopped,) = [one for one in flight.all(e.ProducerStateChanged) if one.state == "Stopped"]
        assert 0 <= stopped.at_us - 2_500_000 < 250_000
        last = flight.all(e.SendRefused)[-1]
        assert (last.at_us, last.topic, last.error) == (2_500_000, "returns", "KafkaException")
        assert lies(made) == []


def test_a_producer_id_needs_no_topic() -> None:
    """InitProducerId goes to any broker as soon as the thread runs (`Sender.maybeSendAndPollTransactionalRequest`)."""
    flight = flown(early("returns"))
    (identified,) = flight.all(e.ProducerIdAssigned)
    assert identified.at_us < 1.2 * SECOND_US


def test_a_group_of_which_no_topic_matches_yet_is_seen_as_it_is() -> None:
    """Its epoch is the first one until a search finds a topic: no record says so, and no event of its own."""
    group = 'name = "g"\ntopics = ["returns"]\nstart = "2s"\nconfig = { '
    text = SMALL.replace(group, 'name = "g"\ntopic_regex = "ret.*"\nconfig = { "group.protocol" = "consumer", ')
    text = text.replace('"8s"', '"24s"') + f'[[at]]\ntime = "2s"\ndo = "{CREATE}"\n'
    made = parse_scenario(text, "t.toml").spec
    assert lies(made) == []
    assert flown(made).document["groups"]["g"]["assignment"] == {"g-1": [f"returns-{number}" for number in range(4)]}


@pytest.mark.parametrize(
    ("do", "said"),
    [
        ("create topic re/turns", "one or more characters other than ASCII alphanumerics"),
        ("create topic ..", "'..' is not allowed"),
        (f"create topic {'x' * 250}", "is longer than the max allowed length 249"),
        ("create topic g", "g is already the name of a group"),
        ("create topic w-1", "w-1 is already the name of a process"),
        ("create topic cluster", "cluster is a reserved word"),
        ("create topic x partitions 0", "not a whole number of at least 1"),
        ("create topic x partitions 60000", "partitions: 60,004 are too many: at most 50,000"),
        ("create topic x config retention.mss=1", "(did you mean retention.ms?)"),
        ("create topic x config retention.ms=soon", "retention.ms"),
        ("create topic x config retention.ms", "retention.ms lacks its value: write KEY=VALUE without blanks"),
    ],
)
def test_what_no_topic_can_be_is_an_error_of_the_file(do: str, said: str) -> None:
    with pytest.raises(ScenarioErrors) as errors:
        small(("3s", do))
    assert said in str(errors.value)

"""Applications that write: one record for each input, with its identity; what crashes do to the output."""

import msgspec
import pytest

from cluster import events as e
from cluster.spec import CommitPolicy, TopicSpec
from tests.support.completed_flight import flown
from tests.support.random_flights import fly, lies
from tests.support.scenario_builders import SECOND_US, writing


@pytest.mark.parametrize("keyed", [True, False])
def test_each_input_is_written_once_with_its_identity(keyed: bool) -> None:
    flight = flown(writing(keyed=keyed))
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert (audit["delivered"], audit["duplicated"], audit["lost"], audit["unread"]) == (200, 0, 0, 0)
    written = flight.document["producers"]["g-1"]
    assert (written["state"], written["acked"], written["failed"]) == ("Running", 200, 0)
    assert audit["out_of_order_keys"] == 0


def test_outputs_are_safe_before_their_inputs_are_committed() -> None:
    flight = flown(writing())
    written = flight.all(e.BatchAcknowledged, producer="g-1")
    assert written
    finished = processed = 0
    for commit in flight.all(e.OffsetsCommitted, group="g"):
        finished = sum(commit.offsets.values())
        processed = sum(ack.records for ack in written if ack.seq < commit.seq)
        assert processed >= finished
    assert finished == processed == 200


def test_a_crash_between_writing_and_committing_leaves_second_copies() -> None:
    flight = flown(writing((8, "kill g-1 for 1s"), commit="never"))
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert audit["delivered"] == 200
    assert audit["duplicated"] > 50
    assert flight.document["topics"]["invoices"]["records"] == audit["delivered"] + audit["duplicated"]


@pytest.mark.parametrize(("commit", "complete"), [("auto", False), ("after-each-poll", True)])
def test_auto_commits_do_not_wait_for_what_was_written(commit: CommitPolicy, complete: bool) -> None:
    steps = (
        (1.0, "move coordinator of g"),  # away from broker-3, which leads invoices-1
        (4.0, "cut g-1 -> broker-3"),
        (14.0, "kill g-1"),
        (15, "heal"),
        (16, "start g-1"),
    )
    delivery = flown(writing(*steps, commit=commit, until_s=60, per_record_us=0)).document["delivery"]["by_group"]
    assert delivery["g"]["delivered"] == 200
    assert (delivery["audit"]["delivered"] == 200) is complete


def test_an_output_that_cannot_be_written_ends_the_application_with_the_reason() -> None:
    made = writing((5, "kill broker-1"), (5, "kill broker-3"), until_s=150)
    made = msgspec.structs.replace(
        made, topics=(made.topics[0], TopicSpec("invoices", 2, 2, {"min.insync.replicas": 2}))
    )
    flight = flown(made)
    ends = flight.all(e.MemberStopped, member="g-1")
    assert any("a record could not be written to invoices: " in end.reason for end in ends)


def test_a_clean_stop_flushes_and_a_kill_does_not() -> None:
    flight = flown(writing((8, "stop g-1")))
    assert flight.document["producers"]["g-1"]["state"] == "Stopped"
    assert flight.document["producers"]["g-1"]["failed"] == 0
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert audit["delivered"] == flight.document["delivery"]["by_group"]["g"]["delivered"]
    assert flown(writing((8, "kill g-1"))).document["producers"]["g-1"]["state"] == "Dead"


@pytest.mark.parametrize("commit", ["auto", "after-each-poll", "async", "before-processing", "never"])
def test_the_truth_agrees_about_what_is_written(commit: CommitPolicy) -> None:
    steps = (
        (5, "kill g-1 for 2s"),
        (7, "pause g-2 for 3s"),
        (9, "kill broker-2 for 5s"),
        (12, "restart g-1"),
        (14, "scale g to 3"),
    )
    assert lies(writing(*steps, commit=commit, members=2)) == []


def test_a_flight_of_writers_is_sound() -> None:
    fly(writing((6, "kill g-1 for 4s"), members=2, until_s=45), 1).check()


def test_a_frozen_member_writes_nothing() -> None:
    flight = flown(writing((5, "pause g-1 for 4s")))
    sent = [one.at_us for one in flight.all(e.ProduceSent, producer="g-1")]
    assert not [at_us for at_us in sent if 5.01 * SECOND_US < at_us < 9 * SECOND_US]
    assert [at_us for at_us in sent if at_us > 9 * SECOND_US]

"""Several outputs, fan-out and filters: the records that are written for an input, their identities, their counts."""

from collections import Counter

import msgspec
import pytest

from cluster.clients.application.outputs import Outputs, input_partition
from cluster.spec import ApplicationSpec, CommitPolicy, OutputSpec, ScenarioSpec, TopicSpec
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import moving, writing
from tests.support.unpacked_logs import batches_of

LINES, SOME = OutputSpec("invoices", records=3), OutputSpec("side", share=0.25, records=2)
KILLS = ((6.0, "kill g-1 for 1s"), (9.0, "kill g-1 for 1s"))


def with_outputs(made: ScenarioSpec, *outputs: OutputSpec) -> ScenarioSpec:
    """The same scenario, whose first group writes these; its reader reads all of them."""
    first, audit = made.groups
    application = msgspec.structs.replace(first.application, writes=None, outputs=outputs)
    return msgspec.structs.replace(
        made,
        topics=(*made.topics, TopicSpec("side")),
        groups=(
            msgspec.structs.replace(first, application=application),
            msgspec.structs.replace(audit, topics=tuple(output.topic for output in outputs)),
        ),
    )


def in_the_log(flight: Flown, topic: str) -> Counter[tuple[str, int, str, int]]:
    """How often each record (input's producer, input's serial and partition, number of the copy) was written.

    Read from a leader's log, by the text of the identities.
    """
    found: Counter[tuple[str, int, str, int]] = Counter()
    partitions = [name for name in flight.simulation.view.partitions if name.rpartition("-")[0] == topic]
    brokers = flight.simulation.brokers.values()
    for name in partitions:
        replica = next(
            each.replicas[name] for each in brokers if name in each.replicas and each.replicas[name].is_leader
        )
        for batch in batches_of(replica.log):
            for producer, source, serial, count in batch.origins:
                partition, _, number = source.partition("#")
                found.update((producer, serial + each, partition, int(number or 0)) for each in range(count))
    return found


# --- identities -------------------------------------------------------------------------------------------------------


def test_each_record_for_an_input_has_its_own_identity() -> None:
    outputs = Outputs((LINES, OutputSpec("side")), seed=1, group="g")
    assert outputs.of(("p-1", "orders-0", 7, 1)) == [
        ("invoices", ("p-1", "orders-0#0", 7, 1)),
        ("invoices", ("p-1", "orders-0#1", 7, 1)),
        ("invoices", ("p-1", "orders-0#2", 7, 1)),
        ("side", ("p-1", "orders-0#3", 7, 1)),
    ]


def test_a_fan_out_of_a_fan_out_has_identities_of_its_own_and_the_same_input() -> None:
    first, second = (Outputs((LINES,), seed=1, group=group) for group in ("g", "h"))
    twice = [again for _, once in first.of(("p-1", "orders-0", 7, 1)) for _, again in second.of(once)]
    assert len(set(twice)) == 9
    assert {input_partition(partition) for _, partition, _, _ in twice} == {"orders-0"}


def test_one_record_for_an_input_is_that_input() -> None:
    for output in (OutputSpec("side"), OutputSpec("side", share=0.999)):
        assert Outputs((output,), seed=1, group="g").of(("p-1", "orders-0", 7, 1)) == [
            ("side", ("p-1", "orders-0", 7, 1))
        ]


def test_a_share_is_drawn_by_the_input_and_by_nothing_else() -> None:
    inputs = [(f"p-{number % 3}", f"orders-{number % 4}", number, 1) for number in range(10_000)]
    once, again = (Outputs((OutputSpec("side", 0.1),), seed=4, group="g") for _ in range(2))
    chosen = [each for each in inputs if once.of(each)]
    assert 850 < len(chosen) < 1_150
    assert [each for each in reversed(inputs) if again.of(each)] == chosen[::-1]
    for other in (Outputs((OutputSpec("side", 0.1),), 5, "g"), Outputs((OutputSpec("side", 0.1),), 4, "h")):
        assert [each for each in inputs if other.of(each)] != chosen


# --- flights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keyed", [True, False])
def test_every_input_gives_all_of_its_records_and_the_same_inputs_pass_the_filter(keyed: bool) -> None:
    flight = flown(with_outputs(writing(keyed=keyed), LINES, SOME))
    lines, some = in_the_log(flight, "invoices"), in_the_log(flight, "side")
    inputs = {each[:3] for each in lines}
    assert len(inputs) == 200
    assert lines == Counter((*each, number) for each in inputs for number in range(3))
    passed = {each[:3] for each in some}
    assert 25 < len(passed) < 80
    assert some == Counter((*each, number) for each in passed for number in (3, 4))
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert (audit["delivered"], audit["duplicated"]) == (600 + 2 * len(passed), 0)
    assert audit["out_of_order_keys"] == 0


def test_a_crash_before_the_commit_writes_every_record_of_an_input_again_and_no_other_input_passes() -> None:
    calm = in_the_log(flown(with_outputs(writing(commit="never"), LINES, SOME)), "side")
    flight = flown(with_outputs(writing(*KILLS, commit="never"), LINES, SOME))
    lines, some = in_the_log(flight, "invoices"), in_the_log(flight, "side")
    assert set(some) == set(calm)
    again = sum(count - 1 for count in (*lines.values(), *some.values()))
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert again > 100
    assert (audit["duplicated"], audit["delivered"]) == (again, len(lines) + len(some))


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_holds_every_record_of_its_inputs(version: int) -> None:
    flight = flown(with_outputs(moving(*KILLS, version=version, until_s=60), LINES, OutputSpec("side", records=2)))
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert (audit["delivered"] + audit["delivered_unacknowledged"], audit["duplicated"]) == (1_000, 0)
    assert flight.document["topics"]["invoices"]["records"] > 600  # those of the aborted ones stay in the log


def test_records_of_one_identity_would_count_as_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The break that the counts must show."""
    monkeypatch.setattr(Outputs, "_name", lambda _, partition, __: partition)
    audit = flown(with_outputs(writing(), LINES)).document["delivery"]["by_group"]["audit"]
    assert (audit["delivered"], audit["duplicated"]) == (200, 400)


@pytest.mark.parametrize("commit", ["auto", "after-each-poll", "never"])
def test_the_truth_agrees_about_several_outputs(commit: CommitPolicy) -> None:
    steps = ((5, "kill g-1 for 2s"), (7, "pause g-2 for 3s"), (9, "kill broker-2 for 5s"), (12, "restart g-1"))
    assert lies(with_outputs(writing(*steps, commit=commit, members=2), LINES, SOME)) == []


def test_the_truth_agrees_where_partitions_are_added_to_what_was_fanned_out() -> None:
    made = with_outputs(writing((6, "add partitions orders to 4"), (8, "add partitions invoices to 5")), LINES)
    assert lies(made) == []


def test_a_full_buffer_holds_a_fan_out_up_and_loses_none_of_it() -> None:
    made = with_outputs(writing(), LINES, OutputSpec("side"))
    first, audit = made.groups
    config = {"batch.size": 1_100, "buffer.memory": 2_200}
    application: ApplicationSpec = msgspec.structs.replace(first.application, producer=config)
    made = msgspec.structs.replace(made, groups=(msgspec.structs.replace(first, application=application), audit))
    delivery = flown(made).document["delivery"]["by_group"]["audit"]
    assert (delivery["delivered"], delivery["duplicated"]) == (800, 0)

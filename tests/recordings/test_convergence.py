"""What a healed cluster must show of delivery: as strict as every topic that a group read allows."""

import pytest

from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec, StepSpec, TopicSpec
from recordings.convergence import converged

EARLIEST: dict[str, Value] = {"auto.offset.reset": "earliest"}
LOSSLESS = 'delivery.by_group["g"].lost == 0'


def spec(*commands: str, acks: str = "all", config: dict[str, Value] = EARLIEST) -> ScenarioSpec:
    """A group that reads one topic of two; a producer with these acks writes to the other."""
    parsed = [parse(text) for text in commands]
    return ScenarioSpec(
        title="healed",
        until_us=60_000_000,
        topics=(TopicSpec("read"), TopicSpec("other")),
        producers=(ProducerSpec("p", ("read",)), ProducerSpec("q", ("other",), config={"acks": acks})),
        groups=(GroupSpec("g", ("read",), config=config),),
        steps=tuple(StepSpec(10_000_000, command, text_of(command)) for command in parsed),
    )


@pytest.mark.parametrize("acks", ["0", "1"])
def test_what_a_careless_producer_loses_counts_also_in_a_topic_that_was_read_for_a_while(acks: str) -> None:
    """Seed 7341839 once said that acknowledged records were lost: sent with acks=0, to a topic of a subscription."""
    assert LOSSLESS in converged(spec(acks=acks))
    assert LOSSLESS in converged(spec("subscribe g-1 to read,other"))
    assert LOSSLESS not in converged(spec("subscribe g-1 to read,other", "subscribe g-1 to read", acks=acks))


def test_an_unclean_election_counts_also_in_a_topic_that_was_read_for_a_while() -> None:
    assert LOSSLESS in converged(spec("elect unclean other-0"))
    assert LOSSLESS not in converged(spec("subscribe g-1 to other", "elect unclean other-0"))


def test_deleted_records_are_no_loss_to_who_goes_on_at_the_beginning() -> None:
    assert LOSSLESS in converged(spec("delete records read-0 before 5"))
    assert LOSSLESS not in converged(spec("delete records read-0 before 5", config={}))

"""Each comparer finds what was falsified: in a real trace, beside the flight that agrees with it."""

from collections.abc import Callable, Sequence

import pytest

from tests.fidelity.comparing import Difference, compare
from tests.fidelity.comparisons import simulated_facts, traces
from tests.fidelity.differences import Entry, complaints, recounted
from tests.fidelity.normalisation import Fact

pytestmark = pytest.mark.xdist_group("fidelity")

AGREEING = "4.1.0/s03x-close"
Falsify = Callable[[Fact], Fact | None]


def found_in(falsify: Falsify) -> Sequence[Difference]:
    """The differences of a trace that agrees, after its facts went through `falsify` (None: the fact is gone)."""
    falsified = [fact for fact in map(falsify, traces()[AGREEING].facts) if fact is not None]
    assert falsified != list(traces()[AGREEING].facts), "nothing was falsified"
    return compare(falsified, simulated_facts(AGREEING)).differences


def sides(differences: Sequence[Difference]) -> list[tuple[str, str]]:
    return sorted((each.comparer, each.side) for each in differences)


def test_the_trace_agrees_before_it_is_falsified() -> None:
    assert compare(traces()[AGREEING].facts, simulated_facts(AGREEING)).differences == ()


def test_a_callback_with_another_partition_is_found() -> None:
    def falsify(fact: Fact) -> Fact:
        if fact.text == "assigned [s03x-0, s03x-1]" and fact.actor == "app g03x-1":
            return fact._replace(text="assigned [s03x-0, s03x-2]")
        return fact

    assert sides(found_in(falsify)) == [("members", "real"), ("members", "simulated")]


def test_a_callback_that_was_not_made_is_found() -> None:
    assert sides(
        found_in(lambda fact: None if fact.text.startswith("revoked") and "g03x-3" in fact.actor else fact)
    ) == [
        ("members", "simulated"),
        ("members", "simulated"),
    ]


def test_another_generation_is_found_at_member_and_coordinator() -> None:
    def falsify(fact: Fact) -> Fact:
        text = fact.text.replace("generationId=2", "generationId=9").replace("generation 2 with", "generation 9 with")
        return fact._replace(text=text)

    found = sides(found_in(falsify))
    assert ("members", "real") in found
    assert ("members", "simulated") in found
    assert ("coordinators", "real") in found


def test_a_coordinator_that_does_two_things_in_the_other_order_is_found() -> None:
    facts = list(traces()[AGREEING].facts)
    own = [index for index, fact in enumerate(facts) if fact.actor == "GroupCoordinator g03x"]
    first, second = own[4:6]
    facts[first], facts[second] = facts[second], facts[first]
    assert ("coordinators", "order") in sides(compare(facts, simulated_facts(AGREEING)).differences)


def test_a_missing_log_line_is_found() -> None:
    gone = sides(found_in(lambda fact: None if fact.text.startswith("Subscribed") and fact.actor == "g03x-2" else fact))
    assert gone == [("logs", "simulated")]


@pytest.mark.parametrize(
    "falsify",
    [
        lambda fact: fact._replace(level="WARN") if fact.text.startswith("Subscribed") else fact,
        lambda fact: fact._replace(logger="Consumer") if fact.text.startswith("Subscribed") else fact,
        lambda fact: fact._replace(text="Subscribed to nothing") if fact.text.startswith("Subscribed") else fact,
    ],
    ids=["level", "logger", "words"],
)
def test_a_log_line_with_another_level_logger_or_word_is_found(falsify: Falsify) -> None:
    assert sides(found_in(falsify)) == [("logs", "real")] * 3 + [("logs", "simulated")] * 3


@pytest.mark.parametrize(("late_ms", "is_found"), [(250, False), (1_500, True)])
def test_a_duration_beyond_its_tolerance_is_found(late_ms: int, is_found: bool) -> None:
    """Everything from the fifteenth second on happens later."""
    found = found_in(lambda fact: fact._replace(at_ms=fact.at_ms + late_ms) if fact.at_ms > 15_000 else fact)
    assert {each.side for each in found} == ({"duration"} if is_found else set())
    assert not is_found or {each.comparer for each in found} == {"members", "coordinators", "logs"}


def test_instants_that_are_all_late_are_no_difference() -> None:
    assert found_in(lambda fact: fact._replace(at_ms=fact.at_ms + 5_000)) == ()


# --- differences.toml ----------------------------------------------------------------------------------------------

ONE = Difference("logs", "real", Fact(1, "g-1", "INFO", "ConsumerCoordinator", "Skipped assignment"))
ENTRY = Entry("L2", "race", "real", "Skipped assignment", "why", {"4.1.0/a": 1})


def test_a_listed_difference_is_permitted() -> None:
    assert complaints("4.1.0/a", [ONE], [ENTRY]) == []


def test_a_difference_that_is_not_listed_is_a_complaint() -> None:
    other = Difference("logs", "real", Fact(1, "g-1", "INFO", "ConsumerCoordinator", "Something else"))
    assert complaints("4.1.0/a", [ONE, other], [ENTRY]) == [f"not listed: {other}"]


def test_a_listed_difference_that_does_not_occur_any_more_is_a_complaint() -> None:
    assert complaints("4.1.0/a", [], [ENTRY]) == ["L2 (real) should occur 1 times, and occurs 0"]


def test_a_listed_difference_that_occurs_in_another_trace_or_more_often_is_a_complaint() -> None:
    assert complaints("4.1.0/b", [ONE], [ENTRY]) == ["L2 (real) should occur 0 times, and occurs 1"]
    assert complaints("4.1.0/a", [ONE, ONE], [ENTRY]) == ["L2 (real) should occur 1 times, and occurs 2"]


def test_the_other_side_is_another_difference() -> None:
    simulated = Difference("logs", "simulated", ONE.fact)
    assert complaints("4.1.0/a", [simulated], [ENTRY])[0] == f"not listed: {simulated}"


def test_recounting_leaves_out_what_does_not_occur() -> None:
    gone = Entry("L3", "race", "real", "Failing OffsetCommit", "why", {"4.1.0/a": 7})
    again = recounted([ENTRY, gone], {"4.1.0/a": [ONE], "4.3.1/a": [ONE, ONE]})
    assert [(entry.id, entry.counts) for entry in again] == [("L2", {"4.1.0/a": 1, "4.3.1/a": 2})]

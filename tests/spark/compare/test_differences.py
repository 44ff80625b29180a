"""Which measures differ between two sets, in which words: on bills made by hand."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recordings.comparison.bill import Bill, ClusterBill, GroupBill, ProducerBill
from recordings.comparison.pairing import NotComparableError
from recordings.planning.ranking import totals
from recordings.spark.compare.compare_page import page, whiskers
from recordings.spark.compare.compared import Compared, ComparedPair, evidence, mean_amount, sentences, signed, typical
from recordings.spark.compare.differences import Differences, MeasureDifference, judge
from recordings.spark.compare.flight_sets import FlightSet, SetFlight, pair_sets


def bill(delivered: int = 100, producers: tuple[str, ...] = ("p-1",), **costs: int) -> Bill:
    return Bill(
        at_us=60_000_000,
        groups={"billing": msgspec.structs.replace(GroupBill(delivered=delivered), **costs)},
        producers={name: ProducerBill() for name in producers},
        cluster=ClusterBill(),
    )


def judged(*pairs: tuple[Bill, Bill]) -> Differences:
    return judge(dict(enumerate(pairs)))


def by_field(found: Differences) -> dict[str, MeasureDifference]:
    return {each.field: each for each in found.totals}


NOISE = [(seed * 7919) % 40 for seed in range(12)]  # what a seed alone is worth, in records


def test_a_small_change_is_seen_under_large_noise_because_flights_are_paired() -> None:
    pairs = [(bill(duplicated=100 + noise), bill(duplicated=104 + noise)) for noise in NOISE]
    found = by_field(judged(*pairs))["duplicated"]
    assert (found.difference, found.agreeing, found.differs) == (4, 12, True)
    shuffled = [(a, b) for (a, _), (_, b) in zip(pairs, pairs[5:] + pairs[:5], strict=True)]
    assert not by_field(judged(*shuffled))["duplicated"].differs, "a judge that pairs wrongly does not see it"


def test_noise_is_not_different() -> None:
    found = by_field(judged(*((bill(lost=noise), bill(lost=39 - noise)) for noise in NOISE)))
    assert not found["lost"].differs
    assert found["lost"].low is not None
    assert found["lost"].high is not None
    assert found["lost"].low < 0 < found["lost"].high


def test_what_is_equal_in_every_pair_is_named_and_not_judged() -> None:
    found = judged(*((bill(lost=3), bill(lost=3, rebalances=1)) for _ in range(8)))
    assert [each.field for each in found.totals] == ["rebalances"]
    assert "lost" in found.same
    assert "rebalances" not in found.same


def test_too_few_seeds_differ_only_if_every_one_agrees() -> None:
    agree = judged(*((bill(lost=1), bill(lost=seed)) for seed in (2, 3, 4)))
    one_against = judged(*((bill(lost=2), bill(lost=seed)) for seed in (1, 30, 40)))
    assert by_field(agree)["lost"].differs
    assert by_field(agree)["lost"].low is None
    assert not by_field(one_against)["lost"].differs


@pytest.mark.parametrize(
    ("a", "b", "field", "differs"),
    [
        (bill(duplicated=1000), bill(duplicated=1009), "duplicated", False),  # below a hundredth
        (bill(duplicated=1000), bill(duplicated=1011), "duplicated", True),
        (bill(), bill(stopped_member_us=99_000), "stopped_member_us", False),  # below a tenth of a second
        (bill(), bill(stopped_member_us=101_000), "stopped_member_us", True),
    ],
)
def test_what_is_too_small_to_matter_does_not_differ(a: Bill, b: Bill, field: str, differs: bool) -> None:
    assert by_field(judged(*((a, b) for _ in range(8))))[field].differs is differs


def test_a_group_that_reads_nothing_is_no_saving() -> None:
    """As in `diff`: else the way that does no work would win."""
    compared = made([(bill(duplicated=50), bill(delivered=0)) for _ in range(8)])
    assert compared.differences.totals == []
    assert sentences(compared)[0] == "cold saves only the work: billing reads nothing."


def test_payers_have_rows_of_their_own_where_there_are_several() -> None:
    two = ("p-1", "p-2")

    def with_retries(retries: int) -> Bill:
        made_by = bill(producers=two)
        return msgspec.structs.replace(made_by, producers=made_by.producers | {"p-2": ProducerBill(retries=retries)})

    found = judged(*((bill(producers=two), with_retries(seed)) for seed in range(1, 9)))
    assert [(each.name, each.field) for each in found.rows] == [("p-2", "retries")]
    assert by_field(found)["retries"].difference == 4.5


# --- words and pages --------------------------------------------------------------------------------------------------


def made(bills: list[tuple[Bill, Bill]], **more: object) -> Compared:
    pairs = [
        ComparedPair(
            scenario="s",
            scenario_b="s",
            seed=seed,
            a=f"warm/{seed}.flight",
            b=f"cold & new/{seed}.flight",
            until_us=a.at_us,
            shortened=False,
            measures_a=totals(a),
            measures_b=totals(b),
            warnings=[],
            failure=None,
        )
        for seed, (a, b) in enumerate(bills)
    ]
    compared = Compared(
        flightdeck="0", a="warm", b="cold", pairs=pairs, only_a=[], only_b=[], differences=judged(*bills), seconds=1
    )
    return msgspec.structs.replace(compared, **more)


BETTER = [(bill(lost=6, duplicated=noise), bill(lost=2, duplicated=40 - noise)) for noise in NOISE[:8]]


def test_the_answer_comes_in_words() -> None:
    assert sentences(made(BETTER)) == [
        "cold costs 4 fewer lost records a flight (−4 to −4), in 8 of 8 seeds.",
        "Not different at 99 % confidence over 8 seeds: duplicated.",
    ]
    assert sentences(made(BETTER[:1]))[-1].startswith("One pair of flights says nothing of chance")
    assert sentences(made([(bill(), bill())] * 8)) == ["warm and cold cost the same in every pair of flights."]
    noise = [(bill(lost=each), bill(lost=39 - each)) for each in NOISE]
    assert sentences(made(noise)) == ["warm and cold are not different at 99 % confidence over 12 seeds."]


def test_pairs_that_share_their_seeds_are_not_counted_as_seeds() -> None:
    """Two scenarios with four seeds each are eight pairs."""
    compared = made(BETTER)
    shared = [msgspec.structs.replace(pair, seed=number % 4) for number, pair in enumerate(compared.pairs)]
    assert sentences(msgspec.structs.replace(compared, pairs=shared)) == [
        "cold costs 4 fewer lost records a flight (−4 to −4), in 8 of 8 pairs.",
        "Not different at 99 % confidence over 8 pairs: duplicated.",
    ]
    few = made(BETTER[:2])
    shared = [msgspec.structs.replace(pair, seed=1) for pair in few.pairs]
    assert sentences(few)[-1] == "With fewer than 8 seeds a measure differs only if every seed agrees."
    found = sentences(msgspec.structs.replace(few, pairs=shared))
    assert found[-1] == "With fewer than 8 pairs a measure differs only if every pair agrees."


def test_sets_of_two_scenarios_are_named() -> None:
    compared = made(BETTER)
    pairs = [msgspec.structs.replace(pair, scenario_b="other") for pair in compared.pairs]
    found = sentences(msgspec.structs.replace(compared, pairs=pairs))
    assert found[-1] == "warm flies s, cold flies other: two scenarios."
    assert found[:-1] == sentences(compared)


def test_what_is_left_out_is_said() -> None:
    compared = made(BETTER, only_a=["warm/9.flight"])
    broken = [
        msgspec.structs.replace(compared.pairs[0], failure="damaged", measures_a={}, measures_b={}),
        msgspec.structs.replace(compared.pairs[1], shortened=True),
        *compared.pairs[2:],
    ]
    assert sentences(msgspec.structs.replace(compared, pairs=broken))[-3:] == [
        "1 flight of warm has no counterpart, and is left out.",
        "1 pair cannot be read, and counts in no measure.",
        "1 pair of flights: the longer one counts up to the end of the other.",
    ]


def test_every_sentence_has_at_most_twenty_words() -> None:
    worst = [(bill(), bill(lost=9, deleted=12_000, unread_partition_us=51_000_000, rebalances=4))] * 8
    for compared in (made(worst), made(worst[:3]), made(BETTER)):
        assert all(len(sentence.split()) <= 20 for sentence in sentences(compared)), sentences(compared)


def test_the_pair_nearest_to_the_mean_is_shown() -> None:
    compared = made([(bill(), bill(lost=lost)) for lost in (1, 2, 9, 16, 17, 8, 10, 9)])
    shown = typical(compared)
    assert shown is not None
    assert shown.seed == 2
    assert evidence(shown) == "flightdeck diff warm/2.flight 'cold & new/2.flight'"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("unread_partition_us", -51_200_000, "−51.2"),
        ("unread_partition_us", 80_000_000, "+80.0"),
        ("unread_partition_us", 3_000, "+0.003"),
        ("unread_partition_us", 40, "0"),
        ("lost", 3, "+3"),
        ("lost", -0.25, "−0.2"),
        ("lost", 1204.4, "+1,204"),
        ("lost", 0, "0"),
    ],
)
def test_a_mean_is_shown_with_the_digits_that_matter(field: str, value: float, text: str) -> None:
    assert signed(field, value) == text
    assert mean_amount(field, value) == text.lstrip("+−")


def test_the_page_shows_every_difference_and_escapes_what_it_is_told() -> None:
    compared = msgspec.structs.replace(made(BETTER), b="<b>cold</b>")
    text = page(compared)
    assert "<b>cold" not in text
    assert text.count('<circle class="better"') == 1
    assert text.count('<circle class="same"') == 1
    assert not re.search(r'(?:src|href)="', text), "it needs no network"
    assert len(re.findall("flightdeck diff", text)) >= len(compared.pairs)


def test_the_picture_has_the_differences_of_the_table() -> None:
    """A dot at −67 % is at a sixth of the width: of the larger mean 6, the smaller one has 2."""
    [lost, duplicated] = whiskers(made(BETTER))
    edges = [whiskers(made([(bill(lost=a), bill(lost=b))] * 8))[0].at for a, b in ((1, 0), (0, 1))]
    assert (lost.at - edges[0]) / (edges[1] - edges[0]) == pytest.approx(1 / 6, abs=0.001)
    assert (lost.kind, duplicated.kind) == ("better", "same")
    assert duplicated.low < duplicated.at < duplicated.high


# --- sets -------------------------------------------------------------------------------------------------------------


def flights(name: str, *keys: tuple[str, int]) -> FlightSet:
    return FlightSet(
        name=name,
        flights=[
            SetFlight(recording=Path(f"{name}/{number}"), scenario=scenario, seed=seed)
            for number, (scenario, seed) in enumerate(keys)
        ],
    )


def test_flights_are_paired_by_scenario_and_seed() -> None:
    found = pair_sets(flights("a", ("s", 1), ("s", 2), ("t", 1)), flights("b", ("t", 1), ("s", 2), ("s", 3)))
    assert [(pair.scenario, pair.seed, str(pair.a), str(pair.b)) for pair in found.pairs] == [
        ("s", 2, "a/1", "b/1"),
        ("t", 1, "a/2", "b/0"),
    ]
    assert ([str(path) for path in found.only_a], [str(path) for path in found.only_b]) == (["a/0"], ["b/2"])


def test_sets_of_one_scenario_each_are_paired_by_seed_alone() -> None:
    found = pair_sets(flights("a", ("before", 1), ("before", 2)), flights("b", ("after", 2), ("after", 1)))
    assert [pair.seed for pair in found.pairs] == [1, 2]
    assert len(pair_sets(flights("a", ("x", 1)), flights("b", ("y", 9))).pairs) == 1, "two flights are a pair"


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (flights("a", ("s", 1), ("s", 1)), flights("b", ("s", 1)), "a holds two flights of s with seed 1"),
        (flights("a", ("s", 1), ("s", 2)), flights("b", ("s", 3)), r"a has seeds 1 to 2; b has seed 3\).*same seeds"),
    ],
)
def test_sets_that_cannot_be_paired_are_refused(a: FlightSet, b: FlightSet, reason: str) -> None:
    with pytest.raises(NotComparableError, match=reason):
        pair_sets(a, b)


# --- judges that are wrong on purpose ---------------------------------------------------------------------------------


def without_confidence(found: MeasureDifference) -> bool:
    return abs(found.difference) > 0


def by_majority(found: MeasureDifference) -> bool:
    return found.agreeing * 2 > found.pairs


@pytest.mark.parametrize("wrong", [without_confidence, by_majority])
def test_a_judge_that_calls_noise_a_difference_is_caught(wrong: Callable[[MeasureDifference], bool]) -> None:
    noise = [(each * 31) % 17 - 8 for each in range(1, 14)]
    found = by_field(judged(*((bill(lost=50), bill(lost=50 + each)) for each in noise)))["lost"]
    assert wrong(found)
    assert not found.differs

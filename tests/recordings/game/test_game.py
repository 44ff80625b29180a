"""Accusations, the drawing of games, what is hidden of a flight, and the referee."""

import msgspec
import pytest

from cluster.commands import CommandError, Mark, Names, parse, targets_of
from cluster.events import CommandRefused, Event, FaultEnded, FaultStarted
from recordings.game.accusations import ACCUSABLE, accusation_of, completions_of, read_accusation
from recordings.game.concealment import Concealment
from recordings.game.drawing import FROM_US, draw_game
from recordings.game.levels import LEVELS
from recordings.game.referee import Referee
from recordings.game.score import DAMAGE_RULES, points_for

NAMES = Names(
    ("broker-1", "broker-2"), {"billing": ("billing-1", "billing-2")}, {"checkout": ("checkout-1",)}, {"orders": 3}
)
SEEDS = range(25)


# --- accusations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "accused"),
    [
        ("stall billing-2", "stall billing-2"),
        ("slow billing-1 to 400ms", "slow billing-1"),
        ("slow broker-1 billing-1 to 1s for 3s", "slow billing-1 broker-1"),
        ("pause heartbeats of billing-1", "pause heartbeats of billing-1"),
        ("slow dependency of billing to 400ms", "slow dependency of billing"),
        ("fill disk of broker-2", "fill disk of broker-2"),
    ],
)
def test_an_accusation_fits_its_fault(fault: str, accused: str) -> None:
    assert read_accusation(accused, NAMES).fits(parse(fault))


@pytest.mark.parametrize(
    "accused", ["stall billing-1", "pause billing-2", "slow billing-2", "slow dependency of billing"]
)
def test_another_kind_or_target_does_not_fit(accused: str) -> None:
    assert not read_accusation(accused, NAMES).fits(parse("stall billing-2"))


@pytest.mark.parametrize(
    ("text", "column", "suggestion"),
    [
        ("stal billing-1", 9, None),
        ("stall billing-9", 15, "billing-1"),
        ("stall billing-1 for 3s", 25, None),
        ("cut broker-1 -> billing-1", 22, None),
        ("slow", 13, None),
        ("", 9, None),
    ],
)
def test_a_wrong_accusation_has_a_place(text: str, column: int, suggestion: str | None) -> None:
    with pytest.raises(CommandError) as caught:
        read_accusation(text, NAMES, 9)
    assert (caught.value.column, caught.value.suggestion) == (column, suggestion)


def test_completions_lead_to_every_accusation() -> None:
    for row in ACCUSABLE:
        words = row.words.split()
        for place, word in enumerate(words):
            assert word in completions_of(" ".join([*words[:place], word[:1]]), NAMES)
    assert completions_of("stall b", NAMES) == ["billing-1", "billing-2"]
    assert completions_of("stall billing-1 ", NAMES) == []


# --- drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [level.number for level in LEVELS])
def test_a_game_is_drawn_again_and_hides_its_faults_from_the_noise(level: int) -> None:
    texts = set()
    for seed in SEEDS:
        drawn = draw_game(level, seed)
        assert drawn.scenario.text == draw_game(level, seed).scenario.text
        texts.add(drawn.scenario.text)
        assert len(drawn.faults) == drawn.level.faults
        assert all(FROM_US <= fault.at_us < drawn.level.length_us / 2 for fault in drawn.faults)
        hidden = {name for fault in drawn.faults for name in targets_of(fault.command)}
        noise = [step for step in drawn.scenario.spec.steps if step.source == "scenario"]
        assert not [step.text for step in noise if hidden & set(targets_of(step.command))]
    assert len(texts) == len(SEEDS)


@pytest.mark.slow
def test_every_class_can_be_accused() -> None:
    for level in LEVELS:
        for seed in SEEDS:
            for fault in draw_game(level.number, seed).faults:
                assert read_accusation(accusation_of(fault.command).text, draw_names(level.number, seed)).fits(
                    fault.command
                )


def draw_names(level: int, seed: int) -> Names:
    return draw_game(level, seed).scenario.spec.names()


# --- concealment ------------------------------------------------------------------------------------------------------


def test_the_lines_of_steps_are_hidden_and_those_of_the_player_shown() -> None:
    drawn = draw_game(1, 3)
    hidden = drawn.faults[0]
    shown: list[Event] = []
    conceal = Concealment(drawn.scenario.spec, shown.append)
    own = FaultStarted(fault=2, text=hidden.text, ends_at_us=-1, fault_kind="kill", targets=())
    started = FaultStarted(fault=1, text=hidden.text, ends_at_us=-1, fault_kind="kill", targets=())
    refused = CommandRefused(text="stall x", reason="no")
    events: list[tuple[Event, int]] = [
        (started, hidden.at_us), (own, hidden.at_us + 5), (FaultEnded(fault=1), hidden.at_us + 6),
        (refused, hidden.at_us + 7), (FaultEnded(fault=2), hidden.at_us + 8),
    ]  # fmt: skip
    for seq, (event, at_us) in enumerate(events, 1):
        conceal(msgspec.structs.replace(event, seq=seq, at_us=at_us))
    assert [(event.seq, type(event).__name__) for event in shown] == [
        (1, "FaultStarted"), (2, "CommandRefused"), (3, "FaultEnded"),
    ]  # fmt: skip


# --- the referee ------------------------------------------------------------------------------------------------------


def test_the_referee_takes_each_fault_once_and_counts_what_is_wrong() -> None:
    referee = Referee(2)
    assert referee.take(Mark("diagnose stall billing-1"), "operator", 5) == "wrong: stall billing-1"  # not given yet
    referee.take(parse("stall billing-1"), "game", 10)
    referee.take(parse("slow broker-1 billing-2 to 1s"), "game", 20)
    referee.take(parse("kill billing-3"), "scenario", 25)
    assert referee.take(Mark("diagnose kill billing-3"), "operator", 30) == "wrong: kill billing-3"
    assert referee.take(Mark("diagnose stall billing-1"), "operator", 40) == "right: stall billing-1 (1 of 2 faults)"
    assert referee.take(Mark("diagnose stall billing-1"), "operator", 50) == "found already: stall billing-1"
    assert referee.take(Mark("diagnose nonsense"), "operator", 55) == ""
    assert referee.take(Mark("lunch"), "operator", 56) == ""
    assert "(2 of 2" in referee.take(Mark("diagnose slow billing-2 broker-1"), "operator", 60)
    assert [wrong.at_us for wrong in referee.wrong] == [5, 30]
    assert referee.over_us == 60
    assert [fault.found_us for fault in referee.faults] == [40, 60]


def test_giving_up_ends_the_game() -> None:
    referee = Referee(1)
    assert referee.take(Mark("give up"), "scenario", 5) == ""
    assert referee.take(Mark("give up"), "operator", 7) == "you gave up"
    assert (referee.over_us, referee.gave_up) == (7, True)


def test_damage_is_counted_in_one_or_several() -> None:
    said = {rule.name: [rule.counted(amount) for amount in (0, 1, 1_200)] for rule in DAMAGE_RULES}
    assert said["re-read"] == ["0 records", "1 record", "1,200 records"]
    assert said["unread"] == ["0 partition-seconds", "1 partition-second", "1,200 partition-seconds"]


def test_points_fall_from_all_to_a_quarter() -> None:
    assert [points_for(1_000, took, 100) for took in (0, 50, 100, 500)] == [1_000, 625, 250, 250]

"""The command line: the console's own commands beside the cluster's, complaints with a column, completion."""

import math
import re

import pytest

from cluster.commands import COMMANDS, CommandError, Form, Kill, Pause, Stall, is_built
from console import command_line
from console.screens.catalogue import PLACES
from console.screens.palette import typed_prefix
from tests.support.console.stopped_clock import NAMES


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("speed 20", command_line.Speed(20.0)),
        ("speed ×0.5", command_line.Speed(0.5)),
        ("speed flat out", command_line.Speed(math.inf)),
        ("pause", command_line.Time(True)),
        ("resume", command_line.Time(False)),
        ("step", command_line.Step(None)),
        ("step rebalance_started", command_line.Step("rebalance_started")),
        ("until groups.billing.state == 'Stable'", command_line.Until("groups.billing.state == 'Stable'")),
        ("record /tmp/a.flight", command_line.Record("/tmp/a.flight")),
        ("go billing-3", command_line.Go("billing-3")),
        ("go overview", command_line.Go("overview")),
        ("go hangar", command_line.Go("library")),  # as scripts of earlier releases name it
        ("pause billing-1", Pause("billing-1")),
        ("kill broker 2", Kill("broker-2")),
        ("  stall billing-3 for 6m", Stall("billing-3", 360_000_000)),
    ],
)
def test_lines_become_commands(text: str, command: object) -> None:
    assert command_line.read(text, NAMES, PLACES) == command


@pytest.mark.parametrize(
    ("text", "column", "suggestion"),
    [
        ("kill billing-33", 5, "billing-3"),
        ("kil billing-3", 0, "kill"),
        ("sped 20", 0, "speed"),
        ("speed fast", 6, None),
        ("speed 0", 6, None),
        ("speed 1e9", 6, None),
        ("step rebalance_start", 5, "rebalance_started"),
        ("go bilingg", 3, "billing"),
        ("go 5m10", 3, "5m10s"),
        ("go 1h5", 3, "1h5m"),
        ("go -90", 3, "-90s"),
        ("go 5m10x", 3, None),
        ("go", 3, None),
        ("until", 6, None),
        ("record  ", 7, None),
        ("stall billing-3 for 6x", 20, None),
    ],
)
def test_wrong_words_are_shown_by_their_column(text: str, column: int, suggestion: str | None) -> None:
    with pytest.raises(CommandError) as caught:
        command_line.read(text, NAMES)
    assert caught.value.column == column
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sp", ["speed"]),
        ("go bil", ["billing", "billing-1", "billing-2", "billing-3", "billing-4"]),
        ("speed fl", ["flat-out"]),
        ("kill billing-", ["billing-1", "billing-2", "billing-3", "billing-4"]),
        ("until gro", []),
        ("step rebalance_s", ["rebalance_started"]),
    ],
)
def test_completion_offers_whole_words(text: str, expected: list[str]) -> None:
    assert command_line.completions(text, NAMES) == expected


def test_an_empty_line_offers_everything() -> None:
    offered = command_line.completions("", NAMES)
    assert {"speed", "go", "kill", "stall"} <= set(offered)
    assert len(offered) == len(set(offered))


def test_a_completed_word_is_ready_for_the_next() -> None:
    assert command_line.completed("kill bil", "billing-1") == "kill billing-1 "
    assert command_line.completed("kill ", "billing-1") == "kill billing-1 "
    assert command_line.completed("", "kill") == "kill "


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("speed", "speed {X | flat-out}"),
        ("stal", "stall MEMBER"),
        ("stall billing-1", "stall MEMBER"),
        ("pause heart", "pause heartbeats of MEMBER"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_usage_says_how_a_line_goes_on(text: str, usage: str) -> None:
    assert command_line.usage_of(text).startswith(usage)
    assert bool(usage) == bool(command_line.usage_of(text))


def test_alternatives_stand_in_braces() -> None:
    """Without them `speed X | flat out` reads as two commands."""
    for usage, _ in command_line.usages(()).values():
        outside = re.sub(r"\{[^{}]*\}", "", usage)
        assert "|" not in outside, usage


@pytest.mark.parametrize(
    ("typed", "usage"),
    [
        ("slow broker-1 ", "slow MEMBER to DURATION"),
        ("slow broker-1 broker-2 ", "slow NAME NAME to DURATION"),
        ("slow billing-1 to", "slow MEMBER to DURATION"),
        ("cut broker-1 -> ", "cut NAME -> NAME"),
        ("cut broker-1 broker-2 ", "cut NAME NAME"),
        ("heal broker-1 ", "heal NAME NAME"),
        ("heal", "heal   end the faults of every link"),
        ("pause heartbeats of ", "pause heartbeats of MEMBER"),
        ("elect unc", "elect unclean TOPIC-P"),
        ("move coord", "move coordinator of GROUP"),
        ("lose next 3 ", "lose next N responses of API from BROKER"),
        ('mark "never closed', ""),
    ],
)
def test_the_usage_is_that_of_the_form_being_typed(typed: str, usage: str) -> None:
    assert command_line.usage_of(typed).startswith(usage)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("set billing max.poll.", {"max.poll.interval.ms", "max.poll.records"}),
        ("set checkout ling", {"linger.ms"}),
        ("set orders min.", {"min.insync.replicas"}),
    ],
)
def test_settings_are_completed_by_their_scope(typed: str, words: set[str]) -> None:
    assert words <= set(command_line.completions(typed, NAMES))


def test_a_setting_that_is_written_is_not_completed_any_more() -> None:
    assert command_line.completions("set billing max.poll.records 5", NAMES) == []
    assert "billing" in command_line.completions("set bil", NAMES)


@pytest.mark.parametrize(
    "form",
    [form for form in COMMANDS if is_built(form.command)],
    ids=lambda form: form.usage,
)
def test_every_command_can_be_begun_from_the_palette(form: Form) -> None:
    begun = typed_prefix(form)
    assert form.usage.startswith(begun)
    assert begun

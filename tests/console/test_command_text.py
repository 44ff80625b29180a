"""The command line: the console's own commands beside the cluster's, complaints with a column, completion."""

import math

import pytest

from cluster.commands import COMMANDS, CommandError, Form, Kill, Pause, Stall, is_built
from console import command_line as ct
from console.screens.catalogue import PLACES
from tests.support.console.stopped_clock import NAMES


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("speed 20", ct.Speed(20.0)),
        ("speed ×0.5", ct.Speed(0.5)),
        ("speed flat out", ct.Speed(math.inf)),
        ("pause", ct.Time(True)),
        ("resume", ct.Time(False)),
        ("step", ct.Step(None)),
        ("step rebalance_started", ct.Step("rebalance_started")),
        ("until groups.billing.state == 'Stable'", ct.Until("groups.billing.state == 'Stable'")),
        ("record /tmp/a.flight", ct.Record("/tmp/a.flight")),
        ("go billing-3", ct.Go("billing-3")),
        ("go overview", ct.Go("overview")),
        ("go hangar", ct.Go("library")),  # as scripts of earlier releases name it
        ("pause billing-1", Pause("billing-1")),
        ("kill broker 2", Kill("broker-2")),
        ("  stall billing-3 for 6m", Stall("billing-3", 360_000_000)),
    ],
)
def test_lines_become_commands(text: str, command: object) -> None:
    assert ct.read(text, NAMES, PLACES) == command


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
        ("go", 3, None),
        ("until", 6, None),
        ("record  ", 7, None),
        ("stall billing-3 for 6x", 20, None),
    ],
)
def test_wrong_words_are_shown_by_their_column(text: str, column: int, suggestion: str | None) -> None:
    with pytest.raises(CommandError) as caught:
        ct.read(text, NAMES)
    assert caught.value.column == column
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sp", ["speed"]),
        ("go bil", ["billing", "billing-1", "billing-2", "billing-3", "billing-4"]),
        ("speed fl", ["flat out"]),
        ("kill billing-", ["billing-1", "billing-2", "billing-3", "billing-4"]),
        ("until gro", []),
        ("step rebalance", ["rebalance_started"]),
    ],
)
def test_completion_offers_whole_words(text: str, expected: list[str]) -> None:
    assert ct.completions(text, NAMES) == expected


def test_an_empty_line_offers_everything() -> None:
    offered = ct.completions("", NAMES)
    assert {"speed", "go", "kill", "stall"} <= set(offered)
    assert len(offered) == len(set(offered))


def test_a_completed_word_is_ready_for_the_next() -> None:
    assert ct.completed("kill bil", "billing-1") == "kill billing-1 "
    assert ct.completed("kill ", "billing-1") == "kill billing-1 "
    assert ct.completed("", "kill") == "kill "


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("speed", "speed X | flat out"),
        ("stal", "stall MEMBER"),
        ("stall billing-1", "stall MEMBER"),
        ("pause heart", "pause heartbeats of MEMBER"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_usage_says_how_a_line_goes_on(text: str, usage: str) -> None:
    assert ct.usage_of(text).startswith(usage)
    assert bool(usage) == bool(ct.usage_of(text))


@pytest.mark.parametrize(
    ("typed", "usage"),
    [
        ("slow broker-1 ", "slow MEMBER to DURATION"),
        ("slow broker-1 broker-2 ", "slow NAME NAME to DURATION"),
        ("slow billing-1 to", "slow MEMBER to DURATION"),
        ("cut broker-1 -> ", "cut NAME -> NAME"),
        ("cut broker-1 broker-2 ", "cut NAME NAME"),
        ("heal broker-1 ", "heal NAME NAME"),
        ("heal", "heal   mend every link"),
        ("pause heartbeats of ", "pause heartbeats of MEMBER"),
        ("elect unc", "elect unclean TOPIC-P"),
        ("move coord", "move coordinator of GROUP"),
        ("lose next 3 ", "lose next N responses of API from BROKER"),
        ('mark "never closed', ""),
    ],
)
def test_the_usage_is_that_of_the_form_being_typed(typed: str, usage: str) -> None:
    assert ct.usage_of(typed).startswith(usage)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("set billing max.poll.", {"max.poll.interval.ms", "max.poll.records"}),
        ("set checkout ling", {"linger.ms"}),
        ("set orders min.", {"min.insync.replicas"}),
    ],
)
def test_settings_are_completed_by_their_scope(typed: str, words: set[str]) -> None:
    assert words <= set(ct.completions(typed, NAMES))


def test_a_setting_that_is_written_is_not_completed_any_more() -> None:
    assert ct.completions("set billing max.poll.records 5", NAMES) == []
    assert "billing" in ct.completions("set bil", NAMES)


@pytest.mark.parametrize(
    "form",
    [form for form in COMMANDS if is_built(form.command)],
    ids=lambda form: form.usage,
)
def test_every_command_can_be_begun_from_the_palette(form: Form) -> None:
    begun = ct.typed_prefix(form)
    assert form.usage.startswith(begun)
    assert begun

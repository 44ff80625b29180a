"""Targets that are texts: scenario files, expressions, commands, settings."""

import tempfile
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random

from cluster.commands import CommandError, parse, text_of
from cluster.config import CONFIG_KEYS, MICROSECONDS
from cluster.events import EVENT_KINDS, Event
from console.command_line import completions, read
from recordings.flights.runner import LastEvent, fly, make_plan
from recordings.lint.kafka_keys import all_names
from recordings.lint.linter import findings_of
from recordings.lint.reading.files import read_text
from recordings.lint.reading.lint_input import LintInputError
from recordings.lint.rules import rules
from recordings.lint.world import World
from recordings.scenarios.document_schema import SHAPE, KnownNames
from recordings.scenarios.loader import (
    LIBRARY,
    Scenario,
    ScenarioErrors,
    SettingError,
    apply_settings,
    load,
    parse_scenario,
    parse_setting,
)
from recordings.scenarios.predicates import Predicate, PredicateError
from tests.fuzz.engine import Target
from tests.fuzz.mutation import mutated_text
from tests.support.command_texts import EVERY_FORM
from tests.support.repository import ROOT
from tests.support.zero_document import empty_document

FLOWN = 100
"""One of so many accepted scenarios is flown, for `FLOWN_US` and at most `FLOWN_EVENTS`."""
FLOWN_US, FLOWN_EVENTS = MICROSECONDS["s"], 20_000
LARGEST_BASE = 2_500
CONSOLE_LINES = (
    "kill broker 2", "rolling restart brokers every 1m wait for isr", "speed 20", "speed flat out",
    "step group_stabilized", "until groups.billing.lag == 0", "record x.flight", "go billing-1",
    "go topic orders", "go -10s", "go 1:20.5",
    "why billing-2", "key 42 orders", "fork at 2s do kill broker-2", "diagnose stall billing-2", "describe groups",
    "kafka-topics.sh --describe --topic orders", "theme dark",
)  # fmt: skip
"""What the `:` line takes besides a command's canonical text."""
LINT_CASES = ROOT / "tests" / "recordings" / "lint" / "cases"

SMALL = """
title = "Small"
seed = 5
until = "20s"
[cluster]
brokers = [{ id = 1, rack = "a" }, { id = 2 }]
config = { "min.insync.replicas" = 1 }
[network]
latency = "2ms"
jitter = 0.1
links = [{ between = ["broker-1", "billing-2"], latency = "9ms" }]
[[topic]]
name = "orders"
partitions = 4
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "20/s"
arrivals = [["0s", "5/s"], ["3s", "0/s"]]
keys = { kind = "zipf", distinct = 9, exponent = 1.2 }
transactions = { id = "tx-{n}", records = 5, abort = 0.1 }
[[group]]
name = "billing"
topics = ["orders"]
members = 2
subscriptions = { billing-1 = ["orders"] }
application = { per_record = "1ms", commit = "after-each-poll", poison = { key = "3" } }
config = { "auto.offset.reset" = "earliest", session.timeout.ms = 6000 }
[[at]]
time = "12s"
do = "kill billing-2"
[[expect]]
that = "groups.billing.members == 1 && partitions.all(p, partitions[p].leader > 0)"
at = "20s"
[[expect]]
event = "member_removed"
where = { reason = "session expired" }
count = 1
"""


@cache
def small() -> Scenario:
    """A scenario with something of everything."""
    return parse_scenario(SMALL, "small.toml")


@cache
def scenario_bases() -> list[str]:
    """Right scenarios: the smaller ones of the library, and one with something of everything, often."""
    texts = [path.read_text() for path in sorted(LIBRARY.glob("*.toml"))]
    return [*(text for text in texts if len(text) <= LARGEST_BASE), *[SMALL] * 40]


@cache
def scenario_words() -> list[str]:
    """Words that mean something somewhere in a scenario."""
    keys = [f'"{key.name}"' for key in CONFIG_KEYS]
    fields = sorted({word for text in scenario_bases() for word in text.split() if len(word) < 40})
    return [*keys, *fields, *(f'"{word}"' for word in command_bases())]


def command_bases() -> list[str]:
    """Every command, and what else the console's line takes."""
    return [*EVERY_FORM, *CONSOLE_LINES]


@cache
def command_words() -> list[str]:
    """Words of commands, and names."""
    words = sorted(set(chain.from_iterable(text.split() for text in command_bases())))
    return [*words, "nobody", "billing-99", "orders-7", "broker", "2", ",", '"', "\\", *EVENT_KINDS]


@cache
def cel_bases() -> list[str]:
    """Right expressions."""
    return [
        "groups.billing.state == 'Stable' && groups.billing.members == 2",
        "partitions.filter(name, name.startsWith('__consumer_offsets-') && partitions[name].log_end > 0).size() == 6",
        "partitions['orders-0'].high_watermark - groups.billing.committed['orders-0'] < 7 * 6 || delivery.lost > 1 / 2",
        "groups.all(g, groups[g].lag == 0) ? now_ms > 1000 : has(transactions.tx) && !members['billing-1'].alive",
        "[1, 2, 3].map(x, x % 2 == 0, x * 10).exists_one(y, y in [20, 40]) && {'a': [1.5, -2e3]}.a[0] > 0.1",
        "string(now_ms) + 'ms' != r'\\d' && int('7') == size('äb') && double(3) / 0.0 > -1.0",
        "members.exists(m, members[m].state.matches('^(Sta|Dea)[a-z]+$')) // why not",
        "brokers['1'].coordinator_of[0] == 'billing' && partitions['orders-0'].isr == [1, 2]",
    ]


@cache
def cel_words() -> list[str]:
    """Words, operators and functions of CEL, and fields."""
    fields = [*SHAPE, *SHAPE["groups"].node, *SHAPE["partitions"].node, "billing", "'orders-0'", "x", "null", "true"]
    return [
        *fields, "&&", "||", "==", "!=", "<=", "in", "+", "-", "*", "/", "%", "?", "!", ".map(x, x)", ".all(y, true)",
        ".filter(z, z == z)", ".size()", "[[1]]", "{1: 2}", "[x]", "x + x", "matches('(a+)+')", "'a{9}{9}'", "0u",
        "b'x'",
        ".map(x, [x, x, x, x])", ".map(x, x + x + x)", "[1, 2, 3, 4, 5, 6, 7, 8, 9]", "'\\u0000'", "9e999",
    ]  # fmt: skip


@cache
def setting_bases() -> list[str]:
    """Right settings."""
    scopes = {"broker": "cluster", "topic": "orders", "producer": "checkout", "consumer": "billing"}
    keys = [f"{scopes[key.scope]}:{key.name}={key.default}" for key in CONFIG_KEYS]
    return [*keys, "members=3", "billing:assignors=range,sticky", "static=true", "per_record=20ms", "checkout.rate=4/s"]


@cache
def _possible() -> KnownNames:
    return KnownNames(small().spec)


def _feed_scenario(made: tuple[str, float]) -> bool:
    text, draws = made
    if draws < 0.02:
        with tempfile.NamedTemporaryFile(suffix=".toml") as file:
            file.write(text.encode("utf-8", "surrogatepass").replace(b"e", b"\xff" if draws < 0.005 else b"e"))
            file.flush()
            load(Path(file.name))
    scenario = parse_scenario(text, "fuzz.toml")
    if draws > 1 - 1 / FLOWN:
        _fly(scenario)
    return True


def _fly(scenario: Scenario) -> None:
    def stop(event: Event) -> None:
        if event.seq >= FLOWN_EVENTS:
            raise LastEvent

    fly(make_plan(scenario, until_us=FLOWN_US), log=stop)


def _feed_cel(text: str) -> bool:
    predicate = Predicate(text)
    possible = _possible()
    wrong = predicate.errors_in(possible)
    answer = predicate.ask(empty_document(possible, predicate.needs))
    assert isinstance(answer.holds, bool)
    return not wrong


def _feed_command(text: str) -> bool:
    names = small().spec.names()
    try:
        command = parse(text)
    except CommandError:
        completions(text[:200], names)
        read(text, names)
        return True
    assert parse(text_of(command)) == command, "its canonical text says something else"
    return True


def _feed_setting(text: str) -> bool:
    apply_settings(small().spec, [parse_setting(text)])
    return True


def _scenario(random: Random) -> tuple[str, float]:
    return mutated_text(random, scenario_bases(), scenario_words()), random.random()


@cache
def configurations() -> list[tuple[str, str]]:
    """The names and texts of the files that the lint rules are tried on."""
    files = sorted(LINT_CASES.glob("*/*/*"))
    return [(file.name, file.read_text(encoding="utf-8")) for file in files]


def _configuration(random: Random) -> tuple[str, str]:
    """A configuration, changed; now and then under the name of another format."""
    bases = configurations()
    text = mutated_text(random, [text for _, text in bases], sorted(all_names()))
    return random.choice(bases)[0], text


def _feed_lint(made: tuple[str, str]) -> bool:
    name, text = made
    parts = read_text(text, name).parts
    for part in parts:
        for _ in findings_of(part, World(parts), rules()):
            pass
    return True


TEXTS = (
    Target("scenario", 100, (ScenarioErrors,), _scenario, _feed_scenario),
    Target("lint", 60, (LintInputError, ScenarioErrors), _configuration, _feed_lint),
    Target("cel", 270, (PredicateError,), lambda random: mutated_text(random, cel_bases(), cel_words()), _feed_cel),
    Target(
        "command",
        300,
        (CommandError, PredicateError),
        lambda random: mutated_text(random, command_bases(), command_words()),
        _feed_command,
    ),
    Target(
        "setting",
        200,
        (SettingError, ScenarioErrors),
        lambda random: mutated_text(random, setting_bases(), command_words()),
        _feed_setting,
    ),
)
"""Every target that is a text."""

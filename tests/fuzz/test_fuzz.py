"""The fuzzer finds what is planted, and finds nothing in a few hundred inputs of each target."""

import os
import re
import resource
from pathlib import Path
from random import Random

import pytest

from cluster.commands import parse
from console.command_line import read
from recordings.bounded_files import RecordingError
from recordings.scenarios.predicates import Predicate, PredicateError
from tests.fuzz.__main__ import TARGETS, main, run, table
from tests.fuzz.engine import Budget, Outcome, Target, draws_of, fuzz
from tests.fuzz.texts import CONSOLE_LINES, small
from tests.support.command_texts import EVERY_FORM

FEW = {"scenario": 60, "cel": 200, "command": 200, "setting": 200, "header": 60, "footer": 20, "journal": 30}
HASTY = Budget(seconds=0.3, blocked_seconds=4.0, megabytes=100_000, growth_megabytes=50)
PATIENT = Budget(seconds=20.0, blocked_seconds=40.0, megabytes=100_000, growth_megabytes=50)
"""For what grows: to fill gigabytes, more than an earlier test of the process had, takes its time."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_refuses_in_words_whatever_it_is_fed(name: str) -> None:
    outcome = fuzz(TARGETS[name], seed=11, indices=range(FEW.get(name, 10)))
    assert outcome.findings == []
    assert outcome.accepted + outcome.refused == outcome.inputs == FEW.get(name, 10)
    assert outcome.accepted > 0


@pytest.mark.parametrize("name", TARGETS)
def test_an_input_is_made_again_from_its_seed_and_number(name: str) -> None:
    target = TARGETS[name]
    made = [target.make(draws_of(3, name, index)) for index in range(30)]
    assert made == [target.make(draws_of(3, name, index)) for index in range(30)]
    assert made != [target.make(draws_of(4, name, index)) for index in range(30)]


def test_every_line_that_is_mutated_is_right() -> None:
    for text in CONSOLE_LINES:
        read(text, small().spec.names())
    for text in EVERY_FORM:
        parse(text)


def number(random: Random) -> int:
    return random.randrange(100)


def planted(bad: object, feed_bad: object) -> Target:
    def feed(made: int) -> bool:
        if made == bad:
            feed_bad()  # type: ignore[operator]
        if made % 2:
            raise RecordingError("odd numbers are refused")
        return True

    return Target("planted", 1, (RecordingError,), number, feed)


def crash() -> None:
    names: dict[str, int] = {}
    names["nobody"] += 1


def spin() -> None:
    while True:
        pass


def wait() -> None:
    reading, writing = os.pipe()
    try:
        os.read(reading, 1)
    finally:
        os.close(reading)
        os.close(writing)


kept: list[bytes] = []


def leak() -> None:
    """More than the process ever had: an earlier test of the same process may have needed much."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    kept.append(b"x" * (max(peak - resident, 0) + (120 << 20)))


def unspoken() -> None:
    raise RecordingError("")


def endless() -> None:
    raise RecordingError("x" * 100_000)


@pytest.mark.parametrize(
    ("feed_bad", "what"),
    [
        (crash, "KeyError: 'nobody'"),
        (spin, "TooSlow"),
        (wait, "TooSlow"),
        (leak, "MemoryError: the process grew from"),
        (unspoken, "Unspoken: refused without a message"),
        (endless, "Unspoken: refused with 1 lines, 100000 characters long"),
    ],
)
def test_what_is_planted_is_found(feed_bad: object, what: str) -> None:
    try:
        budget = PATIENT if feed_bad is leak else HASTY
        outcome = fuzz(planted(7, feed_bad), seed=2, indices=range(150), budget=budget)
    finally:
        kept.clear()
    (found,) = outcome.findings
    assert found.what.startswith(what)
    assert number(draws_of(2, "planted", found.index)) == 7
    assert 149 <= outcome.accepted + outcome.refused <= 150


def test_a_reader_that_was_broken_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hole that CEL's library left: an expression evaluated without its budget."""

    def careless(self: Predicate, document: object) -> None:
        del self, document
        raise RecursionError

    monkeypatch.setattr(Predicate, "ask", careless)
    outcome = fuzz(TARGETS["cel"], seed=1, indices=range(100))
    assert any(found.what.startswith("RecursionError") for found in outcome.findings)


def test_a_process_that_ends_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(_made: int) -> bool:
        os._exit(9)

    monkeypatch.setitem(TARGETS, "fatal", Target("fatal", 1, (PredicateError,), number, end))
    (outcome,) = run([TARGETS["fatal"]], seed=1, inputs=10, seconds=10, jobs=1)
    (found,) = outcome.findings
    assert found.what == "its process ended with 9"
    assert found.index == 0


def test_the_command_prints_a_table_and_how_to_see_a_finding_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--target", "setting", "--inputs", "50", "--seed", "5"]) == 0
    assert re.search(r"^setting +50 ", capsys.readouterr().out, re.MULTILINE)
    broken = Target("setting", 1, (), TARGETS["setting"].make, TARGETS["setting"].feed)
    monkeypatch.setitem(TARGETS, "setting", broken)
    assert main(["--target", "setting", "--inputs", "50", "--seed", "5"]) == 1
    told = capsys.readouterr().out
    assert re.search(r"python -m tests\.fuzz --target setting --seed 5 --only \d+", told)


def test_a_table_counts_everything() -> None:
    lines = table([Outcome("a", 10, 4, 6, 2.0), Outcome("b", 5, 5, 0, 1.0)]).splitlines()
    assert lines[-1].split() == ["all", "15", "5"]

"""What the normalisation hides between two releases is held here: the very words of the kept logs of 4.3.1."""

import re
from collections import defaultdict
from importlib import import_module
from pkgutil import iter_modules

import pytest

from recordings import kafka_log
from recordings.flights.runner import fly, make_plan
from recordings.kafka_log.renderer import KafkaLog
from recordings.scenarios.loader import load
from tests.fidelity.normalisation import COMPARED, simple_name
from tests.fidelity.recorder.raw import LINE, raw_of, read_run
from tests.fidelity.traces import SCENARIOS

RELEASE = "4.3.1"
COME_AND_GO = re.compile(
    r"clientId=([\w-]+), .*?\] ((?:Adding newly|Revoke previously|Lost previously) assigned partitions:? \[[^\]]*\])"
)


@pytest.mark.parametrize("scenario", ["s09-cooperative", "s23-cooperative-faults"])
def test_partitions_that_come_and_go_are_written_word_for_word(scenario: str) -> None:
    real, simulated = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    lines: list[str] = []
    fly(make_plan(load(str(SCENARIOS / f"{scenario}.toml"))), log=KafkaLog(lines.append))
    for source, words in ((read_run(raw_of(scenario, RELEASE)).lines, real), (lines, simulated)):
        for found in filter(None, map(COME_AND_GO.search, source)):
            words[found[1]] += [found[2]] * ("warm" not in found[1])
    told = {member: words for member, words in real.items() if words}
    assert len(told) >= 3
    assert any("[]" in each for each in told["g09-1" if "s09" in scenario else "g23-1"])
    assert dict(simulated) == told


def test_a_line_has_the_whole_name_of_its_logger() -> None:
    runs = [
        read_run(raw_of(name, RELEASE)) for name in ("s30-broker-dies", "s41-exactly-once", "s61-reset-by-duration")
    ]
    real = {found[3].partition("$")[0] for run in runs for found in filter(None, map(LINE.match, run.lines))}
    writers = [import_module(f"recordings.kafka_log.{found.name}") for found in iter_modules(kafka_log.__path__)]
    names = {value for writer in writers for value in vars(writer).values() if isinstance(value, str)}
    loggers = {value for value in names if re.fullmatch(r"[\w.]+\.[A-Z]\w+", value) and simple_name(value) in COMPARED}
    seen = {simple_name(one) for one in real}
    assert len({one for one in loggers if simple_name(one) in seen}) > 10
    assert {one for one in loggers if simple_name(one) in seen} <= real


STILL_LEADS = re.compile(
    r"become-leader state change for (s99c-\d) .*already the leader with leader epoch (\d+)\."
    r" Current high watermark \d+, ISR \[([\d,]+)\], adding replicas \[([\d,]*)\] and removing replicas \[([\d,]*)\]"
)


def test_leaders_that_stay_say_so_at_each_reassignment() -> None:
    """Kafka's leaders say it of their own ISR changes, too."""
    lines: list[str] = []
    fly(make_plan(load(str(SCENARIOS / "s99c-reassignment.toml"))), log=KafkaLog(lines.append))
    told = [
        [
            (*found.groups()[:2], sorted(found[3].split(",")), *found.groups()[3:])
            for found in map(STILL_LEADS.search, source)
            if found
        ]
        for source in (lines, read_run(raw_of("s99c-reassignment", RELEASE)).lines)
    ]
    assert len(told[0]) == 6
    assert [one for one in told[0] if one not in told[1]] == []

"""`flightdeck import` and `flightdeck new`: what they print, write and refuse, as docs/import.md shows it."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.importing.answers import PROTOCOLS, WORRIES
from recordings.scenarios.loader import load
from tests.support.console.command_processes import Flightdeck
from tests.support.repository import ROOT
from tests.support.slow_cases import mostly_slow

PAGE = (ROOT / "docs" / "import.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
(DESCRIBED,) = [block for kind, block in BLOCKS if kind == "text"]
(SCENARIO,) = [block for kind, block in BLOCKS if kind == "toml"]
COMMANDS = [line.split() for kind, block in BLOCKS if not kind for line in block.splitlines() if "flightdeck" in line]
QUICK = (("classic", "restarts"), ("consumer", "slow-processing"))


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("cluster.txt").write_text(DESCRIBED)
    return Path("cluster.txt")


def test_the_page_shows_the_scenario_of_its_example(flightdeck: Flightdeck, described: Path) -> None:
    ended = flightdeck("import", described, "--out", "mine.toml")
    assert (ended.code, ended.err) == (0, "")
    assert Path("mine.toml").read_text() == SCENARIO
    assert ended.out.startswith("mine.toml: 2 brokers, 1 topic with 2 partitions, 1 group with 2 members\n")
    guessed = re.findall(r"# (.+)", SCENARIO)
    assert [line.strip() for line in ended.out.splitlines()[1:-1]] == guessed


def test_the_scenario_of_the_page_flies(described: Path) -> None:
    assert described.is_file()
    Path("mine.toml").write_text(SCENARIO)
    flown = fly(make_plan(load(Path("mine.toml")), until_us=20_000_000))
    assert flown.held


def test_the_commands_of_the_page_are_understood(
    flightdeck: Flightdeck, described: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # each question takes its usual answer
    for name in ("topics.txt", "members.txt", "offsets.txt"):
        Path(name).write_text(described.read_text())
    Path("application.yaml").write_text("spring.kafka.consumer.max-poll-records: 50\n")
    made = [words[1:] for words in COMMANDS if words[1] in ("import", "new")]
    assert len(made) == 3
    for words in made:
        Path("mine.toml").unlink(missing_ok=True)
        assert flightdeck(*words).code == 0, words
        assert load(Path("mine.toml")).spec.groups[0].name == "billing"


def test_topics_alone_make_a_scenario_without_a_group(flightdeck: Flightdeck, described: Path) -> None:
    topics, _, _ = described.read_text().partition("\nGROUP")
    described.write_text(topics)
    ended = flightdeck("import", described, "--out", "mine.toml")
    assert ended.out.startswith("mine.toml: 2 brokers, 1 topic with 2 partitions, no group\n")


def test_json_has_both_lists(flightdeck: Flightdeck, described: Path) -> None:
    shown = json.loads(flightdeck("import", described, "--out", "mine.toml", "--json").out)
    assert shown["scenario"] == "mine.toml"
    assert "the lag of billing: 10 records; a flight begins with empty topics" in shown["not_in_the_scenario"]
    assert shown["guessed"]


def test_a_scenario_is_never_written_over(flightdeck: Flightdeck, described: Path) -> None:
    Path("mine.toml").write_text("mine")
    ended = flightdeck("import", described, "--out", "mine.toml")
    assert (ended.code, ended.err) == (
        2, "flightdeck: mine.toml already exists; choose another name, or remove it first\n",
    )  # fmt: skip
    assert Path("mine.toml").read_text() == "mine"


def test_no_question_is_asked_for_a_file_that_exists(flightdeck: Flightdeck, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("mine")
    ended = flightdeck("new", "--out", tmp_path / "mine.toml")
    assert (ended.code, ended.out) == (2, "")
    assert "mine.toml already exists" in ended.err


def test_a_bad_line_is_one_sentence_with_its_place(flightdeck: Flightdeck, described: Path) -> None:
    described.write_text(DESCRIBED.replace("PartitionCount: 2", "PartitionCount: two"))
    ended = flightdeck("import", described, "--out", "mine.toml")
    assert ended.code == 2
    assert ended.err == "flightdeck: cluster.txt:1: PartitionCount is 'two', not a whole number from 1 to 50,000\n"
    assert not Path("mine.toml").exists()


@pytest.mark.parametrize("answers", mostly_slow([(p, w) for p in PROTOCOLS for w in WORRIES], QUICK))
def test_every_worry_is_flown_and_its_expectations_hold(
    flightdeck: Flightdeck, tmp_path: Path, answers: tuple[str, str]
) -> None:
    protocol, worry = answers
    out = tmp_path / "mine.toml"
    words = ("--partitions", 6, "--members", 3, "--per-record", "60ms")
    assert flightdeck("new", "--out", out, "--protocol", protocol, *words, "--worry", worry).code == 0
    flown = fly(make_plan(load(out)))
    assert flown.held
    assert not flown.accidental


def test_questions_are_asked_again_and_an_empty_line_takes_the_usual_answer(
    flightdeck: Flightdeck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n\nmany\n3\n20ms\nbroker\n"))
    ended = flightdeck("new", "--out", tmp_path / "mine.toml")
    assert ended.code == 0
    assert "--members: 'many' is not a whole number from 1 to 2,000" in ended.out
    assert "--worry: there is no 'broker'; did you mean broker-loss?" in ended.out
    spec = load(tmp_path / "mine.toml").spec
    assert (spec.topics[0].partitions, spec.groups[0].members) == (12, 3)
    assert spec.groups[0].application.per_record_us == 20_000


def test_an_option_that_is_no_answer_is_one_sentence(flightdeck: Flightdeck, tmp_path: Path) -> None:
    wrong = {"protocol": "new", "partitions": "0", "members": "many", "per-record": "5", "worry": "sharks"}
    for option, value in wrong.items():
        ended = flightdeck("new", "--out", tmp_path / "mine.toml", f"--{option}", value)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert ended.err.startswith(f"flightdeck: --{option}: ")

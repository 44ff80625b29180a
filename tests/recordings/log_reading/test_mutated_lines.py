"""Real lines, mutated: the reader takes them all, counts those that it does not read, and nothing raw is printed."""

import json
import random
import re
from functools import cache
from itertools import count
from pathlib import Path

import pytest
import zstandard

from console.cli.outputs.reading import of_read_summary
from console.visible import visible
from recordings.log_reading.make import Reading, read_logs
from recordings.log_reading.page import HTML, write_report
from recordings.log_reading.summary import summary_of_logs
from recordings.log_reading.writers import LogLine, line_of
from tests.fidelity.recorder.raw import raw_of
from tests.support.raw_text import raw_in

FEW = ("s31-timeout-epoch", "s53-split")
MANY = (*FEW, "s02-three-joins", "s30-broker-dies", "s45-unclean", "s56-producer-fenced", "s88-consumer-coordinator")
CONTEXT = re.compile(
    r"(\d{13} \w+ .*?\[(?:GroupCoordinator id=\d+ topic=[\w.-]+ partition=\d+"
    r"|Consumer [^\]]*clientId=[^\]]+, groupId=[^\]]+|QuorumController id=\d+|Partition [\w.-]+-\d+ broker=\d+"
    r"|Producer clientId=[^\]]+|TransactionCoordinator id=\d+)\] )(.*)"
)
"""A line whose writer is read, whatever it says: its instant and context, its sentence."""

POISON = (
    "\x1b[2J", "\x1b]0;title\x07", "\0", "\x9b31m", "\u202e", "\u2066", "\r", "\x7f", "\ud83d", "{}", '"', "\\u001b",
)  # fmt: skip
HUGE = ("9" * 40, "0" * 400, "2147483648", "-9223372036854775809", "1e999", "٣", "²")


@cache
def real_lines(runs: tuple[str, ...]) -> list[tuple[str, str]]:
    """The lines of these runs whose writers are read: instant and context, sentence."""
    found = []
    for run in runs:
        with raw_of(run, "4.3.1").open("rb") as packed:
            text = zstandard.ZstdDecompressor().stream_reader(packed).read().decode()
        found += [(said[1], said[2]) for said in map(CONTEXT.fullmatch, text.split("\n")) if said is not None]
    return found


def mutated(draw: random.Random, text: str, other: str) -> str:
    """A text, cut, mixed with another, with a huge number, with something that a terminal obeys, or as it is."""
    place = draw.randrange(len(text) + 1)
    match draw.randrange(7):
        case 0:
            return text[:place]
        case 1:
            return text[:place] + other[draw.randrange(len(other) + 1) :]
        case 2:
            return re.sub(r"\d+", lambda found: draw.choice((found[0], *HUGE)), text)
        case 3 | 4:
            return text[:place] + draw.choice(POISON) + text[place:]
        case 5:
            return text * draw.choice((2, 5, 50))
    return text


def wrapped(draw: random.Random, line: str) -> str:
    """A whole line, mutated, or within nested JSON."""
    if draw.random() < 0.2:
        for _ in range(draw.choice((1, 2, 8))):
            instant = draw.choice((1, "9" * 30, None))
            line = json.dumps({draw.choice(("message", "log", "x")): line, "@timestamp": instant})
    if draw.random() < 0.02:
        return '{"message":' + "[" * 20_000 + line
    return mutated(draw, line, line[::-1])


def counted(reading: Reading) -> int:
    """The lines of those who are read, by what became of them."""
    read = reading.matched + reading.unmatched + reading.others + sum(reading.passed_over.values())
    return read + reading.repeated + sum(one.without_instant for one in reading.files)


def check(draw: random.Random, runs: tuple[str, ...], number: int, place: Path) -> None:
    """Read a log with mutated sentences, which are all counted, and one whose lines are mutated as a whole."""
    known = real_lines(runs)
    chosen = [(*draw.choice(known), draw.choice(known)[1]) for _ in range(number // 2)]
    sentences = [begin + mutated(draw, said, other) for begin, said, other in chosen]
    lines = [wrapped(draw, begin + said) for begin, said, _ in chosen]
    for name, made in (("sentences", sentences), ("lines", lines)):
        log = place / f"{name}.log"
        log.write_bytes("".join(f"{one}\n" for one in made).encode("utf-8", "surrogatepass"))
        reading = read_logs([log], place / name)
        assert reading.files[0].lines == len(made)
        lost = len(made) - counted(reading)
        assert lost == 0 if name == "sentences" else lost >= 0, f"{lost} lines are in no count"
        assert len(reading.sentences) <= reading.unmatched
        summary = summary_of_logs(place / name, salvage=False)
        assert summary is not None
        assert raw_in(visible(of_read_summary(summary)), "\n\t") == ""
        page = write_report(summary, place / f"{name} report")
        assert raw_in(next(one for one in page if one.name == HTML).read_text(encoding="utf-8"), "\n") == ""


def test_mutated_lines_are_read_or_counted_and_nothing_raw_is_printed(tmp_path: Path) -> None:
    check(random.Random(3), FEW, 400, tmp_path)


def test_a_reader_that_drops_lines_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()

    def dropping(at_us: int, words: str, source: tuple[int, int]) -> LogLine | None:
        return line_of(at_us, words, source) if next(numbers) % 50 else None

    monkeypatch.setattr("recordings.log_reading.lines.line_of", dropping)
    with pytest.raises(AssertionError, match="2 lines are in no count"):
        check(random.Random(3), FEW, 200, tmp_path)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(40))
def test_a_hundred_thousand_mutated_lines(seed: int, tmp_path: Path) -> None:
    check(random.Random(seed), MANY, 2_500, tmp_path)

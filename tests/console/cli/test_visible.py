"""No control character of a stranger's file or argument reaches the terminal, on any way out."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.segment import Segment
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from console.cli import execution as cli
from console.cli import streams
from console.terminal_output import tight_update
from console.visible import in_cells, visible, visible_line
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.console.terminal_process import Process

TITLE = "\x1b]0;PWN\x07"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
EVIL = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *BIDI, "\u2028", "\u2029"]
FORBIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI}\u2028\u2029]")
SCENARIO = r"""# a comment: §]0;PWN¤
title = "title \u009b31m \u202e"
lesson = "lesson \u001b[31m\u2028"
until = "12s"
[[topic]]
name = "orders"
partitions = 2
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "5/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "group.instance.id" = "A\u001b]0;PWN\u0007\n\u009b\u202e" }
[[at]]
time = "1500ms"
do = "mark \"\u001b]0;PWN\u0007\""
""".replace("§", "\u009b").replace("¤", "\u202e")


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    path = tmp_path / "evil.toml"
    path.write_text(SCENARIO)
    return path


def test_every_one_is_spelled_and_drawn_in_one_cell() -> None:
    for character in EVIL:
        spelled = f"\\u{ord(character):04x}"
        assert visible(f"a{character}b") == (f"a{character}b" if character in "\n\t" else f"a{spelled}b")
        assert visible_line(f"a{character}b") == f"a{spelled}b"
        drawn = in_cells(f"a{character}b")
        assert len(drawn) == 3
        assert drawn[1].isprintable() or drawn[1] == "\ufffd"
        assert not FORBIDDEN.search(drawn)
        assert json.loads(visible(json.dumps([character], ensure_ascii=False))) == [character]
    harmless = "Größe – ✔ 漢字 ▁▂ \U0001f680\n\ttab"
    assert visible(harmless) == harmless
    assert visible("a\r\nb") == "a\nb"


@pytest.mark.parametrize(
    "words",
    [
        ("show", "{evil}"),
        ("run", "{evil}"),
        ("run", "{evil}", "--log"),
        ("run", "{evil}", "--json"),
        ("impact", "{evil}", "kill billing-2", "--at", "8s"),
        ("summary", "{flight}"),
        ("summary", "{flight}", "--json"),
        ("rerun", "{flight}"),
        ("play", "{flight}", "--headless"),
        ("export", "{flight}", "--to", "{out}" + TITLE),
        ("--plain", "--scenario", "{evil}", "--until", "2s"),
        ("doctor",),
        # errors
        (TITLE,),
        ("run", f"nowhere{TITLE}.toml"),
        ("run", "{evil}", "--set", f"billing:{TITLE}=1"),
        ("run", "{evil}", f"--{TITLE}"),
        ("run", "{evil}", "--until", f"1{TITLE}\x9b\u202e"),
        ("summary", f"nowhere\u202e{TITLE}"),
        ("rerun", "{flight}", "--allow-code", TITLE),
        ("show", "{wrong}"),
    ],
    ids=lambda words: " ".join(words).encode("unicode_escape").decode(),
)
def test_no_command_prints_one(
    words: tuple[str, ...],
    evil: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(SCENARIO.replace("members", '"members\\u001b]0;PWN\\u0007\\u009b"'))
    flight = tmp_path / "a.flight"
    if "{flight}" in words:
        fly(make_plan(load(evil)), record=flight)
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        cli._run([word.format(evil=evil, wrong=wrong, flight=flight, out=tmp_path / "out") for word in words])
    printed = capfd.readouterr()
    assert printed.out or printed.err
    for text in (printed.out, printed.err):
        found = FORBIDDEN.search(text)
        assert found is None, text[max(0, found.start() - 60) : found.end() + 60].encode("unicode_escape")
    if "--json" in words:
        json.loads(printed.out)
    if words[0] == "show" and "{evil}" in words:
        assert r"# a comment: \u009b]0;PWN\u202e" in printed.out


def test_a_line_of_the_log_stays_one_line(evil: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli._run(["run", str(evil), "--log"]) == 0
    assert r"A\u001b]0;PWN\u0007\u000a\u009b\u202e" in capfd.readouterr().out


def test_a_progress_line_is_rewritten_without_any() -> None:
    stream = io.StringIO()
    streams.rewrite(f"seed {TITLE}", 3, stream)
    assert stream.getvalue() == "\rseed \\u001b]0;PWN\\u0007"


def test_a_widget_that_forgets_is_caught_at_the_last_border() -> None:
    """Whole screens; parts of them go through the same pen as the test in a terminal shows."""
    drawn = LayoutUpdate([[Strip([Segment(f"a{TITLE}b")])]], Region(0, 0, 20, 1))
    update = tight_update(drawn)
    assert isinstance(update, LayoutUpdate)
    raw = update.render_segments(Console())
    assert "a␛]0;PWN␇b" in raw
    assert "\x1b]" not in raw
    assert "\x1b]0;PWN" in drawn.render_segments(Console())  # what Textual itself would have written


def test_the_console_in_a_terminal_writes_none(evil: Path) -> None:
    process = Process(str(evil))
    try:
        process.until("joined as A␛]0;PW")  # the id that two members share
        process.press(":kill \u202ebilling-1\u009b\r")
        process.until("billing-1 was killed")
        process.press("q")
        assert process.wait() == 0
    finally:
        process.end()
    text = process.output.decode(errors="replace")
    assert "\x1b]0;" not in text
    assert not re.search(f"[\x80-\x9f{BIDI}\u2028\u2029]", text)

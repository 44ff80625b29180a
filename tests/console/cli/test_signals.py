"""Signals end every command in good order: also a turn without an end, also where a shell ignores SIGINT."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recordings.journal.reader import Recording
from tests.support.minimal_scenario import DECLARED
from tests.support.repository import ROOT

FLIGHTDECK = [sys.executable, "-m", "console.cli"]
ENDLESS = """
class Assignor:
    name = "endless"
    def assign(self, partitions_per_topic, subscriptions):
        turns = 0
        open("began", "w").close()
        while True:
            turns += 1
"""
DEAF = ENDLESS.replace(
    "            turns += 1",
    "            try:\n                for _ in range(1_000_000):\n                    turns += 1\n"
    "            except BaseException:\n                pass",
)
SCENARIO = f"""title = "Endless"
until = "1h"
[cluster]
config = {{ "group.initial.rebalance.delay.ms" = 0 }}
{DECLARED}assignors = ["endless.Assignor"]
"""
COMMANDS = {
    "run": ("run", "endless.toml", "--allow-code", "--record", "a.flight"),
    "plain": ("--plain", "--scenario", "endless.toml", "--allow-code", "--record", "a.flight"),
    "impact": ("impact", "endless.toml", "kill broker-1", "--at", "1m", "--allow-code"),
}


def started(words: tuple[str, ...], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*FLIGHTDECK, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_a_turn_without_an_end(process: subprocess.Popen[str], folder: Path) -> None:
    """Until the first assignment has begun."""
    while process.poll() is None and not (folder / "began").exists():
        time.sleep(0.05)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
    ids=lambda number: number.name,
)
@pytest.mark.parametrize("words", COMMANDS.values(), ids=list(COMMANDS))
def test_a_turn_without_an_end_is_broken_off(words: tuple[str, ...], number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    (tmp_path / "endless.toml").write_text(SCENARIO)
    process = started(words, tmp_path)
    wait_for_a_turn_without_an_end(process, tmp_path)
    process.send_signal(number)
    _, error = process.communicate(timeout=30)
    assert "Traceback" not in error
    assert process.returncode == (2 if words[0] == "impact" else 0)
    if "--record" in words:
        footer = Recording(tmp_path / "a.flight").footer
        assert footer is not None
        assert not footer.complete


@pytest.mark.slow
def test_code_that_catches_everything_ends_with_the_process(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(DEAF)
    (tmp_path / "endless.toml").write_text(SCENARIO)
    process = started(COMMANDS["run"], tmp_path)
    wait_for_a_turn_without_an_end(process, tmp_path)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 1
    assert Recording(tmp_path / "a.flight").footer is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("run", "first-flight", "--speed", "10", "--until", "1h", "--record", "a.flight", "--json"),
        ("--plain", "--until", "1h", "--record", "a.flight"),
        ("check", "--seeds", "1000000", "--json"),
    ],
    ids=["run", "plain", "check"],
)
def test_sigterm_ends_what_a_shell_has_put_in_the_background(words: tuple[str, ...], tmp_path: Path) -> None:
    part = "a.flight/segment-000001.jsonl.part"
    ready = f"-s {part}" if "--record" in words else "$(cut -d' ' -f14 /proc/$p/stat) -gt 200"  # 2 s of CPU
    flies = f"until [ {ready} ] || ! kill -0 $p; do sleep 0.1; done"
    script = f'"$@" >out 2>err & p=$!; {flies}; kill $p; wait $p; echo $?'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *FLIGHTDECK, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, "Traceback" in (tmp_path / "err").read_text()) == ("0\n", False)
    if words[0] == "check":
        assert json.loads((tmp_path / "out").read_text())["interrupted"] is True
    else:
        footer = Recording(tmp_path / "a.flight").footer
        assert footer is not None
        assert not footer.complete


@pytest.mark.parametrize("gap_seconds", [0.0, 0.02])
def test_three_sigints_are_as_good_as_one(gap_seconds: float, tmp_path: Path) -> None:
    process = started(("run", "first-flight", "--speed", "10", "--record", "a.flight"), tmp_path)
    while not (tmp_path / "a.flight" / "segment-000001.jsonl.part").exists():
        time.sleep(0.05)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(gap_seconds)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (0, "")
    assert "interrupted: expectations after the interruption are not judged" in out
    assert Recording(tmp_path / "a.flight").footer is not None


def output_of_one_ended_early(program: str) -> str:
    """What it printed before a signal ended it in one line."""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "flightdeck: interrupted before the flight began\n")
    return done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_while_the_command_is_imported_is_one_line(number: signal.Signals) -> None:
    """Before it listens it imports nothing that takes time: not `typing`, and not `signal` with `enum` and `re`."""
    program = (
        "import sys, os\n"
        "loaded = set(sys.modules)\n"
        "from console.cli import start\n"
        "assert set(sys.modules) - loaded == {'console', 'console.cli', 'console.cli.start'}\n"
        "start.listen()\n"
        f"os.kill(os.getpid(), {int(number)})\n"
        "start.main()\n"
    )
    assert output_of_one_ended_early(program) == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_the_exit_code_is_ours_wherever_the_signal_came(number: signal.Signals) -> None:
    """CPython ends by SIGINT once KeyboardInterrupt has passed through `exec` of a text, as in some imports."""
    program = (
        "import atexit, os\n"
        "from console.cli import execution as cli\n"
        "class Cluster:\n"
        "    def __del__(self): os.write(1, b'taken apart')\n"
        "cluster = Cluster()\n"
        "atexit.register(lambda: os.write(1, b'put away'))\n"
        f"turn = 'os.kill(os.getpid(), {int(number)})\\nwhile True: pass'\n"
        "cli._execute = lambda words: exec(turn)\n"
        "cli.main()\n"
    )
    printed = output_of_one_ended_early(program)
    assert printed == "put away"  # a cluster is not taken apart object by object: it took longer than the flight's end


def test_what_is_ignored_stays_ignored() -> None:
    """`nohup` and `&` say so: the background of a script does not end with its terminal."""
    script = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from console.cli import start\n"
        "from recordings.flights import interruption\n"
        "for listen in (start.listen, interruption.listen):\n"
        "    listen()\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    signal.raise_signal(signal.SIGHUP)\n"
        "print('flies on')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "flies on\n")

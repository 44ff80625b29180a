"""`flightdeck read` and the commands that open what it made, as a user gives them."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recordings.journal.reader import Recording
from tests.support.console.command_processes import Flightdeck
from tests.support.repository import ROOT

LINE = "[2026-11-27 05:10:{},{:03}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] {} (o.a.k.G)\n"
ID = "app-1-1234abcd-0000-0000-0000-000000000001"

ASSIGNED = (
    f"Assignment received from leader {ID} for group orders for generation 2. The group has 1 members, "
    "0 of which are static."
)


def incident(took_ms: int = 500, *, cause: str = "member") -> str:
    """A group of one member rebalances once."""
    reason = f"removing member {ID} on heartbeat expiration." if cause == "session" else "Because <b>\x1b[2J\u202e."
    began = f"Preparing to rebalance group orders in state PreparingRebalance with old generation 1 (reason: {reason})."
    said = (
        (0, began),
        (took_ms - 1, "Stabilized group orders generation 2 with 1 members."),
        (took_ms, ASSIGNED),
    )
    return "".join(LINE.format(11, ms, words) for ms, words in said)


@pytest.fixture
def read(tmp_path: Path, flightdeck: Flightdeck) -> Path:
    (tmp_path / "server.log").write_text(incident(), encoding="utf-8")
    ended = flightdeck("read", tmp_path / "server.log", "--out", tmp_path / "read")
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert "\u202e" not in ended.out
    return tmp_path / "read"


def other(tmp_path: Path, flightdeck: Flightdeck, text: str) -> Path:
    (tmp_path / "other.log").write_text(text, encoding="utf-8")
    assert flightdeck("read", tmp_path / "other.log", "--out", tmp_path / "other").code == 0
    return tmp_path / "other"


def test_the_report_on_logs_needs_no_spark_and_escapes_what_lines_say(
    read: Path, tmp_path: Path, flightdeck: Flightdeck
) -> None:
    assert flightdeck("report", read, "--out", tmp_path / "report").code == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Because &lt;b&gt;" in page
    assert "http" not in page
    assert '<td class="unknown">unknown</td>' in page
    assert not {"\x1b", "\u202e"} & set(page)
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert report["groups"][0]["lag"] is None
    assert report["rebalances"][0]["took_s"] == 0.5
    assert report["rebalances"][0]["detail"].startswith("Because <b>")


def test_two_readings_are_compared_by_their_rebalances(read: Path, tmp_path: Path, flightdeck: Flightdeck) -> None:
    alike = other(tmp_path, flightdeck, incident(540))
    ended = flightdeck("diff", read, alike)
    assert ended.code == 0, ended.out
    assert "1 of 1 took as long, within a tenth; the greatest difference is 0.040 s" in ended.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (incident(900), "0 of 1 took as long"),
        (incident(cause="session"), "0 of 1 follow one another with the same causes"),
        (incident().replace("group orders", "group bills"), "bills, rebalances: unknown | 1"),
    ],
)
def test_readings_that_differ_are_found(
    text: str, said: str, read: Path, tmp_path: Path, flightdeck: Flightdeck
) -> None:
    ended = flightdeck("diff", read, other(tmp_path, flightdeck, text))
    assert ended.code == 1
    assert said in ended.out


def test_what_another_command_prints_is_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "console.cli", "read", "-", "--out", str(tmp_path / "read")]
    ended = subprocess.run(command, cwd=ROOT, input=incident(), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "  /dev/stdin: 3 lines, 3 of group coordinators\n" in ended.stdout


def test_one_line_is_one(tmp_path: Path, flightdeck: Flightdeck) -> None:
    client = "[Consumer clientId=a-1, groupId=orders] Adding newly assigned partitions: [orders-0]"
    logger = "org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker"
    (tmp_path / "app.log").write_text(f"[2026-11-27 05:10:11,000] INFO {client} ({logger})\n")
    lines = flightdeck("read", tmp_path / "app.log", "--out", tmp_path / "read").out.splitlines()
    assert lines[1].endswith("app.log: 1 line, 0 of group coordinators")
    assert lines[2].startswith(
        "0 lines matched, 0 did not; 1 line of clients, controllers and other parts of brokers; "
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--clock", "b.log=1s"), "LOG is one of"),
        (("--clock", "server.log"), "write LOG="),
        (("--clock", "server.log=+x"), "--clock"),
        (("--pattern", "%m"), "needs a date"),
    ],
)
def test_options_that_cannot_be_read_are_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, flightdeck: Flightdeck
) -> None:
    (tmp_path / "server.log").write_text(incident(), encoding="utf-8")
    ended = flightdeck("read", tmp_path / "server.log", "--out", tmp_path / "read", *words)
    assert ended.code == 2
    assert said in ended.err
    assert not (tmp_path / "read").exists()


def test_a_followed_log_ends_with_ctrl_c_in_good_order(tmp_path: Path) -> None:
    log, first, rest = tmp_path / "server.log", *incident().split("\n", 1)
    log.write_text(first + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "console.cli", "read", str(log), "--out", str(tmp_path / "read"), "--follow"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "orders rebalances: unknown" in process.stdout.readline()
    with log.open("a", encoding="utf-8") as file:
        file.write(rest)
    assert "2026-11-27 05:10:11.500  orders is Stable in generation 2" in process.stdout.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, "")
    assert "3 lines matched" in out
    assert Recording(tmp_path / "read", logs=True).survey().totals.complete


def test_an_incident_becomes_a_scenario_that_says_what_was_guessed(tmp_path: Path, flightdeck: Flightdeck) -> None:
    (tmp_path / "server.log").write_text(incident(cause="session"), encoding="utf-8")
    words = ("read", tmp_path / "server.log", "--out", tmp_path / "read", "--as-scenario", tmp_path / "twin.toml")
    ended = flightdeck(*words)
    assert ended.code == 0, ended.err
    assert "flown once: the logs | the flight" in ended.out
    assert "guessed: load: no line says" in ended.out
    assert flightdeck("run", tmp_path / "twin.toml").code == 0


def test_a_scenario_that_exists_is_refused_before_the_logs_are_read(tmp_path: Path, flightdeck: Flightdeck) -> None:
    (tmp_path / "server.log").write_text(incident(cause="session"), encoding="utf-8")
    (tmp_path / "twin.toml").write_text("mine", encoding="utf-8")
    words = ("read", tmp_path / "server.log", "--out", tmp_path / "read", "--as-scenario", tmp_path / "twin.toml")
    ended = flightdeck(*words)
    assert (ended.code, ended.out) == (2, "")
    assert "twin.toml already exists" in ended.err
    assert not (tmp_path / "read").exists()

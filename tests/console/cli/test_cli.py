"""The command line: what it prints, how it ends, and that no mistake of a user's makes a traceback."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.cli import execution as cli
from recordings.journal.reader import Recording
from recordings.version import VERSION, describe_build
from tests.support.console.command_processes import Ended, Flightdeck, command, in_a_process
from tests.support.repository import ROOT
from tests.support.slow_cases import mostly_slow


@pytest.fixture
def accidental(small: str) -> str:
    """With an expectation that an empty cluster meets at 0 s."""
    with Path(small).open("a") as file:
        file.write('[[expect]]\nthat = "groups.billing.lag < 1000"\nby = "5s"\n')
    return small


# --- run -------------------------------------------------------------------------------------------------------------


def test_run_prints_a_readable_summary(flightdeck: Flightdeck, small: str) -> None:
    ended = flightdeck("run", small)
    assert ended.code == 0
    assert "1 of 1 expectations held" in ended.out
    assert "✔ groups.billing.members == 2 at " in ended.out
    assert "billing: " in ended.out
    assert ended.err == ""


def test_run_tells_which_of_its_steps_were_refused_and_why(flightdeck: Flightdeck, small: str) -> None:
    with Path(small).open("a") as file:
        file.write('[[at]]\ntime = "2s"\ndo = "start billing-1"\n')
        file.write('[[at]]\ntime = "3s"\ndo = "subscribe billing-1 to orders"\n')
    lines = flightdeck("run", small).out.splitlines()
    assert "refused at 2 s: start billing-1: billing-1 is running already" in lines
    already = "billing-1 subscribes to exactly these already"
    assert f"refused at 3 s: subscribe billing-1 to orders: {already}" in lines


def test_run_tells_which_consumers_crashed_and_why(flightdeck: Flightdeck, small: str) -> None:
    unknown = 'config = { "group.protocol" = "consumer", "group.remote.assignor" = "rang" }'
    text = Path(small).read_text()
    Path(small).write_text(text.replace("members = 2", f"members = 2\n{unknown}"))
    lines = flightdeck("run", small).out.splitlines()
    why = "UNSUPPORTED_ASSIGNOR: ServerAssignor rang is not supported. Supported assignors: uniform, range."
    assert f"billing: billing-1, billing-2 crashed: {why}" in lines


def test_a_step_whose_event_does_not_come_is_said_and_is_exit_code_1(
    flightdeck: Flightdeck, small: str, tmp_path: Path
) -> None:
    with Path(small).open("a") as file:
        file.write('[[at]]\ntime = "2s"\ndo = "kill billing-1"\nafter_event = 999999\n')
    flight = tmp_path / "a.flight"
    ended = flightdeck("run", small, "--record", flight)
    assert ended.code == 1
    assert "✖ kill billing-1 was not given: this is not the flight that the scenario describes" in ended.out
    why = "kill billing-1: event 999999 has not come by 2.000000 s"
    assert why in ended.out
    report = json.loads(flightdeck("run", small, "--json").out)
    assert report["not_given"] == ["kill billing-1"]
    assert [f"{each['text']}: {each['reason']}" for each in report["refused"]] == [why]
    assert "refused commands" in flightdeck("summary", flight).out
    assert json.loads(flightdeck("summary", flight, "--json").out)["refused"][0]["reason"] == why.partition(": ")[2]
    assert flightdeck("run", small, "--until", "1s").code == 0


def test_run_names_the_errors_that_records_failed_with(flightdeck: Flightdeck, small: str) -> None:
    text = Path(small).read_text()
    Path(small).write_text(
        text.replace('name = "orders"', 'name = "orders"\nconfig = { "cleanup.policy" = "compact" }', 1)
    )
    ended = flightdeck("run", small, "--until", "6s")
    failed = [line for line in ended.out.splitlines() if "failed with" in line]
    assert len(failed) == 1
    assert failed[0].endswith("records failed with INVALID_RECORD (a record without a key, in a compacted topic)")
    assert "note: " in ended.err


def test_run_json_prints_one_object(flightdeck: Flightdeck, small: str) -> None:
    ended = flightdeck("run", small, "--json", "--seed", 3, "--until", "6s")
    report = json.loads(ended.out)
    assert ended.code == 0
    assert ended.out.count("\n") == 1
    assert (report["scenario"], report["seed"], report["virtual_s"]) == ("small", 3, 6.0)


def test_an_expectation_that_does_not_hold_is_exit_code_1(flightdeck: Flightdeck, small: str) -> None:
    ended = flightdeck("run", small, "--set", "billing:members=3")
    assert ended.code == 1
    assert "0 of 1 expectations held" in ended.out
    assert "✖ groups.billing.members == 2" in ended.out


@pytest.mark.parametrize(
    ("strict", "code", "counted"),
    [((), 0, "✔ 2 of 2 expectations held"), (("--strict",), 1, "✖ 1 of 2 expectations held")],
)
def test_an_expectation_that_holds_by_accident_is_said_and_fails_only_if_strict(
    flightdeck: Flightdeck, accidental: str, tmp_path: Path, strict: tuple[str, ...], code: int, counted: str
) -> None:
    recording = tmp_path / "a.flight"
    ended = flightdeck("run", accidental, "--record", recording, *strict)
    again = flightdeck("rerun", recording, *strict)
    mark, held = counted.split(" ", 1)
    for each in (ended, again):
        assert each.code == code
        assert f"{held}, 1 already true where its window begins" in each.out
        assert f"  {mark} groups.billing.lag < 1000 already true at 0 s: groups.billing.lag = 0" in each.out
    assert "the same flight" in again.out


def test_what_was_already_true_stays_ok_in_json(flightdeck: Flightdeck, accidental: str) -> None:
    ended = flightdeck("run", accidental, "--json", "--strict")
    meant, by_accident = json.loads(ended.out)["expectations"]
    assert ended.code == 1
    assert "already" not in meant
    assert (by_accident["ok"], by_accident["already"], by_accident["at_s"]) == (True, True, 0.0)


def test_strict_passes_what_becomes_true_in_its_window(flightdeck: Flightdeck, small: str) -> None:
    ended = flightdeck("run", small, "--strict")
    assert ended.code == 0
    assert "already" not in ended.out


def test_settings_and_seed_are_part_of_the_flight(flightdeck: Flightdeck, small: str) -> None:
    def hash_of(*words: str) -> str:
        return str(json.loads(flightdeck("run", small, "--json", *words).out)["journal_sha256"])

    plain = hash_of()
    assert hash_of() == plain
    assert hash_of("--seed", "2") != plain
    assert hash_of("--set", "billing.session.timeout.ms=10000", "--set", "rate=5/s") != plain


def test_log_prints_kafkas_words(flightdeck: Flightdeck, small: str) -> None:
    ended = flightdeck("run", small, "--log")
    assert "INFO [GroupCoordinator " in ended.out
    assert "Stabilized group billing generation 1" in ended.out
    both = flightdeck("run", small, "--log", "--json")
    assert json.loads(both.out)["events"] > 0
    assert "Stabilized group billing generation 1" in both.err


def test_speed_paces_a_flight(flightdeck: Flightdeck, small: str) -> None:
    report = json.loads(flightdeck("run", small, "--json", "--speed", "x20").out)
    assert report["wall_s"] >= 0.35


def test_a_recording_is_where_it_was_wanted_and_flies_again(flightdeck: Flightdeck, small: str, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.flight"
    flown = json.loads(flightdeck("run", small, "--record", path, "--json").out)
    again = flightdeck("rerun", path, "--json")
    report = json.loads(again.out)
    assert again.code == 0
    assert report["matches"] is True
    assert report["first_divergence"] is None
    assert report["compared_events"] == flown["events"]
    assert report["journal_sha256"] == flown["journal_sha256"]
    readable = flightdeck("rerun", path)
    assert f"✔ the same flight: {flown['events']:,} events are equal, byte by byte" in readable.out


def test_what_if_is_not_a_failure(flightdeck: Flightdeck, small: str, tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    flightdeck("run", small, "--record", path)
    ended = flightdeck("rerun", path, "--set", "checkout:rate=20/s")
    assert ended.code == 0
    first, _, rest = ended.out.partition("\n")
    assert first.endswith(".")
    assert "  only what-if: checkout:rate=20/s" in rest
    assert "1 of 1 expectations of the scenario held" in rest
    assert "seq=" not in rest


def test_a_recording_that_does_not_come_again_is_exit_code_1(
    flightdeck: Flightdeck, small: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.flight"
    flightdeck("run", small, "--record", path)
    (path / "footer.json").unlink()
    (segment,) = path.glob("segment-*")
    segment.write_bytes(
        segment.read_bytes().replace(b'"kind":"poll_returned","seq"', b'"kind":"poll_returned" ,"seq"', 1)
    )
    ended = flightdeck("rerun", path)
    assert ended.code == 1
    assert "✖ another flight after " in ended.out
    assert "warning: the flight has no end" in ended.err


def test_a_recordings_tables_are_printed_and_exported(flightdeck: Flightdeck, small: str, tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    flown = json.loads(flightdeck("run", small, "--record", path, "--json").out)
    assert json.loads(flightdeck("summary", path, "--json").out)["journal_sha256"] == flown["journal_sha256"]
    readable = flightdeck("summary", path)
    assert readable.code == 0
    assert "rebalances\n" in readable.out
    assert "member joined" in readable.out
    exported = flightdeck("export", path, "--to", tmp_path / "out", "--json")
    assert exported.code == 0
    assert json.loads(exported.out)[0]["events"] == flown["events"]
    assert list((tmp_path / "out" / "tables" / "records_appended").glob("*.parquet"))
    assert f"{flown['events']:,} events as " in flightdeck("export", path, "--to", tmp_path / "out").out
    traced = flightdeck("export", path, "--trace", tmp_path / "a.json")
    assert f"trace events of {flown['events']:,} events" in traced.out
    assert len(json.loads((tmp_path / "a.json").read_bytes())["traceEvents"]) > 100


# --- the library -----------------------------------------------------------------------------------------------------


def test_scenarios_lists_the_library(flightdeck: Flightdeck) -> None:
    listed = json.loads(flightdeck("scenarios", "--json").out)
    assert {"name", "title", "lesson", "module", "until"} == set(listed[0])
    assert "first-flight" in {scenario["name"] for scenario in listed}
    readable = flightdeck("scenarios")
    assert readable.code == 0
    assert all(scenario["title"] in readable.out for scenario in listed)


def test_show_prints_a_text_that_can_be_flown(flightdeck: Flightdeck, tmp_path: Path) -> None:
    shown = flightdeck("show", "session-expired")
    assert shown.code == 0
    copy = tmp_path / "copy.toml"
    copy.write_text(shown.out)
    assert flightdeck("show", copy).out == shown.out


# --- mistakes --------------------------------------------------------------------------------------------------------

MISTAKES: list[tuple[tuple[str, ...], str]] = [
    (("",), "there is no command ''\n"),
    (("rnu",), "there is no command 'rnu'; did you mean run?"),
    (("first-flight",), "there is no command 'first-flight'; did you mean `flightdeck --scenario first-flight`?"),
    (("my shop.toml",), "there is no command 'my shop.toml'; did you mean `flightdeck --scenario 'my shop.toml'`?"),
    (("/tmp",), "there is no command '/tmp'; did you mean `flightdeck play /tmp`?"),
    (("run",), "`flightdeck run` needs SCENARIO\n"),
    (("import", "a.txt"), "`flightdeck import` needs --out\n"),
    (("run", "first-flight", "--until"), "--until needs a value\n"),
    (("run", "frist-flight"), "no scenario has this name (did you mean first-flight?)"),
    (("run", "nowhere.toml"), "nowhere.toml: it cannot be read: No such file or directory"),
    (("run", "first-flight", "again"), "unexpected argument 'again' for `flightdeck run`"),
    (("run", "first-flight", "--untl", "3s"), "Unknown option: --untl. Did you mean --until?"),
    (("run", "first-flight", "--until", "5"), "--until: '5' has no unit"),
    (("run", "first-flight", "--until", "-5s"), "--until: '-5s' is negative"),
    (("run", "first-flight", "--until=-5s"), "--until: '-5s' is negative"),
    (("run", "first-flight", "--speed", "-2"), "--speed: a speed is above zero"),
    (("play", "a.flight", "--speed", "0"), "--speed: a recording is played at 0.01 to 1000, or backwards at -4"),
    (("play", "a.flight", "--speed", "nan"), "--speed: a recording is played at 0.01 to 1000"),
    (("run", ""), "'': no scenario has an empty name (did you mean first-flight?)"),
    (("show", " "), "' ': no scenario has an empty name"),
    (("run", "first-flight", "--until", "5x"), "--until: '5x': unknown unit"),
    (("run", "first-flight", "--until", "5s", "--forever"), "--forever and --until exclude each other"),
    (("run", "first-flight", "--seed", "one"), "--seed: 'one' is not a whole number"),
    (("run", "first-flight", "--seed", "1.5"), "--seed: '1.5' is not a whole number"),
    (("check", "--seeds", "2.5"), "--seeds: '2.5' is not a whole number"),
    (("check", "--from", "1e3"), "--from: '1e3' is not a whole number"),
    (("--seed", "3", "run", "first-flight"), "options follow the command: `flightdeck run …`"),
    (("export", "a.flight", "--to", ""), "--to is empty: give a directory or a URI"),
    (("run", "first-flight", "--speed", "fast"), "--speed: 'fast' is not a number"),
    (("run", "first-flight", "--speed", "0"), "--speed: a speed is above zero"),
    (("run", "first-flight", "--speed", "nan"), "--speed: a speed is above zero"),
    (("run", "first-flight", "--set", "rate"), "'rate' is not a setting: write it like KEY=VALUE"),
    (("run", "first-flight", "--set", "biling:members=3"), "nothing is named biling (did you mean billing?)"),
    (("run", "first-flight", "--set", "billing.session.timeout.mss=3"), "session.timeout.ms"),
    (("run", "first-flight", "--record", "console"), "console already exists; choose another name"),
    (("rerun", "nowhere.flight"), "nowhere.flight does not exist, so it is not a recording"),
    (("rerun", "console"), "console is not a recording: it has no header.json"),
    (("summary", "nowhere.flight"), "nowhere.flight does not exist, so it is not a recording"),
    (("export", "console", "--to", "nowhere"), "console is not a recording: it has no header.json"),
    (("export", "console"), "give --to DIR for tables, --trace FILE or --openmetrics FILE: one of them"),
    (
        ("export", "a", "--to", "b", "--trace", "c"),
        "give --to DIR for tables, --trace FILE or --openmetrics FILE: one of them",
    ),
    (("export", "a", "b", "--trace", "c"), "--trace takes one recording: a trace has one flight"),
    (("export", "a", "--openmetrics", "b", "--trace", "c"), "one of them"),
    (("export", "a", "b", "--openmetrics", "c"), "--openmetrics takes one recording: its series would mix"),
    (("export", "a", "--openmetrics", "c", "--step", "100us"), "--step: at least 1ms"),
    (("export", "a", "--openmetrics", "c", "--step", "soon"), "--step: "),
    (
        ("export", "a", "--openmetrics", "c", "--start", "noon"),
        "--start: 'noon' is not an instant: write it like 2026-",
    ),
    (
        ("export", "a", "--openmetrics", "c", "--start", "2026-11-27T14:00"),
        "--start: '2026-11-27T14:00' has no time zone",
    ),
    (("export", "a", "--to", "c", "--step", "1s"), "--step and --start are for --openmetrics"),
    (("export", "console", "--openmetrics", "c"), "console is not a recording: it has no header.json"),
    (("run", "first-flight", "--metrics", "70000"), "--metrics: 70000 is not a port: 0 to 65535"),
    (("play", "a.flight", "--metrics", "1", "--web"), "--metrics serves one playback at its own pace: leave out --web"),
    (("play", "a.flight", "--metrics", "1", "--headless", "--script", "s"), "leave out --web or --script"),
    (("play", "a.flight", "--metrics", "0", "--headless"), "a.flight does not exist, so it is not a recording"),
    (("export", "console", "--trace", "c"), "console is not a recording: it has no header.json"),
    (("show", "firs-flight"), "did you mean first-flight?"),
    (("play", "a.flight", "--headless"), "a.flight does not exist, so it is not a recording"),
    (("report", "a", "b", "--follow", "--out", "x"), "--follow takes one recording, without --salvage"),
    (("report", "a", "--salvage", "--follow", "--out", "x"), "--follow takes one recording, without --salvage"),
    (("compare", "a.flight", "b.flight", "--out", "tests"), "a.flight does not exist, so it is not a recording"),
    (("sweep", "file", "--out", "dir", "--master", "local[2]"), "file: it cannot be read: No such file or directory"),
    ((), "the console needs a terminal; `flightdeck run SCENARIO` flies without one"),
    (("--web", "--plain"), "--web shows screens"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=[" ".join(words) or "nothing" for words, _ in MISTAKES])
def test_a_mistake_is_one_clear_message_and_exit_code_2(
    flightdeck: Flightdeck, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(ROOT)
    ended = flightdeck(*words)
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.startswith("flightdeck: ")
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_every_error_of_a_scenario_is_told_at_once(flightdeck: Flightdeck, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('title = "x"\nunti = "3s"\n[[topic]]\nname = "orders"\npartitons = 3\n')
    ended = flightdeck("run", path)
    assert ended.code == 2
    assert f"{path}:2: " in ended.err
    assert f"{path}:5: " in ended.err
    assert "did you mean partitions?" in ended.err


def test_a_bug_of_ours_is_told_as_one(
    flightdeck: Flightdeck, small: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("cluster.broker.broker_lifecycle.BrokerLifecycle.send_heartbeat", broken)
    ended = flightdeck("run", small, "--record", tmp_path / "a.flight")
    assert ended.code == 1
    assert ended.err.startswith("the last 50 events:\n{")
    assert "ZeroDivisionError: a defect" in ended.err
    assert "This is a bug of Flightdeck" in ended.err
    assert "Traceback" not in ended.err
    assert Recording(tmp_path / "a.flight").footer is not None
    monkeypatch.setenv("FLIGHTDECK_DEBUG", "1")
    with pytest.raises(Exception, match="a defect"):
        cli._run(["run", small])


def test_a_full_disk_is_told_and_what_was_recorded_is_kept(
    flightdeck: Flightdeck, small: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.flight"
    monkeypatch.setattr("recordings.journal.segments.SegmentWriter._put", full)
    ended = flightdeck("run", small, "--record", path)
    assert ended.code == 2
    assert ended.err == (
        f"flightdeck: cannot continue recording to {path}: No space left on device; what was recorded is kept\n"
    )


# --- as a process ----------------------------------------------------------------------------------------------------


def test_help_and_version_import_nothing_heavy() -> None:
    script = (
        "import sys\nfrom console.cli import execution as cli\n"
        "try:\n    cli._run(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'textual', 'trio', 'pyarrow', 'pyspark', 'pandas', 'cel', 'zstandard'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "heavy: []" in done.stderr
    assert "Fly a scenario without a console." in done.stdout
    assert in_a_process("--version").out.strip() == f"{VERSION}, {describe_build()}"


def test_the_first_frame_waits_for_no_simulation_no_reader_and_no_parser(tmp_path: Path) -> None:
    """What `flightdeck` has imported when its screens begin: the parser of options alone was a tenth of its start."""
    script = (
        "import sys\nfrom console.cli import opening\nfrom console.app import FlightdeckApp\n"
        "opening.has_screen, opening.is_dumb_terminal = lambda: True, lambda: False\n"
        "late = {'cyclopts', 'trio', 'structlog', 'multiprocessing', 'http', 'cluster.simulation', 'cluster.broker',"
        " 'console.player', 'recordings.journal', 'recordings.scenarios', 'recordings.flights.runner', 'pyspark'}\n"
        "FlightdeckApp.run = lambda app: print('textual' in sys.modules, sorted(late & set(sys.modules)))\n"
        "opening.open_first_flight()"
    )
    surroundings = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=surroundings, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True []"


@pytest.mark.parametrize("how", [["--json"], ["--log"], []])
def test_output_that_cannot_be_written_is_told_in_one_line(small: str, how: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("run", small, *how), cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "flightdeck: cannot write output: No space left on device\n")


PRINTS = (["scenarios"], ["show", "first-join"], ["doctor"], ["--version"], ["run", "--help"])


@pytest.mark.parametrize("words", mostly_slow(PRINTS, quick=[["scenarios"], ["run", "--help"]]))
@pytest.mark.parametrize("how", [">/dev/full", ">&-"])
def test_every_command_that_prints_says_that_it_cannot(words: list[str], how: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'exec "$@" {how}', "bash", *command(*words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    reason = "No space left on device" if how == ">/dev/full" else "Bad file descriptor"
    assert (done.returncode, done.stderr) == (2, f"flightdeck: cannot write output: {reason}\n")


@pytest.mark.parametrize("words", [["--help"], ["scenarios"], ["run", "--help"]])
def test_help_that_nobody_reads_to_its_end_is_no_error(words: list[str]) -> None:
    """`| head -1`: the reader is gone before anything is written."""
    read, written = os.pipe()
    os.close(read)
    done = subprocess.run(command(*words), cwd=ROOT, stdout=written, stderr=subprocess.PIPE, text=True, check=False)
    os.close(written)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("how", ["2>/dev/full", "2>&-"])
def test_progress_that_cannot_be_told_ends_nothing(small: str, tmp_path: Path, how: str) -> None:
    line = f'"$@" check --seeds 1 --virtual 50s {how} && "$@" run {small} --record {tmp_path / "a.flight"} {how}'
    done = subprocess.run(
        ["bash", "-c", line, "bash", *command()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "0 failed" in done.stdout
    assert "1 of 1 expectations held" in done.stdout


def test_a_log_that_cannot_be_written_beside_json_is_bad_output(small: str) -> None:
    with Path("/dev/full").open("w") as full:
        words = command("run", small, "--json", "--log")
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_seed_is_the_same_flight_in_every_process(small: str) -> None:
    reports = [json.loads(in_a_process("run", small, "--json", PYTHONHASHSEED=seed).out) for seed in ("1", "2")]
    assert reports[0]["journal_sha256"] == reports[1]["journal_sha256"]
    assert reports[0]["view"] == reports[1]["view"]


def test_a_mistake_as_a_process_has_no_traceback() -> None:
    ended = in_a_process("run", "nothing")
    assert ended == Ended(2, "", "flightdeck: nothing: no scenario has this name\n")


@pytest.mark.slow
def test_a_terminal_that_draws_nothing_gets_lines(small: str) -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the other process
        os.chdir(ROOT)
        os.execve(sys.executable, command("--scenario", small, "--until", "1s"), {**os.environ, "TERM": "dumb"})
    said = b""
    while not said.endswith(b"the flight has ended\r\n"):
        said += os.read(terminal, 65_536)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)
    assert b"TERM=dumb: this terminal shows no screens; the flight is in lines" in said
    assert b"billing rebalances: member joined" in said
    assert b"\x1b" not in said


def test_output_that_nobody_reads_is_no_error(small: str) -> None:
    process = subprocess.Popen(
        command("run", small, "--log"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), error) == (0, "")


def wait_for(path: Path, lines: int) -> None:
    """Until so many lines are on disk."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if sum(file.read_bytes().count(b"\n") for file in path.glob("segment-*.part")) >= lines:
            return
        os.sched_yield()
    raise TimeoutError(f"{path} has fewer than {lines} lines")


def take_off(small: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command("run", small, "--forever", "--speed", "50", "--record", path, "--json"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_flight_that_is_killed_flies_again_to_its_last_whole_event(small: str, tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    process = take_off(small, path)
    wait_for(path, 2_000)
    process.kill()
    process.communicate()
    assert not (path / "footer.json").exists()
    ended = in_a_process("rerun", path, "--json")
    report = json.loads(ended.out)
    assert ended.code == 0
    assert report["matches"] is True
    assert report["compared_events"] == report["events"] >= 1_900
    assert "warning: the flight has no end" in ended.err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_flight_reports_what_it_flew(small: str, tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "a.flight"
    process = take_off(small, path)
    wait_for(path, 1_000)
    process.send_signal(how)
    out, error = process.communicate()
    report = json.loads(out)
    assert (process.returncode, error) == (0, "")
    recording = Recording(path)
    assert recording.footer is not None
    assert not recording.footer.complete
    assert recording.survey().totals.journal_sha256 == report["journal_sha256"]
    again = json.loads(in_a_process("rerun", path, "--json").out)
    assert (again["matches"], again["events"]) == (True, report["events"])

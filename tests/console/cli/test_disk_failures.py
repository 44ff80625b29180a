"""A disk that is full, read-only, taken or gone: one clear message, exit code 2, and nothing lost that was written."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from recordings.journal.format import FOOTER, HEADER, write_json
from recordings.journal.keyframes import Keyframes
from recordings.journal.reader import Recording
from tests.support.console.command_processes import Ended, Flightdeck, command, in_a_process
from tests.support.repository import ROOT

UNPRIVILEGED = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
"""Root may write anywhere, unless this capability is taken from it."""


def one_message(ended: Ended, *words: str) -> None:
    """It ended with code 2 and one line on stderr, which has these words."""
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("flightdeck: ")
    for word in words:
        assert word in ended.err


def limited(kibibytes: int, *words: object) -> Ended:
    """The command in a process whose files cannot grow beyond so many KiB: every longer write fails.

    It writes no bytecode: a file of it that is cut short would break every later process.
    """
    done = subprocess.run(
        ["bash", "-c", f'ulimit -f {kibibytes}; exec "$@"', "bash", *command(*words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def whole(path: Path) -> int:
    """How many events of a recording without a footer can be read, from the first, each of them whole."""
    recording = Recording(path)
    assert recording.footer is None
    seqs = [event.seq for event in recording.events()]
    assert seqs == list(range(1, len(seqs) + 1))
    return len(seqs)


@pytest.mark.parametrize("kibibytes", [16, 301, 1_000])
def test_a_file_that_cannot_grow_keeps_every_whole_event(small: str, tmp_path: Path, kibibytes: int) -> None:
    path = tmp_path / "a.flight"
    ended = limited(kibibytes, "run", small, "--until", "2m", "--record", path)
    one_message(ended, f"cannot continue recording to {path}: File too large; what was recorded is kept")
    written = (path / "segment-000001.jsonl.part").read_bytes()
    kept = written[: written.rfind(b"\n") + 1].count(b'{"kind"')
    assert len(written) <= 1024 * kibibytes
    assert whole(path) == kept
    if kibibytes > 300:
        assert kept > 500
        again = in_a_process("rerun", path, "--json")
        assert again.code == 0, again.err


def test_no_room_for_the_header(small: str, tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    one_message(limited(0, "run", small, "--record", path), f"cannot record to {path}: File too large")
    assert not (path / HEADER).exists()
    one_message(in_a_process("summary", path), "it has no header.json")


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_no_room_for_a_keyframe_or_the_footer(
    flightdeck: Flightdeck, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.flight"
    with monkeypatch.context() as patch:
        patch.setattr("recordings.journal.writer.write_json", full)
        one_message(flightdeck("run", small, "--record", path), f"cannot record to {path}: No space left on device")

    def no_footer(path: Path, value: msgspec.Struct) -> None:
        if path.name == FOOTER:
            full()
        write_json(path, value)

    with monkeypatch.context() as patch:
        patch.setattr("recordings.journal.writer.write_json", no_footer)
        ended = flightdeck("run", small, "--record", path)
    one_message(ended, f"cannot write {path / FOOTER}: No space left on device")
    events = whole(path)
    assert events == int(flightdeck("run", small, "--json").out.partition('"events":')[2].split(",")[0])

    path = tmp_path / "b.flight"
    with monkeypatch.context() as patch:
        patch.setattr(Keyframes, "next_after", lambda _, seq: seq + 500)
        patch.setattr(Keyframes, "put", full)
        ended = flightdeck("run", small, "--record", path)
    one_message(ended, f"cannot write a keyframe of {path}: No space left on device")
    assert whole(path) == 500


def test_a_directory_that_may_not_be_written(small: str, tmp_path: Path) -> None:
    prefix = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write anywhere, and there is no setpriv to forbid it")
        prefix = UNPRIVILEGED
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    for path in (closed / "a.flight", closed):
        done = subprocess.run(
            [*prefix, *command("run", small, "--record", path)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        one_message(Ended(*_of(done)), f"cannot record to {path}: Permission denied")
    assert list(closed.iterdir()) == []


def _of(done: "subprocess.CompletedProcess[str]") -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


def test_a_directory_that_holds_something_is_left_alone(flightdeck: Flightdeck, small: str, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    one_message(flightdeck("run", small, "--record", path), f"{path} already exists; choose another name")
    assert [(file.name, file.read_text()) for file in path.iterdir()] == [("notes.txt", "mine")]
    assert flightdeck("run", small, "--record", tmp_path / "a.flight").code == 0
    before = {file: file.read_bytes() for file in (tmp_path / "a.flight").iterdir() if file.is_file()}
    one_message(flightdeck("run", small, "--record", tmp_path / "a.flight"), "already exists")
    assert before == {file: file.read_bytes() for file in (tmp_path / "a.flight").iterdir() if file.is_file()}


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_a_directory_that_vanishes_under_a_flight(small: str, tmp_path: Path, how: str) -> None:
    path, elsewhere = tmp_path / "a.flight", tmp_path / "elsewhere.flight"
    process = subprocess.Popen(
        command("run", small, "--forever", "--record", path),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not list(path.glob("keyframes/*.zst")):
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.02)
        process.send_signal(signal.SIGSTOP)  # so that it does not write while its directory is being removed
        if how == "moved":
            path.rename(elsewhere)
        else:
            shutil.rmtree(path)
        process.send_signal(signal.SIGCONT)
        out, error = process.communicate(timeout=60)
    finally:
        process.send_signal(signal.SIGKILL)
    one_message(
        Ended(process.returncode, out, error), f"to {path}: segment-000001.jsonl.part was removed or moved away"
    )
    if how == "moved":
        assert whole(elsewhere) >= 14_000  # as many precede the first keyframe
        assert in_a_process("play", elsewhere, "--headless").code == 0

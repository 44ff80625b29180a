"""The repository's hook refuses a commit subject that is long, or names no area."""

import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[2] / ".githooks" / "commit-msg"


def refused(message: str, directory: Path) -> str:
    """Give the hook's complaint about the message; empty if it accepts it."""
    file = directory / "COMMIT_EDITMSG"
    file.write_text(message, encoding="utf-8")
    done = subprocess.run([HOOK, file], capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode == 0) == (not done.stderr)
    return done.stderr


@pytest.mark.parametrize(
    "message",
    [
        "broker: Rename the follower's fetcher",
        "clients/consumer: Rename it\n\nThe reason.\n",
        "# a comment of git's\nbroker: Rename it\n\nThe reason.\n# On branch main\n",
        "broker: " + "A" * 64,
        'Revert "broker: Rename it"',
        "fixup! broker: Rename it",
    ],
)
def test_a_good_subject_is_accepted(message: str, tmp_path: Path) -> None:
    assert refused(message, tmp_path) == ""


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("broker: " + "A" * 65, "has 73 characters, of at most 72"),
        ("broker: " + "Ä" * 65, "has 73 characters, of at most 72"),
        ("Rename the follower's fetcher", "should read `area: Say what changes`"),
        ("broker: rename it", "should read `area: Say what changes`"),
        ("", "should read `area: Say what changes`"),
        ("broker: Rename it\nThe reason.", "needs a blank line before the body"),
    ],
)
def test_a_bad_subject_is_refused_with_the_reason(message: str, problem: str, tmp_path: Path) -> None:
    assert problem in refused(message, tmp_path)

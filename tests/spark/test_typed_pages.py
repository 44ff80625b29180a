"""Pages whose commands need Spark: all are run as they are typed, in the one session of the test run."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.console.command_processes import in_this_process
from tests.support.console.typed_pages import BY_SPARK
from tests.support.console.typed_runs import run_page

pytestmark = pytest.mark.slow


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", BY_SPARK)
def test_what_a_page_tells_to_type_works(
    name: str, spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(name, in_this_process(capsys), monkeypatch)
    assert spark.range(1).count() == 1, "the session goes on"

"""The twin of a real log flies, and its rebalances are the log's: as many, for the same causes, about as long."""

from pathlib import Path

import pytest
import zstandard

from recordings.bounded_files import RecordingError
from recordings.log_reading.difference import alike
from recordings.log_reading.make import read_logs
from recordings.log_reading.twin_flight import TwinFlown, write_twin
from tests.fidelity.recorder.raw import raw_of
from tests.support.slow_cases import mostly_slow

SAME_CAUSES = (
    "s04-kill", "s23-cooperative-faults", "s85-consumer-static", "s18x-rolling", "s05-long-stall", "s16-frozen",
    "s22x-empty-again", "s08x-static-late", "s84-consumer-slow", "s83-consumer-kill",
)  # fmt: skip
AS_LONG = {"s04-kill", "s05-long-stall", "s16-frozen", "s22x-empty-again", "s23-cooperative-faults"}
"""Together they take as long as in the log. In the others it depends on when heartbeats are due: no line says that."""


def twin_of(run: str, place: Path) -> TwinFlown:
    log = place / "server.log"
    with raw_of(run, "4.3.1").open("rb") as packed, log.open("wb") as file:
        zstandard.ZstdDecompressor().copy_stream(packed, file)
    read_logs([log], place / "read")
    return write_twin(place / "read", place / "twin.toml")


@pytest.mark.parametrize("run", mostly_slow(SAME_CAUSES, SAME_CAUSES[:3]))
def test_the_twin_of_a_real_log_has_its_rebalances(run: str, tmp_path: Path) -> None:
    twin = twin_of(run, tmp_path)
    groups = [one for one in twin.groups if not one.group.startswith("warm")]
    assert groups
    for one in groups:
        assert one.rebalances[0] == one.rebalances[1] == one.paired, one
        if run in AS_LONG:
            assert alike(*one.total_s), one
    assert any("load" in words for words in twin.inferred)


def test_what_was_guessed_stands_in_the_file_and_a_file_is_not_overwritten(tmp_path: Path) -> None:
    twin = twin_of("s22x-empty-again", tmp_path)
    text = (tmp_path / "twin.toml").read_text(encoding="utf-8")
    assert all(f"# guessed: {words}\n" in text for words in twin.inferred)
    with pytest.raises(RecordingError, match="already exists"):
        write_twin(tmp_path / "read", tmp_path / "twin.toml")

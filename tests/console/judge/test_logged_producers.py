"""What the console shows of producers in a recording of logs is what the lines say; a false list is found."""

from pathlib import Path

import pytest
import zstandard

from cluster.view import ClusterView, fold
from console.presenters.logged import groups, producers
from recordings.journal.reader import Recording
from recordings.log_reading.make import read_logs
from recordings.log_reading.summary import summary_of_logs
from tests.console.judge.logged_producers_judge import books_of, false_claims
from tests.fidelity.recorder.raw import raw_of

RUNS = ("s31-timeout-epoch", "s51-delivery-timeout", "s53-split", "s56-producer-fenced")


def kept(run: str, place: Path) -> list[str]:
    """The dated lines of a real run in the order of their instants, in a log; without its warm-up (long names)."""
    with raw_of(run, "4.3.1").open("rb") as packed:
        text = zstandard.ZstdDecompressor().stream_reader(packed).read().decode()
    wanted = ("[Producer clientId=", "[TransactionCoordinator id=")
    dated = [line for line in text.splitlines() if line[:13].isdecimal() and "warm-" not in line]
    lines = [line for line in dated if any(one in line for one in wanted)]
    lines.sort(key=lambda line: int(line[:13]))
    (place / "all.log").write_text("\n".join(lines), encoding="utf-8")
    return lines


def lies(run: str, place: Path) -> list[str]:
    """False claims at each instant."""
    lines = kept(run, place)
    read_logs([place / "all.log"], place / "read")
    view, found = ClusterView(), list[str]()
    events = list(Recording(place / "read", logs=True).events())
    for event, following in zip(events, [*events[1:], None], strict=True):
        fold(view, event)
        if following is None or following.at_us != event.at_us:
            assert view.logs is not None
            books = books_of(lines, view.logs.began_us // 1000, event.at_us // 1000)
            found += false_claims(view, *books)
    return found


@pytest.mark.parametrize("run", RUNS)
def test_the_lists_of_producers_say_what_the_lines_say(run: str, tmp_path: Path) -> None:
    assert lies(run, tmp_path) == []


def test_a_list_that_shows_zero_for_the_unknown_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producers, "NOT_LOGGED", ("0", "plain"))
    found = lies("s31-timeout-epoch", tmp_path)
    assert any(claim.startswith("producers:") for claim in found)
    assert any(claim.startswith("transactional ids:") for claim in found)


def test_a_list_with_another_number_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        producers, "number_words", lambda number: groups.number_words(None if number is None else number + 1)
    )
    assert lies("s53-split", tmp_path)


@pytest.mark.parametrize("run", RUNS)
def test_the_summary_knows_the_same_producers(run: str, tmp_path: Path) -> None:
    lines = kept(run, tmp_path)
    read_logs([tmp_path / "all.log"], tmp_path / "read")
    summary = summary_of_logs(tmp_path / "read", salvage=False)
    assert summary is not None
    known, ids = books_of(lines, int(lines[0][:13]), 1 << 60)
    rows = summary.producers
    told = {row.producer: (row.state, row.retried, row.split, row.disconnected, row.last_error) for row in rows}
    assert told == {
        name: (
            book.state if book.state != "unknown" else None, book.retried, book.split, book.lost,
            book.last.split(" ")[0] if "none" not in book.last else "",
        )
        for name, book in known.items()
    }  # fmt: skip
    assert {(row.transactional_id, row.initialized, row.timed_out) for row in summary.transactional_ids} == {
        (name, book.initialized, book.timed_out) for name, book in ids.items()
    }
    assert all(row.state is None for row in summary.transactional_ids)

"""What a picker shows of recordings, without reading their events."""

import shutil
from pathlib import Path

import pytest

from recordings.bounded_files import RecordingError
from recordings.flights.runner import FlightResult
from recordings.journal.catalogue import SAMPLES, delete_recording, find_recordings
from recordings.journal.format import FOOTER, HEADER


def test_recordings_are_found_newest_first_with_what_their_files_say(
    recorded: tuple[Path, FlightResult], tmp_path: Path
) -> None:
    path, flown = recorded
    torn = tmp_path / "torn.flight"
    shutil.copytree(path, torn)
    (torn / FOOTER).unlink()
    for name, header, footer in (("odd.flight", None, "[]"), ("broken.flight", "{", None)):
        (tmp_path / name).mkdir()
        (tmp_path / name / HEADER).write_text(header if header is not None else (path / HEADER).read_text())
        if footer is not None:
            (tmp_path / name / FOOTER).write_text(footer)
    found = {one.path.name: one for one in find_recordings([tmp_path, tmp_path, tmp_path / "nowhere"])}
    assert set(found) == {"recorded.flight", "torn.flight", "odd.flight", "broken.flight"}
    whole = found["recorded.flight"]
    assert (whole.scenario, whole.seed, whole.events, whole.virtual_us) == ("tiny", 5, flown.events, flown.virtual_us)
    assert whole.failure == ""
    assert (found["torn.flight"].events, found["torn.flight"].failure) == (None, "")
    assert FOOTER in found["odd.flight"].failure
    assert HEADER in found["broken.flight"].failure
    assert [one.path.name for one in find_recordings([tmp_path])][-1] == "broken.flight"


def test_a_missing_segment_is_damage(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    path = tmp_path / "gap.flight"
    shutil.copytree(recorded[0], path)
    assert not any(one.failure for one in find_recordings([tmp_path]))
    (segment,) = path.glob("segment-*")
    segment.rename(path / segment.name.replace("000001", "000002"))
    found = {one.path.name: one.failure for one in find_recordings([tmp_path])}
    assert found == {"gap.flight": "segment-000001.jsonl is missing", recorded[0].name: ""}


def test_a_recording_is_deleted_with_all_its_files(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    path = tmp_path / "mine.flight"
    shutil.copytree(recorded[0], path)
    for name in ("remedies.json", "segment-000002.jsonl.part", "keyframes/000000014000.msgpack.part"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("")
    delete_recording(path)
    assert not path.exists()
    assert recorded[0].is_dir()


@pytest.mark.parametrize("foreign", ["notes.txt", "keyframes/notes.txt", "src/", "segment-1.jsonl", "a link"])
def test_nothing_is_deleted_of_a_directory_with_more_in_it(
    recorded: tuple[Path, FlightResult], tmp_path: Path, foreign: str
) -> None:
    path = tmp_path / "mine.flight"
    shutil.copytree(recorded[0], path)
    (path / "keyframes").mkdir(exist_ok=True)
    if foreign == "a link":
        (path / "segment-000007.jsonl").symlink_to(tmp_path)
    elif foreign.endswith("/"):
        (path / foreign).mkdir()
    else:
        (path / foreign).write_text("")
    before = sorted(path.rglob("*"))
    with pytest.raises(RecordingError, match="is not part of a recording"):
        delete_recording(path)
    assert sorted(path.rglob("*")) == before


def test_only_a_recordings_directory_is_deleted(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link.flight").symlink_to(recorded[0])
    (tmp_path / "broken.flight").mkdir()
    (tmp_path / "broken.flight" / HEADER).write_text("{}")
    for name in ("photos", "file", "link.flight", "broken.flight", "nowhere"):
        with pytest.raises(RecordingError):
            delete_recording(tmp_path / name)
    with pytest.raises(RecordingError, match="belongs to Flightdeck"):
        delete_recording(next(SAMPLES.glob("*.flight")))
    assert {each.name for each in tmp_path.iterdir()} == {
        *("photos", "file", "link.flight", "broken.flight", recorded[0].name),
    }

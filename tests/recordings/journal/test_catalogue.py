"""What a picker shows of recordings, without reading their events."""

import shutil
from pathlib import Path

from recordings.flights.runner import FlightResult
from recordings.journal.catalogue import find_recordings
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

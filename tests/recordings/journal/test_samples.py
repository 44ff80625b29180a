"""The packaged recordings still open, play and come again. `python -m recordings.make_samples` makes them anew."""

import shutil
from pathlib import Path

import pytest

from cluster.view import document
from recordings.flights.rerun import rerun
from recordings.journal.catalogue import SAMPLES, find_recordings
from recordings.journal.format import KEYFRAMES
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.make_samples import FLIGHTS, make_sample

NAMES = sorted(FLIGHTS)
MOST_BYTES = 2_000_000


@pytest.fixture
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy: a player may leave keyframes in it."""
    path = tmp_path / f"{request.param}.flight"
    shutil.copytree(SAMPLES / path.name, path, ignore=shutil.ignore_patterns(KEYFRAMES))
    return path


def test_every_sample_is_there_and_small() -> None:
    assert [one.path.name for one in find_recordings([SAMPLES])] == [f"{name}.flight" for name in NAMES]
    for name in NAMES:
        files = [file for file in (SAMPLES / f"{name}.flight").iterdir() if file.is_file()]
        assert sum(file.stat().st_size for file in files) <= MOST_BYTES


@pytest.mark.parametrize("sample", NAMES, indirect=True)
def test_a_sample_opens_and_plays(sample: Path) -> None:
    recording = Recording(sample)
    survey = recording.survey()
    assert recording.warnings == []
    assert survey.totals == recording.footer
    playback = Playback(recording)
    playback.seek_us(20_000_000)
    view = document(playback.view, playback.at_us)
    assert view["groups"]["billing"]["state"] == "PreparingRebalance"
    playback.seek_us(playback.end_us)
    assert playback.seq == survey.totals.events


@pytest.mark.parametrize("sample", NAMES, indirect=True)
def test_a_sample_is_flown_again_byte_by_byte(sample: Path) -> None:
    result = rerun(sample)
    recorded = Recording(sample).footer
    assert recorded is not None
    assert result.matches, "events are others now: python -m recordings.make_samples"
    assert result.flight.journal_sha256 == recorded.journal_sha256


def test_a_sample_is_made_anew_over_the_old_one(tmp_path: Path) -> None:
    for until_us in (2_000_000, 1_000_000):
        path = make_sample("first-join", until_us, tmp_path)
        assert Recording(path).survey().totals.virtual_us == until_us
        assert not (path / KEYFRAMES).exists()

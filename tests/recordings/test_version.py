"""A build is compiled if the heart of the cluster is an extension module."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from cluster.virtual_time import timeline
from recordings.version import build_kind


@pytest.mark.parametrize("suffix", EXTENSION_SUFFIXES)
def test_an_extension_module_makes_the_build_compiled(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / "cluster" / "virtual_time"
    folder.mkdir(parents=True)
    (folder / "timeline.py").touch()
    (folder / "waiting.so").touch()
    assert build_kind(tmp_path) == "pure"
    (folder / f"timeline{suffix}").touch()
    assert build_kind(tmp_path) == "compiled"


def test_it_says_what_this_process_runs() -> None:
    assert build_kind() == ("pure" if str(timeline.__file__).endswith(".py") else "compiled")

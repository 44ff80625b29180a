"""What is published: a wheel and an sdist that PyPI takes, with everything that a user needs and nothing else."""

import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

from tests.support.repository import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PACKAGES = ("cluster", "console", "recordings")
LEFT_BEHIND = {"__pycache__", "keyframes"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist, and the wheel that is built from it: as an index's users get them."""
    place = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(place), str(ROOT)], check=True, capture_output=True)
    return place


def shipped() -> set[str]:
    """The files of the packages in the checkout, without what Python and a playback of the sample leave there."""
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("*") if file.is_file())
    return {file.relative_to(ROOT).as_posix() for file in files if not LEFT_BEHIND & set(file.parts)}


def test_an_index_takes_both(built: Path) -> None:
    files = sorted(map(str, built.iterdir()))
    assert len(files) == 2
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_wheel_has_every_file_of_the_packages_and_no_other(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        fields = BytesParser().parsebytes(archive.read(metadata))
        [licence] = [name for name in names if name.endswith("licenses/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert {name for name in names if ".dist-info/" not in name} == shipped()
    assert fields["License-Expression"] == "Apache-2.0"
    assert fields.get_all("Project-URL") is None, "there are none yet"


def test_the_sdist_has_what_its_tests_need(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert shipped() <= names
    for needed in (
        "LICENSE",
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "pyproject.toml",
        "tests/support/expected_document.py",
    ):
        assert needed in names, needed


def test_an_environment_without_anything_runs_the_wheel(built: Path, tmp_path: Path) -> None:
    """Dependencies come from this environment: fetching half a gigabyte is no part of a test."""
    [wheel] = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = tmp_path / "bare" / "bin" / "python"
    asked = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    packages = Path(asked.stdout.strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    others = [place for place in sys.path if place.endswith("site-packages")]
    (packages / "others.pth").write_text("\n".join(others) + "\n")
    flown = subprocess.run(
        [python, "-c", "import console.cli.start as start; print(start.__file__); start.main()", "run", "first-join"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert flown.returncode == 0, flown.stderr
    assert flown.stdout.startswith(str(packages)), "the wheel's own modules, not the checkout's"

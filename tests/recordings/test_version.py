"""A build is compiled if every module that its list names is an extension module, and says so in `--version`."""

from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path

import pytest

from cluster.virtual_time import timeline
from recordings.version import COMPILED_MODULES, build_kind, describe_build

LIST = "mypyc 2.4.1\ncluster.network\ncluster.network.link\n"


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    network = tmp_path / "cluster" / "network"
    network.mkdir(parents=True)
    for name in ("__init__.py", "link.py", "other.so"):
        (network / name).touch()
    return tmp_path


def test_a_build_without_a_list_is_pure(installation: Path) -> None:
    assert build_kind(installation) == "pure"
    assert describe_build(installation) == "pure Python"


@pytest.mark.parametrize("suffix", EXTENSION_SUFFIXES)
def test_extension_modules_for_all_that_is_listed_make_a_compiled_build(suffix: str, installation: Path) -> None:
    (installation / COMPILED_MODULES).write_text(LIST)
    assert build_kind(installation) == "pure"  # extension modules of another Python count as none
    for name in ("__init__", "link"):
        (installation / "cluster" / "network" / f"{name}{suffix}").touch()
    assert build_kind(installation) == "compiled"
    assert describe_build(installation) == "compiled (mypyc 2.4.1)"


def test_a_build_without_some_of_its_extension_modules_is_partly_compiled(installation: Path) -> None:
    (installation / COMPILED_MODULES).write_text(LIST)
    (installation / "cluster" / "network" / f"__init__{EXTENSION_SUFFIXES[0]}").touch()
    assert build_kind(installation) == "partly compiled"
    assert describe_build(installation).endswith("1 modules run as Python, cluster.network.link first")


def test_it_says_what_this_process_runs() -> None:
    interpreted = str(timeline.__file__).endswith(tuple(SOURCE_SUFFIXES))
    assert build_kind() == ("pure" if interpreted else "compiled")

"""The documents name files that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUOTED = re.compile(r"`((?:cluster|recordings|console|tests|docs|\.ci|\.githooks)/[\w./*-]*)")
DOCUMENTS = ("ARCHITECTURE.md", "FIDELITY.md", "README.md")


def missing(text: str, root: Path) -> list[str]:
    """Name the paths in `text` that no file below `root` has; a pattern needs one file."""
    return [path for path in QUOTED.findall(text) if not any(root.glob(path.rstrip("/.")))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_of_a_document_exists(document: str) -> None:
    assert missing((ROOT / document).read_text(encoding="utf-8"), ROOT) == []


def test_a_path_that_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "events.py").touch()
    text = (
        "`cluster/events.py`, `cluster/`, `cluster/*.py`, `cluster/deck.py`, `console/x*.py` and `python -m tests.fuzz`"
    )
    assert missing(text, tmp_path) == ["cluster/deck.py", "console/x*.py"]

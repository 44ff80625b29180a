"""The pages of docs/ are a site: built strictly and without a network, and read without one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

ALONE = """
import socket, sys

def refuse(*asked, **_):
    sys.exit(f"the build asks the network: {asked[-1]}")

socket.socket.connect = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli()
"""
LOADED = re.compile(
    r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>|url\(["']?https?://"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-c", ALONE, "build", "--strict", "--quiet", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return target


def loaded_from_others(text: str) -> list[str]:
    """What a browser would fetch from another host to show this; links that a reader may follow are none."""
    return LOADED.findall(text)


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_every_page_is_in_the_site(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20
    for page in pages:
        written = page.with_name("index.html") if page.name == "README.html" else page
        assert (site / written).is_file(), page


@pytest.mark.xdist_group("site")
def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    shown = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert {str(path): found for path in shown if (found := loaded_from_others(path.read_text("utf-8")))} == {}


@pytest.mark.xdist_group("site")
def test_each_lesson_of_a_question_leads_to_its_place_in_the_course(site: Path) -> None:
    named = re.findall(r"^\| \d+ \|.*?\|.*?\| ([^|]+) \|", (ROOT / "docs" / "questions.md").read_text(), re.MULTILINE)
    lessons = {name for cell in named for name in re.findall(r"`([^`]+)`", cell)}
    assert len(named) == 18
    course, questions = ((site / f"{page}.html").read_text() for page in ("course", "questions"))
    assert [name for name in lessons if f'id="{name}"' not in course] == []
    assert [name for name in lessons if f'href="course.html#{name}"' not in questions] == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://unpkg.com/mermaid.js"></script>',
        '<link rel="stylesheet" href="//fonts.googleapis.com/css">',
        "@font-face { src: url(https://fonts.gstatic.com/a.woff2) }",
    ],
)
def test_what_would_be_loaded_is_found(text: str) -> None:
    assert loaded_from_others(text)
    assert loaded_from_others('<a href="https://cel.dev">CEL</a>') == []

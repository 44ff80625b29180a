"""What mkdocs.yml needs beside docs/: the documents of the root and pages made of tables, and links that lead to them.

A file that is no page (an example, a notebook) is copied beside the pages, so that a link to it leads somewhere
without a network. A folder is linked by its name only: the site has no listings.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference_pages import PAGES

from recordings.scenarios.loader import library

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "FIDELITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
FILES = ("LICENSE", "examples/cost-of-a-restart.ipynb", "examples/member-killed.log")
COURSE = "course.md"
LESSONS = frozenset(library())
LESSON = re.compile(r"(?<!\[)`([a-z0-9]+(?:-[a-z0-9]+)+)`")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./|docs/|[A-Za-z])[^)\s:]*)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies above docs/."""
    for name in (*DOCUMENTS, *FILES):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name, made in PAGES.items():
        files.append(File.generated(config, name, content=made()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn links that are right in the repository into links that are right in the site, and lessons into links."""
    source = page.file.src_uri
    linked = LINK.sub(lambda match: link(match, source), markdown)
    return linked if source == COURSE else LESSON.sub(lambda match: lesson(match, source), linked)


def lesson(match: re.Match[str], source: str) -> str:
    """A name of the library in the page `source`, as a link to its place in the course; other words as they are."""
    up = "../" * (len(Path(source).parts) - 1)
    return f"[{match[0]}]({up}{COURSE}#{match[1]})" if match[1] in LESSONS else match[0]


def link(match: re.Match[str], source: str) -> str:
    """One link of the page `source`. A link to a folder of the repository becomes the folder's name."""
    image, text, target = match.groups()
    path, _, anchor = target.partition("#")
    here = ROOT if source in DOCUMENTS else (ROOT / "docs" / source).parent
    there = (here / path).resolve()
    if there.is_dir():
        return f"{text} (`{there.relative_to(ROOT)}/`)"
    inside = there.relative_to(ROOT / "docs") if there.is_relative_to(ROOT / "docs") else there.relative_to(ROOT)
    up = "../" * (len(Path(source).parts) - 1)
    return f"{image}[{text}]({up}{inside.as_posix()}{'#' + anchor if anchor else ''})"

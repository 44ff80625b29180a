"""The templates of all pages, and the frame of those that are not a report: no network, no script."""

from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES: Final = Path(__file__).parent / "templates"


def environment() -> Environment:
    """Templates in which every text is escaped that is no markup of a template."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def text_of(name: str) -> Markup:
    """A style or a script, as a page holds it."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def rendered(template: str, **values: Any) -> Markup:  # noqa: ANN401 - whatever the template shows
    """Sections of a page."""
    return Markup(environment().get_template(template).render(**values))


def single_page(title: str, what: str, sections: Markup) -> str:
    """A page with these sections; `what` names it beside Flightdeck's name."""
    return rendered("single.html.j2", title=title, what=what, sections=sections, css=text_of("report.css"))

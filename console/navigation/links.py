"""Where a drawn line leads: the identifiers and instants in it are links, on every screen and in every overlay.

A link is looked for where the user points, not while a frame is drawn: a name of the view's objects in a line is a link
to its place, and a clock with decimals (`00:03:35.000`) is a link to its instant. So each presenter has links, and none
pays for them. Characters whose own words do not say where they lead are a `LinkedText`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster.view.state import ClusterView
from console.presenters.list_view import Listing
from console.presenters.styled_text import FAINT, MUTED, Line, LinkedText, PlaceLink, fit, line
from console.time_input import parse_instant

INSTANT = "instant"
_INSTANT = re.compile(r"(?<![\w:.])(?:\d+:)?\d{1,2}:\d\d\.\d{1,6}(?![\w:])")
_NAME = re.compile(r"[\w.\-…]+")
_CUT = "…"

Objects = Mapping[str, PlaceLink]
"""Each known object's link by its name."""


class FoundLink(NamedTuple):
    """A link in a line: its first cell, the cell behind its last one, its characters, where it leads."""

    first: int
    end: int
    text: str
    link: PlaceLink


def objects_of(view: ClusterView) -> Objects:
    """The objects of a view by name. Of one name, the group comes before the member, the member before the others."""
    kinds = {
        "transaction": view.transactions,
        "broker": [f"broker-{number}" for number in view.brokers],
        "topic": view.topics,
        "partition": view.partitions,
        "producer": view.producers,
        "member": view.members,
        "group": view.groups,
    }
    return {name: PlaceLink(kind, name) for kind, names in kinds.items() for name in names}


def links_in(of: Line, objects: Objects) -> list[FoundLink]:
    """The links of a drawn line, from left to right."""
    found: list[FoundLink] = []
    first, words = 0, ""
    for text, _ in of:
        end = first + len(text)
        if isinstance(text, LinkedText):
            found.append(FoundLink(first, end, text.strip(), text.link))
        words += " " * len(text) if isinstance(text, LinkedText) else text
        first = end
    instants = list(_INSTANT.finditer(words))
    for match in instants:
        instant = parse_instant(match[0])
        if instant is not None:
            found.append(FoundLink(*match.span(), match[0], PlaceLink(INSTANT, str(instant.us))))
    for match in _NAME.finditer(words):
        name = match[0].rstrip(".")
        link = objects.get(name) or (_shortened(name, objects) if _CUT in name else None)
        if link is not None:
            found.append(FoundLink(match.start(), match.start() + len(name), name, link))
    return sorted(found)


def link_at(of: Line, x: int, objects: Objects) -> PlaceLink | None:
    """Where the cell `x` of a drawn line leads; None if it leads nowhere."""
    return next((one.link for one in links_in(of, objects) if one.first <= x < one.end), None)


def _shortened(name: str, objects: Objects) -> PlaceLink | None:
    """The one object whose name was shortened to this, in its middle or at its end; None if several may be meant."""
    head, _, tail = name.partition(_CUT)
    if not head:
        return None
    fitting = [known for known in objects if known.startswith(head) and known.endswith(tail)]
    return objects[fitting[0]] if len(fitting) == 1 else None


class LinksListing(Listing):
    """The links of a screen, one a row."""

    title = "links on this screen"
    vacant = line(("no name or instant is on this screen", MUTED))

    def __init__(self, found: Sequence[FoundLink], width: int) -> None:
        super().__init__(width)
        self._found = {self.key_of(one.link): one for one in found}

    @staticmethod
    def key_of(link: PlaceLink) -> str:
        """The key of a link's row."""
        return f"{link.kind} {link.name}"

    def note(self) -> Line:
        """The keys of the overlay."""
        return line(("enter: go there · / finds · esc", FAINT))

    def row_keys(self) -> list[str]:
        """In the order of the screen."""
        return list(self._found)

    def rows(self, key: str) -> tuple[Line]:
        """The words on the screen, and what they stand for."""
        one = self._found[key]
        words = one.link.name if one.link.kind != INSTANT else one.text
        return (fit(line(f"  {words:<28} ", (one.link.kind, MUTED)), self.width),)

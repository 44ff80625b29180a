"""The page of all fields of the view document: the shape that scenarios are checked with, and a sentence for each."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from page_parts import code, table

from recordings.scenarios.document_schema import SHAPE, ByName

PAGE = """# View fields

The view document is what a flight knows at an instant: `flightdeck run --json` prints it as `view`. A sentence in CEL
over it stands in [`[[expect]] that`](scenario-format.md), in `until` of the console, in `expect` of playback scripts
and in tests of your own. Words in capitals are names of yours: `groups.billing.lag`, `partitions["orders-0"].leader`,
`brokers["1"].up`. Times end in `_ms`."""
BY_GROUP = """`delivery` sums over all groups; `delivery.by_group.GROUP` has the same fields for one of them.
[Delivered, lost, unread, skipped](delivery.md) defines them."""
TEXTS = Path(__file__).with_suffix(".toml")
TYPES = {bool: "true, false", int: "number", str: "text", list: "list"}


def view_fields() -> Iterator[tuple[str, str, str]]:
    """Every field: where it is, its name, and its type. Fields of one group's deliveries are those of all groups."""
    for root, shape in SHAPE.items():
        if root != "delivery":
            yield from _fields(root, shape)
        else:
            yield from _fields(root, {name: node for name, node in shape.items() if name != "by_group"})


def _fields(path: str, shape: object) -> Iterator[tuple[str, str, str]]:
    if isinstance(shape, ByName):
        yield from _fields(f"{path}.{shape.kind.upper()}", shape.node)
    elif not isinstance(shape, Mapping):
        yield path, "", TYPES[type(shape)]
    else:
        for name, node in shape.items():
            if isinstance(node, Mapping):
                yield from _fields(f"{path}.{name}", node)
            else:
                yield path, name, _type(node)


def _type(node: object) -> str:
    return f"{_type(node.node)} by {node.kind}" if isinstance(node, ByName) else TYPES[type(node)]


def view_fields_page() -> str:
    """Every field with its type and meaning."""
    types = {(path, name): kind for path, name, kind in view_fields()}
    parts = [PAGE]
    for path, sentences in tomllib.loads(TEXTS.read_text(encoding="utf-8")).items():
        rows = ((code(name or path), types[path, name], meaning) for name, meaning in sentences.items())
        parts += [f"## {code(path)}", table(("field", "type", "meaning"), rows)]
    return "\n\n".join([*parts, BY_GROUP])

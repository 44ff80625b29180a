"""`report.json` as a whole, and its documentation, `docs/report.md`, which is written from its structs.

A flight has the fields of `FlightReport` and a list for each analysis that is not one of them.

    python -m recordings.spark.report_document docs/report.md     # writes the documentation
"""

import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from types import GenericAlias, UnionType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

import msgspec

from recordings.spark.alert_lab.lab_result import LabResult
from recordings.spark.analyses.analysis import Analysis
from recordings.spark.analyses.table import ANALYSES
from recordings.spark.compare.compared import Compared
from recordings.spark.report_model import FlightReport

FORMAT = 1


def flight_struct(analyses: Iterable[Analysis[Any]]) -> type[FlightReport]:
    """`FlightReport` with a list for each analysis whose key is no field of it."""
    fields: list[tuple[str, Any, Any]] = [
        (analysis.key, GenericAlias(list, analysis.row), msgspec.field(default_factory=list))
        for analysis in analyses
        if analysis.key not in FlightReport.__struct_fields__
    ]
    if not fields:
        return FlightReport
    name, space = FlightReport.__name__, {"__doc__": FlightReport.__doc__}
    made = msgspec.defstruct(name, fields, bases=(FlightReport,), namespace=space, frozen=True, kw_only=True)
    return cast("type[FlightReport]", made)  # msgspec's type says Struct, whatever the bases are


if TYPE_CHECKING:
    Flight = FlightReport
else:
    Flight = flight_struct(ANALYSES)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file. `format` grows with each change that readers must know of.

    `alerts` and `compared` are null without `--alerts` and `--against`.
    """

    format: int
    flightdeck: str
    spark: str
    flights: list[Flight]
    alerts: LabResult | None = None
    compared: Compared | None = None


DOCUMENTATION_HEAD = """# report.json

Written by `python -m recordings.spark.report_document docs/report.md` from the structs of the report; a test holds the
two equal. The file is one object, a **Report**; its `format` is {format}. What `delivered`, `lost`, `unread` and
`skipped` mean is in [delivery.md](delivery.md).

"""


def documentation(document: type[msgspec.Struct] = Report) -> str:
    """The text of `docs/report.md`: a section for each struct of the document."""
    return DOCUMENTATION_HEAD.format(format=FORMAT) + "\n".join(
        line for struct in dict.fromkeys(_structs(document)) for line in _section(struct)
    )


def _structs(annotation: Any) -> Iterator[type[msgspec.Struct]]:  # noqa: ANN401 - whatever a field may be
    """The structs that a type consists of, each before those of its fields."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
        for field in msgspec.structs.fields(annotation):
            yield from _structs(field.type)
    for part in get_args(annotation):
        yield from _structs(part)


def _section(struct: type[msgspec.Struct]) -> Iterator[str]:
    yield f"## {struct.__name__}\n"
    yield "\n".join(line.strip() for line in (struct.__doc__ or "").strip().splitlines()) + "\n"
    yield "| field | type |"
    yield "|---|---|"
    for field in msgspec.structs.fields(struct):
        yield f"| `{field.encode_name}` | {_type(field.type)} |"
    yield ""


def _type(annotation: Any) -> str:  # noqa: ANN401 - whatever a field may be
    """A field's type as JSON has it."""
    names = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
    if annotation in names:
        return names[annotation]
    if get_origin(annotation) is Literal or (isinstance(annotation, type) and issubclass(annotation, StrEnum)):
        return "string"
    parts = [_type(part) for part in get_args(annotation) if part is not ...]
    if get_origin(annotation) in {list, tuple, frozenset}:
        return f"list of {parts[0]}"
    if get_origin(annotation) is dict:
        return f"object of {parts[1]}"
    if isinstance(annotation, UnionType):
        return " or ".join(parts)
    return f"[{annotation.__name__}](#{annotation.__name__.lower()})"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(documentation(), encoding="utf-8")

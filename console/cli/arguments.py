"""Flags and paths that several commands take as they are, with nothing to read into them."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Record = Annotated[Path | None, Parameter(help="Write a recording to this new directory.")]
Json = Annotated[bool, Parameter(help="Print one JSON object instead of a summary.", negative="")]
Invariants = Annotated[
    bool, Parameter(help="Check the invariants at every event; a flight without them is a little faster.")
]
Strict = Annotated[
    bool,
    Parameter(help="Fail also on an expectation that was already true where its window begins.", negative=""),
]
Salvage = Annotated[bool, Parameter(help="Read a damaged recording up to the damage.", negative="")]

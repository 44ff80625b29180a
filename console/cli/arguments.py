"""Options that several commands share and use unparsed."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Record = Annotated[Path | None, Parameter(help="Write a recording to this new directory.")]
Json = Annotated[bool, Parameter(help="Print one JSON object instead of a summary.", negative="")]
Invariants = Annotated[
    bool, Parameter(help="Check the invariants at every event; without them a flight is a little faster.")
]
Strict = Annotated[
    bool,
    Parameter(help="Also fail on an expectation that already held at the start of its window.", negative=""),
]
Salvage = Annotated[bool, Parameter(help="Read a damaged recording up to the damage.", negative="")]
Master = Annotated[str | None, Parameter(help="A Spark master or Spark Connect URL; default: this machine.")]

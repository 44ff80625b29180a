"""What may differ from the real thing: `differences.toml`, entry by entry, each with its reason and its count.

Every difference of every comparison belongs to the first entry whose `side` and `pattern` fit it. One that fits none
fails the test; so does an entry that no longer counts what it says, in any trace.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from tests.fidelity.comparing import Difference, Side
from tests.fidelity.traces import HERE

FILE = HERE / "differences.toml"
Kind = Literal["stated", "version", "race"]
KINDS: Mapping[Kind, str] = {
    "stated": "a simplification, stated in FIDELITY.md",
    "version": "another release words or does it so",
    "race": "what happens at one instant, or is discovered by periodic work, goes either way",
}


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A permitted difference. `pattern` is searched in `ACTOR LEVEL LOGGER: TEXT`; `counts`: trace → how many.

    `only`: the traces that it is for, as shells match names; all without it. `row`: the feature of FIDELITY.md that a
    `stated` one rests on.
    """

    id: str
    kind: Kind
    side: Side
    pattern: str
    because: str
    counts: dict[str, int] = {}
    row: str = ""
    only: tuple[str, ...] = ()

    def fits(self, trace: str, difference: Difference) -> bool:
        """Whether a trace's difference is this one."""
        return (
            difference.side == self.side
            and (not self.only or any(fnmatchcase(trace, name) for name in self.only))
            and re.search(self.pattern, difference.text) is not None
        )


def read_entries(path: Path = FILE) -> list[Entry]:
    """The permitted differences; raises msgspec.ValidationError for what is none."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8"))["difference"], list[Entry])


def sorted_out(
    trace: str, differences: Iterable[Difference], entries: Sequence[Entry]
) -> tuple[list[tuple[Entry, Difference]], list[Difference]]:
    """The permitted differences of a trace with their entries, and the others."""
    permitted: list[tuple[Entry, Difference]] = []
    others: list[Difference] = []
    for difference in differences:
        entry = next((entry for entry in entries if entry.fits(trace, difference)), None)
        if entry is None:
            others.append(difference)
        else:
            permitted.append((entry, difference))
    return permitted, others


def complaints(trace: str, differences: Iterable[Difference], entries: Sequence[Entry]) -> list[str]:
    """What is wrong in a trace's comparison: differences that no entry permits, entries that count something else."""
    permitted, others = sorted_out(trace, differences, entries)
    found = [f"not listed: {difference}" for difference in others]
    counted = Counter(entry.id for entry, _ in permitted)
    return found + [
        f"{entry.id} ({entry.side}) should occur {entry.counts.get(trace, 0)} times, and occurs {counted[entry.id]}"
        for entry in entries
        if entry.counts.get(trace, 0) != counted[entry.id]
    ]


def recounted(entries: Sequence[Entry], comparisons: Mapping[str, Sequence[Difference]]) -> list[Entry]:
    """The entries with the counts of these comparisons; one that occurs nowhere is gone."""
    counts: dict[str, dict[str, int]] = {entry.id: {} for entry in entries}
    for trace, differences in comparisons.items():
        for entry, _ in sorted_out(trace, differences, entries)[0]:
            counts[entry.id][trace] = counts[entry.id].get(trace, 0) + 1
    renewed = [msgspec.structs.replace(entry, counts=counts[entry.id]) for entry in entries]
    return [entry for entry in renewed if entry.counts]


def write_entries(entries: Sequence[Entry], path: Path = FILE) -> None:
    """Write the file in its one form; the comment at its head stays."""
    head = path.read_text(encoding="utf-8").partition("[[difference]]")[0]
    path.write_text(head + "\n".join(_toml(entry) for entry in entries), encoding="utf-8")


def _toml(entry: Entry) -> str:
    lines = ["[[difference]]", f'id = "{entry.id}"', f'kind = "{entry.kind}"', f'side = "{entry.side}"']
    lines += [f"pattern = {_literal(entry.pattern)}", f"because = {json.dumps(entry.because, ensure_ascii=False)}"]
    lines += [f"row = {json.dumps(entry.row, ensure_ascii=False)}"] if entry.row else []
    lines += [f"only = {json.dumps(entry.only, ensure_ascii=False)}"] if entry.only else []
    lines += ["[difference.counts]", *(f'"{trace}" = {count}' for trace, count in entry.counts.items())]
    return "\n".join(lines) + "\n"


def _literal(pattern: str) -> str:
    """A pattern as TOML: between single quotes as it is, unless it has one itself."""
    return json.dumps(pattern) if "'" in pattern else f"'{pattern}'"

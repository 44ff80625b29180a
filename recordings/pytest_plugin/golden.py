"""Golden flights: the events of a flight in a file beside its test, compared by hash, and told apart in words."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from recordings.journal.comparison import Comparison, Divergence
from recordings.version import VERSION


class GoldenHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a golden file: what was flown how far, and the SHA-256 of the event lines that follow."""

    flightdeck: str
    scenario: str
    seed: int
    virtual_us: int
    events: int
    sha256: str


def write_golden(path: Path, scenario: str, seed: int, virtual_us: int, lines: bytes) -> None:
    """Write a golden flight."""
    header = GoldenHeader(
        flightdeck=VERSION,
        scenario=scenario,
        seed=seed,
        virtual_us=virtual_us,
        events=lines.count(b"\n"),
        sha256=hashlib.sha256(lines).hexdigest(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.encode(header) + b"\n" + lines
    path.write_bytes(zstandard.ZstdCompressor(level=19).compress(content))


def difference(path: Path, virtual_us: int, lines: bytes) -> str | None:
    """How a flight differs from its golden file, in words; None if their hashes are equal. Raises ValueError."""
    try:
        first, _, golden = zstandard.ZstdDecompressor().decompress(path.read_bytes()).partition(b"\n")
        header = msgspec.json.decode(first, type=GoldenHeader)
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise ValueError(f"{path} is not a golden flight: {error}") from None
    if hashlib.sha256(lines).hexdigest() == header.sha256:
        return None
    comparison = Comparison(iter([golden]))
    comparison(lines)
    comparison.finish(recorded_until_us=float("inf"), flown_until_us=float("inf"))
    known = (
        f"golden: {header.events:,} events of {header.virtual_us / 1_000_000:g} s, by Flightdeck {header.flightdeck}"
    )
    now = f"now: {lines.count(bytes([10])):,} events of {virtual_us / 1_000_000:g} s"
    return "\n".join(
        [f"{comparison.compared:,} events are equal; then they differ", *_words(comparison.divergence), known, now]
    )


def _words(first: Divergence | None) -> list[str]:
    if first is None:
        return []
    both = first.recorded is not None and first.rerun is not None and first.recorded["kind"] == first.rerun["kind"]
    lines = [f"first difference: event {first.seq:,} at {first.at_s:f} s"]
    if both and first.recorded is not None and first.rerun is not None:
        keys = dict.fromkeys((*first.recorded, *first.rerun))
        changed = [key for key in keys if first.recorded.get(key) != first.rerun.get(key)]
        lines.append(f"  {first.rerun['kind']}: {', '.join(changed)} differ{'s' if len(changed) == 1 else ''}")
    return [*lines, f"  golden  {_event(first.recorded)}", f"  now     {_event(first.rerun)}"]


def _event(event: dict[str, Any] | None) -> str:
    if event is None:
        return "has no more events"
    fields = (f"{key}={value}" for key, value in event.items() if key not in ("kind", "seq"))
    return f"{event['kind']}  {', '.join(fields)}"

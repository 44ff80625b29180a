"""The judge of the library's rows: what a recording's directory holds, read without the product's readers."""

import json
import re
from pathlib import Path

import zstandard

ROW = re.compile(
    r"..(?P<mark>[AB▶ ])  (?P<name>\S+) +((?P<scenario>\S+) +)?(?P<state>closed|no end|damaged|writing)  +"
    r"((?P<date>\d{4}-\d\d-\d\d \d\d:\d\d) +)?(?P<length>\S+( s| ms)?) +((?P<seed>-?\d+) +)?(?P<events>[\d,]+|–) *"
)
DAMAGED = re.compile(r"..[AB▶ ]  (?P<name>\S+) +damaged  (?P<reason>\S.*?) *")


def faults_of(row: str, path: Path) -> list[str]:
    """What is wrong in a row about the recording in a directory."""
    lines = _lines(path)
    footer = _json(path / "footer.json")
    header = _json(path / "header.json")
    if header is None:
        match = DAMAGED.fullmatch(row)
        return [] if match and match["name"] == path.name else [f"{path.name} has no header: {row!r}"]
    match = ROW.fullmatch(row)
    if match is None:
        return [f"no sentence of this place: {row!r}"]
    damaged = (footer is None and (path / "footer.json").exists()) or (footer is not None and not lines)
    state = "damaged" if damaged else "no end" if footer is None else "closed"
    events = [each for each in lines if "seq" in each]
    said = {
        "name": path.name,
        "scenario": header["scenario"],
        "state": state,
        "date": header["started"][:16].replace("T", " "),
        "length": _length(footer["virtual_us"]) if footer else "–",
        "seed": str(header["settings"]["seed"]),
        "events": f"{len(events):,}" if footer else "–",
    }
    return [f"{what}: {match[what]!r}, not {is_!r}" for what, is_ in said.items() if match[what] not in {None, is_}]


def _length(us: int) -> str:
    seconds = us // 1_000_000
    return (
        f"{us / 1e6:.1f} s"
        if seconds < 10
        else f"{seconds} s"
        if seconds < 100
        else f"{seconds // 60}:{seconds % 60:02}"
    )


def _json(path: Path) -> dict | None:  # type: ignore[type-arg]
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _lines(path: Path) -> list[dict]:  # type: ignore[type-arg]
    text = b""
    for segment in sorted(path.glob("segment-*")):
        data = segment.read_bytes()
        if segment.suffix == ".zst":
            with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
                data = reader.read()
        text += data
    return [json.loads(each) for each in text.splitlines()]

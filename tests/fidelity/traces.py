"""Trace files: what a real cluster did, as data. The first line is the head, then one fact a line."""

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from tests.fidelity.normalisation import Fact, in_present_words

HERE = Path(__file__).parent
SCENARIOS = HERE / "scenarios"
TRACES = HERE / "traces"
RAW = HERE / "raw"


class Step(msgspec.Struct, frozen=True):
    """Something that was done to the real cluster, and when it really was."""

    at_ms: int
    step: str


class Head(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where a trace comes from.

    `load`: of the machine when the recording began, `passes`: how often it was recorded. `races`: facts (`actor: text`)
    that were not the same in each pass. `left_out`: loggers that this recording has dropped. `scenario_sha256`: of the
    scenario file that was recorded ("" where it was not noted).
    """

    scenario: str
    release: str
    recorded: str
    load: str
    passes: int
    steps: tuple[Step, ...]
    scenario_sha256: str = ""
    brokers: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    races: tuple[str, ...] = ()


class Trace(msgspec.Struct, frozen=True):
    """A recording of one scenario with one release."""

    head: Head
    facts: tuple[Fact, ...]

    @property
    def name(self) -> str:
        """`4.3.1/twins`: how tables and differences.toml call it."""
        return f"{self.head.release}/{self.head.scenario}"

    @property
    def scenario_file(self) -> Path:
        """The scenario that was recorded."""
        return SCENARIOS / f"{self.head.scenario}.toml"


def trace_files() -> list[Path]:
    """Every trace of every release."""
    return sorted(TRACES.glob("*/*.json"))


def read_trace(path: Path) -> Trace:
    """Read a trace, whose lists may stand in former words; raises msgspec.ValidationError for what is none."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    facts = msgspec.convert(document.pop("facts"), list[Fact])
    head = msgspec.convert(document, Head)
    return Trace(
        msgspec.structs.replace(head, races=tuple(map(in_present_words, head.races))),
        tuple(fact._replace(text=in_present_words(fact.text)) for fact in facts),
    )


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace so that a diff of two can be read: the head, then one fact a line."""
    head = json.dumps(msgspec.to_builtins(trace.head), ensure_ascii=False)
    lines = ",\n".join(json.dumps(list(fact), ensure_ascii=False) for fact in trace.facts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head[:-1]}, "facts": [\n{lines}\n]}}\n', encoding="utf-8")


def sha256(path: Path) -> str:
    """Of a scenario file, as a trace's head has it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()

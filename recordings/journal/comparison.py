"""Compare the events of a running flight with recorded ones: byte by byte, line by line.

Equal flights are compared a thousand lines at a time; only the batch with the first difference is compared line by
line.
"""

from collections.abc import Iterator
from typing import Any

import msgspec


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The first event that differs: the recorded one and the new one; None on the side that has no event."""

    seq: int
    at_s: float
    recorded: dict[str, Any] | None
    rerun: dict[str, Any] | None


class Comparison:
    """A listener to a journal's lines that compares them with recorded lines (chunks of whole lines, in order).

    `compared` counts equal events; `divergence` is the first difference, once there is one.
    """

    def __init__(self, recorded: Iterator[bytes]) -> None:
        self._recorded = recorded
        self._ahead = b""
        self.compared = 0
        self.divergence: Divergence | None = None
        self._surplus: bytes | None = None

    def __call__(self, lines: bytes) -> None:
        """Take the next lines of the flight."""
        if self.divergence is not None or self._surplus is not None:
            return
        expected = self._next(len(lines))
        if expected == lines:
            self.compared += lines.count(b"\n")
        else:
            self._look_closer(expected, lines)

    def finish(self, *, recorded_until_us: float, flown_until_us: float) -> None:
        """The flight has ended. An event on one side only is a difference if the other side flew past it."""
        if self.divergence is not None:
            return
        if self._surplus is not None:
            if _at_us(self._surplus) <= recorded_until_us:
                self._diverged(None, self._surplus)
        elif (missing := self._next_line()) and _at_us(missing) <= flown_until_us:
            self._diverged(missing, None)

    def _next(self, size: int) -> bytes:
        """The next recorded lines, as many bytes as the flight has given (fewer at the end)."""
        while len(self._ahead) < size and (chunk := next(self._recorded, None)) is not None:
            self._ahead += chunk
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken

    def _next_line(self) -> bytes:
        if not self._ahead:
            self._ahead = next(self._recorded, b"")
        return self._ahead.partition(b"\n")[0]

    def _look_closer(self, expected: bytes, lines: bytes) -> None:
        """Find the first line that differs or has no recorded counterpart."""
        if expected and not expected.endswith(b"\n"):
            rest, newline, self._ahead = self._ahead.partition(b"\n")
            expected += rest + newline
        recorded = expected.splitlines(keepends=True)
        for place, line in enumerate(lines.splitlines(keepends=True)):
            if place == len(recorded):
                self._surplus = line
                return
            if recorded[place] != line:
                self._diverged(recorded[place], line)
                return
            self.compared += 1

    def _diverged(self, recorded: bytes | None, rerun: bytes | None) -> None:
        sides = [msgspec.json.decode(line, type=dict[str, Any]) if line else None for line in (recorded, rerun)]
        at_us = min(side["at_us"] for side in sides if side is not None)
        self.divergence = Divergence(seq=self.compared + 1, at_s=at_us / 1_000_000, recorded=sides[0], rerun=sides[1])


def _at_us(line: bytes) -> int:
    return int(msgspec.json.decode(line, type=dict[str, Any])["at_us"])

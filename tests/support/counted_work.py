"""Counts the work of a call: the bytecode instructions that it executes, the same number on every machine.

A garbage collection would run the finalizers of what earlier tests left, and count those: it waits until the call ends.
"""

import gc
import sys
from collections.abc import Callable
from types import FrameType


def instructions(call: Callable[[], object]) -> int:
    """The bytecode instructions of `call` and of every Python function under it; a compiled function has none."""
    count = 0

    def trace(frame: FrameType, happened: str, _argument: object) -> "Trace":
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += happened == "opcode"
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count


Trace = Callable[[FrameType, str, object], "Trace | None"]

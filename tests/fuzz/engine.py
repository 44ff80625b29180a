"""The fuzzer's engine: inputs from a seed, each within a budget of time and memory, and only typed errors let through.

Input n of a target is made from (seed, target, n) alone, so that any of them can be made again. A target says of each
input whether it was accepted or refused; refusing is one of its errors with a message of a few lines. Whatever else
comes out is a finding: another exception, an input that takes longer than `SECONDS` of processor time, or one that
makes the process larger than it may be.
"""

import gc
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import msgspec

SECONDS = 5.0
BLOCKED_SECONDS = 20.0
MEGABYTES = 1_000
GROWTH_MEGABYTES = 300
MOST_FINDINGS = 20
MESSAGE_LINES, MESSAGE_CHARACTERS = 60, 2_000
SHOWN_CHARACTERS = 300


class Target(msgspec.Struct, frozen=True):
    """What is fed: `make` an input at random, `feed` it (True: accepted), and the `errors` that refuse in words.

    `share`: how many of a thousand inputs of a whole run it gets.
    """

    name: str
    share: int
    errors: tuple[type[Exception], ...]
    make: Callable[[Random], Any]
    feed: Callable[[Any], bool]


class Budget(msgspec.Struct, frozen=True):
    """What one input may take: processor seconds, seconds at all, MB of the process and MB more than before."""

    seconds: float = SECONDS
    blocked_seconds: float = BLOCKED_SECONDS
    megabytes: float = MEGABYTES
    growth_megabytes: float = GROWTH_MEGABYTES


class Finding(msgspec.Struct, frozen=True):
    """An input that did something else than being accepted or refused."""

    target: str
    index: int
    what: str
    where: str
    shown: str


class Outcome(msgspec.Struct):
    """What became of a target's inputs."""

    target: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0
    """Of processor time."""
    slowest_ms: float = 0.0
    slowest_index: int = -1
    peak_megabytes: float = 0.0
    findings: list[Finding] = []


class TooSlow(BaseException):
    """The input took longer than it may."""


class Unspoken(AssertionError):  # noqa: N818
    """An input was refused without a message, or with one that is too long to read."""


def draws_of(seed: int, target: str, index: int) -> Random:
    """The random stream of one input."""
    return Random(f"{seed}:{target}:{index}")


def fuzz(
    target: Target,
    *,
    seed: int,
    indices: range,
    seconds: float = float("inf"),
    budget: Budget | None = None,
    progress: Callable[[int], object] | None = None,
) -> Outcome:
    """Feed a target with inputs for some time; `progress` gets each index before its input is fed."""
    budget = budget or Budget()
    outcome = Outcome(target.name, findings=[])
    seen: set[tuple[str, str]] = set()
    began, began_cpu = time.perf_counter(), time.process_time()
    with _alarms() as alarm:
        for index in indices:
            if time.perf_counter() - began >= seconds or len(outcome.findings) >= MOST_FINDINGS:
                break
            if progress is not None:
                progress(index)
            finding = _feed(target, seed, index, budget, outcome, alarm)
            if finding is not None and (kind := (finding.what.partition(":")[0], finding.where)) not in seen:
                seen.add(kind)
                outcome.findings.append(finding)
    outcome.seconds = time.process_time() - began_cpu
    outcome.peak_megabytes = _peak_megabytes()
    return outcome


def _feed(
    target: Target, seed: int, index: int, budget: Budget, outcome: Outcome, alarm: Callable[[float, float], None]
) -> Finding | None:
    made = target.make(draws_of(seed, target.name, index))
    peak, began = _peak_megabytes(), time.process_time()
    failure: BaseException | None = None
    outcome.inputs += 1
    try:
        alarm(budget.seconds, budget.blocked_seconds)
        try:
            accepted = target.feed(made)
        finally:
            alarm(0, 0)
        outcome.accepted += accepted
        outcome.refused += not accepted
    except target.errors as error:
        outcome.refused += 1
        failure = _unspoken(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
        failure = error
    took_ms = (time.process_time() - began) * 1e3
    if took_ms > outcome.slowest_ms:
        outcome.slowest_ms, outcome.slowest_index = took_ms, index
    now = _peak_megabytes()
    if failure is None and (now - peak > budget.growth_megabytes or peak < budget.megabytes < now):
        gc.collect()
        failure = MemoryError(f"the process grew from {peak:.0f} to {now:.0f} MB")
    return _finding(target.name, index, made, failure) if failure is not None else None


def _unspoken(message: str) -> BaseException | None:
    lines = message.splitlines()
    if not message.strip():
        return Unspoken("refused without a message")
    if len(lines) > MESSAGE_LINES or any(len(line) > MESSAGE_CHARACTERS for line in lines):
        return Unspoken(f"refused with {len(lines)} lines, {max(map(len, lines))} characters long")
    return None


def _finding(target: str, index: int, made: object, failure: BaseException) -> Finding:
    frames = traceback.extract_tb(failure.__traceback__)
    ours = [frame for frame in frames if "site-packages" not in frame.filename and "/lib/python" not in frame.filename]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(ours[-3:]))
    what = type(failure).__name__ if isinstance(failure, TooSlow) else f"{type(failure).__name__}: {failure}"[:200]
    shown = repr(made)
    shown = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}… ({len(shown)} characters)"
    return Finding(target, index, what, where, shown)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def _alarms() -> Iterator[Callable[[float, float], None]]:
    """A function that sets both alarms: processor time, for what spins, and any time, for what waits."""

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    def alarm(seconds: float, blocked_seconds: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, blocked_seconds)

    before = signal.signal(signal.SIGPROF, late), signal.signal(signal.SIGALRM, late)
    try:
        yield alarm
    finally:
        alarm(0, 0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])

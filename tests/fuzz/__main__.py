"""`python -m tests.fuzz`: feed everything that reads a stranger's input with inputs that are wrong.

    python -m tests.fuzz --inputs 1000000 --seed 7            # the whole, once
    python -m tests.fuzz --seconds 60 --inputs 1000000        # a minute of it, as .ci/run does
    python -m tests.fuzz --target cel --seed 7 --only 1234    # one input again, with its traceback

Each target runs in a process of its own, with 2 GiB of address space more than it begins with; one that makes no
progress is killed, and its input is a finding. The exit code is 1 when there is a finding.
"""

import argparse
import multiprocessing
import multiprocessing.connection
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tests.fuzz.engine import Finding, Outcome, Target, draws_of, fuzz
from tests.fuzz.files import FILES
from tests.fuzz.imports import IMPORTS
from tests.fuzz.logs import LOGS
from tests.fuzz.texts import TEXTS

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

TARGETS: dict[str, Target] = {target.name: target for target in (*TEXTS, *FILES, *LOGS, *IMPORTS)}
ADDRESS_SPACE = 2 << 30
STALLED_SECONDS = 60.0
POLL_SECONDS = 0.2

Told: TypeAlias = "Synchronized[int]"
"""The index of the input that a worker is feeding."""


class Worker:
    """One target in a process of its own."""

    def __init__(self, target: Target, seed: int, inputs: int, seconds: float) -> None:
        context = multiprocessing.get_context("fork")
        self.target = target
        self.told: Told = context.Value("q", -1)
        self.received, send = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(target.name, seed, inputs, seconds, self.told, send))
        self.process.start()
        send.close()
        self.last, self.since = -1, time.monotonic()

    def outcome(self) -> Outcome | None:
        """What came of it, once something did."""
        if self.received.poll():
            try:
                outcome: Outcome = self.received.recv()
            except EOFError:
                return self._lost(f"its process ended with {self.process.exitcode}")
            self.process.join()
            return outcome
        if self.told.value != self.last:
            self.last, self.since = self.told.value, time.monotonic()
        elif time.monotonic() - self.since > STALLED_SECONDS:
            self.process.kill()
            return self._lost(f"it did not come back for {STALLED_SECONDS:.0f} s")
        return None

    def _lost(self, what: str) -> Outcome:
        self.process.join()
        index = self.told.value
        return Outcome(self.target.name, index + 1, findings=[Finding(self.target.name, index, what, "", "")])


def _work(
    name: str, seed: int, inputs: int, seconds: float, told: "Told", send: multiprocessing.connection.Connection
) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, used + ADDRESS_SPACE))

    def progress(index: int) -> None:
        told.value = index

    send.send(fuzz(TARGETS[name], seed=seed, indices=range(inputs), seconds=seconds, progress=progress))
    send.close()


def run(targets: Sequence[Target], *, seed: int, inputs: int, seconds: float, jobs: int) -> list[Outcome]:
    """Fuzz targets, `jobs` at a time: `inputs` and `seconds` altogether, divided by the targets' shares."""
    shares = sum(target.share for target in targets)
    each_s = seconds * jobs / len(targets)
    waiting = [(target, max(1, inputs * target.share // shares)) for target in targets]
    running: list[Worker] = []
    outcomes: list[Outcome] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            target, count = waiting.pop(0)
            running.append(Worker(target, seed, count, each_s))
        time.sleep(POLL_SECONDS)
        for worker in list(running):
            outcome = worker.outcome()
            if outcome is not None:
                running.remove(worker)
                outcomes.append(outcome)
    return outcomes


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes, a line for each target."""
    lines = [
        f"{'target':10} {'inputs':>9} {'in/s':>7} {'accepted':>9} {'refused':>9} {'slowest ms':>11} {'peak MB':>8}"
    ]
    for each in outcomes:
        speed = each.inputs / each.seconds if each.seconds else 0
        slowest = f"{each.slowest_ms:.0f}"
        lines.append(
            f"{each.target:10} {each.inputs:9,} {speed:7,.0f} {each.accepted:9,} {each.refused:9,} {slowest:>11}"
            f" {each.peak_megabytes:8,.0f}" + (f"  FOUND {len(each.findings)}" if each.findings else "")
        )
    inputs, seconds = sum(each.inputs for each in outcomes), sum(each.seconds for each in outcomes)
    lines.append(f"{'all':10} {inputs:9,} {inputs / max(seconds, 1e-9):7,.0f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs altogether")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds altogether")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=sorted(TARGETS), help="only this one")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--only", type=int, help="feed this one input of --target, with its traceback")
    options = parser.parse_args(arguments)
    targets = [TARGETS[options.target]] if options.target else list(TARGETS.values())
    if options.only is not None:
        made = targets[0].make(draws_of(options.seed, targets[0].name, options.only))
        sys.stdout.write(f"{made!r}\n")
        sys.stdout.write(f"{targets[0].feed(made)}\n")
        return 0
    outcomes = run(targets, seed=options.seed, inputs=options.inputs, seconds=options.seconds, jobs=options.jobs)
    sys.stdout.write(table(outcomes) + "\n")
    found = [finding for outcome in outcomes for finding in outcome.findings]
    for each in found:
        again = f"python -m tests.fuzz --target {each.target} --seed {options.seed} --only {each.index}"
        sys.stdout.write(f"\n{each.target}: {each.what}\n  at {each.where}\n  {each.shown}\n  {again}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""CPU time of flights at this commit and at another one, alternating: `python -m tests.bench.against COMMIT`.

Both fly with this environment's Python and packages, in turn, so that what else the machine does strikes both alike.
Said is user CPU of the whole process in seconds, and this commit's share of the other's: of the faster half's mean, of
the minima and of the medians. On a busy machine single flights scatter by 5 %: give it rounds.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from console.bench.measurement import measure_flight
from recordings.version import ROOT


def compared(other: Path, scenario: str, until: str, rounds: int) -> str:
    """One line of figures; both have flown once before, so that their bytecode is compiled."""
    seconds: dict[Path, list[float]] = {other: [], ROOT: []}
    for number in range(rounds + 1):
        for checkout in (other, ROOT) if number % 2 else (ROOT, other):
            used_s = measure_flight(scenario, until, record=False, checkout=checkout).user_s
            if number:
                seconds[checkout].append(used_s)
    ratios = [figure(seconds[ROOT]) / figure(seconds[other]) for figure in (_faster_half, min, statistics.median)]
    texts = [f"{statistics.median(values):.2f} s" for values in seconds.values()]
    return (
        f"{scenario} {until}: {texts[0]} there, {texts[1]} here (medians of {rounds}); faster half x {ratios[0]:.3f},"
        f" minimum x {ratios[1]:.3f}, median x {ratios[2]:.3f}"
    )


def _faster_half(values: list[float]) -> float:
    return statistics.mean(sorted(values)[: max(1, len(values) // 2)])


def main() -> None:
    """Check the other commit out beside this one, compare, and take it away again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit", help="what to compare with, as git names it")
    parser.add_argument("scenario", nargs="?", default="reference-s", help="of the library")
    parser.add_argument("--until", default="5m", help="virtual time to fly")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", other, asked.commit], cwd=ROOT, check=True)
        try:
            sys.stdout.write(compared(other, asked.scenario, asked.until, asked.rounds) + "\n")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()

"""`python -m tests.fidelity.recorder NAME …`: record scenarios on a real cluster, by hand (README.md beside this)."""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from recordings.scenarios.loader import load
from tests.fidelity.comparing import compare
from tests.fidelity.normalisation import Fact
from tests.fidelity.recorder.agenda import CannotRecord
from tests.fidelity.recorder.cluster import Release
from tests.fidelity.recorder.raw import facts_of, raw_of, read_run, write_run
from tests.fidelity.recorder.recording import record
from tests.fidelity.traces import SCENARIOS, TRACES, Head, Step, Trace, read_trace, sha256, write_trace

MOST_LOAD = 2.0
FIRST_PORT = 19_400


def main() -> int:
    """Record each scenario; exit with 1 if one could not be."""
    options = _options()
    if options.again:
        return _normalise_again(options)
    release = Release(options.release, options.work)
    options.work.mkdir(parents=True, exist_ok=True)
    release.prepare()
    failed = False
    for path in _scenarios(options.names, options.release, missing=options.missing):
        load_now = os.getloadavg()[0]
        if load_now > MOST_LOAD and not options.anyway:
            say(f"The machine's load is {load_now:.1f}, above {MOST_LOAD}: instants would be late. `--anyway` records.")
            return 1
        try:
            _record(path, release, options, load_now)
        except (CannotRecord, RuntimeError) as error:
            say(f"{path.stem}: {error}")
            failed = True
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity.recorder", description="Record a real Kafka.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios of tests/fidelity/scenarios; default: all")
    parser.add_argument("--release", default="4.3.1", help="of Kafka, as Maven has it")
    parser.add_argument("--passes", type=int, default=3, help="what is not the same in each is marked as a race")
    parser.add_argument("--missing", action="store_true", help="only scenarios that have no trace of this release")
    parser.add_argument("--again", action="store_true", help="no recording: normalise the kept logs again")
    parser.add_argument("--anyway", action="store_true", help=f"also above a load of {MOST_LOAD}")
    parser.add_argument("--first-port", type=int, default=FIRST_PORT, help="brokers have the ports after it")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "flightdeck-recorder")
    return parser.parse_args()


def _normalise_again(options: argparse.Namespace) -> int:
    """Traces from the logs of their first pass, after the normalisation has changed."""
    for path in _scenarios(options.names, options.release, missing=False):
        trace_file, kept = TRACES / options.release / f"{path.stem}.json", raw_of(path.stem, options.release)
        if trace_file.exists() and kept.exists():
            head = read_trace(trace_file).head
            write_trace(trace_file, Trace(head, tuple(facts_of(read_run(kept)))))
    return 0


def say(line: str) -> None:
    """Write one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _scenarios(names: Sequence[str], release: str, *, missing: bool) -> list[Path]:
    chosen = [path for path in sorted(SCENARIOS.glob("*.toml")) if not names or path.stem in names]
    unknown = set(names) - {path.stem for path in chosen}
    if unknown:
        sys.exit(f"no such scenario: {', '.join(sorted(unknown))}")
    return [path for path in chosen if not (missing and (TRACES / release / f"{path.stem}.json").exists())]


def _record(path: Path, release: Release, options: argparse.Namespace, load_now: float) -> None:
    spec = load(str(path)).spec
    loads = [load_now]
    passes: list[list[Fact]] = []
    steps: list[Step] = []
    for number in range(options.passes):
        run, done = record(release, spec, options.work / f"{options.first_port}-{path.stem}", options.first_port)
        passes.append(facts_of(run))
        loads.append(os.getloadavg()[0])
        if number == 0:
            steps = done
            write_run(raw_of(path.stem, release.version), run)
    head = Head(
        scenario=path.stem,
        release=release.version,
        recorded=datetime.now(UTC).date().isoformat(),
        load=f"{max(loads):.1f}",
        passes=options.passes,
        steps=tuple(steps),
        scenario_sha256=sha256(path),
        races=tuple(races(passes)),
    )
    write_trace(TRACES / release.version / f"{path.stem}.json", Trace(head, tuple(passes[0])))
    say(f"{path.stem}: {len(passes[0])} facts, {len(head.races)} races, load {head.load}")


def races(passes: Sequence[Sequence[Fact]]) -> list[str]:
    """What the first pass and another one do not have in common, or not as far apart."""
    found = (compare(passes[0], other).differences for other in passes[1:])
    return sorted({difference.text for differences in found for difference in differences})


if __name__ == "__main__":
    sys.exit(main())

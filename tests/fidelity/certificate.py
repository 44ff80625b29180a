"""`python -m tests.fidelity.certificate`: docs/certificate.md from the traces, the flights and differences.toml."""

import re
import statistics
from collections.abc import Iterator, Sequence
from typing import get_args

from recordings.scenarios.loader import load
from tests.fidelity.comparing import COMPARERS, TOLERATED_MS, TOLERATED_SHARE, Side
from tests.fidelity.comparisons import comparison, judged, simulated_facts, traces
from tests.fidelity.differences import KINDS, Entry, read_entries
from tests.fidelity.normalisation import COMPARED, Fact
from tests.fidelity.traces import HERE, Trace

CERTIFICATE = HERE.parents[1] / "docs" / "certificate.md"
ENDED = re.compile(
    r"Stabilized group \S+ generation (\d+) with (\d+) members|Group \S+ with generation (\d+) is now empty"
)
Rebalance = tuple[str, int, int]


def certificate() -> str:
    """The whole page."""
    lines = [*_opening(), *_releases(), *_situations(), *_rebalances(), *_permitted(read_entries())]
    return "\n".join(lines).rstrip() + "\n"


def _opening() -> Iterator[str]:
    agreeing = sum(sum(comparison(name).agreeing.values()) for name in traces())
    situations = {trace.head.scenario for trace in traces().values()}
    yield f"# Certificate for Apache Kafka {_releases_newest_first()[0]}"
    yield ""
    yield "Written by `python -m tests.fidelity.certificate`; a test fails when it is out of date."
    yield ""
    yield (
        f"Apache Kafka {' and '.join(_releases_newest_first())} with Java clients flew {len(situations)} situations,"
        f" Flightdeck flies the same scenario files: **{agreeing:,} facts agree**, {_differing():,} differ, each of"
        " them listed below with its reason."
    )
    yield ""
    yield (
        "A fact is a callback with its exact partitions, an exception, a generation of a member, a step of a"
        " coordinator, or a log line with its level and logger, in the order in which its actor tells it. Two facts of"
        f" an actor are also as far apart as in reality, within {TOLERATED_MS} ms or {TOLERATED_SHARE:.0%}. Lines of"
        f" these loggers are compared: {', '.join(f'`{name}`' for name in sorted(COMPARED))}. Member and producer ids,"
        " addresses and offsets above 0 are not, but where a scenario looks at them; repeated lookups of a"
        " coordinator count once (`tests/fidelity/normalisation.py`)."
    )
    yield ""


def _releases_newest_first() -> list[str]:
    """By their numbers: 4.10.0 is newer than 4.3.1."""
    releases = {trace.head.release for trace in traces().values()}
    return sorted(releases, key=lambda release: [int(number) for number in release.split(".")], reverse=True)


def _differing() -> int:
    return sum(len(comparison(name).differences) for name in traces())


def _releases() -> Iterator[str]:
    yield "| release | recorded | traces | machine's load | passes | facts that agree | that differ |"
    yield "|---|---|---|---|---|---|---|"
    for release in _releases_newest_first():
        of_it = [trace for trace in traces().values() if trace.head.release == release]
        found = [comparison(trace.name) for trace in of_it]
        yield (
            f"| {release} | {_range(trace.head.recorded for trace in of_it)} | {len(of_it)}"
            f" | {_range(trace.head.load for trace in of_it)} | {_range(str(trace.head.passes) for trace in of_it)}"
            f" | {sum(sum(each.agreeing.values()) for each in found):,}"
            f" | {sum(len(each.differences) for each in found):,} |"
        )
    yield ""


def _range(values: Iterator[str]) -> str:
    given = sorted(set(values), key=lambda value: [float(number) for number in re.findall(r"[\d.]+", value)])
    return given[0] if len(given) == 1 else f"{given[0]} … {given[-1]}"


def _situations() -> Iterator[str]:
    yield "## Situations"
    yield ""
    yield (
        "Facts that agree: of members (callbacks, exceptions, generations), of coordinators, of logs. Then facts that"
        " are only real, only simulated, at another place, and durations that differ; how many of these differ among"
        " the passes of the recording too, and need no other reason. Of the durations that were"
        " compared: how many, and how far real and simulated are apart (median, most)."
    )
    yield ""
    columns = ("trace", "situation", *COMPARERS, *get_args(Side), "races", "durations", "median ms", "most ms")
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for name, trace in traces().items():
        found = comparison(name)
        apart = [abs(real - simulated) for real, simulated in found.durations_ms]
        cells = [name, load(str(trace.scenario_file)).spec.title]
        cells += [str(found.agreeing[comparer]) for comparer in COMPARERS]
        cells += [str(found.only(side)) for side in get_args(Side)]
        cells.append(str(len(found.differences) - len(judged(name))))
        cells += [str(len(apart)), f"{statistics.median(apart):.0f}", str(max(apart))]
        yield f"| {' | '.join(cells)} |"
    yield ""


def rebalances(facts: Sequence[Fact]) -> dict[Rebalance, int]:
    """How long each rebalance took, in ms, from the coordinator's lines: (group, generation, members) → ms."""
    began: dict[str, int] = {}
    took: dict[Rebalance, int] = {}
    for fact in facts:
        kind, _, group = fact.actor.partition(" ")
        if kind != "GroupCoordinator":
            continue
        if fact.text.startswith("Preparing to rebalance"):
            began.setdefault(group, fact.at_ms)
        ended = ENDED.match(fact.text)
        if ended and group in began:
            took[group, int(ended[1] or ended[3]), int(ended[2] or 0)] = fact.at_ms - began.pop(group)
    return took


def _rebalances() -> Iterator[str]:
    yield "## Rebalances"
    yield ""
    yield "From “Preparing to rebalance” to “Stabilized” (or “now empty”), in ms: real, simulated."
    yield ""
    yield "| trace | group: generation (members) real / simulated |"
    yield "|---|---|"
    for name, trace in traces().items():
        cells = list(_beside(trace, name))
        if cells:
            yield f"| {name} | {'; '.join(cells)} |"
    yield ""


def _beside(trace: Trace, name: str) -> Iterator[str]:
    real, simulated = rebalances(trace.facts), rebalances(simulated_facts(name))
    group = ""
    for key in sorted({*real, *simulated}):
        yield (
            f"{'' if key[0] == group else f'{key[0]}: '}{key[1]} ({key[2]})"
            f" {real.get(key, '–')} / {simulated.get(key, '–')}"
        )
        group = key[0]


def _permitted(entries: Sequence[Entry]) -> Iterator[str]:
    yield "## Permitted differences"
    yield ""
    for kind, meaning in KINDS.items():
        of_it = [entry for entry in entries if entry.kind == kind]
        if not of_it:
            continue
        yield f"### {kind}: {meaning} ({sum(sum(entry.counts.values()) for entry in of_it)})"
        yield ""
        yield "| entry | side | why | traces |"
        yield "|---|---|---|---|"
        for entry in of_it:
            where = ", ".join(f"{trace} ({count})" for trace, count in entry.counts.items())
            row = f" (FIDELITY.md: “{entry.row}”)" if entry.row else ""
            yield f"| {entry.id} | {entry.side} | {entry.because}{row} | {where} |"
        yield ""


def main() -> None:
    """Write the file."""
    CERTIFICATE.write_text(certificate(), encoding="utf-8")


if __name__ == "__main__":
    main()

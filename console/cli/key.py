"""`flightdeck key`: the partition that a key goes to, now and after partitions are added, by each client's hash."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from cyclopts import Parameter

from cluster.config import LIBRDKAFKA_PARTITIONERS, ROUND_ROBIN, nearest
from cluster.protocol.names import crc32_place, murmur2, murmur2_place
from console.cli.arguments import Json
from console.cli.errors import HELD, UsageError
from console.cli.streams import print_text

if TYPE_CHECKING:
    from cluster.spec import ProducerSpec, ScenarioSpec

MOST_PARTITIONS: Final = 2_147_483_647  # a partition's number is a signed integer of 32 bits
JAVA, CRC32, MURMUR2 = "Java", "librdkafka, consistent_random", "librdkafka, murmur2_random"


class KeyPlacement(msgspec.Struct, frozen=True):
    """Where a key goes while its topic has this many partitions; a partition is its number.

    `crc32` is None for the empty key, which librdkafka treats as no key.
    """

    partitions: int
    from_ms: int
    murmur2: int
    crc32: int | None


class KeyProducer(msgspec.Struct, frozen=True):
    """A producer of the scenario: its client, whether keys choose its partitions, and what keys it sends, in words."""

    name: str
    client: str
    by_key: bool
    keys: str


class KeyReport(msgspec.Struct, frozen=True):
    """What `flightdeck key` prints; `bytes` is the key in UTF-8, in hexadecimal digits."""

    key: str
    bytes: str
    topic: str
    scenario: str | None
    murmur2: int
    placements: list[KeyPlacement]
    producers: list[KeyProducer]


def key(
    key: Annotated[str, Parameter(help="The key as text: its bytes are the text's UTF-8.", allow_leading_hyphen=True)],
    topic: Annotated[str, Parameter(help="The topic.")],
    /,
    *,
    scenario: Annotated[
        str | None, Parameter(help="Take partitions and producers from a scenario of the library, or a file.")
    ] = None,
    partitions: Annotated[
        str | None, Parameter(help="The number of partitions, and the numbers after adding: 6 or 6,12.")
    ] = None,
    json: Json = False,
) -> int:
    """Print the partition that a key goes to, now and after partitions are added."""
    if (scenario is None) == (partitions is None):
        raise UsageError("give either --scenario SCENARIO or --partitions N[,N2]")
    if scenario is not None:
        from recordings.scenarios.loader import load

        loaded = load(scenario)
        counts, producers = _counts_of(loaded.spec, topic), _producers_of(loaded.spec, topic)
        report = _report(key, topic, loaded.name, counts, producers)
    else:
        if not topic.strip():
            raise UsageError("the topic has no name")
        report = _report(key, topic, None, [(0, count) for count in _numbers(partitions or "")], [])
    print_text(msgspec.json.encode(report).decode() if json else "\n".join(_lines(report)))
    return HELD


def _numbers(text: str) -> list[int]:
    """The numbers of partitions, each larger than the one before. Raises UsageError."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) <= 10 and 1 <= int(word) <= MOST_PARTITIONS):
            raise UsageError(f"--partitions: {word[:20]!r} is not a number of partitions: write 6, or 6,12")
    numbers = [int(word) for word in words]
    for before, after in pairwise(numbers):
        if after <= before:
            raise UsageError(f"--partitions: Kafka only adds partitions: {after} does not come after {before}")
    return numbers


def _counts_of(spec: "ScenarioSpec", topic: str) -> list[tuple[int, int]]:
    """From which instant (µs) on a topic of a scenario has how many partitions. Raises UsageError."""
    from cluster.commands import AddPartitions

    declared = {each.name: each.partitions for each in spec.topics}
    if topic not in declared:
        near = nearest(topic, declared)
        raise UsageError(f"the scenario has no topic {topic!r}" + (f" (did you mean {near}?)" if near else ""))
    counts = [(0, declared[topic])]
    for step in sorted(spec.steps, key=lambda step: step.at_us):
        command = step.command
        if isinstance(command, AddPartitions) and command.topic == topic and command.to > counts[-1][1]:
            counts.append((step.at_us, command.to))
    return counts


def _producers_of(spec: "ScenarioSpec", topic: str) -> list[KeyProducer]:
    """The producers and applications of a scenario that write to a topic."""
    found = [_producer(each) for each in spec.producers if topic in each.topics]
    found += [
        KeyProducer(each.name, JAVA, True, "the keys of its input")
        for each in spec.groups
        if topic in each.application.topics_written
    ]
    return found


def _producer(spec: "ProducerSpec") -> KeyProducer:
    config = spec.producer_config()
    partitioner = config["partitioner"]
    client = JAVA if partitioner is None else CRC32 if partitioner == LIBRDKAFKA_PARTITIONERS[0] else MURMUR2
    if spec.keys.kind == "none":
        return KeyProducer(spec.name, client, False, "no keys")
    for key, ignores in (
        ("partitioner.class = RoundRobinPartitioner", config["partitioner.class"] in ROUND_ROBIN),
        ("partitioner.ignore.keys = true", bool(config["partitioner.ignore.keys"])),
    ):
        if ignores:
            return KeyProducer(spec.name, client, False, f"keys choose no partition: {key}")
    last = spec.keys.distinct - 1
    numbers = "the number 0" if not last else f"the numbers 0 … {last}"
    return KeyProducer(spec.name, client, True, f"its keys are {numbers}, sent as text")


def _report(
    key: str, topic: str, scenario: str | None, counts: list[tuple[int, int]], producers: list[KeyProducer]
) -> KeyReport:
    data = key.encode("utf-8", "surrogateescape")  # an argument that is not UTF-8 keeps its bytes
    placements = [
        KeyPlacement(count, at_us // 1_000, murmur2_place(data, count), crc32_place(data, count) if data else None)
        for at_us, count in counts
    ]
    shown = data.decode("utf-8", "replace")
    return KeyReport(shown, data.hex(), topic, scenario, murmur2(data), placements, producers)


def _lines(report: KeyReport) -> list[str]:
    """The report for a person."""
    size = len(report.bytes) // 2
    where = f" of scenario {report.scenario}" if report.scenario else ""
    lines = [f"key {report.key!r}, as UTF-8 text of {size} byte{'s' * (size != 1)}, in topic {report.topic}{where}", ""]
    lines += _table(report)
    lines += ["", *_conclusions(report)]
    if report.producers:
        lines.append("")
        width = max(len(each.name) for each in report.producers)
        kinds = max(len(each.client) for each in report.producers)
        lines += [f"  {each.name:{width}}  {each.client:{kinds}}  {each.keys}" for each in report.producers]
    elif report.scenario:
        lines += ["", f"No producer of the scenario writes to {report.topic}."]
    return lines


def _table(report: KeyReport) -> list[str]:
    """One row for each hash, one column for each number of partitions."""
    from console.presenters.formatting import clock

    heads = ["client"]
    for each in report.placements:
        since = f" from {clock(each.from_ms * 1_000, 0)} on" if each.from_ms else ""
        heads.append(f"{each.partitions} partition{'s' * (each.partitions != 1)}{since}")
    rows = [
        heads,
        ["Java, and librdkafka with murmur2_random", *_cells(report, [each.murmur2 for each in report.placements])],
        ["librdkafka's default, consistent_random", *_cells(report, [each.crc32 for each in report.placements])],
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return [
        "  " + "   ".join(f"{cell:{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _cells(report: KeyReport, places: list[int | None]) -> list[str]:
    cells: list[str] = []
    before: int | None = None
    for place in places:
        if place is None:
            cells.append("any: an empty key is no key")
            continue
        moves = "" if before is None else " (stays)" if place == before else " (moves)"
        cells.append(f"{report.topic}-{place}{moves}")
        before = place
    return cells


def _conclusions(report: KeyReport) -> list[str]:
    """What the table means for the order of the key's records."""
    lines = []
    if not report.bytes:
        lines.append("Only Java and murmur2_random give an empty key one partition: consistent_random picks any.")
    elif any(each.murmur2 != each.crc32 for each in report.placements):
        lines.append("The two hashes disagree on this key: producers of both kinds write it to different partitions.")
    hashes = {each.client == CRC32 for each in report.producers if each.by_key}
    if len(hashes) > 1:
        lines.append(
            f"Producers of {report.topic} use both hashes: most keys are in two partitions, in no common order."
        )
    if len(report.placements) > 1:
        lines.append(
            "A producer learns of added partitions within metadata.max.age.ms (5 minutes unless configured): until then"
        )
        lines.append("it writes the key where it did. Records that are there already stay in their partition.")
    return lines or ["Both hashes choose the same partition for this key; of most keys they choose different ones."]

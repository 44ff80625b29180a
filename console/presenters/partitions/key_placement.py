"""Where a key goes: the partition by each client's hash, now and after partitions are added, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from cluster.config import LIBRDKAFKA_PARTITIONERS, ROUND_ROBIN
from cluster.protocol.names import crc32_place, murmur2, murmur2_place
from console.presenters.formatting import clock

if TYPE_CHECKING:
    from cluster.spec import ProducerSpec, ScenarioSpec

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


def producers_of(spec: "ScenarioSpec", topic: str) -> list[KeyProducer]:
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


def key_report(
    key: str, topic: str, scenario: str | None, counts: Sequence[tuple[int, int]], producers: list[KeyProducer]
) -> KeyReport:
    """Where a key goes while its topic has each number of partitions; `counts` has (from when in µs, how many)."""
    data = key.encode("utf-8", "surrogateescape")  # an argument that is not UTF-8 keeps its bytes
    placements = [
        KeyPlacement(count, at_us // 1_000, murmur2_place(data, count), crc32_place(data, count) if data else None)
        for at_us, count in counts
    ]
    shown = data.decode("utf-8", "replace")
    return KeyReport(shown, data.hex(), topic, scenario, murmur2(data), placements, producers)


def key_lines(report: KeyReport) -> list[str]:
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

"""The lanes of a flight above its groups' lag: availability, producers and transactions, where there is something."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from recordings.spark.analyses.availability import BELOW, HEADLESS
from recordings.spark.analyses.held_back import HELD_BACK
from recordings.spark.formatting import SECOND_US, clock, duration, many
from recordings.spark.report_cluster_model import Availability, HeldBack, ProducerReport, Spell
from recordings.spark.report_model import FlightReport

MOST_LANES = 6
SHORTEST_US = SECOND_US
WORDS = {HEADLESS: "without a live leader", BELOW: "below min.insync.replicas"}


class Stretch(NamedTuple):
    """A stretch of a lane: its kind, which is its colour, and what a tooltip says."""

    from_us: int
    until_us: int
    kind: str
    title: str


class StateLane(NamedTuple):
    """One topic, producer or partition over time."""

    name: str
    about: str
    stretches: list[Stretch]


def lanes(flight: FlightReport) -> list[StateLane]:
    """The lanes with something in them; of each sort those with most of it, at most `MOST_LANES`."""
    sorts = (_topics(flight.availability), _producers(flight.producers), _transactions(flight))
    return [lane for sort in sorts for lane in _most(list(sort))]


def _most(found: Sequence[StateLane]) -> list[StateLane]:
    lasting = sorted(found, key=lambda lane: -sum(one.until_us - one.from_us for one in lane.stretches))
    chosen = {lane.name for lane in lasting[:MOST_LANES]}
    return [lane for lane in found if lane.name in chosen]


def _topics(topics: Iterable[Availability]) -> Iterator[StateLane]:
    for topic in topics:
        below = [_spell(one, BELOW) for one in topic.below_min_isr_spells]
        headless = [_spell(one, HEADLESS) for one in topic.without_leader_spells]
        if below or headless:
            yield StateLane(topic.topic, "availability", [*below, *headless])


def _spell(spell: Spell, kind: str) -> Stretch:
    words = f"{many(spell.partitions, 'partition')} {WORDS[kind]} for {duration(spell.until_us - spell.from_us)}"
    return Stretch(spell.from_us, spell.until_us, kind, f"{clock(spell.from_us)} {words}")


def _producers(producers: Iterable[ProducerReport]) -> Iterator[StateLane]:
    for producer in producers:
        delays = producer.delays
        if delays is None:
            continue
        kinds = {
            "waiting": (delays.waiting, "batches wait for more than 1 s"),
            "failed": (delays.failed, "batches fail"),
            "refused": (delays.refused, "send() throws"),
        }
        stretches = [
            Stretch(from_us, until_us, kind, f"{clock(from_us)} {words}, until {clock(until_us)}")
            for kind, (cells, words) in kinds.items()
            for from_us, until_us in joined(cells, delays.seconds_per_cell)
        ]
        yield StateLane(producer.producer, "producer", stretches)


def joined(cells: Sequence[int], seconds_per_cell: int) -> list[tuple[int, int]]:
    """Cells that follow one another, as stretches in microseconds."""
    found: list[tuple[int, int]] = []
    for second in cells:
        from_us, until_us = second * SECOND_US, (second + seconds_per_cell) * SECOND_US
        if found and found[-1][1] == from_us:
            from_us = found.pop()[0]
        found.append((from_us, until_us))
    return found


def _transactions(flight: FlightReport) -> Iterator[StateLane]:
    found: dict[str, list[Stretch]] = {}
    rows: list[HeldBack] = HELD_BACK.rows_of(flight)
    for one in rows:
        until_us = flight.virtual_us if one.until_us is None else one.until_us
        if until_us - one.from_us < SHORTEST_US:
            continue
        title = f"{clock(one.from_us)} transaction of {one.producer}, {duration(until_us - one.from_us)}"
        mine = found.setdefault(one.partition, [])
        mine.append(Stretch(one.from_us, until_us, "open", f"{title}, {one.outcome or 'open at the end'}"))
        if one.held_from_us is not None:
            words = f"it holds the last stable offset, {many(one.waiting, 'offset')} behind it at its end"
            mine.append(Stretch(one.held_from_us, until_us, "holds", f"{title}: {words}"))
    for partition, stretches in found.items():
        yield StateLane(partition, "transactions", stretches)

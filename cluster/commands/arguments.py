"""Argument types of the command grammar: how each is read, written, checked against names, and completed."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from cluster.commands.cluster_names import Names
from cluster.config import FIRST_DATE, format_duration, nearest, parse_datetime, parse_duration
from cluster.protocol.api import SentBy
from cluster.protocol.api_table import names_sent_by
from cluster.protocol.names import TopicPartition
from cluster.protocol.placement.topic_creation import name_error

MOST_DIGITS: Final = 100
MOST_ID_DIGITS: Final = 10

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PAIR = re.compile(r"\s*([^=,\[\]\s]+)\s*=\s*(?:\[([^\[\]]*)\]|([^,\[\]]*))\s*(?:,|$)")
_SHIFT = re.compile(r"[+-]?[0-9]{1,18}")

API_NAMES = names_sent_by(SentBy.CLIENT)
"""Kafka's names of the requests whose responses can be lost, in the order of their API keys."""


class MisreadError(ValueError):
    """A word of another kind than the one wanted: the reason, and what to write instead."""

    def __init__(self, reason: str, instead: str) -> None:
        super().__init__(reason)
        self.instead = instead


class WordKind(msgspec.Struct, frozen=True):
    """One argument type; `label` stands for it in a usage line.

    `read(text)` raises ValueError with a reason, and MisreadError where it knows what was meant; `write(value)` is its
    inverse; `known(names)` lists the valid words; None for a type that any word of the right form satisfies. `quoted`:
    the word is written in quotation marks. `target`: the word names a process, group, topic, partition or scope that
    the command is about.
    """

    label: str
    read: Callable[[str], object]
    write: Callable[[object], str] = str
    known: Callable[[Names], tuple[str, ...]] | None = None
    what: str = ""
    quoted: bool = False
    target: bool = False


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is not a name")
    return text


def _at_least(low: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text) >= low):
            raise ValueError(f"{text[:80]!r} is not a whole number of at least {low}")
        return int(text)

    return read


def _limit(text: str) -> str:
    """A number of pods or a percentage, in its shortest form."""
    number = text.removesuffix("%")
    if not (number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS):
        raise ValueError(f"{text[:80]!r} is neither a number of members nor a percentage such as 25%")
    return f"{int(number)}{text[len(number) :]}"


def _topics(text: str) -> tuple[str, ...]:
    return _once(tuple(_name(topic) for topic in text.split(",")))


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"{name} is listed twice")
    return names


def _new_topic(text: str) -> str:
    error = name_error(text[: MOST_DIGITS * 10])
    if error:
        raise ValueError(error)
    return text


def read_pairs(text: str) -> tuple[str, ...]:
    """`a=1,b=[x,y]` as ("a=1", "b=x,y"). Raises ValueError, also for a key that is given twice."""
    pairs: dict[str, str] = {}
    position = 0
    while position < len(text):
        pair = _PAIR.match(text, position)
        left = text[position:]
        if pair is None and "=" not in left:
            raise ValueError(f"{left[:80]} lacks its value: write KEY=VALUE without blanks")
        if pair is None:
            raise ValueError(f"{left[:80]!r} is not a list such as KEY=VALUE,KEY=[VALUE,VALUE]")
        if pair[1] in pairs:
            raise ValueError(f"{pair[1][:80]} is given twice")
        pairs[pair[1]] = pair[3] if pair[2] is None else pair[2]
        position = pair.end()
    if text.endswith(","):
        raise ValueError("a KEY=VALUE is missing after the last comma")
    return tuple(f"{key}={value}" for key, value in pairs.items())


def _write_pairs(value: object) -> str:
    assert isinstance(value, tuple)
    split = [pair.partition("=") for pair in value]
    return ",".join(f"{key}=[{text}]" if "," in text else f"{key}={text}" for key, _, text in split)


def _offsets(text: str) -> tuple[int, ...]:
    read = _at_least(0)
    return tuple(read(each) for each in text.split(","))


def _shift(text: str) -> int:
    if not _SHIFT.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is not a number of offsets such as -100 or +5")
    return int(text)


_DATES: Final = ("date", "datetime", "time", "timestamp")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}")


def _past(text: str) -> int:
    """How long ago. A date is an instant of the flight, which another form takes."""
    if text.lower() in _DATES:
        raise MisreadError(f"`{text}` is no DURATION: write a date as an instant of the flight", "instant")
    if _DATE.match(text):
        instant = format_duration(_instant(text))
        raise MisreadError(f"{text[:80]} is a date: write it as an instant of the flight", f"instant {instant}")
    return parse_duration(text)


def _instant(text: str) -> int:
    """An instant of the flight: a duration since its beginning, or a date, as Kafka's tools have it."""
    if not _DATE.match(text):
        return parse_duration(text)
    instant_us = parse_datetime(text)
    if instant_us < 0 or not text.startswith(FIRST_DATE[:4]):
        raise ValueError(f"{text[:80]} is outside the flight, which begins at {FIRST_DATE}")
    return instant_us


def _places(names: Names) -> tuple[str, ...]:
    return (*names.topics, *names.partitions())


def _partition(text: str) -> TopicPartition:
    return TopicPartition.parse(_name(text))


def _partitions(text: str) -> tuple[str, ...]:
    return _once(tuple(str(_partition(name)) for name in text.split(",")))


def _duration(value: object) -> str:
    assert isinstance(value, int)
    return format_duration(value)


def _broker_ids(text: str) -> tuple[int, ...]:
    """Ids of brokers, `3,1` or `broker-3,broker-1`. That a broker is there and listed once is the controller's rule."""
    words = [word.removeprefix("broker-") for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < MOST_ID_DIGITS for word in words):
        raise ValueError(f"{text[:80]!r} is not a list of brokers such as 3,1")
    return tuple(map(int, words))


def _assignment(text: str) -> tuple[tuple[int, ...], ...]:
    """The brokers of each partition: `3:1,3:2`, as `kafka-topics.sh` has them."""
    return tuple(_broker_ids(replicas.replace(":", ",")) for replicas in text.split(","))


def _write_assignment(value: object) -> str:
    assert isinstance(value, tuple)
    return ",".join(":".join(map(str, replicas)) for replicas in value)


def _comma_separated(value: object) -> str:
    assert isinstance(value, tuple)
    return ",".join(map(str, value))


def _api_names(_: Names) -> tuple[str, ...]:
    return API_NAMES


def _rolled(names: Names) -> tuple[str, ...]:
    return (*names.groups, "brokers")


KINDS: dict[str, WordKind] = {
    "process": WordKind("NAME", _name, known=Names.processes, what="broker, member or producer", target=True),
    "broker": WordKind("BROKER", _name, known=lambda names: names.brokers, what="broker", target=True),
    "member": WordKind("MEMBER", _name, known=Names.members, what="member", target=True),
    "producer": WordKind("PRODUCER", _name, known=lambda names: tuple(_producers(names)), what="producer", target=True),
    "client": WordKind("CLIENT", _name, known=Names.clients, what="member or producer", target=True),
    "group": WordKind("GROUP", _name, known=lambda names: tuple(names.groups), what="group", target=True),
    "topic": WordKind("TOPIC", _name, known=lambda names: tuple(names.topics), what="topic", target=True),
    "topics": WordKind(
        "TOPIC,…", _topics, _comma_separated, known=lambda names: tuple(names.topics), what="topic", target=True
    ),
    "partition": WordKind("TOPIC-P", _partition, known=Names.partitions, what="partition", target=True),
    "any_partition": WordKind("TOPIC-P", _partition, known=Names.all_partitions, what="partition", target=True),
    "partitions": WordKind(
        "TOPIC-P,…", _partitions, _comma_separated, known=Names.partitions, what="partition", target=True
    ),
    "places": WordKind("TOPIC[-P],…", _topics, _comma_separated, known=_places, what="topic or partition", target=True),
    "scope": WordKind(
        "SCOPE", _name, known=Names.scopes, what="topic, group, member, producer, broker or cluster", target=True
    ),
    "api": WordKind("API", _name, known=_api_names, what="API"),
    "key": WordKind("KEY", _name),
    "value": WordKind("VALUE", str),
    "duration": WordKind("DURATION", parse_duration, _duration),
    "past": WordKind("DURATION", _past, _duration),
    "instant": WordKind("DURATION", _instant, _duration),
    "number": WordKind("N", _at_least(0)),
    "count": WordKind("N", _at_least(1)),
    "rollout": WordKind("GROUP|brokers", _name, known=_rolled, what="group", target=True),
    "brokers": WordKind("BROKER,…", _broker_ids, _comma_separated),
    "assignment": WordKind("BROKER:BROKER,…", _assignment, _write_assignment),
    "limit": WordKind("N|P%", _limit),
    "new_topic": WordKind("TOPIC", _new_topic, target=True),
    "pairs": WordKind("KEY=VALUE,…", read_pairs, _write_pairs),
    "offset": WordKind("OFFSET", _at_least(0)),
    "offsets": WordKind("OFFSET,…", _offsets, _comma_separated),
    "shift": WordKind("±N", _shift),
    "text": WordKind('"TEXT"', str, quoted=True),
}


def _producers(names: Names) -> list[str]:
    return [instance for instances in names.producers.values() for instance in instances]


def unknown(kind: WordKind, value: object, names: Names) -> tuple[str, str | None] | None:
    """Why a value names nothing that exists, and the nearest valid word; None for an existing name."""
    if kind.known is None:
        return None
    known = kind.known(names)
    words = value if isinstance(value, tuple) and not isinstance(value, TopicPartition) else (str(value),)
    for word in words:
        if word in known:
            continue
        instances = names.instances_of(word)
        if instances and kind.label in ("NAME", "MEMBER", "PRODUCER", "CLIENT"):
            return f"{word} is {len(instances)} processes: name one of them", instances[0]
        return f"no {kind.what} is named {word}", nearest(word, known)
    return None

"""The table of sentences: which fact a line states. A row of `sentences.tsv` is a sentence of one writer."""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

TABLE = "sentences.tsv"


class KafkaSentence(NamedTuple):
    """A sentence of Kafka's: writer, fact, the first and last release in which it was found, its words as a pattern."""

    writer: str
    fact: str
    since: str
    until: str
    pattern: re.Pattern[str]


@cache
def sentences() -> tuple[KafkaSentence, ...]:
    """Every row of the table, in its order."""
    text = files("recordings.log_reading").joinpath(TABLE).read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(
        KafkaSentence(writer, fact, since, until, re.compile(pattern)) for writer, fact, since, until, pattern in rows
    )


@cache
def _of_writer(writer: str) -> tuple[KafkaSentence, ...]:
    return tuple(sentence for sentence in sentences() if sentence.writer == writer)


class Said(NamedTuple):
    """What a line says: a fact, and the words in its sentence's places (absent ones are None)."""

    fact: str
    words: dict[str, str]


def said_by(writer: str, message: str) -> Said | None:
    """The fact that a writer's message states, None if no sentence of the table has its words."""
    for sentence in _of_writer(writer):
        if found := sentence.pattern.fullmatch(message):
            return Said(sentence.fact, {name: value or "" for name, value in found.groupdict().items()})
    return None

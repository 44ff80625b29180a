"""The table of sentences: which fact a line of a group coordinator states. A row of `sentences.tsv` is a sentence."""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

TABLE = "sentences.tsv"


class KafkaSentence(NamedTuple):
    """A sentence of Kafka's: its fact, the first and last release in which it was seen, its words as a pattern."""

    fact: str
    since: str
    until: str
    pattern: re.Pattern[str]


@cache
def sentences() -> tuple[KafkaSentence, ...]:
    """Every row of the table, in its order."""
    text = files("recordings.log_reading").joinpath(TABLE).read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(KafkaSentence(fact, since, until, re.compile(pattern)) for fact, since, until, pattern in rows)


class Said(NamedTuple):
    """What a line says: a fact, and the words in its sentence's places (absent ones are None)."""

    fact: str
    words: dict[str, str]


def said_by(message: str) -> Said | None:
    """The fact that a message states, None if no sentence of the table has its words."""
    for sentence in sentences():
        if found := sentence.pattern.fullmatch(message):
            return Said(sentence.fact, {name: value or "" for name, value in found.groupdict().items()})
    return None

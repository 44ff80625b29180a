"""Facts that a configuration does not say: from comments of a file, and from the command line."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from cluster.config import nearest, parse_duration
from recordings.lint.kafka_keys import number_of
from recordings.lint.parts import FACTS, Part, Setting
from recordings.lint.reading.lint_input import LintInputError

_COMMENT: Final = re.compile(r"^[ \t]*[#!][ \t]*flightdeck:[ \t]*(.*)")
_DURATIONS: Final = ("restart", "per-record", "retries-take")
_WORDS: Final = {"sink": ("outside", "kafka"), "pod-names": ("changing", "stable")}
MOST_FACTS: Final = 100


class FactError(ValueError):
    """A fact that is none: its name is unknown, or its value impossible."""


def checked_fact(name: str, value: str) -> str:
    """A fact's value. Raises FactError with the reason."""
    if name not in FACTS:
        near = nearest(name, FACTS)
        raise FactError(f"no fact has this name{f' (did you mean {near}?)' if near else ''}: {', '.join(FACTS)}")
    if name in _DURATIONS:
        try:
            parse_duration(value)
        except ValueError:
            raise FactError(f"{name} is a duration: write it like 30s") from None
    elif name in _WORDS and value not in _WORDS[name]:
        raise FactError(f"{name} is {' or '.join(_WORDS[name])}")
    elif name not in _WORDS and ((count := number_of(value, "INT")) is None or count < 1):
        raise FactError(f"{name} is a whole number above 0")
    return value


def comments_of(text: str, file: str) -> tuple[dict[str, Setting], frozenset[str]]:
    """The facts and the ignored rules of a file's comments: `# flightdeck: restart=30s, ignore=linger-is-zero`.

    Raises LintInputError.
    """
    facts: dict[str, Setting] = {}
    ignored = set[str]()
    for line, comment in enumerate(text.split("\n"), 1):
        match = _COMMENT.match(comment)
        if match is None:
            continue
        for word in match[1].split(","):
            name, _, value = (piece.strip() for piece in word.partition("="))
            if name == "ignore":
                ignored.add(value)
                continue
            try:
                facts[name] = Setting(checked_fact(name, value), file, line, f"# flightdeck: {name}")
            except FactError as error:
                raise LintInputError(file, line, str(error)) from None
        if len(facts) + len(ignored) > MOST_FACTS:
            raise LintInputError(file, line, f"more than {MOST_FACTS} facts")
    return facts, frozenset(ignored)


def with_facts(part: Part, facts: Mapping[str, Setting]) -> Part:
    """A part with these facts over its own."""
    return msgspec.structs.replace(part, facts=part.facts | dict(facts)) if facts else part

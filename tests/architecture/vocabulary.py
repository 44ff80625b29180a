"""The house speaks Kafka's language and the field's: no private words in names, messages, docstrings and comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping

from tests.architecture.source import Breach, Module, Project

# The private word, as a pattern of one whole word, and the standard word.
EVERYWHERE: Mapping[str, str] = {
    "hangar": "library",
    "blast": "impact",
    "deck": "application, screen",
    "cockpit": "application interface",
    "luck(y|ily)?": "random stream, jitter, chance",
    "injur(y|ies|e|es|ed|ing)": "fault",
    "mend(s|ed|ing)?": "clear, revert, repair",
    "bury|buries|buried|graveyards?": "cancel, cancelled entries",
    "knock(s|ed|ing)?": "connection attempt",
}
# Words that are plain English in a sentence, and a riddle as a name.
IN_NAMES: Mapping[str, str] = {
    "tell|tells|told|telling": "emit, emitted",
    "nobody|somebody|whoever|whom": "the actor's noun",
    "trouble": "failure, fault",
    "wish(es|ed)?": "request, size hint",
    "habit": "loop, policy",
}
# Pronouns that stand where an actor's name belongs.
IN_PROSE: Mapping[str, str] = {"nobody|somebody|whoever|whom|anybody": "the actor's noun"}

# Phrases of several words that no message has: what a native SRE would not write, and what he would.
PHRASES: Mapping[str, str] = {
    "without a word": "no LeaveGroup",
    "shared? (the )?partitions? out": "assigned, assigns the partitions",
    "stands? still": "makes no progress, is paused",
    "set off by": "triggered by",
    "read(s|ing)? on what": "keeps consuming what it owns",
    "something is missing": "an argument is missing",
    "what would have helped": "how to avoid it",
    "neither true nor false": "not a condition, not true or false",
    "cannot be injured": "is read-only",
    "go(es)? on reading": "keeps consuming",
    "first members gather": "initial rebalance delay",
    "the log of events": "the event log",
}

# Where private words stand because they are a contract: path → (words, contract).
ALLOWED: Mapping[str, tuple[str, str]] = {
    "cluster/protocol/rebalance_causes.py": ("nobody", "a reason in recorded events: every golden hash holds it"),
    "console/cli/main.py": ("blast", "`flightdeck blast` stays as an alias of `flightdeck impact`"),
    "console/command_line.py": ("hangar", "`go hangar` stays as an alias of `go library`: playback scripts have it"),
    "recordings/journal/upgrade.py": (
        "nobody injured",
        "reasons of refused commands, as recordings of format 1 have them",
    ),
    "recordings/spark/report_model.py": ("mended", "`mended_us` is a key of report.json"),
}

_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(r"[A-Za-z]+")


def check_vocabulary(project: Project, allowed: Mapping[str, tuple[str, str]] = ALLOWED) -> Iterator[Breach]:
    """No private word in a file's name, an identifier, a message, a docstring or a comment."""
    names, prose = _pattern({**EVERYWHERE, **IN_NAMES}), _pattern({**EVERYWHERE, **IN_PROSE})
    for module in project.modules:
        excepted = allowed.get(module.path, ("", ""))[0].split()
        found = (*_in_names(module, names), *_in_prose(module, prose))
        for line, word, standard in found:
            if word not in excepted:
                yield Breach(module.path, line, f"the private word {word!r}: say {standard}")
        for line, phrase, standard in _phrases(module):
            yield Breach(module.path, line, f"the phrase {phrase!r}: say {standard}")
        for absent in set(excepted) - {word for _, word, _ in found}:
            yield Breach(module.path, 1, f"{absent!r} is listed as a contract, and does not occur")


_Pattern = tuple[re.Pattern[str], Mapping[str, str]]


def _pattern(words: Mapping[str, str]) -> _Pattern:
    return re.compile("|".join(f"(?:{word})" for word in words)), words


def _standard(word: str, pattern: _Pattern) -> str | None:
    known, words = pattern
    if known.fullmatch(word) is None:
        return None
    return next(standard for each, standard in words.items() if re.fullmatch(each, word))


def _in_names(module: Module, pattern: _Pattern) -> Iterator[tuple[int, str, str]]:
    """Visit the words of the file's name and of all names that the module binds or uses, once a line."""
    tokens = [(token.start[0], token.string) for token in _tokens(module) if token.type == tokenize.NAME]
    for line, name in dict.fromkeys([(1, module.name.replace(".", "_")), *tokens]):
        for part in _NAME.findall(name):
            if (standard := _standard(part.lower(), pattern)) is not None:
                yield line, part.lower(), standard


def _in_prose(module: Module, pattern: _Pattern) -> Iterator[tuple[int, str, str]]:
    """Visit the words of all strings (docstrings and messages) and comments."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for offset, text in enumerate(node.value.splitlines()):
                yield from ((node.lineno + offset, *found) for found in _words(text, pattern))
    for token in _tokens(module):
        if token.type == tokenize.COMMENT:
            yield from ((token.start[0], *found) for found in _words(token.string, pattern))


def _phrases(module: Module) -> Iterator[tuple[int, str, str]]:
    """Visit the phrases in messages: strings that are no docstring."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            for phrase, standard in PHRASES.items():
                if (found := re.search(rf"\b{phrase}\b", node.value)) is not None:
                    yield node.lineno, found[0], standard


def _words(text: str, pattern: _Pattern) -> Iterator[tuple[str, str]]:
    for word in _WORD.findall(text):
        if (standard := _standard(word.lower(), pattern)) is not None:
            yield word.lower(), standard


def _tokens(module: Module) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(module.text).readline)

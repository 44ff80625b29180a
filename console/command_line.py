"""The console's own commands, beside the cluster's: what the `:` line reads, completes and refuses with a caret."""

import math
from typing import NamedTuple

from cluster.commands import (
    COMMANDS,
    Command,
    CommandError,
    Form,
    Names,
    Slot,
    complete,
    match_form,
    parse,
    tokens_of,
    wanted_after,
)
from cluster.config import nearest
from cluster.events import EVENT_KINDS
from console.time_input import At, parse_instant


class Speed(NamedTuple):
    """Virtual seconds a wall second; infinity is as fast as possible."""

    factor: float


class Time(NamedTuple):
    """Stop time, or let it go on."""

    paused: bool


class Step(NamedTuple):
    """One turn, or up to the next event of a kind."""

    kind: str | None


class Until(NamedTuple):
    """Go on until an expression over the view document holds."""

    expression: str


class Record(NamedTuple):
    """Record the flight to a directory."""

    path: str


class Go(NamedTuple):
    """Show a place: `overview`, `transactions`, `hangar`, a group, a member."""

    place: str


Control = Speed | Time | Step | Until | Record | Go | At

USAGES: dict[str, tuple[str, str]] = {
    "speed": ("speed X | flat out", "virtual seconds for each real second: 0.5, 1, 20"),
    "pause": ("pause", "stop time; commands still work"),
    "resume": ("resume", "let time go on"),
    "step": ("step [EVENT-KIND]", "one turn, or up to the next event of a kind"),
    "until": ("until EXPRESSION", "go on until it holds: until groups.billing.state == 'Stable'"),
    "record": ("record PATH", "record this flight, from its beginning"),
    "go": ("go PLACE | TIME", "overview, transactions, hangar, a group, a member; in a recording 12m30s, 1:20.5, -10s"),
}
FLAT_OUT = "flat out"


def read(text: str, names: Names) -> Control | Command:
    """A line that was typed. Raises CommandError: the reason, the column, the nearest right word."""
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    column = len(text) - len(text.lstrip()) + len(word) + 1
    if word in {"pause", "resume"} and not rest:
        return Time(word == "pause")
    if word == "speed":
        return Speed(_factor(rest, column))
    if word == "step":
        return Step(_kind(rest, column))
    if word == "until":
        return Until(_needed(rest, column, word))
    if word == "record":
        return Record(_needed(rest, column, word))
    if word == "go":
        return _where(rest, column, names)
    try:
        return parse(text, names)
    except CommandError as error:
        raise _with_own_words(error, word) from None


def _with_own_words(error: CommandError, word: str) -> CommandError:
    """The cluster's complaint, with a suggestion among the console's commands when only those are near."""
    if error.suggestion is None and error.message.startswith("there is no command"):
        return CommandError(error.message, error.column, nearest(word, USAGES))
    return error


def _needed(rest: str, column: int, word: str) -> str:
    if not rest:
        raise CommandError(f"something is missing: {USAGES[word][0]}", column)
    return rest


def _factor(rest: str, column: int) -> float:
    if rest in {FLAT_OUT, "flat-out", "max"}:
        return math.inf
    try:
        factor = float(rest.removeprefix("×").removeprefix("x"))
    except ValueError:
        raise CommandError(f"a speed is a number or `{FLAT_OUT}`: {USAGES['speed'][0]}", column) from None
    if not 0.01 <= factor <= 10_000:
        raise CommandError("speeds go from 0.01 to 10000; to stop time, pause it", column)
    return factor


def _kind(rest: str, column: int) -> str | None:
    if rest and rest not in EVENT_KINDS:
        raise CommandError(f"there is no event of kind `{rest}`", column, nearest(rest, EVENT_KINDS))
    return rest or None


def places(names: Names) -> tuple[str, ...]:
    """Everything that `go` can show."""
    return ("overview", "transactions", "hangar", *names.groups, *names.members())


def _where(rest: str, column: int, names: Names) -> Go | At:
    known = places(names)
    if rest in known:
        return Go(rest)
    instant = parse_instant(rest)
    if instant is None:
        reason = f"there is no place or time `{rest}`" if rest else f"something is missing: {USAGES['go'][0]}"
        raise CommandError(reason, column, nearest(rest, known))
    return instant


def completions(text: str, names: Names) -> list[str]:
    """Words that could stand where the text ends: the console's own first, then the cluster's."""
    word, blank, rest = text.lstrip().partition(" ")
    if not blank:
        own = [name for name in USAGES if name.startswith(word) and name != word] if word else list(USAGES)
        return [*own, *(other for other in complete(text, names) if other not in own)]
    candidates = {"speed": ("0.1", "0.5", "1", "2", "5", "20", "100", FLAT_OUT), "step": tuple(EVENT_KINDS)}
    if word == "go":
        return [place for place in places(names) if place.startswith(rest) and place != rest]
    if word == "set":
        keys = _keys(rest, names)
        if keys is not None:
            return keys
    if word in candidates:
        return [name for name in candidates[word] if name.startswith(rest) and name != rest]
    return complete(text, names) if word not in USAGES or word in {"pause", "resume"} else []


def _keys(rest: str, names: Names) -> list[str] | None:
    """The configuration keys that could follow `set SCOPE`; None when the text is not there."""
    scope, blank, key = rest.partition(" ")
    if not blank or " " in key.lstrip() or scope not in names.scopes():
        return None
    from cluster.config import defaults, in_flight_keys  # noqa: PLC0415 - not needed before somebody types

    if scope in names.groups or scope in names.producers:  # what their next start brings may be set, too
        keys = tuple(defaults("consumer" if scope in names.groups else "producer"))
    else:
        keys = in_flight_keys("topic" if scope in names.topics else "broker")
    begun = key.lstrip()
    return [name for name in keys if name.startswith(begun) and name != begun]


def begin(form: Form) -> str:
    """What can be typed ahead of a form: its words up to the first that is to be chosen."""
    words: list[str] = []
    for part in form.required:
        if isinstance(part, Slot):
            break
        words.append(part)
    return " ".join(words)


def completed(text: str, word: str) -> str:
    """The text with the word that is begun replaced by `word`, ready for the next one."""
    begun = "" if not text or text[-1].isspace() else text.rsplit(maxsplit=1)[-1]
    return f"{text[: len(text) - len(begun)]}{word} "


def usage_of(text: str) -> str:
    """How the command that is being typed goes on; empty when no command begins like that."""
    typed = text.split()
    if not typed:
        return ""
    own = USAGES.get(typed[0])
    if own is not None and not (typed[0] in {"pause", "resume"} and len(typed) > 1):
        return f"{own[0]}   {own[1]}"
    heads = {str(form.required[0]) for form in COMMANDS}
    begun = [head for head in heads if head.startswith(typed[0])]
    word = typed[0] if typed[0] in heads else begun[0] if len(begun) == 1 else ""
    fitting = [form for form in COMMANDS if str(form.required[0]) == word]
    if word == typed[0]:
        fitting.sort(key=lambda form: -_reach(form, text))  # stable: the first form stays first among equals
    return next((f"{form.usage}   {form.hint}" for form in fitting), "")


def _reach(form: Form, text: str) -> float:
    """How many words of a text a form can read; the last one, half written, counts more as a word of the form's own."""
    try:
        tokens = tokens_of(text)
    except CommandError:
        return 0
    if text and not text[-1].isspace():
        *before, last = tokens
        wanted = [part for one, part in wanted_after((form,), before) if one is form]
        fits = [0.5 if isinstance(part, Slot) else float(part.startswith(last.text)) for part in wanted]
        return len(before) + max(fits, default=0.0)
    reached = match_form(form, tokens).failed_at
    return len(tokens) + 1 if reached is None else reached

"""The console's command language: the cluster's commands and the console's own, parsed and completed for the `:` line.

`places` in this module are the screens that `go` shows, besides the groups and members among the names. A console
without screens has none.
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from cluster.commands import (
    COMMANDS,
    Command,
    CommandError,
    Names,
    complete,
    is_built,
    matched_words,
    parse,
)
from cluster.config import LONGEST_WORD, nearest
from cluster.events import EVENT_KINDS
from console.forking.fork_line import FORK_USAGE, Fork, ForkCancel, Undo, fork_completions, read_fork
from console.game.game_line import GAME_USAGES, Diagnose, GiveUp, diagnose_completions, read_diagnose, read_give_up
from console.operating import tool_question
from console.operating.key_question import KEY_USAGE, KeyQuestion, key_completions, read_key
from console.themes.names import THEME_NAMES
from console.time_input import FLAT_OUT, Instant, parse_instant, speed_factor, with_unit
from recordings.kafka_tools.tool_lines import is_tool_line


class Speed(NamedTuple):
    """Virtual seconds per second of wall time; infinity is as fast as possible."""

    factor: float


class Time(NamedTuple):
    """Pause or resume virtual time."""

    paused: bool


class Step(NamedTuple):
    """One turn, or up to the next event of a kind."""

    kind: str | None


class Until(NamedTuple):
    """Run until an expression over the view document holds."""

    expression: str


class Record(NamedTuple):
    """Record the flight to a directory."""

    path: str


class Go(NamedTuple):
    """Show a place: a screen, a group, a member."""

    place: str


class Fly(NamedTuple):
    """Fly a scenario of the library instead of this flight."""

    scenario: str


class Play(NamedTuple):
    """Play a recording instead of this flight."""

    path: str


class Why(NamedTuple):
    """Why a subject stands still; an empty name is the selection."""

    name: str


class Theme(NamedTuple):
    """Show the console in a theme."""

    name: str


Control = (
    Speed | Time | Step | Until | Record | Fly | Play | Go | Why | Fork | ForkCancel | Undo | Theme | Instant
    | KeyQuestion | Diagnose | GiveUp | tool_question.ToolQuestion | tool_question.ToolOrder
)  # fmt: skip

USAGES: dict[str, tuple[str, str]] = {
    "speed": ("speed {X | flat-out}", "virtual seconds for each real second: 0.5, 20; a recording's -4 is backwards"),
    "pause": ("pause", "pause virtual time; commands still work"),
    "resume": ("resume", "resume virtual time"),
    "step": ("step [EVENT-KIND]", "one scheduler step, or up to the next event of a kind"),
    "until": ("until EXPRESSION", "run until it holds: until groups.billing.state == 'Stable'"),
    "record": ("record PATH", "record this flight, from its beginning"),
    "run": ("run SCENARIO", "end this flight and run a scenario of the library"),
    "play": ("play PATH", "end this flight and play a recording"),
    "go": (
        "go {PLACE | TIME}",
        "a group or member, topic orders, partition orders-1, broker broker-2, producer X; 1:20.5, live",
    ),
    "fork": (FORK_USAGE, "fork the flight at the shown instant and compare what it costs"),
    "undo": ("undo", "undo: continue the live flight from before its last command"),
    "theme": (f"theme {{{' | '.join(THEME_NAMES)}}}", "the console's colours; terminal: the terminal's own"),
    **GAME_USAGES,
    "why": ("why [SUBJECT]", "why it makes no progress, and until when; without a name: the selection"),
    "key": (KEY_USAGE, "the partition that a key goes to, now and after partitions are added"),
    "describe": (
        tool_question.DESCRIBE_USAGE,
        "the flight in the shape of Kafka's tools; their lines can be pasted, too",
    ),
}
"""Syntax and effect of the console's own commands; `usages` adds the screens to `go`."""
PARTITION, TOPIC, BROKER, MEMBER, PRODUCER = "partition ", "topic ", "broker ", "member ", "producer "
RECORDS = "records "
"""The beginnings of places: a group may have the name of a topic, a partition, a broker, a member, a producer."""
CONVERSATION = "conversation"
"""The first word of a conversation's place; names of processes follow it."""
FORMER_PLACES = {"hangar": "library"}
"""Places that playback scripts of earlier releases name."""


def usages(places: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Syntax and effect of the console's own commands, with the screens that `go` shows."""
    syntax, effect = USAGES["go"]
    return {**USAGES, "go": (syntax, ", ".join((*places, effect)))}


def read(text: str, names: Names, places: Sequence[str] = ()) -> Control | Command:
    """Parse a typed line. Raises CommandError with the reason, the column and the nearest valid word."""
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    column = len(text) - len(text.lstrip()) + len(word) + 1
    if word in {"pause", "resume"} and not rest:
        return Time(word == "pause")
    if word == "undo" and not rest:
        return Undo()
    if is_tool_line(text):
        return tool_question.read_tool(text, names)
    reader = _READERS.get(word)
    if reader is not None:
        return reader(_Typed(rest, column, names, places))
    try:
        return parse(text, names)
    except CommandError as error:
        raise _with_own_suggestion(error, word) from None


class _Typed(NamedTuple):
    """What is typed behind a word of the console's own, at which column, and what it may name."""

    rest: str
    column: int
    names: Names
    places: Sequence[str]


def _read_go(typed: _Typed) -> Go | Instant:
    if typed.rest.startswith(f"{CONVERSATION} "):
        return _conversation(typed.rest.split()[1:], typed.column, typed.names)
    return _destination(typed.rest, typed.column, typed.names, typed.places)


_READERS: dict[str, Callable[[_Typed], Control]] = {
    "speed": lambda typed: Speed(speed_factor(typed.rest, typed.column, USAGES["speed"][0])),
    "step": lambda typed: Step(_kind(typed.rest, typed.column)),
    "until": lambda typed: Until(_required(typed.rest, typed.column, "until")),
    "record": lambda typed: Record(_required(typed.rest, typed.column, "record")),
    "run": lambda typed: Fly(_one_of(typed.rest, typed.column, "run", "scenario", _library())),
    "play": lambda typed: Play(_required(typed.rest, typed.column, "play")),
    "go": _read_go,
    "why": lambda typed: _why(typed.rest, typed.column, subjects(typed.names)),
    "fork": lambda typed: read_fork(typed.rest, typed.column, typed.names),
    "diagnose": lambda typed: read_diagnose(typed.rest, typed.column, typed.names),
    "give": lambda typed: read_give_up(typed.rest, typed.column),
    "key": lambda typed: read_key(typed.rest, typed.column, typed.names),
    "describe": lambda typed: tool_question.read_describe(typed.rest, typed.column),
    "theme": lambda typed: Theme(_one_of(typed.rest, typed.column, "theme", "theme", tuple(THEME_NAMES))),
}
"""How each of the console's own commands that takes words is read. Any may raise CommandError."""


def _with_own_suggestion(error: CommandError, word: str) -> CommandError:
    """The cluster's error; without a suggestion of its own it gets the nearest command of the console."""
    if error.suggestion is None and error.message.startswith("there is no command"):
        return CommandError(error.message, error.column, nearest(word, USAGES) or next(iter(_like(word)), None))
    return error


def _required(rest: str, column: int, word: str) -> str:
    if not rest:
        raise CommandError(f"an argument is missing: {USAGES[word][0]}", column)
    return rest


def _one_of(rest: str, column: int, word: str, what: str, known: Sequence[str]) -> str:
    """The word after `word`, which names one of those known."""
    if _required(rest, column, word) not in known:
        raise CommandError(f"there is no {what} `{rest}`", column, nearest(rest, known))
    return rest


def _library() -> list[str]:
    from recordings.scenarios.loader import library  # noqa: PLC0415 - not needed before a scenario is typed

    return library()


def _kind(rest: str, column: int) -> str | None:
    if rest and rest not in EVENT_KINDS:
        raise CommandError(f"there is no event of kind `{rest}`", column, nearest(rest, EVENT_KINDS))
    return rest or None


def partition_place(partition: str) -> str:
    """The place of a partition."""
    return f"{PARTITION}{partition}"


def records_place(partition: str) -> str:
    """The place of a partition's records."""
    return f"{RECORDS}{partition}"


def member_place(member: str) -> str:
    """The place of a member; its name alone is its group with the member selected."""
    return f"{MEMBER}{member}"


def producer_place(producer: str) -> str:
    """The place of a producer; the application of a member may have one of the member's name."""
    return f"{PRODUCER}{producer}"


def topic_place(topic: str) -> str:
    """The place of a topic."""
    return f"{TOPIC}{topic}"


def broker_place(broker: str) -> str:
    """The place of a broker, by its name `broker-2`."""
    return f"{BROKER}{broker}"


def named_places(names: Names) -> dict[str, tuple[str, ...]]:
    """The beginning of each kind of place, and the names that may follow it."""
    return {
        TOPIC: tuple(names.topics),
        PARTITION: names.partitions(),
        BROKER: names.brokers,
        MEMBER: names.members(),
        PRODUCER: names.clients(),
        RECORDS: names.partitions(),
    }


def known_places(names: Names, places: Sequence[str]) -> tuple[str, ...]:
    """Every place that `go` can show: screens, groups, members, topics, partitions, brokers, producers."""
    named = (f"{kind}{name}" for kind, known in named_places(names).items() for name in known)
    return (*places, *names.groups, *names.members(), *named)


def _destination(rest: str, column: int, names: Names, places: Sequence[str]) -> Go | Instant:
    """A place or an instant; `broker-2` alone is `broker broker-2`, unless a group or member has that name."""
    known, named = known_places(names, places), named_places(names)
    place = rest if rest in known else FORMER_PLACES.get(rest, rest)
    place = next((f"{kind}{rest}" for kind, own in named.items() if rest in own and place not in known), place)
    if place in known:
        return Go(place)
    instant = parse_instant(rest)
    if instant is None:
        reason = f"there is no place or time `{rest}`" if rest else f"an argument is missing: {USAGES['go'][0]}"
        kind = next((kind for kind in named if rest.startswith(kind)), "")
        like = nearest(rest, [f"{kind}{name}" for name in named[kind]]) if kind else None
        raise CommandError(reason, column, like or with_unit(rest) or nearest(rest, known))
    return instant


def _conversation(chosen: Sequence[str], column: int, names: Names) -> Go:
    """The conversation of some members and producers; a transactional id may have any name, so only typos are told."""
    known = (*names.clients(), *names.groups)
    for name in chosen:
        like = nearest(name, known)
        if name not in known and like is not None:
            raise CommandError(f"there is no member or producer `{name}`", column, like)
    return Go(" ".join((CONVERSATION, *chosen)))


def subjects(names: Names) -> tuple[str, ...]:
    """Everything that `why` answers on."""
    return (*names.groups, *names.clients(), *names.topics, *names.partitions(), *names.brokers)


def _why(rest: str, column: int, known: Sequence[str]) -> Why:
    if rest and rest not in known:
        raise CommandError(f"there is no subject `{rest}`", column, nearest(rest, known))
    return Why(rest)


def _like(word: str) -> list[str]:
    """The commands that are most like an unknown word."""
    known = dict.fromkeys((*USAGES, *(str(form.required[0]) for form in COMMANDS if is_built(form.command))))
    return get_close_matches(word.lower(), known, n=5, cutoff=0.5) if len(word) <= LONGEST_WORD else []


def completions(text: str, names: Names, places: Sequence[str] = ()) -> list[str]:
    """The words that may follow at the end of the text: the console's own first, then the cluster's."""
    word, blank, rest = text.lstrip().partition(" ")
    if not blank:
        own = [name for name in USAGES if name.startswith(word) and name != word] if word else list(USAGES)
        words = [*own, *(other for other in complete(text, names) if other not in own)]
        return words if words or not word or usage_of(word, places) else _like(word)
    candidates = {
        "give": ("up",),
        "speed": ("0.1", "0.5", "1", "2", "5", "20", "100", FLAT_OUT),
        "step": tuple(EVENT_KINDS),
        "theme": tuple(THEME_NAMES),
    }
    if word == "go":
        return _places_after(rest, names, places)
    if word == "describe":
        return tool_question.describe_completions(rest)
    if word == "fork":
        return fork_completions(rest, names)
    if word == "run":
        return [name for name in _library() if name.startswith(rest) and name != rest]
    if word == "key":
        return key_completions(rest, names)
    if word == "diagnose":
        return diagnose_completions(rest, names)
    if word == "why":
        return [name for name in subjects(names) if name.startswith(rest) and name != rest]
    if word == "set":
        keys = _configuration_keys(rest, names)
        if keys is not None:
            return keys
    if word in candidates:
        return [name for name in candidates[word] if name.startswith(rest) and name != rest]
    return complete(text, names) if word not in USAGES or word in {"pause", "resume"} else []


def _places_after(rest: str, names: Names, places: Sequence[str]) -> list[str]:
    """The words that may follow `go`: the last word of each place, as a completion replaces one word."""
    if rest.startswith(f"{CONVERSATION} "):
        *before, last = rest.split(" ")
        return [name for name in names.clients() if name.startswith(last) and name not in before and name != last]
    named = named_places(names)
    for kind, known in named.items():
        if rest.startswith(kind):
            return [name for name in known if name.startswith(rest[len(kind) :]) and name != rest[len(kind) :]]
    words = (*places, *names.groups, *names.members(), *(kind.strip() for kind in named))
    return [word for word in words if word.startswith(rest) and word != rest]


def _configuration_keys(rest: str, names: Names) -> list[str] | None:
    """The configuration keys that may follow `set SCOPE`; None if the text does not end there."""
    scope, blank, key = rest.partition(" ")
    if not blank or " " in key.lstrip() or scope not in names.scopes():
        return None
    from cluster.config import defaults, in_flight_keys  # noqa: PLC0415 - not needed before a key is typed

    if scope in names.producers:  # every key may be set: it takes effect at the next start
        keys = tuple(defaults("producer"))
    elif scope in names.groups or scope in names.members():
        keys = tuple(defaults("consumer"))
    else:
        keys = in_flight_keys("topic" if scope in names.topics else "broker")
    prefix = key.lstrip()
    return [name for name in keys if name.startswith(prefix) and name != prefix]


def completed(text: str, word: str) -> str:
    """The text with its unfinished last word replaced by `word`, and a blank for the next one."""
    unfinished = "" if not text or text[-1].isspace() else text.rsplit(maxsplit=1)[-1]
    return f"{text[: len(text) - len(unfinished)]}{word} "


def usage_of(text: str, places: Sequence[str] = ()) -> str:
    """Syntax and effect of the command being typed; empty if no command begins like the text."""
    typed = text.split()
    if not typed:
        return ""
    own = usages(places).get(typed[0])
    if own is not None and not (typed[0] in {"pause", "resume"} and len(typed) > 1):
        return f"{own[0]}   {own[1]}"
    heads = {str(form.required[0]) for form in COMMANDS}
    candidates = [head for head in heads if head.startswith(typed[0])]
    word = typed[0] if typed[0] in heads else candidates[0] if len(candidates) == 1 else ""
    fitting = [form for form in COMMANDS if str(form.required[0]) == word]
    if word == typed[0]:
        fitting.sort(key=lambda form: -matched_words(form, text))  # stable: the first form stays first among equals
    return next((f"{form.usage}   {form.hint}" for form in fitting), "")

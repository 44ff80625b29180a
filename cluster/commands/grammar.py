"""The grammar of command text: forms written as patterns, and the one matcher that reads, writes and completes them.

A pattern is the text of a command with slots: `slow <member:member> to <to_us:duration> [for <for_us:duration>]`. A
slot names a field of the command's struct and the type of its word (`cluster.commands.arguments`); a run in `[ ]` is
optional and begins with a word of its own. Every form is tried. The failure that is furthest to the right is reported,
unless a form matches with one misspelled word: then that word is reported.
"""

import re
from collections.abc import Iterator

import msgspec

from cluster.commands.arguments import KINDS, MisreadError, WordKind
from cluster.config import brief, nearest
from cluster.protocol.names import TopicPartition

_PATTERN = re.compile(r"\[|\]|<(\w+):(\w+)>|[^\s\[\]<]+")
_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(->)|((?:(?!->)[^\s"])+))', re.DOTALL)


class CommandError(ValueError):
    """A command text that cannot be parsed, or that names what does not exist.

    `message`: the reason; `column`: where it is, counted from 0; `suggestion`: the nearest right word, if there is one.
    """

    def __init__(self, message: str, column: int, suggestion: str | None = None) -> None:
        message = brief(message)
        self.message, self.column, self.suggestion = message, column, suggestion
        super().__init__(f"{message} (did you mean {suggestion}?)" if suggestion else message)


class CommandToken(msgspec.Struct, frozen=True):
    """One word of a command's text and its column, from 0."""

    text: str
    column: int
    quoted: bool = False


class Slot(msgspec.Struct, frozen=True):
    """A place in a pattern that a word of some kind fills; `field` is the struct's (`partition`: also `topic`)."""

    field: str
    kind: WordKind


Part = str | Slot


class RandomFault(msgspec.Struct, frozen=True):
    """A class of random faults: its place in the list that seeds draw from, its name, the pattern of its commands.

    The pattern is a command's text with draws in braces (`cluster.commands.random_faults`). `lasts`: the text may go on
    with `for DURATION`. `nemesis`: a nemesis draws the class, because its faults end by themselves or can be undone.
    """

    order: int
    name: str
    pattern: str
    lasts: bool = False
    nemesis: bool = False


class MenuRow(msgspec.Struct, frozen=True):
    """An entry of the fault menus of running targets (`broker`, `member` …): text with `{name}`, and effect."""

    target: str
    text: str
    effect: str


class Form(msgspec.Struct, frozen=True):
    """One way to write one command: the struct it makes, the pattern, what the pattern fixes, and one line of help.

    `kind` tells forms of one struct apart in events; empty: the struct's tag. Of a fault that lasts, `undo` is the
    command that ends it, with `{0}`, `{1}`, `{last}` and `{others}` for its targets, and `label` names it at a target
    that runs on. `random`: the classes of random faults that are written in this form; `menu`: the form's entries in
    the fault menus.
    """

    command: type[msgspec.Struct]
    pattern: str
    hint: str
    fixed: dict[str, object] = {}
    kind: str = ""
    undo: str = ""
    label: str = ""
    random: tuple[RandomFault, ...] = ()
    menu: tuple[MenuRow, ...] = ()

    @property
    def required(self) -> list[Part]:
        """The parts that must be written."""
        return parts_of(self.pattern)[0]

    @property
    def optional(self) -> list[list[Part]]:
        """The runs of parts that may be left out, each beginning with a word."""
        return parts_of(self.pattern)[1]

    @property
    def slots(self) -> list[Slot]:
        """Every slot, in the order of the text."""
        return [part for run in (self.required, *self.optional) for part in run if isinstance(part, Slot)]

    @property
    def usage(self) -> str:
        """The form in a usage line: `kill NAME [for DURATION]`."""
        if self.pattern not in _usages:
            written = " ".join(_shown(part) for part in self.required)
            runs = (f"[{' '.join(_shown(part) for part in run)}]" for run in self.optional)
            _usages[self.pattern] = " ".join([written, *runs])
        return _usages[self.pattern]


class Match(msgspec.Struct):
    """The result of matching a form: the values read, and for a failure its place, reason and the expected part."""

    form: Form
    values: dict[str, object]
    columns: list[tuple[Slot, object, int]]
    failed_at: int | None = None
    reason: str = ""
    wanted: Part | None = None
    misspelled: tuple[CommandToken, str] | None = None
    instead: str | None = None
    runs_left: list[list[Part]] = []


_usages: dict[str, str] = {}
_parts: dict[str, tuple[list[Part], list[list[Part]]]] = {}


def parts_of(pattern: str) -> tuple[list[Part], list[list[Part]]]:
    """A pattern's required parts and its optional runs; parsed once for each pattern."""
    if pattern not in _parts:
        required: list[Part] = []
        optional: list[list[Part]] = []
        into = required
        for match in _PATTERN.finditer(pattern):
            if match[0] == "[":
                into = []
                optional.append(into)
            elif match[0] == "]":
                into = required
            else:
                into.append(Slot(match[1], KINDS[match[2]]) if match[1] else match[0])
        _parts[pattern] = required, optional
    return _parts[pattern]


def tokens_of(text: str) -> list[CommandToken]:
    """Split a command's text into words; `broker 2` becomes `broker-2`, and a list with blanks after commas one word.

    Raises CommandError for a quotation mark that is never closed.
    """
    tokens: list[CommandToken] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise CommandError("this quotation mark is not closed", text.index('"', position))
        column = match.start(match.lastindex or 0)
        if match[1] is not None:
            tokens.append(CommandToken(re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL), column - 1, quoted=True))
        else:
            _append(tokens, CommandToken(match[0].lstrip(), column))
        position = match.end()
    return tokens


def _append(tokens: list[CommandToken], token: CommandToken) -> None:
    before = tokens[-1] if tokens else None
    if before is not None and not before.quoted and before.text == "broker" and token.text.isdigit():
        tokens[-1] = CommandToken(f"broker-{token.text}", before.column)
    elif before is not None and not before.quoted and before.text.endswith(",") and len(before.text) > 1:
        tokens[-1] = CommandToken(before.text + token.text, before.column)
    else:
        tokens.append(token)


def match_form(form: Form, tokens: list[CommandToken], *, tolerant: bool = False) -> Match:
    """Read words by one form; `tolerant` accepts words of the pattern that are spelled slightly otherwise."""
    match = Match(form, dict(form.fixed), [])
    position = _match_run(match, form.required, tokens, 0, tolerant=tolerant)
    runs = list(form.optional)
    while match.failed_at is None and position < len(tokens):
        run = max(runs, key=lambda run: _leading_words(run, tokens[position:], tolerant=tolerant), default=None)
        if run is None or not _leading_words(run, tokens[position:], tolerant=tolerant):
            match.failed_at = position
            match.reason = f"`{tokens[position].text}` is unexpected: {form.usage}"
            match.wanted = runs[0][0] if runs else None
            break
        runs.remove(run)
        position = _match_run(match, run, tokens, position, tolerant=tolerant)
    match.runs_left = runs
    return match


def _leading_words(run: list[Part], tokens: list[CommandToken], *, tolerant: bool) -> int:
    """How many of the words that a run begins with are there: runs may begin with the same word."""
    count = 0
    for part, token in zip(run, tokens, strict=False):
        if not _is_word(part, token, tolerant=tolerant):
            break
        count += 1
    return count


def _is_word(part: Part, token: CommandToken, *, tolerant: bool) -> bool:
    if not isinstance(part, str) or token.quoted:
        return False
    return token.text == part or (tolerant and nearest(token.text, (part,)) is not None)


def _match_run(match: Match, run: list[Part], tokens: list[CommandToken], position: int, *, tolerant: bool) -> int:
    for part in run:
        token = tokens[position] if position < len(tokens) else None
        reason = None
        if token is None:
            reason = f"{_shown(part)} is missing: {match.form.usage}"
        elif isinstance(part, str):
            if not _is_word(part, token, tolerant=tolerant):
                reason = f"expected `{part}` here, not `{token.text}`: {match.form.usage}"
            elif token.text != part and match.misspelled is None:
                match.misspelled = token, part
        else:
            reason = _fill(match, part, token)
        if reason is not None:
            match.failed_at, match.reason, match.wanted = position, reason, part
            return position
        position += 1
    return position


def _fill(match: Match, slot: Slot, token: CommandToken) -> str | None:
    if slot.kind.quoted and not token.quoted:
        return f"{slot.kind.label} is written in quotation marks"
    try:
        value = slot.kind.read(token.text)
    except ValueError as error:
        match.instead = error.instead if isinstance(error, MisreadError) else None
        return str(error)
    match.columns.append((slot, value, token.column))
    if isinstance(value, TopicPartition):
        match.values["topic"] = value.topic
        value = value.partition
    match.values[slot.field] = value
    return None


def read(forms: tuple[Form, ...], text: str) -> Match:
    """The form that matches the whole text, with what it read. Raises CommandError."""
    tokens = tokens_of(text)
    if not tokens:
        raise CommandError("no command was given", 0)
    for form in forms:
        if form.required[0] == tokens[0].text:  # each form begins with a word
            match = match_form(form, tokens)
            if match.failed_at is None:
                return match
    raise _explain(forms, tokens, len(text.rstrip()))


def _explain(forms: tuple[Form, ...], tokens: list[CommandToken], end: int) -> CommandError:
    failures = [match_form(form, tokens) for form in forms]
    for match in failures:
        if match.instead is not None and match.failed_at is not None:
            return CommandError(match.reason, tokens[match.failed_at].column, match.instead)
    tolerant = [match_form(form, tokens, tolerant=True) for form in forms]
    right = tokens[0] if any(form.required[0] == tokens[0].text for form in forms) else None  # not misspelled
    guesses = {
        match.misspelled[1]: match
        for match in tolerant
        if match.failed_at is None and match.misspelled is not None and match.misspelled[0] is not right
    }
    for match in guesses.values():
        assert match.misspelled is not None
        token, word = match.misspelled
        if nearest(token.text, guesses) == word:
            return CommandError(f"`{token.text}` is unexpected: {match.form.usage}", token.column, word)
    furthest = max(match.failed_at or 0 for match in failures)
    if furthest == 0:
        first = tokens[0]
        words = [str(form.required[0]) for form in forms]
        return CommandError(f"there is no command `{first.text}`", first.column, nearest(first.text, words))
    there = [match for match in failures if match.failed_at == furthest]
    if furthest >= len(tokens):
        usages = " or ".join(dict.fromkeys(match.form.usage for match in there))
        return CommandError(f"an argument is missing: {usages}", end)
    taken = _taken_as_name(there, tokens[furthest - 1])
    if taken is not None:
        return taken
    token = tokens[furthest]
    words = [match.wanted for match in there if isinstance(match.wanted, str)]
    said = next((match for match in there if isinstance(match.wanted, Slot)), None)
    if said is None and len(set(words)) > 1:
        one_of, usages = "` or `".join(dict.fromkeys(words)), " or ".join(match.form.usage for match in there)
        reason = f"expected `{one_of}` here, not `{token.text}`: {usages}"
        return CommandError(reason, token.column, nearest(token.text, words))
    return CommandError((said or there[0]).reason, token.column, nearest(token.text, words))


def _taken_as_name(there: list[Match], token: CommandToken) -> CommandError | None:
    """The error of a word of the pattern that every form reads as a name: `create topic if not exists`."""
    found: list[CommandError] = []
    for match in there:
        slot = next((slot for slot, _, column in match.columns if column == token.column), None)
        if slot is None or token.quoted:
            return None
        if any(token.text in run for run in (match.form.required, *match.form.optional)):
            reason = f"expected {slot.kind.label} here, not `{token.text}`: {match.form.usage}"
            found.append(CommandError(reason, token.column))
    return found[0] if found else None


def write(form: Form, values: dict[str, object], defaults: dict[str, object]) -> str:
    """The canonical text of a command: the form's words, and those optional runs whose value is not the default."""
    words = [_written(part, values) for part in form.required]
    for run in form.optional:
        if any(isinstance(part, Slot) and values[part.field] != defaults.get(part.field) for part in run):
            words += [_written(part, values) for part in run]
    return " ".join(words)


def _written(part: Part, values: dict[str, object]) -> str:
    if isinstance(part, str):
        return part
    if part.field == "partition":
        return f"{values['topic']}-{values[part.field]}"
    text = part.kind.write(values[part.field])
    plain = _TOKEN.fullmatch(text)
    if part.kind.quoted or plain is None or plain[3] != text or text.endswith(",") or text == "broker":
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return text


def _shown(part: Part) -> str:
    return part if isinstance(part, str) else part.kind.label


def wanted_after(forms: tuple[Form, ...], tokens: list[CommandToken]) -> Iterator[tuple[Form, Part]]:
    """Every part that could follow these whole words, form by form."""
    for form in forms:
        match = match_form(form, tokens)
        if match.failed_at is not None:
            if match.failed_at == len(tokens) and match.wanted is not None:
                yield form, match.wanted
            continue
        yield from ((form, run[0]) for run in match.runs_left)


def matched_words(form: Form, text: str) -> float:
    """The number of words that a form matches; an unfinished last word counts 1 as a fixed word, 0.5 as an argument."""
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

"""Lines of Kafka's tools as they are pasted: `bin/kafka-consumer-groups.sh --bootstrap-server … --describe --group g`.

Options are those of release 4.3.1; how a cluster is reached (`--bootstrap-server`, `--command-config`) is accepted and
ignored. An option may be written `--group g` or `--group=g`. Source: the classes `…CommandOptions` of each tool.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from cluster.commands import CommandError
from cluster.config import nearest

_WORD: Final = re.compile(r"""\s*(?:\\\n\s*)*((?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+)""", re.DOTALL)
_PIECE: Final = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([^'"\\]+)""", re.DOTALL)
_NAME: Final = re.compile(r"(?:.*/)?(kafka-[a-z-]+?)(?:\.sh|\.bat)?")
_PROMPT: Final = re.compile(r"\s*(?:\[?[\w.-]{1,80}@[^\s$#\]]{1,80}(?: [^\s$#\]]{1,80})?\]?)?[$#]\s+")
_LAUNCHER: Final = re.compile(
    r"(?:.*/)?(?:kubectl|oc|docker|docker-compose|podman|nerdctl|sudo|env)|[A-Za-z_]\w*=.*", re.DOTALL
)
"""What begins a line that starts a tool elsewhere: `kubectl exec kafka-0 -- kafka-topics.sh …`, `KAFKA_OPTS=… …`."""
_SHELLS: Final = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1", "2>", "|&"})
_RESETS: Final = ("from-file", "shift-by", "to-offset", "to-earliest", "to-current", "to-latest", "by-duration",
                  "to-datetime")  # fmt: skip
_CHECKED: Final = ("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "shift-by",
                   "from-file")  # fmt: skip
REPORTS: Final = ("under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions",
                  "unavailable-partitions")  # fmt: skip
MOST_BEFORE: Final = 40
"""Words of a launcher before its tool."""
_IGNORED: Final = ("bootstrap-server", "command-config", "timeout")


class ToolWord(NamedTuple):
    """A word of a line and its column."""

    word: str
    column: int


class Tool(NamedTuple):
    """A tool: `actions`, of which a line has exactly one, and options: without a value, with one, with one or none."""

    name: str
    actions: tuple[str, ...]
    flags: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    verbs: bool = False
    """Actions are words, not options: `kafka-transactions.sh list`. Such a tool takes the last of several values."""
    available: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Options and the actions with which the parser knows each (`availableIf`)."""
    only_with: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Options and the actions with which each goes, in the order in which the tool checks them (`checkInvalidArgs`)."""
    apart: tuple[tuple[str, str], ...] = ()
    """Options that do not go together."""

    @property
    def options(self) -> tuple[str, ...]:
        """Every option, actions included."""
        actions = () if self.verbs else self.actions
        return (*actions, *self.flags, *self.values, *self.optional, *_IGNORED)


TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool(
            "kafka-consumer-groups",
            ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex"),
            ("all-topics", "all-groups", "dry-run", "execute", "export", "to-earliest", "to-latest", "to-current",
             "members", "verbose", "offsets", "buffered"),
            ("group", "topic", "to-offset", "from-file", "to-datetime", "by-duration", "shift-by"),
            ("state", "type"),
            available=(("members", ("describe",)), ("verbose", ("describe",)), ("offsets", ("describe",)),
                       ("state", ("describe", "list")), ("type", ("list",)), ("buffered", ("describe",))),
            only_with=(("group", ("describe", "delete", "reset-offsets", "delete-offsets")),
                       ("topic", ("delete", "reset-offsets", "delete-offsets"))),
            apart=(("group", "all-groups"),),
        ),
        Tool(
            "kafka-topics",
            ("list", "create", "delete", "alter", "describe"),
            ("under-replicated-partitions", "unavailable-partitions", "under-min-isr-partitions",
             "at-min-isr-partitions", "topics-with-overrides", "if-exists", "if-not-exists", "exclude-internal"),
            ("topic", "topic-id", "config", "partitions", "replication-factor", "replica-assignment",
             "partition-size-limit-per-response"),
            only_with=(
                ("config", ("alter", "create")),
                ("partitions", ("alter", "create")),
                ("replication-factor", ("create",)),
                ("replica-assignment", ("alter", "create")),
                *((report, ("describe",)) for report in REPORTS),
                ("topics-with-overrides", ("describe",)),
                ("if-exists", ("alter", "delete", "describe")),
                ("if-not-exists", ("create",)),
                ("exclude-internal", ("list", "describe")),
            ),
            apart=tuple((report, "topics-with-overrides") for report in REPORTS),
        ),
        Tool(
            "kafka-configs",
            ("alter", "describe"),
            ("all", "entity-default", "client-defaults", "user-defaults", "broker-defaults", "ip-defaults"),
            ("entity-type", "entity-name", "add-config", "add-config-file", "delete-config", "topic", "client", "user",
             "broker", "broker-logger", "ip", "group", "client-metrics", "bootstrap-controller"),
        ),
        Tool(
            "kafka-transactions",
            ("list", "describe", "describe-producers", "find-hanging", "abort", "forceTerminateTransaction"),
            (),
            ("duration-filter", "transactional-id-pattern", "transactional-id", "transactionalId", "broker-id", "topic",
             "partition", "start-offset", "producer-id", "producer-epoch", "coordinator-epoch",
             "max-transaction-timeout"),
            verbs=True,
        ),
        Tool(
            "kafka-leader-election",
            (),
            ("all-topic-partitions",),
            ("election-type", "topic", "partition", "path-to-json-file", "admin.config"),
        ),
        Tool("kafka-delete-records", (), (), ("offset-json-file",)),
        Tool(
            "kafka-dump-log",
            (),
            ("print-data-log", "deep-iteration", "skip-record-metadata", "offsets-decoder", "transaction-log-decoder",
             "not-appended"),
            ("files", "topic", "partition", "from", "max"),
        ),
        Tool(
            "kafka-get-offsets",
            (),
            ("exclude-internal-topics",),
            ("topic-partitions", "topic", "partitions", "time"),
        ),
        Tool(
            "kafka-reassign-partitions",
            ("generate", "execute", "verify", "cancel", "list"),
            ("disable-rack-aware", "additional", "preserve-throttles", "disallow-replication-factor-change"),
            ("reassignment-json-file", "topics-to-move-json-file", "broker-list", "throttle",
             "replica-alter-log-dirs-throttle", "bootstrap-controller"),
        ),
    )
}  # fmt: skip
"""The tools that are understood."""

ELSEWHERE: Final = {
    "kafka-acls": "the cluster has no authorization",
    "kafka-console-consumer": "a group of the scenario reads; `scale GROUP to N` starts more members",
    "kafka-console-producer": "a producer of the scenario writes; `set PRODUCER rate N` changes how much",
    "kafka-log-dirs": "a broker has one log directory; `describe topics` shows where replicas are",
    "kafka-metadata-quorum": "the quorum is one controller; `:fail over controller` moves it",
    "kafka-server-start": "`start broker-N` starts a broker",
    "kafka-server-stop": "`stop broker-N` stops a broker",
    "kafka-groups": "kafka-consumer-groups.sh --list lists consumer groups",
}
"""Tools that are not: why, or what does it here."""


class ToolLine(NamedTuple):
    """A line that was understood: its tool, its action ("" for a tool without), the values of each option in order.

    `columns`: where each option stands, for errors. An option without a value has none.
    """

    tool: str
    action: str
    options: dict[str, list[str]]
    columns: dict[str, int]
    end: int

    def has(self, option: str) -> bool:
        """Whether the option was given."""
        return option in self.options

    def one(self, option: str, default: str = "") -> str:
        """The option's value. Raises CommandError for several, unless the tool takes the last. Source: jopt-simple."""
        values = self.options.get(option)
        if values and len(values) > 1 and not TOOLS[self.tool].verbs:
            raise self.wrong(f"Found multiple arguments for option {option}, but you asked for only one", option)
        return values[-1] if values else default

    def first(self, option: str) -> str:
        """The first value of an option of which Kafka's tool reads all, and uses one; empty without."""
        return next(iter(self.all(option)), "")

    def all(self, option: str) -> list[str]:
        """Every value of the option."""
        return self.options.get(option, [])

    def wrong(self, message: str, option: str = "", suggestion: str | None = None) -> CommandError:
        """An error at an option, or at the end of the line."""
        return CommandError(message, self.columns.get(option, self.end), suggestion)

    def number(self, option: str, default: int | None = None, least: int | None = None) -> int | None:
        """The option's value as a whole number. Raises CommandError."""
        if not self.has(option):
            return default
        return self.whole(option, self.one(option), least)

    def whole(self, option: str, text: str, least: int | None = None) -> int:
        """A value of the option as a whole number. Raises CommandError."""
        if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
            raise self.wrong(f"--{option}: `{text[:80]}` is not a whole number", option)
        if least is not None and int(text) < least:
            raise self.wrong(f"--{option}: {text} is less than {least}", option)
        return int(text)


def reset_scenario(line: ToolLine) -> str:
    """Where `--reset-offsets` moves the offsets to: its one option of these. Raises CommandError."""
    given = [option for option in _CHECKED if line.has(option)]
    if len(given) > 1:
        raise line.wrong(f'Option "[{given[0]}]" can\'t be used with option "[{given[1]}]"', given[1])
    if not line.has("all-topics") and not line.has("topic") and not line.has("from-file"):
        raise line.wrong("One of the reset scopes should be defined: --all-topics, --topic.")
    if not given:
        known = ", ".join(f"[{option}]" for option in _RESETS)
        raise line.wrong(f"Option '[reset-offsets]' requires one of the following scenarios: [{known}]")
    return given[0]


def java_split(text: str, by: str) -> list[str]:
    """As Java's `String.split`: empty words at the end do not count, unless nothing else is there."""
    words = text.split(by)
    while len(words) > 1 and not words[-1]:
        words.pop()
    return words if text.strip(by) or not text else []


def is_tool_line(text: str) -> bool:
    """Whether a line begins with one of Kafka's tools, known here or not."""
    words = _launched(list(_words(text, tolerant=True)))
    return bool(words) and _NAME.fullmatch(words[0].word) is not None


def read_tool_line(text: str) -> ToolLine:
    """Read a line. Raises CommandError: the reason, the column, and the nearest word."""
    words = _launched(list(_words(text)))
    if not words:
        raise CommandError("no command was given", 0)
    found = _NAME.fullmatch(words[0].word)
    name = found[1] if found else words[0].word
    tool = TOOLS.get(name)
    if tool is None:
        if name in ELSEWHERE:
            raise CommandError(f"{name}.sh is not understood here: {ELSEWHERE[name]}", words[0].column)
        near = nearest(name, TOOLS)
        known = ", ".join(TOOLS)
        raise CommandError(f"{name}.sh is not understood; known are {known}", words[0].column, near and f"{near}.sh")
    return _read_options(tool, words[1:], len(text.rstrip()))


def _launched(words: list[ToolWord]) -> list[ToolWord]:
    """The words from the tool on, where a launcher stands before it; all words if there is no tool behind one."""
    if words and _LAUNCHER.fullmatch(words[0].word) is not None:
        for place, word in enumerate(words[:MOST_BEFORE]):
            found = _NAME.fullmatch(word.word)
            if found is not None and (found[1] in TOOLS or found[1] in ELSEWHERE or word.word.endswith(".sh")):
                return words[place:]
    return words


def _read_options(tool: Tool, words: list[ToolWord], end: int) -> ToolLine:
    line = ToolLine(tool.name, "", {}, {}, end)
    actions: list[ToolWord] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word.word in _SHELLS:
            raise CommandError(f"`{word.word}` is the shell's: leave it out, and what follows", word.column)
        if not word.word.startswith("-") or len(word.word) == 1:
            if tool.verbs and not actions:
                actions.append(word)
                continue
            raise CommandError(f"`{word.word}` belongs to no option of {tool.name}.sh", word.column)
        option, equals, value = word.word.lstrip("-").partition("=")
        if option not in tool.options:
            near = nearest(option, tool.options)
            raise CommandError(f"{tool.name}.sh has no option --{option}", word.column, near and f"--{near}")
        values = line.options.setdefault(option, [])
        line.columns.setdefault(option, word.column)
        follows = position < len(words) and not words[position].word.startswith("--")
        if option in (*tool.values, *_IGNORED) or (option in tool.optional and not equals and follows):
            if not equals:
                if not follows:
                    raise CommandError(f"--{option} lacks its value", word.column + len(word.word))
                value, position = words[position].word, position + 1
            values.append(value)
        elif equals and option in tool.optional:
            values.append(value)
        elif equals:
            raise CommandError(f"--{option} takes no value", word.column)
        if not tool.verbs and option in tool.actions:
            actions.append(ToolWord(option, word.column))
    return _gone_together(tool, line._replace(action=_action(tool, actions, end)))


def _gone_together(tool: Tool, line: ToolLine) -> ToolLine:
    """A line whose options go together. Raises CommandError in the tool's words."""
    for option, actions in tool.available:
        if line.has(option) and line.action not in actions:
            raise line.wrong(f"Option(s) [{option}] are unavailable given other options on the command line", option)
    wrong = [(option, line.action) for option, actions in tool.only_with if line.action not in actions]
    for option, other in (*tool.apart, *wrong):
        if line.has(option) and (other == line.action or line.has(other)):
            raise line.wrong(f'Option "[{option}]" can\'t be used with option "[{other}]"', option)
    return line


def _action(tool: Tool, found: list[ToolWord], end: int) -> str:
    if not tool.actions:
        return ""
    dashes = "" if tool.verbs else "--"
    if len(found) == 1 and found[0].word in tool.actions:
        return found[0].word
    known = ", ".join(f"{dashes}{action}" for action in tool.actions)
    if not found:
        raise CommandError(f"Command must include exactly one action: {known}", end)
    wrong = found[-1]
    near = nearest(wrong.word, tool.actions) if tool.verbs else None
    raise CommandError(f"Command must include exactly one action: {known}", wrong.column, near)


def _words(text: str, *, tolerant: bool = False) -> Iterator[ToolWord]:
    """Split a line as a shell does; a prompt before it is left out. Raises CommandError for an open quotation mark."""
    prompt = _PROMPT.match(text)
    position, end = prompt.end() if prompt else 0, len(text.rstrip())
    while position < end:
        match = _WORD.match(text, position)
        if match is None:
            rest = text[position:].strip()
            if tolerant or rest == "\\":
                return
            raise CommandError("this quotation mark is not closed", position + len(text[position:]) - len(rest))
        yield ToolWord("".join(_unquoted(piece) for piece in _PIECE.finditer(match[1])), match.start(1))
        position = match.end()


def _unquoted(piece: re.Match[str]) -> str:
    single, double, escaped, plain = piece.groups()
    if double is not None:
        return re.sub(r'\\(["\\$`])', r"\1", double)
    return single if single is not None else escaped if escaped is not None else plain

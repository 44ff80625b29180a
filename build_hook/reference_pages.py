"""Pages of the site that are made of the code's own tables: configuration keys, commands, the course."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from page_parts import code, table
from recording_files import recording_files_page
from scenario_keys import scenario_keys_page
from view_fields import view_fields_page

from cluster.commands.forms import COMMANDS, Form
from cluster.config.config import ELSEWHERE
from cluster.config.keys import CONFIG_KEYS, ConfigKey, Scope
from cluster.config.other_keys import NOT_BUILT, WITHOUT_EFFECT
from cluster.config.units import spoken_duration
from cluster.spec.setting_fields import FIELDS, Field
from console.cli.main import app
from console.command_line import USAGES
from recordings.kafka_tools.config_tables import value_text
from recordings.scenarios.course import Lesson, lessons

SCOPES: tuple[Scope, ...] = ("consumer", "producer", "topic", "broker")
SETTINGS = """# Configuration keys

Keys of Kafka's clients, topics and brokers: those that a flight obeys, those that are read and change nothing, and
those that are refused. A key has Kafka's default until a scenario, or `--set`, says otherwise. A key in no table is
unknown, and refused with the nearest right word.

`--set KEY=VALUE` changes a key for a whole flight, `--set SCOPE:KEY=VALUE` for one topic, group, member, producer or
broker, or the `cluster`. The command `set SCOPE KEY VALUE` changes it in flight."""
FIELD_TEXTS = """## Fields of a scenario

`--set` and `set` write these fields of a [scenario](scenario-keys.md), too. *In flight*: when the
command `set` takes effect."""
EFFECTS = {
    "at once": "at once",
    "at the next start": "with the next start of each process",
    "before the flight": "refused in flight",
}
COMMAND_TEXTS = """# Commands

What the `:` line of the console, a scenario's `do`, `fork --do` and `impact` understand. Words in capitals are yours,
what stands in brackets may be left out."""
CONSOLE_TEXTS = """## Of the console alone

The `:` line understands these, too. Of words between `|` one is typed. A line of a Kafka tool may be pasted
([runbooks](runbooks.md), [describe](describe.md))."""
COMMAND_LINE = """# Command line

What `flightdeck COMMAND --help` prints. Without a command it opens the console. `--no-…` turns an option off whose
default is on. The exit code is 0 when all held, 1 when something did not (an expectation, a comparison, a rule), and 2
for wrong input.
"""
COURSE = """# Course

The scenarios of the library, from one group to a cluster in trouble. `flightdeck --scenario NAME` opens one in the
console, `flightdeck run NAME` flies and judges it, `flightdeck show NAME` prints its file."""


def settings_page() -> str:
    """Every configuration key that Flightdeck knows, by what becomes of it."""
    elsewhere = table(("key", "instead"), ((code(key), said) for key, said in ELSEWHERE.items()))
    scopes = (part for scope in SCOPES for part in _scope(scope))
    fields = table(("field", "of", "in flight"), (_field(*each) for each in FIELDS.items()))
    return "\n\n".join([SETTINGS, *scopes, FIELD_TEXTS, fields, "## Said in another way", elsewhere])


def _field(name: str, field: Field) -> Sequence[str]:
    things = ", ".join(f"a {kind.__name__.removesuffix('Spec').lower()}" for kind in field.places)
    return (
        code(name),
        things,
        EFFECTS[field.effect] + (f", where {code(field.instead)} does it" if field.instead else ""),
    )


def _scope(scope: Scope) -> Iterable[str]:
    obeyed = [key for key in CONFIG_KEYS if key.scope == scope]
    yield f"## Keys of a {scope}"
    yield "*At once*: the command `set` changes the key in a running cluster, without a restart."
    yield table(("key", "default", "may be", "at once", "Kafka's class"), map(_obeyed, obeyed))
    yield f"### Without effect: {scope}"
    yield "Read, with a note that says why. `*` stands for any letters."
    rows = ((reason, ", ".join(map(code, names))) for reason, names in WITHOUT_EFFECT[scope].items())
    yield table(("because", "keys"), rows)
    yield f"### Not built: {scope}"
    yield "Refused with any other value than Kafka's default."
    yield table(("key", "default"), ((code(key), code(value)) for key, value in NOT_BUILT[scope].items()))


def _obeyed(key: ConfigKey) -> Sequence[str]:
    default = "not set" if key.default is None else code(value_text(key.default))
    return code(key.name), default, _values(key), "yes" if key.in_flight else "", key.source


def _values(key: ConfigKey) -> str:
    if key.choices:
        return ", ".join(map(code, key.choices))
    if key.low is None and key.high is None:
        return {"bool": "`true`, `false`", "string": "text", "list": "a list"}.get(key.kind, "any number")
    bounds = [word for word in (_bound("from", key.low), _bound("to", key.high), key.unit) if word]
    return " ".join(bounds)


def _bound(word: str, value: float | None) -> str:
    return "" if value is None else f"{word} {value:,}"


def commands_page() -> str:
    """Every form of every command, and what the console's line has besides."""
    rows = ((code(form.usage), form.hint, code(_undo(form)) if form.undo else "") for form in COMMANDS)
    of_console = ((code(usage), hint) for usage, hint in USAGES.values())
    forms = table(("command", "does", "ended by"), rows)
    return "\n\n".join([COMMAND_TEXTS, forms, CONSOLE_TEXTS, table(("command", "does"), of_console)])


def _undo(form: Form) -> str:
    """What ends a command, with the words that stand for its targets."""
    targets = re.findall(r"[A-Z]+(?:-P)?(?:,…)?", form.usage.partition(" [")[0])
    *others, last = targets or [""]
    return " ".join(form.undo.format(*targets, others=" ".join(others), last=last).split())


def command_line_page() -> str:
    """Every command of the command line with its arguments and options."""
    text = app.generate_docs(output_format="markdown")
    contents = text[text.index("## Table of Contents") : text.index("**Commands**")]
    return text.replace(contents, "", 1).replace("# flightdeck\n", COMMAND_LINE, 1)


def course_page() -> str:
    """Every lesson in the order of the course."""
    parts = [COURSE]
    for module, members in groupby(lessons(), lambda lesson: lesson.module):
        parts.append(f"## {module.capitalize()}")
        parts.extend(map(_lesson, members))
    return "\n\n".join(parts)


def _lesson(lesson: Lesson) -> str:
    told = lesson.lesson.replace("*", r"\*").replace("_", r"\_")
    return f"### {lesson.title} {{: #{lesson.name} }}\n\n`{lesson.name}`, {spoken_duration(lesson.until_us)}\n\n{told}"


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "course.md": course_page,
    "command-line.md": command_line_page,
    "scenario-keys.md": scenario_keys_page,
    "view-fields.md": view_fields_page,
    "recordings.md": recording_files_page,
}
"""The pages by name."""

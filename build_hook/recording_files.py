"""The page of a recording's files and of playback scripts: the fields of their structs, and a sentence for each."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from page_parts import code, table

from recordings.journal.format import FORMAT, Footer, Header, JournaledCommand, Settings
from recordings.journal.script import ScriptStep

PAGE = f"""# Recordings and playback scripts

A recording is a directory, and this is format {FORMAT} of it. `flightdeck run --record PATH` writes one. `play`,
`rerun`, `diff`, `summary`, `export` and `report` read it.

| file | holds |
|---|---|
| `header.json` | what was flown |
| `segment-000001.jsonl` | events and commands in their order, one JSON object a line; the next one is 000002 |
| `segment-….jsonl.zst`, `….part` | a segment that zstd has compressed; one that still grows |
| `keyframes/` | the view after some events, to go to an instant from; a reader may ignore them |
| `footer.json` | totals and the hash; absent after a crash, and then the recording ends with its last whole line |

A line with `kind` and `seq` is an event, and [its fields](data-dictionary.md) depend on its kind. A line with `command`
is a command. Other files beside these, such as `remedies.json`, keep answers that took long; they may be deleted."""
SCRIPTS = """## Playback scripts

`flightdeck play RECORDING --script FILE` shows a recording by a text file: it goes to instants, types commands, and
checks what stands on the screen. With `--headless` it needs no terminal, and exits with 1 when a step does not hold.
[Eighteen questions](questions.md) has a script for each.

```toml
title = "How a silent member is noticed"

[[step]]
at = "60s"
do = "go billing"
say = "billing-2 has just died"
expect = "groups.billing.members == 3"
shows = "billing-2"
```

A file has a `title` and at least one step. Within a step the order is that of this table."""
STEPS = "[[step]]"
TEXTS = Path(__file__).with_suffix(".toml")
STRUCTS: dict[str, type[msgspec.Struct]] = {
    "header.json": Header,
    "settings": Settings,
    "a command's line": JournaledCommand,
    "footer.json": Footer,
    STEPS: ScriptStep,
}
HEADINGS = {
    "header.json": "## `header.json`",
    "settings": "### `settings`",
    "a command's line": "## The line of a command",
    "footer.json": "## `footer.json`",
}
WRITTEN = {"at_us": "at", "line": ""}
"""Fields of a step that have another name in the file, or are not in it."""


def file_fields() -> Iterator[tuple[str, str]]:
    """Every field: in which part it is, and its name."""
    for part, struct in STRUCTS.items():
        for field in struct.__struct_fields__:
            if name := WRITTEN.get(field, field) if part == STEPS else field:
                yield part, name


def recording_files_page() -> str:
    """Every field with its meaning."""
    parts = [PAGE]
    for part, sentences in tomllib.loads(TEXTS.read_text(encoding="utf-8")).items():
        parts.append(SCRIPTS if part == STEPS else HEADINGS[part])
        parts.append(table(("field", "meaning"), ((code(name), meaning) for name, meaning in sentences.items())))
    return "\n\n".join(parts)

"""The user's keymap: `keymap.toml` in the configuration directory gives actions other keys, by the action's id.

    "time.pause" = "P"
    act.fault = ["f", "ctrl+f"]

A file with a mistake changes nothing: the console starts with the default keys and says where the mistake is.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from textual.binding import Binding
from textual.keys import Keys, key_to_character

from cluster.config import brief, nearest
from recordings.bounded_files import RecordingError, read_given

FILE_NAME = "keymap.toml"
MOST_BYTES = 1 << 16
MODIFIERS = ("ctrl", "alt", "shift")
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_SHOWN = {"escape": "esc", "space": "space"}
NAMED_KEYS = {key.value for key in Keys if "+" not in key.value and "<" not in key.value}


class Keymap(NamedTuple):
    """The keys by id, several separated by commas, in Textual's names; and what is wrong with the file, or empty."""

    keys: dict[str, str]
    notice: str = ""


class _MistakeError(ValueError):
    """A mistake in the file: the reason, and the text that its line holds."""

    def __init__(self, reason: str, near: str) -> None:
        super().__init__(reason)
        self.reason, self.near = reason, near


def read_keymap(directory: Path | None, defaults: Mapping[str, str]) -> Keymap:
    """The keymap of a directory; `defaults` has the default keys of every id that may be mapped."""
    path = directory / FILE_NAME if directory is not None else None
    if path is None or not path.exists():
        return Keymap({})
    text, line = "", 0
    try:
        if not path.is_file():
            raise RecordingError("it is not a file")
        text = read_given(path, MOST_BYTES).decode()
        keys = _mapped(tomllib.loads(text), defaults)
    except tomllib.TOMLDecodeError as error:
        match = _AT_LINE.search(str(error))
        line = int(match[1]) if match and match[1] else text.count("\n") + 1
        reason = _AT_LINE.sub("", str(error))
    except _MistakeError as error:
        line, reason = _line_of(error.near, text), error.reason
    except (OSError, UnicodeDecodeError, RecordingError, RecursionError) as error:
        reason = str(error)
    else:
        return Keymap(keys)
    place = f"{path}:{line}" if line else f"{path}"
    return Keymap({}, f"{place}: {brief(reason)}; the default keys are in force")


def _mapped(document: dict[str, object], defaults: Mapping[str, str]) -> dict[str, str]:
    mapped: dict[str, str] = {}
    for name, value in _flat(document):
        if name not in defaults:
            like = nearest(name, defaults)
            raise _MistakeError(f"there is no action {name}{f' (did you mean {like}?)' if like else ''}", name)
        listed = value if isinstance(value, list) else [value]
        if not listed or not all(isinstance(key, str) for key in listed):
            raise _MistakeError(f"the keys of {name} are a text or a list of texts", name)
        mapped[name] = ",".join(_key(str(key), name) for key in listed)
    _refuse_shared(mapped, defaults)
    return mapped


def _flat(table: dict[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Names and values: `act.fault = "f"` and `[act]` with `fault = "f"` are the same as `"act.fault" = "f"`."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _key(text: str, name: str) -> str:
    """A key in Textual's name."""
    *modifiers, base = text.split("+") if len(text) > 1 else [text]
    if len(base) == 1 and "shift" in modifiers:
        raise _MistakeError(f"{text} is written {base.upper()} (key of {name})", name)
    if text == ",":
        base = "comma"
    elif len(base) == 1:
        base = next(iter(Binding.make_bindings([Binding(base, "")]))).key
    elif base not in NAMED_KEYS and key_to_character(base) is None:
        like = nearest(base, sorted(NAMED_KEYS))
        hint = f" (did you mean {like}?)" if like else ""
        raise _MistakeError(f"there is no key {text}{hint} (key of {name})", name)
    if not set(modifiers) <= set(MODIFIERS):
        raise _MistakeError(f"the modifiers of a key are ctrl, alt and shift, not {'+'.join(modifiers)}", name)
    return "+".join((*modifiers, base))


def _refuse_shared(mapped: Mapping[str, str], defaults: Mapping[str, str]) -> None:
    """Refuse one key for two actions."""
    owner: dict[str, str] = {}
    for name in sorted(defaults, key=lambda each: each in mapped):
        for key in mapped.get(name, defaults[name]).split(","):
            other = owner.setdefault(key, name)
            if other != name and name in mapped:
                raise _MistakeError(f"{shown_key(key)} is the key of {other}, too: give that another key", name)


def shown_key(key: str) -> str:
    """A key as footer and help print it: `.` for `full_stop`."""
    *modifiers, base = key.split("+")
    character = key_to_character(base) or base
    return "+".join((*modifiers, _SHOWN.get(base) or (character if character.isprintable() else base)))


def _line_of(name: str, text: str) -> int:
    """The first line that gives a name, or the last part of it, a value; 0 if none is found."""
    last = name.rpartition(".")[2]
    wanted = re.compile(rf"""\s*["']?(?:[\w.\s"'-]*\.)?\s*["']?{re.escape(last)}["']?\s*=""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if wanted.match(line)), 0)

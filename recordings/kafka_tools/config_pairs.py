"""Pairs KEY=VALUE of a tool's line, split and read as Kafka's own code does: no units, no names of units.

Sources: `TopicCommand.parseTopicConfigsToBeAdded`, `ConfigCommand.parseConfigsToBeAdded`, `ConfigDef.parseType`.
"""

import re
from typing import Final

from cluster.config import CONFIG_KEYS, ConfigError, ConfigKey, Scope
from cluster.config.keys import INT_MAX, LONG_MAX
from recordings.kafka_tools.tool_lines import ToolLine

_EQUALS: Final = re.compile(r"\s*=\s*")
_COMMA: Final = re.compile(r"\s*,\s*")
_ADDED: Final = re.compile(r"\s*([^=,\[\]]+?)\s*=\s*(\[[^\]]*\]|[^,=]*)\s*(?:,|$)")
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,40}")
_DOUBLE: Final = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_KEYS: Final = {(key.scope, key.name): key for key in CONFIG_KEYS}
_POLICIES: Final = ("cleanup.policy", "log.cleanup.policy")


def pairs_of_create(line: ToolLine) -> tuple[str, ...]:
    """Each `--config`, one pair; of a key that is given twice, the last. Raises CommandError."""
    found: dict[str, str] = {}
    for text in line.all("config"):
        parts = _EQUALS.split(text)
        while parts and not parts[-1]:  # as Java's split: empty parts at the end do not count
            parts.pop()
        if len(parts) != 2:
            raise line.wrong('requirement failed: Invalid topic config: all configs to be added must be in the format'
                             ' "key=val".', "config")  # fmt: skip
        found[parts[0].strip()] = parts[1].strip()
    return tuple(f"{key}={_read(line, 'config', 'topic', key, text)}" for key, text in found.items())


def pairs_added(line: ToolLine, scope: Scope) -> list[tuple[str, str]]:
    """The pairs of `--add-config`, of which a list stands in brackets. Raises CommandError."""
    text, pairs, position = line.one("add-config"), list[tuple[str, str]](), 0
    while position < len(text):
        pair = _ADDED.match(text, position)
        if pair is None:
            raise line.wrong('requirement failed: Invalid entity config: all configs to be added must be in the format'
                             ' "key=val" or  "key=[val1,val2]" to group values which contain commas.',
                             "add-config")  # fmt: skip
        pairs.append((pair[1], _read(line, "add-config", scope, pair[1], pair[2].strip("[]"))))
        position = pair.end()
    return pairs


def _read(line: ToolLine, option: str, scope: Scope, key: str, text: str) -> str:
    try:
        value = kafkas_value(scope, key, text)
    except ConfigError as error:
        raise line.wrong(error.reason, option) from None
    if "[" in value or "]" in value:
        raise line.wrong(f"{key}: a value with brackets is not understood here", option)
    return value


def kafkas_value(scope: Scope, key: str, text: str) -> str:
    """A value that Kafka's type of this key reads, in the form in which `coerce` does; of another key, the text.

    Raises ConfigError in Kafka's words.
    """
    entry = _KEYS.get((scope, key))
    trimmed = text.strip()
    if entry is None:
        return text
    if entry.kind == "bool":
        if trimmed.lower() not in ("true", "false"):
            raise _invalid(key, text, "Expected value to be either true or false")
        return trimmed.lower()
    if entry.kind == "float":
        double = _DOUBLE.fullmatch(trimmed)
        if double is None:
            raise _invalid(key, text, "Not a number of type DOUBLE")
        return double[1]
    if entry.kind in ("int", "int_ms", "int_bytes"):
        return _whole(entry, trimmed, text)
    if key in _POLICIES:
        _check_policies(entry, trimmed)
    return trimmed


def _whole(entry: ConfigKey, trimmed: str, text: str) -> str:
    is_long = entry.high is not None and entry.high > INT_MAX
    most = LONG_MAX if is_long else INT_MAX
    if not _WHOLE.fullmatch(trimmed) or not -most - 1 <= int(trimmed) <= most:
        raise _invalid(entry.name, text, f"Not a number of type {'LONG' if is_long else 'INT'}")
    return str(int(trimmed))


def _check_policies(entry: ConfigKey, trimmed: str) -> None:
    """Source: `ConfigDef.ValidList`."""
    words = _COMMA.split(trimmed) if trimmed else []
    if len(set(words)) < len(words):
        raise ConfigError(entry.name, f"Configuration '{entry.name}' values must not be duplicated.")
    for word in words:
        if not word:
            raise ConfigError(entry.name, f"Configuration '{entry.name}' values must not be empty.")
        if word not in entry.choices:
            raise _invalid(entry.name, word, f"String must be one of: {', '.join(sorted(entry.choices))}")


def _invalid(key: str, value: str, reason: str) -> ConfigError:
    return ConfigError(key, f"Invalid value {value} for configuration {key}: {reason}")

"""`[defaults.topic]`, `[defaults.producer]` and `[defaults.group]`: what every table of a kind says unless it says it.

The defaults are put under each table before any of it is read. `config`, `application` and its `producer` merge key by
key; any other value of a table replaces the default as a whole. An error in a default has the line of the default.
"""

from collections.abc import Mapping
from typing import Any, Final

from recordings.scenarios.toml_lines import Place
from recordings.scenarios.toml_tables import Problem, TomlTable, flat_config

KINDS: Final = ("topic", "producer", "group")
"""The arrays of tables that may have defaults."""

MOST_KEYS: Final = 100
"""Keys of one block: each of them is put under every table of its kind."""


def put_defaults(data: dict[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """The file's tables over its `[defaults]`; adds the errors of the block itself to `problems`."""
    if "defaults" not in data:
        return data
    filled = {key: value for key, value in data.items() if key != "defaults"}
    block = TomlTable(data, (), problems).table("defaults")
    for kind in KINDS:
        given = dict(block.table(kind).data)
        if given.pop("name", None) is not None:
            problems.append(Problem(("defaults", kind, "name"), f"name: each {kind} has its own"))
        tables = filled.get(kind)
        if kind in block.data and tables is None:
            block.wrong(kind, f"defaults.{kind}: the file has no [[{kind}]]")
        elif _keys(given) > MOST_KEYS:
            block.wrong(kind, f"defaults.{kind}: it has more than {MOST_KEYS} keys")
        elif isinstance(tables, list):
            filled[kind] = [_over(given, each) if isinstance(each, dict) else each for each in tables]
    block.close()
    return filled


def line_of(lines: Mapping[Place, int], place: Place) -> int:
    """The line of a place, of the default that it came from, or of the nearest table around it that the file has."""
    while True:
        origins = [place]
        if len(place) > 2 and place[0] in KINDS:
            origins.append(("defaults", place[0], *place[2:]))
        for origin in origins:
            for spelled in (origin, _unquoted(origin)):
                if spelled in lines:
                    return lines[spelled]
        place = place[:-1]


def _unquoted(place: Place) -> Place:
    """The place of a key with dots as TOML has it when the key is not quoted: a table in a table."""
    return (*place[:-1], *place[-1].split(".")) if place and isinstance(place[-1], str) else place


def _keys(table: dict[str, Any]) -> int:
    return sum(_keys(value) if isinstance(value, dict) else 1 for value in table.values())


def _over(given: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """One table over the defaults of its kind."""
    merged = given | table
    for key, join in (("config", _merged), ("producer", _merged), ("application", _over)):
        low, high = given.get(key), table.get(key)
        if isinstance(low, dict) and isinstance(high, dict):
            merged[key] = join(low, high)
    return merged


def _merged(given: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """Two `config` tables as one: a quoted and an unquoted key of one name are the same key."""
    own = {name for _, name, _ in flat_config(config, ())}
    return _joined(_without(given, own), config)


def _without(table: dict[str, Any], names: set[str], prefix: str = "") -> dict[str, Any]:
    """A table without the keys whose dotted names are in `names`."""
    kept: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            kept[key] = _without(value, names, f"{prefix}{key}.")
        elif prefix + key not in names:
            kept[key] = value
    return kept


def _joined(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Two tables with no key in common, table by table."""
    joined = low | high
    for key in low.keys() & high.keys():
        if isinstance(low[key], dict) and isinstance(high[key], dict):
            joined[key] = _joined(low[key], high[key])
    return joined

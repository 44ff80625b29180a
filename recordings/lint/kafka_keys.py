"""Kafka's configuration keys by role: type, default, bounds. The data is `kafka_keys.tsv`."""

from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

Role = Literal["consumer", "producer", "admin", "streams", "broker", "topic"]

TABLE: Final = Path(__file__).with_name("kafka_keys.tsv")
NUMBERS: Final = frozenset({"INT", "LONG", "SHORT", "DOUBLE"})
_RANGES: Final = {"INT": 31, "LONG": 63, "SHORT": 15}
MOST_DIGITS: Final = 20
_NONE: Final = r"\N"


class KafkaKey(msgspec.Struct, frozen=True):
    """One key in one role. `type` is one of `ConfigDef.Type`; `default` is text, None without one.

    `choices`: the values that a STRING may have, of any when empty; one that ends in `:` is the beginning of a value.
    """

    name: str
    type: str
    default: str | None
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    any_case: bool

    def problem(self, text: str) -> str | None:
        """Why Kafka refuses a value of this key, without the value; None when it accepts it.

        Source: `ConfigDef.parseType` and its validators.
        """
        text = text.strip()
        if self.type == "BOOLEAN":
            return None if text.lower() in ("true", "false") else "is true or false"
        if self.type in NUMBERS:
            return self._problem_of_number(text)
        if self.choices and not any(self._is(text, choice) for choice in self.choices):
            return "is one of " + ", ".join(choice + ("…" if choice[-1] == ":" else "") for choice in self.choices)
        return None

    def _problem_of_number(self, text: str) -> str | None:
        number = number_of(text, self.type)
        if number is None:
            return "is a number" if self.type == "DOUBLE" else "is a whole number"
        if self.low is not None and number < self.low:
            return f"is at least {_plain(self.low)}"
        if self.high is not None and number > self.high:
            return f"is at most {_plain(self.high)}"
        return None

    def _is(self, text: str, choice: str) -> bool:
        if choice[-1] == ":":
            return text.startswith(choice)
        return text.lower() == choice.lower() if self.any_case else text == choice


def _plain(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)


def number_of(text: str, type_name: str = "LONG") -> float | int | None:
    """The number that a text is for Kafka (Java's `parseInt` and the like); None when it is none."""
    text = text.strip()
    digits = text[1:] if text[:1] in ("-", "+") else text
    if type_name == "DOUBLE":
        try:
            return float(text) if len(text) <= 2 * MOST_DIGITS else None
        except ValueError:
            return None
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS):
        return None
    number = int(text)
    bits = _RANGES[type_name]
    return number if -(1 << bits) <= number < 1 << bits else None


@cache
def kafka_keys(role: Role) -> dict[str, KafkaKey]:
    """The keys of a role by name."""
    return _tables()[role]


@cache
def all_names() -> frozenset[str]:
    """The names of all keys of all roles."""
    return frozenset(name for table in _tables().values() for name in table)


def roles_of(name: str) -> tuple[Role, ...]:
    """The roles that have a key of this name."""
    return tuple(role for role, table in _tables().items() if name in table)


@cache
def _tables() -> dict[Role, dict[str, KafkaKey]]:
    tables: dict[Role, dict[str, KafkaKey]] = {
        role: {} for role in ("consumer", "producer", "admin", "streams", "broker", "topic")
    }  # fmt: skip
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        roles, name, type_name, default, low, high, choices = line.split("\t")
        key = KafkaKey(
            name,
            type_name,
            None if default == _NONE else default,
            float(low) if low else None,
            float(high) if high else None,
            tuple(choices.removeprefix("~").split(",")) if choices else (),
            choices.startswith("~"),
        )
        for role in msgspec.convert(roles.split(","), list[Role]):
            tables[role][name] = key
    return tables

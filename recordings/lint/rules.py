"""The rules of `flightdeck lint`: read from `rules.toml`, each with its condition or its comparisons."""

import operator
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from recordings.lint.conditions import brokers, consumers, keys, producers
from recordings.lint.parts import Part, PartKind
from recordings.lint.world import Condition, Hit, World, spoken

TABLE: Final = Path(__file__).with_name("rules.toml")
CONDITIONS: Final[Mapping[str, Condition]] = {
    **keys.CONDITIONS, **consumers.CONDITIONS, **producers.CONDITIONS, **brokers.CONDITIONS,
}  # fmt: skip
"""The conditions of the rules without a comparison, by the name of their rule."""

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""The severities, the gravest first."""

_OPERATORS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": operator.lt, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
}  # fmt: skip


class LintRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule as `rules.toml` has it. `compare`: [key, operator, key or number], each of which may fire."""

    name: str
    severity: Severity
    kinds: tuple[PartKind, ...]
    says: str
    reason: str
    source: str
    lesson: str
    suggest: str = ""
    kip: str = ""
    classic: bool = False
    compare: tuple[tuple[str, Literal["<", ">", ">=", "=="], str | int], ...] = ()
    written: tuple[str, ...] = ()

    def hits(self, part: Part, world: World) -> Iterator[Hit]:
        """Where the rule fires in a part."""
        if part.kind not in self.kinds or (self.classic and part.word("group.protocol") == "consumer"):
            return
        if self.compare:
            yield from self._compared(part)
        else:
            yield from CONDITIONS[self.name](part, world)

    def _compared(self, part: Part) -> Iterator[Hit]:
        for left_key, sign, right_key in self.compare:
            left = part.number(left_key)
            right = part.number(right_key) if isinstance(right_key, str) else right_key
            keys = (left_key, *((right_key,) if isinstance(right_key, str) else ()))
            written = [key for key in keys if not self.written or key in self.written]
            if left is None or right is None or not any(part.has(key) for key in written):
                continue
            if _OPERATORS[sign](left, right):
                words = {"left_key": left_key, "left": spoken(left_key, left), "right_value": str(right)}
                words |= {"right_key": str(right_key), "right": spoken(str(keys[-1]), right)}
                yield Hit(tuple(sorted(keys, key=lambda key: not part.has(key))), words)


@cache
def rules() -> tuple[LintRule, ...]:
    """All rules, in the order of the table."""
    data = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return msgspec.convert(data["rule"], tuple[LintRule, ...])

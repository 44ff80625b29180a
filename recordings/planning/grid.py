"""The rows of a plan: every combination of the values of the varied keys, in the order in which they are given."""

from collections.abc import Mapping, Sequence
from itertools import product

import msgspec

from cluster.config import CONFIG_KEYS
from recordings.scenarios.overrides import SettingError, parse_setting

MOST_ROWS = 200
MOST_SEEDS = 1_000
LISTS = ("assignors", *(key.name for key in CONFIG_KEYS if key.kind == "list"))
"""The keys whose values are lists. In a value of `--vary`, `+` joins a list, because `,` parts the values."""

RowSettings = tuple[tuple[str | None, str, str], ...]


class Variation(msgspec.Struct, frozen=True):
    """A key to vary, in a scope as in `--set`, and its values."""

    scope: str | None
    key: str
    values: tuple[str, ...]

    @property
    def label(self) -> str:
        """The key as it is typed: `billing:session.timeout.ms`."""
        return f"{self.scope}:{self.key}" if self.scope else self.key


def parse_variation(text: str) -> Variation:
    """Read `[SCOPE:]KEY=VALUE,VALUE,…`. Raises SettingError."""
    try:
        scope, key, given = parse_setting(text)
    except SettingError:
        reason = f"{text!r} varies nothing: write it like KEY=VALUE,VALUE or SCOPE:KEY=VALUE,VALUE"
        raise SettingError(reason) from None
    values = tuple(value.strip() for value in given.split(","))
    if "" in values:
        raise SettingError(f"{text!r} has an empty value")
    if key.endswith(LISTS):
        values = tuple(value.replace("+", ",") for value in values)
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise SettingError(f"{text!r} has the value {twice[0]} twice")
    return Variation(scope, key, values)


def rows_of(variations: Sequence[Variation], fixed: Sequence[tuple[str | None, str, str]] = ()) -> list[RowSettings]:
    """The settings of every row, without the fixed ones. Raises SettingError."""
    if not variations:
        raise SettingError("nothing is varied: give --vary KEY=VALUE,VALUE")
    seen = {(scope, key) for scope, key, _ in fixed}
    for each in variations:
        if (each.scope, each.key) in seen:
            raise SettingError(f"{each.label} is given twice")
        seen.add((each.scope, each.key))
    count = 1
    for each in variations:
        count *= len(each.values)
    if count > MOST_ROWS:
        raise SettingError(f"{count:,} combinations are too many: a plan has at most {MOST_ROWS}")
    return [
        tuple((each.scope, each.key, value) for each, value in zip(variations, values, strict=True))
        for values in product(*(each.values for each in variations))
    ]


def refuse_hopeless(rows: Sequence[RowSettings], impossible: Mapping[int, str]) -> None:
    """Refuse all rows for a value that no row can have, which is a slip; a combination may be impossible.

    `impossible`: row → why its settings cannot be made. Raises SettingError.
    """
    hopeful = {setting for row, settings in enumerate(rows) if row not in impossible for setting in settings}
    reasons = dict.fromkeys(why for row, why in impossible.items() if not hopeful.issuperset(rows[row]))
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        raise SettingError(f"no flight was started: {next(iter(reasons))}{more}")


def texts_of(settings: Sequence[tuple[str | None, str, str]]) -> list[str]:
    """Settings as they are typed after `--set`."""
    return [f"{scope}:{key}={value}" if scope else f"{key}={value}" for scope, key, value in settings]

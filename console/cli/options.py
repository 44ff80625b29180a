"""What options of the command line say: durations, speeds, settings."""

# ruff: noqa: PLC0415 - what the command does not need is not imported

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.errors import UsageError, complain

if TYPE_CHECKING:
    from cyclopts import Token

    from recordings.scenarios.custom_code import Leave


MOST_DIGITS = 20


def whole_number(_type: object, tokens: "Sequence[Token]") -> int:
    """An option's whole number; cyclopts itself would round 1.5 to 2. Raises ValueError, saying what is wrong."""
    text = tokens[0].value
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"{text!r} is not a whole number")
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{text[:MOST_DIGITS]}… has more than {MOST_DIGITS} digits")
    return int(text)


Seed = Annotated[
    int | None, Parameter(help="Seed of everything random; default: the scenario's.", converter=whole_number)
]
Until = Annotated[
    str | None,
    Parameter(
        help="Virtual time to fly: 500us, 20ms, 30s, 10m, 2h; default: the scenario's.", allow_leading_hyphen=True
    ),
]
Sets = Annotated[
    list[str] | None,
    Parameter(
        name="--set", help="[SCOPE:]KEY=VALUE: a Kafka key or a field of the scenario; may be repeated.", negative=""
    ),
]

AllowCode = Annotated[
    bool,
    Parameter(help="Run the code that the scenario names (assignors of its own), and print which.", negative=""),
]
AllowCodeFrom = Annotated[
    Path | None,
    Parameter(
        name="--allow-code", help="Run the code that the recorded scenario names, from this directory; print which."
    ),
]


def leave_of(allowed: Path | bool | None) -> "Leave | None":
    """Leave to run code that is not ours, as an option says it: beside the scenario, or from a directory.

    Raises UsageError.
    """
    if allowed is None or allowed is False:
        return None
    from recordings.scenarios.custom_code import Leave

    if allowed is True:
        return Leave(complain)
    if not allowed.is_dir():
        raise UsageError(f"--allow-code: {allowed} is not a directory")
    return Leave(complain, allowed)


def duration_of(option: str, text: str | None) -> int | None:
    """Microseconds of an option's duration; None when it was not given. Raises UsageError."""
    from cluster.config import parse_duration

    if text is not None and re.match(r"-\s*[0-9]", text):
        raise UsageError(f"{option}: {text!r} is before the beginning: a flight goes forwards, e.g. 30s")
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def speed_of(text: str | None) -> float:
    """Virtual seconds a second; without a text as fast as possible. Raises UsageError."""
    if text is None:
        return float("inf")
    try:
        speed = float(text.strip("x×"))
    except ValueError:
        raise UsageError(f"--speed: {text!r} is not a number of virtual seconds a second: write it like 20") from None
    if not speed > 0:
        raise UsageError("--speed: a speed is above zero")
    return speed


def settings_of(texts: list[str] | None) -> list[tuple[str | None, str, str]]:
    """Each `--set` as (scope, key, value). Raises SettingError."""
    if not texts:
        return []
    from recordings.scenarios.overrides import parse_setting

    return [parse_setting(text) for text in texts]

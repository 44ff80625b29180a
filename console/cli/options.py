"""Parsed options of the command line: durations, speeds, settings, numbers."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.errors import UsageError, print_error

if TYPE_CHECKING:
    from cyclopts import Token

    from recordings.scenarios.custom_code import Leave


MOST_DIGITS = 20
LARGEST_PORT = 65_535


def whole_number(_type: object, tokens: "Sequence[Token]") -> int:
    """Parse a whole number; cyclopts itself would round 1.5 to 2. Raises ValueError with the reason."""
    text = tokens[0].value
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"{text!r} is not a whole number")
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{text[:MOST_DIGITS]}… has more than {MOST_DIGITS} digits")
    return int(text)


Metrics = Annotated[
    int | None,
    Parameter(
        help="Serve Prometheus metrics of it on this port of 127.0.0.1, 0: on a free one.", converter=whole_number
    ),
]


Seed = Annotated[int | None, Parameter(help="Seed of all randomness; default: the scenario's.", converter=whole_number)]
Until = Annotated[
    str | None,
    Parameter(
        help="Virtual time to fly: 500us, 20ms, 30s, 10m, 2h, 1h5m; default: the scenario's.", allow_leading_hyphen=True
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
    Parameter(help="Run the code that the scenario names (custom assignors), and print its files.", negative=""),
]
AllowCodeFrom = Annotated[
    Path | None,
    Parameter(
        name="--allow-code",
        help="Run the recorded scenario's code from this directory, and print its files.",
    ),
]

Theme = Annotated[
    str | None,
    Parameter(help="The console's colours: dark, light, contrast, mono, or the terminal's own (terminal)."),
]


def theme_of(name: str | None) -> str | None:
    """The theme that an option names; None without one. Raises UsageError."""
    from cluster.config import nearest
    from console.themes.names import THEME_NAMES

    if name is None or name in THEME_NAMES:
        return name
    like = nearest(name, tuple(THEME_NAMES))
    suggestion = f" (did you mean {like}?)" if like else ""
    raise UsageError(f"--theme: there is no theme {name!r}{suggestion}: {', '.join(THEME_NAMES)}")


def leave_of(allowed: Path | bool | None) -> "Leave | None":
    """The permission to run a scenario's own code: from beside the scenario, or from a directory; None without one.

    Raises UsageError.
    """
    if allowed is None or allowed is False:
        return None
    from recordings.scenarios.custom_code import Leave

    if allowed is True:
        return Leave(print_error)
    if not allowed.is_dir():
        raise UsageError(f"--allow-code: {allowed} is not a directory")
    return Leave(print_error, allowed)


def duration_of(option: str, text: str | None) -> int | None:
    """An option's duration in µs; None if it was not given. Raises UsageError."""
    from cluster.config import parse_duration

    if text is not None and re.match(r"-\s*[0-9]", text):
        raise UsageError(f"{option}: {text!r} is negative: write a duration like 30s")
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def playback_speed_of(text: str | None) -> float:
    """The speed of a recording's playback, backwards below zero; 1 without a text. Raises UsageError."""
    from recordings.journal.playback import FASTEST, SLOWEST

    speed = 1.0 if text is None else _number_of_speed(text)
    if not SLOWEST <= abs(speed) <= FASTEST:
        raise UsageError(f"--speed: a recording is played at {SLOWEST:g} to {FASTEST:g}, or backwards at -4")
    return speed


def speed_of(text: str | None) -> float:
    """Virtual seconds per second; as fast as possible without a text. Raises UsageError."""
    if text is None:
        return float("inf")
    speed = _number_of_speed(text)
    if not speed > 0:
        raise UsageError("--speed: a speed is above zero; only `play` runs backwards")
    return speed


def _number_of_speed(text: str) -> float:
    try:
        return float(text.strip("x×"))
    except ValueError:
        raise UsageError(f"--speed: {text!r} is not a number of virtual seconds per second: write it like 20") from None


def settings_of(texts: list[str] | None) -> list[tuple[str | None, str, str]]:
    """Every `--set` as (scope, key, value). Raises SettingError."""
    if not texts:
        return []
    from recordings.scenarios.overrides import parse_setting

    return [parse_setting(text) for text in texts]

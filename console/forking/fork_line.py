"""The lines `fork` (an instant, and one change at it) and `undo`."""

import re
from typing import NamedTuple

from cluster.commands import CommandError, Names, complete, parse
from console.time_input import Instant, parse_instant

Setting = tuple[str | None, str, str]

FORK_USAGE = "fork [at TIME] [until TIME] {do COMMAND | set [SCOPE:]KEY=VALUE}, or fork cancel"
NO_COMPARISON = "there is no comparison yet: F, or `fork at TIME do COMMAND`"
_INSTANT = re.compile(r"\s*(at|until)\s+(\S+)\s*")
_WORDS = ("at", "until", "do", "set", "cancel")


class Fork(NamedTuple):
    """Another course from an instant on (None: the shown one), by a command or by settings."""

    at: Instant | None = None
    until: Instant | None = None
    command: str = ""
    settings: tuple[Setting, ...] = ()

    @property
    def words(self) -> str:
        """The change as it was typed."""
        said = (f"{scope}:{key}={value}" if scope else f"{key}={value}" for scope, key, value in self.settings)
        return self.command or " ".join(said)


class ForkCancel(NamedTuple):
    """End the fork that is being flown."""


class Undo(NamedTuple):
    """Go on with the live flight from the instant before its last command."""


def read_fork(rest: str, column: int, names: Names) -> Fork | ForkCancel:
    """Read what follows `fork`, which begins at a column. Raises CommandError."""
    if rest == "cancel":
        return ForkCancel()
    instants: dict[str, Instant] = {}
    place = 0
    while (match := _INSTANT.match(rest, place)) is not None:
        word, text = match.groups()
        instant = parse_instant(text)
        if instant is None:
            raise CommandError(f"there is no time `{text}`: write 12m30s, 1:20.5 or -10s", column + match.start(2))
        instants[word] = instant
        place = match.end()
    word, _, change = rest[place:].partition(" ")
    at = column + place + len(word) + 1
    if word == "do" and change.strip():
        try:
            parse(change, names)
        except CommandError as error:
            raise CommandError(error.message, at + error.column, error.suggestion) from None
        return Fork(instants.get("at"), instants.get("until"), command=change.strip())
    if word == "set" and change.strip():
        return Fork(instants.get("at"), instants.get("until"), settings=_settings(change, at))
    raise CommandError(f"an argument is missing: {FORK_USAGE}", column + place)


def _settings(text: str, column: int) -> tuple[Setting, ...]:
    from recordings.scenarios.loader import SettingError  # noqa: PLC0415 - not needed before a setting is typed
    from recordings.scenarios.overrides import parse_setting  # noqa: PLC0415

    try:
        return tuple(parse_setting(word) for word in text.split())
    except SettingError as error:
        raise CommandError(str(error), column) from None


def fork_completions(rest: str, names: Names) -> list[str]:
    """The words that may follow `fork REST`."""
    before, done, command = rest.partition("do ")
    if done and not before.rstrip().endswith(("at", "until")):
        return complete(command, names)
    last = "" if not rest or rest[-1].isspace() else rest.rsplit(maxsplit=1)[-1]
    typed = rest.split()[:-1] if last else rest.split()
    if typed[-1:] in (["at"], ["until"]) or "set" in typed or "cancel" in typed:
        return []
    words = [word for word in _WORDS if word not in typed and (word != "cancel" or not typed)]
    return [word for word in words if word.startswith(last) and word != last]

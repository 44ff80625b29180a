"""Settings that the console remembers from one start to the next: one JSON file in the user's configuration directory.

A new setting is a field of `ConsoleSettings` with a default. Change the field, then call `SettingsFile.save`.
A damaged file is renamed aside and reported once. A directory that cannot be written is no error: the settings then
last as long as the console.
"""

import os
import tempfile
from pathlib import Path

import msgspec

from recordings.bounded_files import RecordingError, decoded, read_ours

DIRECTORY_VARIABLE = "FLIGHTDECK_CONFIG_DIR"
FILE_NAME, DAMAGED_NAME = "settings.json", "settings.damaged.json"
MOST_BYTES = 1 << 20
MOST_COMMANDS = 200


class ConsoleSettings(msgspec.Struct):
    """The remembered settings. The console that reads a value checks that it still exists, a theme for example."""

    theme: str = ""
    """The name of the theme; empty for the default."""
    commands: list[str] = []
    """The last command lines, oldest first."""
    presets: dict[str, str] = {}
    """The arrangement of panels that was chosen last, by the kind of screen."""


_DECODER, _RAW = msgspec.json.Decoder(ConsoleSettings), msgspec.json.Decoder(dict[str, object])


def config_directory() -> Path | None:
    """The user's configuration directory; None if `FLIGHTDECK_CONFIG_DIR` is set and empty: nothing is kept then."""
    given = os.environ.get(DIRECTORY_VARIABLE)
    if given is not None:
        return Path(given) if given else None
    import platformdirs  # noqa: PLC0415 - not needed when the variable is set

    return platformdirs.user_config_path("flightdeck")


class SettingsFile:
    """The settings and their file in a directory; without a directory they last as long as the console.

    `notice`: what was wrong with the file when it was read; empty if it was whole or absent.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory
        self.notice = ""
        self.settings = self._read()
        self._saved = self._fields()

    def save(self) -> str:
        """Write the changed fields, over what another console has written since. Returns why not, or an empty text."""
        changed = {name: value for name, value in self._fields().items() if self._saved.get(name) != value}
        self._saved = self._fields()
        if self.directory is None or not changed:
            return ""
        try:
            self._write({**self._stored(self._path), **changed})
        except OSError as error:
            return f"settings are not saved: {error.strerror or error}"
        return ""

    @property
    def _path(self) -> Path:
        """The file itself, where its name is a link to it: people keep their configuration elsewhere."""
        assert self.directory is not None
        return Path(os.path.realpath(self.directory / FILE_NAME))

    def _fields(self) -> dict[str, object]:
        fields = msgspec.to_builtins(self.settings)
        assert isinstance(fields, dict)
        return fields

    def _read(self) -> ConsoleSettings:
        if self.directory is None:
            return ConsoleSettings()
        path = self._path
        try:
            return decoded(read_ours(path, MOST_BYTES), _DECODER)
        except FileNotFoundError:
            return ConsoleSettings()
        except OSError as error:
            self.notice = f"{path} cannot be read ({error.strerror or error}): defaults are used"
        except RecordingError as error:
            self.notice = f"{path} is damaged ({error}): defaults are used{self._set_aside(path)}"
        return ConsoleSettings()

    @staticmethod
    def _set_aside(path: Path) -> str:
        try:
            path.replace(path.with_name(DAMAGED_NAME))
        except OSError:  # a read-only directory: the file stays where it is
            return ""
        return f", the file is now {DAMAGED_NAME}"

    @staticmethod
    def _stored(path: Path) -> dict[str, object]:
        """What the file holds now, with fields of later releases."""
        try:
            return decoded(read_ours(path, MOST_BYTES), _RAW)
        except (FileNotFoundError, RecordingError):
            return {}

    def _write(self, fields: dict[str, object]) -> None:
        """Replace the file at once: a console that is killed leaves the old file or the new one."""
        path = self._path
        path.parent.mkdir(parents=True, exist_ok=True)
        content = msgspec.json.format(msgspec.json.encode(fields), indent=2)
        descriptor, name = tempfile.mkstemp(prefix=FILE_NAME, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

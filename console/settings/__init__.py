"""What the console keeps for its user: remembered settings, and a keymap that the user writes."""

from console.settings.keymap import Keymap, read_keymap, shown_key
from console.settings.settings_file import ConsoleSettings, SettingsFile, config_directory

__all__ = ["ConsoleSettings", "Keymap", "SettingsFile", "config_directory", "read_keymap", "shown_key"]

"""What the console keeps for its user: remembered settings, and a keymap that the user writes."""

from console.settings.settings_file import ConsoleSettings, SettingsFile, config_directory

__all__ = ["ConsoleSettings", "SettingsFile", "config_directory"]

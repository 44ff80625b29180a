"""Settings survive a restart, another console, a damaged file and a directory that cannot be written."""

from pathlib import Path

import msgspec
import pytest

from console.settings import ConsoleSettings, SettingsFile, config_directory

FILE = "settings.json"


def test_a_setting_is_there_at_the_next_start(tmp_path: Path) -> None:
    first = SettingsFile(tmp_path / "deep" / "down")
    first.settings.theme = "flightdeck-light"
    first.settings.commands.append("kill broker-2")
    assert first.save() == ""
    again = SettingsFile(tmp_path / "deep" / "down")
    assert again.settings == ConsoleSettings(theme="flightdeck-light", commands=["kill broker-2"])
    assert again.notice == ""
    assert [path.name for path in (tmp_path / "deep" / "down").iterdir()] == [FILE]


def test_two_consoles_and_a_later_release_keep_each_others_fields(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"theme": "a", "of_a_later_release": [1, 2]}', encoding="utf-8")
    one, other = SettingsFile(tmp_path), SettingsFile(tmp_path)
    one.settings.theme = "b"
    other.settings.commands = ["undo"]
    assert one.save() == other.save() == ""
    assert msgspec.json.decode((tmp_path / FILE).read_bytes()) == {
        "theme": "b",
        "of_a_later_release": [1, 2],
        "commands": ["undo"],
    }


DAMAGED = [b"", b"{", b'{"theme": 5}', b"[]", b"\xff\xfe", b"[" * 100_000, b'{"theme": "%s"}' % (b"x" * (1 << 20))]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_renamed_and_reported_once(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    damaged = SettingsFile(tmp_path)
    assert damaged.settings == ConsoleSettings()
    assert "is damaged" in damaged.notice
    assert "the file is now settings.damaged.json" in damaged.notice
    assert (tmp_path / "settings.damaged.json").read_bytes() == content
    assert SettingsFile(tmp_path).notice == ""


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")  # a directory without permission would not stop root
    settings = SettingsFile(tmp_path / "file" / "below")
    settings.settings.theme = "flightdeck-mono"
    assert settings.save().startswith("settings are not saved: ")
    assert settings.settings.theme == "flightdeck-mono"
    assert settings.save() == ""  # said once
    (tmp_path / "taken" / FILE).mkdir(parents=True)
    taken = SettingsFile(tmp_path / "taken")
    assert "defaults are used" in taken.notice


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / FILE).symlink_to(tmp_path / "dotfiles" / "flightdeck.json")
    settings = SettingsFile(tmp_path)
    settings.settings.theme = "flightdeck-mono"
    assert settings.save() == ""
    assert (tmp_path / FILE).is_symlink()
    assert SettingsFile(tmp_path).settings.theme == "flightdeck-mono"


def test_without_a_directory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLIGHTDECK_CONFIG_DIR", "")
    monkeypatch.chdir(tmp_path)
    settings = SettingsFile(config_directory())
    settings.settings.theme = "flightdeck-mono"
    assert settings.save() == ""
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_the_users_or_the_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLIGHTDECK_CONFIG_DIR", str(tmp_path))
    assert config_directory() == tmp_path
    monkeypatch.delenv("FLIGHTDECK_CONFIG_DIR")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    assert config_directory() is not None
    assert "flightdeck" in str(config_directory())

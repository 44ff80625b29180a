"""A keymap gives actions other keys; one with a mistake changes nothing and says where the mistake is."""

import re
from pathlib import Path

import pytest

from console.actions import ACTIONS, default_keys
from console.app import FlightdeckApp
from console.settings import SettingsFile, read_keymap, shown_key
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight

DOCUMENT = Path(__file__).parents[3] / "docs" / "keymap.md"


def read(tmp_path: Path, text: str) -> tuple[dict[str, str], str]:
    (tmp_path / "keymap.toml").write_text(text, encoding="utf-8")
    return tuple(read_keymap(tmp_path, default_keys()))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "text",
    [
        '"time.pause" = ["Z", "ctrl+t"]\n"act.fault" = "!"',
        'time.pause = ["Z", "ctrl+t"]\nact.fault = "!"',
        '[time]\npause = ["Z", "ctrl+t"]\n[act]\nfault = "!"',
    ],
)
def test_an_id_is_written_in_any_way_of_toml(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == ({"time.pause": "Z,ctrl+t", "act.fault": "exclamation_mark"}, "")


def test_keys_can_be_exchanged(tmp_path: Path) -> None:
    keys, notice = read(tmp_path, 'act.fault = "w"\nact.why = "f"\npanel.up = ["up", "K"]\ncomparison.keep = ","')
    assert notice == ""
    assert keys["panel.up"] == "up,K"
    assert keys["comparison.keep"] == "comma"


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ('\n"time.pase" = "P"', 2, "there is no action time.pase (did you mean time.pause?)"),
        ("time.pause = P", 1, "Invalid value"),
        ('time.pause = "P"\ntime.pause = "Q"', 2, "Cannot overwrite a value"),
        ("[time]\npause = 5", 2, "the keys of time.pause are a text or a list of texts"),
        ("act.why = []", 1, "the keys of act.why are a text or a list of texts"),
        ('act.why = "hyper+x"', 1, "the modifiers of a key are ctrl, alt and shift, not hyper"),
        ('act.why = "shift+x"', 1, "shift+x is written X"),
        ('act.why = "pagedwn"', 1, "there is no key pagedwn (did you mean pagedown?)"),
        ('act.why = "f"', 1, "f is the key of act.fault, too"),
        ('act.why = "Q"\nact.fault = "Q"', 1, "Q is the key of act.fault, too"),
        ('act.why = "j"', 1, "j is the key of panel.down, too"),
    ],
)
def test_a_mistake_is_found_with_its_line_and_changes_nothing(
    tmp_path: Path, text: str, where: int, reason: str
) -> None:
    keys, notice = read(tmp_path, text)
    assert keys == {}
    assert notice.startswith(f"{tmp_path / 'keymap.toml'}:{where}: ")
    assert reason in notice
    assert notice.endswith("; the default keys are in force")


@pytest.mark.parametrize("content", [b"\xff", b"x" * 100_000, b"a = " + b"[" * 10_000])
def test_no_content_stops_the_console(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "keymap.toml").write_bytes(content)
    keys, notice = read_keymap(tmp_path, default_keys())
    assert keys == {}
    assert "the default keys are in force" in notice


def test_a_directory_in_its_place_and_no_file_at_all(tmp_path: Path) -> None:
    assert read_keymap(None, {}) == ({}, "")
    assert read_keymap(tmp_path, {}) == ({}, "")
    (tmp_path / "keymap.toml").mkdir()
    assert "it is not a file" in read_keymap(tmp_path, {}).notice


@pytest.mark.parametrize(
    ("key", "shown"), [("full_stop", "."), ("ctrl+s", "ctrl+s"), ("escape", "esc"), ("f2", "f2"), ("tab", "tab")]
)
def test_keys_are_shown_as_they_are_pressed(key: str, shown: str) -> None:
    assert shown_key(key) == shown


def test_the_mapped_key_acts_is_shown_and_replaces_the_default(tmp_path: Path) -> None:
    (tmp_path / "keymap.toml").write_text(
        'time.pause = "Z"\nact.fault = "full_stop"\ntime.step = "x"\ncomparison.swap = "W"'
    )
    app = FlightdeckApp(source=StillFlight())
    app.remember_in(SettingsFile(tmp_path))

    async def script(seat: Seat) -> None:
        assert seat.notices() == []
        await seat.press("Z")
        assert seat.asked == ["pause"]
        await seat.press("space")
        assert seat.asked == ["pause"]
        await seat.press("x")
        assert seat.asked == ["pause", "step None"]
        await seat.wait_for(lambda: "Z resume" in seat.text())  # the next frame reads the clock
        assert app.keys_by_action()["act.fault"] == "."

    sit(script, app=app)


def test_a_mistake_is_said_once_the_flight_begins(tmp_path: Path) -> None:
    (tmp_path / "keymap.toml").write_text('time.pase = "P"', encoding="utf-8")
    app = FlightdeckApp(source=StillFlight())
    app.remember_in(SettingsFile(tmp_path))

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: any("did you mean time.pause" in notice for notice in seat.notices()))
        await seat.press("space")
        assert seat.asked == ["pause"]

    sit(script, app=app)


def test_the_document_has_every_id_with_its_keys() -> None:
    rows = [
        row
        for row in DOCUMENT.read_text(encoding="utf-8").partition("## What the console remembers")[0].splitlines()
        if row.startswith("| `")
    ]
    help_of = {action.id: action.help for action in ACTIONS}
    wanted = []
    for name, keys in default_keys().items():
        shown = " ".join(f"`{shown_key(key)}`" for key in keys.split(","))
        wanted.append(f"| `{name}` | {shown} | {help_of.get(name, 'in a list')} |")
    assert rows == wanted


def test_the_example_of_the_page_is_taken(tmp_path: Path) -> None:
    """As a reader copies it, and each line alone."""
    (example,) = re.findall(r"```toml\n(.+?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    keys, notice = read(tmp_path, example)
    assert (len(keys), notice) == (len(example.splitlines()), "")
    for row in example.splitlines():
        assert read(tmp_path, row)[1] == ""

"""Tests of the console wait for its event loop, and do not sleep."""

import pytest

from tests.support.console.stillness import wait_until_still


@pytest.fixture(autouse=True)
def still_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.pilot.wait_for_idle", wait_until_still)
    monkeypatch.setattr("textual.app.wait_for_idle", wait_until_still)

"""`flightdeck --web` in headless Chromium: it paints, a key reaches the console, no other host is asked."""

import asyncio
from pathlib import Path

from tests.support.browser import IN_CHROMIUM, chromium
from tests.support.console.web_console import served

pytestmark = IN_CHROMIUM


def test_a_key_pressed_in_the_browser_changes_the_screen(tmp_path: Path) -> None:
    async def script() -> None:
        async with served() as server, chromium(tmp_path / "profile") as browser:
            await browser.do("Network.enable")
            await browser.do("Page.enable")
            await browser.do("Emulation.setFocusEmulationEnabled", enabled=True)  # the tab is the one in front
            await browser.do("Page.navigate", url=server.address)
            await browser.until("● up")
            await browser.until_true("document.activeElement.className == 'xterm-helper-textarea'")  # without a click
            await browser.press(" ")
            await browser.until("PAUSED")
            paused = await browser.until_painted()
            await browser.press(":")
            assert await browser.until_painted(before=paused)
            base = "/".join(server.address.split("/")[:3])
            asked = [one for one in browser.asked if not one.startswith(("data:", "blob:"))]
            assert {one.replace("ws:", "http:").startswith(base) for one in asked} == {True}, asked
            assert await server.interrupt() == 0
            await browser.until_true("document.activeElement.textContent == 'Start it again'")

    asyncio.run(script())

"""Headless Chromium by its DevTools protocol."""

import asyncio
import base64
import json
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.console.terminal_emulator import Terminal
from tests.support.console.web_console import PATIENCE_SECONDS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MOST_SAID_BYTES = 2**28  # kept unread, so that Chromium never waits to complain
IN_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.timeout(400),  # a browser on a busy machine
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
]
"""The marks of a test that needs it."""


class Browser:
    """A tab of Chromium by its DevTools protocol."""

    def __init__(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        self._websocket, self._numbers = websocket, count(1)
        self.terminal = Terminal(300, 100)
        self.asked: list[str] = []

    async def do(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol; its answer."""
        number = next(self._numbers)
        await self._websocket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (answer := await self._next()).get("id") != number:
                pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def until(self, words: str) -> None:
        """Until the console has written something to the page."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while words not in self.terminal.text():
                await self._next()

    async def until_true(self, expression: str) -> None:
        """Until an expression is true in the page."""
        look = f"new Promise(done => {{ const look = () => {expression} ? done() : setTimeout(look, 50); look(); }})"
        await self.do("Runtime.evaluate", expression=look, awaitPromise=True)

    async def until_painted(self, before: str = "") -> str:
        """Until the page's picture is another one and stays as it is; the picture."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            last, picture = "", await self._picture()
            while picture in {before, ""} or picture != last:
                last, picture = picture, await self._picture()
        return picture

    async def _picture(self) -> str:
        data: str = (await self.do("Page.captureScreenshot"))["data"]
        return data

    async def press(self, key: str) -> None:
        """Press a key of the keyboard."""
        for kind in ("keyDown", "keyUp"):
            await self.do("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    async def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads((await self._websocket.receive()).data)
        parameters = message.get("params", {})
        if message.get("method") == "Network.webSocketFrameReceived" and parameters["response"]["opcode"] == 2:
            data = base64.b64decode(parameters["response"]["payloadData"])
            self.terminal.write(data.decode(errors="replace"))
        if message.get("method") == "Network.requestWillBeSent":
            self.asked.append(parameters["request"]["url"])
        if message.get("method") == "Network.webSocketCreated":
            self.asked.append(parameters["url"])
        return message


@asynccontextmanager
async def chromium(room: Path) -> AsyncIterator[Browser]:
    """A headless browser with an empty tab."""
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--window-size=1400,900")
    words = [str(CHROMIUM), *flags, "--no-first-run", f"--user-data-dir={room}", "about:blank"]
    process = await asyncio.create_subprocess_exec(*words, stdout=DEVNULL, stderr=PIPE, limit=MOST_SAID_BYTES)
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "DevTools listening on" not in (line := (await process.stderr.readline()).decode()):
                assert line, "Chromium did not start"
        base = line.split()[-1].replace("ws:", "http:").partition("/devtools")[0]
        async with aiohttp.ClientSession() as session:
            async with session.put(f"{base}/json/new?about:blank") as answer:
                tab = await answer.json()
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as websocket:
                yield Browser(websocket)
    finally:
        process.kill()
        await process.wait()

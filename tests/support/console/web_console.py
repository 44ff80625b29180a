"""`flightdeck --web` as a process, for a client of its page and its websocket."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from tests.support.console.terminal_emulator import Terminal
from tests.support.repository import ROOT

PATIENCE_SECONDS = 100.0


class ServedConsole:
    """A server, its address, and what it said."""

    def __init__(self, process: Process, address: str) -> None:
        self.process, self.address = process, address

    async def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return await asyncio.wait_for(self.process.wait(), PATIENCE_SECONDS)


@asynccontextmanager
async def served(*options: str) -> AsyncIterator[ServedConsole]:
    """A server of `flightdeck` with these options, on a free port."""
    words = [*options, "--web", "--port", "0"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "console.cli", *words, cwd=ROOT, stdout=PIPE, stderr=PIPE, env=dict(os.environ)
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_SECONDS)
        yield ServedConsole(process, line.decode().split()[-1])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Tab:
    """A browser's tab, as the server sees it: keys go in, cells come out."""

    def __init__(self, websocket: aiohttp.ClientWebSocketResponse, size: tuple[int, int]) -> None:
        self._websocket = websocket
        self.terminal = Terminal(*size)
        self.closed = False

    async def press(self, keys: str) -> None:
        """Type keys into the console."""
        await self._websocket.send_json(["stdin", keys])

    async def until(self, words: str) -> None:
        """Until the screen shows something."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while words not in self.terminal.text():
                assert await self._read(), self.terminal.text()

    async def until_closed(self) -> None:
        """Until the console has ended."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self._read():
                pass

    async def _read(self) -> bool:
        message = await self._websocket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            self.terminal.write(message.data.decode(errors="replace"))
        return message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}


@asynccontextmanager
async def opened(address: str, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Tab]:
    """A tab with the page at an address."""
    url = f"{address}ws?width={size[0]}&height={size[1]}".replace("http:", "ws:")
    async with aiohttp.ClientSession() as session, session.ws_connect(url, max_msg_size=0) as websocket:
        await websocket.send_json(["focus"])
        yield Tab(websocket, size)

"""The server of `flightdeck --web`: textual-serve on the loopback interface, without a network.

Each browser tab gets a console process of its own, as each terminal does. textual-serve serves any host, loads a font
from another one and waits for a minute when it ends; this server does none of that:

* It listens on 127.0.0.1. A page of another site can still send requests there, so it answers only requests that name
  this server as their host, and opens a websocket only for its own page.
* Its address has a key: other users of the machine do not know it, and a console writes files.
* The page takes the font from textual-serve's own files, and its policy lets a browser load nothing else.
* At its end it asks the consoles to quit, which closes their recordings, and after a second ends them. Where the server
  is killed, they end by themselves.
"""

import asyncio
import contextlib
import errno
import secrets
import signal
import sys
import weakref
from collections.abc import Awaitable, Callable, Sequence
from html import escape
from pathlib import Path
from shlex import join
from string import Template
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from console.web.driver import ServedWebDriver

HOST = "127.0.0.1"
HOST_NAMES = (HOST, "localhost")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLOSE_SECONDS = 20.0  # for a console whose tab is closed: it may have a long recording to close
QUIT_SECONDS = 1.0  # the same at the server's end
SHUTDOWN_SECONDS = 0.3  # for what browsers still read
PAGE = Path(__file__).parent / "page" / "index.html"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; font-src 'self' data:;"
    " img-src 'self' data:; connect-src 'self' ws://{host}; frame-ancestors 'none'"
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PortError(Exception):
    """The port cannot be listened on; the text says why."""


class ConsoleSession(AppService):
    """The console process of one tab."""

    close_seconds = CLOSE_SECONDS

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment = super()._build_environment(width, height)
        driver = f"{ServedWebDriver.__module__}:{ServedWebDriver.__qualname__}"
        terminal = {"LINES": str(height), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        return environment | terminal | {"TEXTUAL_DRIVER": driver}

    async def stop(self) -> None:
        """Ask the console to quit, and end its process if it has not done so in `close_seconds`."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(super().stop(), self.close_seconds)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, TimeoutError):
                await asyncio.wait_for(process.wait(), 0.1)  # its output has ended, and so it is about to
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


class ConsoleServer(Server):
    """One page, its websocket, and a console process for each tab.

    `arguments`: those of `flightdeck` for the console of each tab. `port`: 0 takes a free one.
    """

    def __init__(self, arguments: Sequence[str], port: int, title: str) -> None:
        command = join([sys.executable, "-m", "console.cli", *arguments])
        super().__init__(f"exec {command}", HOST, port, title)
        self.key = secrets.token_urlsafe(12)
        self._sessions: weakref.WeakSet[ConsoleSession] = weakref.WeakSet()
        self._page = Template(PAGE.read_text(encoding="utf-8"))

    async def run(self, say: Callable[[str], object]) -> None:
        """Serve until a signal; `say` gets the page's address. Raises PortError."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        for number in SIGNALS:
            loop.add_signal_handler(number, ended.set)
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await self._listen(runner)
            say(f"http://{HOST}:{self.port}/{self.key}/")
            await ended.wait()
        finally:
            for session in self._sessions:
                session.close_seconds = QUIT_SECONDS
            await asyncio.gather(*(session.stop() for session in list(self._sessions)))
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        try:
            await web.TCPSite(runner, HOST, self.port).start()
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise PortError(
                f"port {self.port} of {HOST} {reason}: choose another one, or --port 0 for a free one"
            ) from None
        self.port = runner.addresses[0][1]

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[_refuse_others])
        application.add_routes(
            [
                web.get(f"/{self.key}/", self.handle_index),
                web.get(f"/{self.key}/ws", self.handle_websocket),
                web.get("/download/{key}", self.handle_download),
                web.static("/static", self.statics_path),
            ]
        )
        return application

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page."""
        text = self._page.substitute(
            title=escape(self.title),
            websocket=escape(f"ws://{request.host}/{self.key}/ws"),
            font_size=to_int(request.query.get("fontsize", ""), 16),
        )
        policy = {"Content-Security-Policy": POLICY.format(host=request.host), "Referrer-Policy": "no-referrer"}
        return web.Response(text=text, content_type="text/html", headers=policy)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """The terminal of a tab: its console starts with the websocket and ends with it."""
        websocket = web.WebSocketResponse(heartbeat=15)
        await websocket.prepare(request)

        async def close() -> None:
            await websocket.close()

        session = ConsoleSession(
            self.command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=close,
            download_manager=self.download_manager,
        )
        self._sessions.add(session)
        try:
            await session.start(to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24))
            await self._process_messages(websocket, session)
        finally:
            await session.stop()
        return websocket


@web.middleware
async def _refuse_others(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer what this server's own page asks for."""
    host = urlsplit(f"//{request.host}").hostname
    origin = request.headers.get("Origin")
    if host not in HOST_NAMES or (origin is not None and urlsplit(origin).netloc != request.host):
        raise web.HTTPForbidden(text=f"This server answers only to its own page on {HOST}.")
    return await handler(request)

"""`flightdeck --web`: its page, its websocket, its end. In a real browser: `test_in_browser.py`."""

import asyncio
import re
import socket
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from textual_serve.server import Server

from console.web.command import words_of
from console.web.server import ConsoleServer
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.console.command_processes import Ended, in_a_process
from tests.support.console.web_console import PATIENCE_SECONDS, opened, served

pytestmark = pytest.mark.timeout(300)  # each starts a server, and a console for each tab


def run(script: Coroutine[Any, Any, None]) -> None:
    asyncio.run(script)


@pytest.mark.slow
def test_a_key_changes_the_screen_and_q_ends_the_console() -> None:
    async def script() -> None:
        async with served("--until", "60s") as server, opened(server.address) as tab:
            await tab.until("● up")
            await tab.press(" ")
            await tab.until("PAUSED")
            await tab.press("q")
            await tab.until_closed()
            code = await server.interrupt()
            assert code == 0

    run(script())


@pytest.mark.slow
def test_ctrl_c_ends_the_server_and_the_consoles_at_once() -> None:
    async def script() -> None:
        async with served() as server, opened(server.address) as tab:
            await tab.until("● up")
            assert await server.interrupt() == 0  # within two seconds: tests/bench/test_bench_ends.py
            await tab.until_closed()
            assert server.process.stderr is not None
            assert b"Traceback" not in await server.process.stderr.read()

    run(script())


def test_a_recording_is_played_in_a_tab(tmp_path: Path) -> None:
    fly(make_plan(load("first-flight"), until_us=5_000_000), record=tmp_path / "a.flight")

    async def script() -> None:
        async with served("play", str(tmp_path / "a.flight")) as server, opened(server.address, (80, 24)) as tab:
            await tab.until("● up")
            await tab.press(":theme light\r")
            await tab.until("theme: light")

    run(script())


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="Linux says which processes there are")
def test_a_console_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    """A paused recording writes nothing, so that it does not hear that nothing reads."""
    path = tmp_path / "a.flight"
    fly(make_plan(load("first-flight"), until_us=5_000_000), record=path)

    def consoles() -> list[str]:
        every = Path("/proc").glob("[0-9]*/cmdline")
        return [one.parent.name for one in every if str(path).encode() in _read(one)]

    async def script() -> None:
        async with served("play", str(path)) as server, opened(server.address) as tab:
            await tab.until("● up")
            assert len(consoles()) == 2  # the server, and the console of the tab
            server.process.kill()

    run(script())
    patience = time.monotonic() + PATIENCE_SECONDS
    while consoles() and time.monotonic() < patience:
        time.sleep(0.1)
    assert consoles() == []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # the process has ended meanwhile
        return b""


def test_the_page_needs_no_other_host_and_answers_no_other_page() -> None:
    async def script() -> None:
        async with served() as server, aiohttp.ClientSession() as session:
            base = "/".join(server.address.split("/")[:3])
            async with session.get(server.address) as page:
                text, policy = await page.text(), page.headers["Content-Security-Policy"]
            assert page.status == 200
            wanted = re.findall(r'(?:src|href)="([^"]+)"|url\("([^"]+)"\)', text)
            local = [one for pair in wanted for one in pair if one and not one.startswith("data:")]
            assert len(local) == 4
            for path in local:
                assert path.startswith("/static/")
                async with session.get(base + path) as asset:
                    assert asset.status == 200
            port = base.rpartition(":")[2]
            with socket.socket() as elsewhere:  # another address of this machine
                assert elsewhere.connect_ex(("127.0.0.2", int(port))) != 0
            assert re.findall(r'\b(?:https?|wss?)://[^\s;"]+', text + policy) == [
                f"ws://127.0.0.1:{port}/{server.address.split('/')[3]}/ws",
                f"ws://127.0.0.1:{port}",
            ]
            assert "default-src 'none'" in policy
            for headers in ({"Host": "flightdeck.example"}, {"Origin": "http://elsewhere.example"}):
                for path in (server.address, f"{server.address}ws", base + local[0]):
                    async with session.get(path, headers=headers) as refused:
                        assert refused.status == 403
            for path in ("/", "/ws", "/0/"):
                async with session.get(base + path) as unknown:
                    assert unknown.status == 404

    run(script())


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        finished = in_a_process("--web", "--port", str(port))
    assert_refused(finished, f"port {port} of 127.0.0.1 is in use: choose another one, or --port 0 for a free one")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--port", "80"], "--port is for --web: give both"),
        (["--web", "--port", "70000"], "--port: 70000 is not a port: 0 to 65535"),
        (["--web", "--plain"], "--web shows screens: leave out --plain or --headless"),
        (["--web", "--scenario", "first-fligth"], "did you mean first-flight?"),
        (["--web", "--theme", "drak"], "did you mean dark?"),
        (["play", "nowhere.flight", "--web"], "nowhere.flight"),
    ],
)
def test_bad_input_is_refused_before_anything_is_served(words: list[str], reason: str) -> None:
    assert_refused(in_a_process(*words), reason)


def assert_refused(finished: Ended, reason: str) -> None:
    assert finished.code == 2
    assert reason in finished.err
    assert finished.err.count("\n") == 1
    assert finished.out == ""


def test_options_reach_the_console_of_a_tab_as_they_were_given() -> None:
    words = words_of(scenario="a b", seed=None, set=["x=1", "y=2"], no_invariants=True, allow_code=False)
    assert words == ["--scenario=a b", "--set=x=1", "--set=y=2", "--no-invariants"]
    assert "'--scenario=a b'" in ConsoleServer(words, 0, "title").command
    assert isinstance(ConsoleServer(words, 0, "title"), Server)

"""A scene on a timeline of its own: a network's links and connections without a cluster."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from cluster.network import (
    NEVER_FROZEN,
    Connection,
)
from cluster.virtual_time import Timeline

MS = 1_000


def run_scene(scene: Callable[[Timeline], Awaitable[None]]) -> None:
    """Run a scene on a new timeline until it returns."""
    timeline = Timeline(lambda _: None)

    async def main() -> None:
        await scene(timeline)
        timeline.close()

    trio.run(main, clock=timeline)


class Client:
    """Watches its connection as a process does; `heard` has what it was told of its connections, with the ms."""

    name, running, frozen_us = "client-1", True, NEVER_FROZEN

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.kept: list[tuple[Callable[[Any], object], Any]] = []
        self.heard: list[tuple[str, int]] = []

    def watch(self, connection: Connection, at_us: int) -> None:
        self._timeline.call_at(at_us, self._look, connection)

    def _look(self, connection: Connection) -> None:
        at_us = connection.check_timeouts()
        if at_us is not None:
            self.watch(connection, at_us)

    def defer(self, action: Callable[[Any], object], argument: object) -> None:
        self.kept.append((action, argument))

    def connected(self, _: Connection) -> None:
        self.heard.append(("connected", self._timeline.now_us // MS))

    def disconnected(self, _: Connection) -> None:
        self.heard.append(("disconnected", self._timeline.now_us // MS))

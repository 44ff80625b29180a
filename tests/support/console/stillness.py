"""When a console of a test has nothing left to do, found in its event loop and not by the clock.

Textual's own pilot sleeps 20 ms at a time until the process has used almost no CPU time: two to four times a key, and
up to a second each on a busy machine.
"""

import asyncio
from time import monotonic

from textual._context import active_app
from textual.screen import Screen


async def wait_until_still(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Let every message be handled and the screen on top be painted; in place of Textual's `wait_for_idle`."""
    del min_sleep
    deadline = monotonic() + max_sleep
    app = active_app.get()
    while monotonic() < deadline:
        await _nothing_ready(deadline)
        screen = app.screen_stack[-1] if app.is_running and app.screen_stack else None
        if screen is None or not screen.is_current or app._batch_count or not _has_to_paint(screen):
            return
        screen._on_timer_update()  # what its timer would do within a 60th of a second


async def _nothing_ready(deadline: float) -> None:
    """Until no task of the loop can go on: all wait for a message or a timer."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, asyncio.BaseEventLoop)
    while True:
        await asyncio.sleep(0)
        if not loop._ready or monotonic() >= deadline:  # type: ignore[attr-defined]
            return


def _has_to_paint(screen: "Screen[object]") -> bool:
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )

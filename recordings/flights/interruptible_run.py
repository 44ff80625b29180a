"""A flight in trio, on the main thread, that a signal can end."""

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from cluster.virtual_time import Timeline
from recordings.flights import interruption


def run_flight(main: Callable[[], Awaitable[None]], timeline: Timeline) -> None:
    """Fly; on a signal, `timeline.fly` raises KeyboardInterrupt in main."""
    tokens: list[trio.lowlevel.TrioToken] = []

    def end() -> None:
        for token in tokens:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(timeline.interrupt, KeyboardInterrupt())

    async def begin() -> None:
        tokens.append(trio.lowlevel.current_trio_token())
        if interruption.was_asked():
            raise KeyboardInterrupt
        await main()

    with interruption.flying(end):
        try:
            trio.run(begin, clock=timeline, restrict_keyboard_interrupt_to_checkpoints=True)
        except BaseExceptionGroup as several:
            if isinstance(first_of(several), KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise


def first_of(error: BaseException) -> BaseException:
    """The first of several errors at once."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def origin_of(error: BaseException) -> str:
    """The place that raised an error: ` (cluster/broker/broker.py, line 12)`."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    path = Path(trace.tb_frame.f_code.co_filename)
    root = Path(__file__).parents[2]
    file = path.relative_to(root).as_posix() if path.is_relative_to(root) else f"{path.parent.name}/{path.name}"
    return f" ({file}, line {trace.tb_lineno})"

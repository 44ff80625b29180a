"""`--web`: the console of a command line in a browser, instead of on the terminal."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.errors import HELD, UsageError
from console.cli.options import LARGEST_PORT, whole_number

if TYPE_CHECKING:
    from console.flight import Source

DEFAULT_PORT = 8070

Web = Annotated[bool, Parameter(help="In a browser on this machine.", negative="")]
Port = Annotated[
    int | None,
    Parameter(help=f"The port of --web, 0 for a free one; default: {DEFAULT_PORT}.", converter=whole_number),
]


def port_of(port: int | None, *, web: bool, plain: bool) -> int:
    """The port to serve on; `plain`: the command shows no screens. Raises UsageError."""
    if web and plain:
        raise UsageError("--web shows screens: leave out --plain or --headless")
    if port is not None and not web:
        raise UsageError("--port is for --web: give both")
    if port is not None and not 0 <= port <= LARGEST_PORT:
        raise UsageError(f"--port: {port} is not a port: 0 to {LARGEST_PORT}")
    return DEFAULT_PORT if port is None else port


def words_of(**options: object) -> list[str]:
    """Options as words of a command line, as they were given; None and False were not."""
    return [
        f"--{name.replace('_', '-')}" + ("" if one is True else f"={one}")
        for name, value in options.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None and one is not False
    ]


def serve(words: Sequence[str], port: int, source: "Source", print_line: Callable[[str], object]) -> int:
    """Serve a console for each tab until Ctrl-C; returns the exit code.

    `words`: the command line of each console. `source`: one that was made with it, to see that it can be.
    Raises UsageError.
    """
    if source.input_error:
        raise UsageError(source.input_error)
    import asyncio  # noqa: PLC0415 - a console on a terminal serves nothing

    from console.web.server import ConsoleServer, PortError  # noqa: PLC0415

    def say(address: str) -> None:
        print_line(f"Flightdeck is at {address}\neach tab flies its own {source.title}; Ctrl-C ends them")

    try:
        asyncio.run(ConsoleServer(words, port, f"Flightdeck · {source.title}").run(say))
    except PortError as error:
        raise UsageError(str(error)) from None
    return HELD

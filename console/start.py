"""The command `flightdeck`: signals first, then everything else."""

from typing import NoReturn

from console import early


def main() -> NoReturn:
    """Run the command line and exit."""
    early.listen()
    from console.cli import main as run_command  # noqa: PLC0415 - it takes a moment, in which a signal may come

    run_command()

"""The command `flightdeck`: signals first, then everything else (also `typing`, which takes some 15 ms)."""

from console.cli import early_signals as early


def main() -> None:
    """Run the command line and exit."""
    early.listen()
    from console.cli.main import main as run_command  # noqa: PLC0415 - it takes a moment, in which a signal may come

    run_command()

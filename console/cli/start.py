"""The command `flightdeck`: handle signals first, then import the rest (`typing` alone takes some 15 ms)."""

from console.cli.early_signals import listen


def main() -> None:
    """Run the command line and exit."""
    listen()
    from console.cli.main import main as run_command_line  # noqa: PLC0415 - a signal may arrive during the import

    run_command_line()

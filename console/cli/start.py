"""The command `flightdeck`: handle signals first, then import the rest (`typing` alone takes some 15 ms)."""

from console.cli.early_signals import listen

ALLOCATIONS = 50_000  # between collections: modules live on, and Python's 700 would walk them 170 times during a start


def main() -> None:
    """Run the command line and exit."""
    listen()
    import gc  # noqa: PLC0415 - a signal may arrive during the import

    gc.set_threshold(ALLOCATIONS)
    from console.cli.main import main as run_command_line  # noqa: PLC0415 - as above

    run_command_line()

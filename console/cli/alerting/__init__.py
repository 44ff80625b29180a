"""The command `flightdeck alerts` and its readable output."""

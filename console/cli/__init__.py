"""The command line: `flightdeck`."""

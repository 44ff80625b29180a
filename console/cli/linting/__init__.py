"""The command `flightdeck lint` and its output."""

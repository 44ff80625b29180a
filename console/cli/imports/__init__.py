"""The commands `flightdeck import` and `flightdeck new`."""

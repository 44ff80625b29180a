"""The version of Flightdeck: written into recordings, printed by `--version`."""

VERSION = "0.1.0"

"""`python -m console.cli`: the same as `flightdeck`."""

from console.cli.start import main

main()

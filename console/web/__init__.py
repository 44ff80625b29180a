"""The console in a browser on this machine: `flightdeck --web`."""

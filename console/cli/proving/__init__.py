"""`flightdeck prove`: the command, and its words."""

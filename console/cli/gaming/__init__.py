"""`flightdeck game`: the command, and what it prints."""

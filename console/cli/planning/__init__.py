"""`flightdeck plan`: combinations of settings over the same seeds, in processes of this machine."""

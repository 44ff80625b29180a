"""Logs of real brokers, read back into events of the kinds that a flight has."""

"""Kafka's command line tools, inside: what they print of a flight, and their lines read as commands."""

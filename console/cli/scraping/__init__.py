"""Metrics of a flight or a playback, served while it goes on, and as a file."""

"""Flights compared: the bill of each, the first divergence that matters, and the verdict in words."""

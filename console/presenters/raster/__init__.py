"""Ownership over time: partitions down, time across; on the screen, as text and as SVG."""

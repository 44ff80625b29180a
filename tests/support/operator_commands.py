"""Commands that an operator gives in a flight of the small scenario."""

OPERATOR = ((7_300_000, "stall billing-1 for 2s"), (9_000_001, "kill broker-2"), (15_000_000, "start billing-2"))
"""What an operator does in a flight of the small scenario: (µs, command)."""

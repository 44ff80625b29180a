"""Commands that an operator gives in a flight of the small scenario."""

from cluster.commands import Command, parse

OPERATOR = ((7_300_000, "stall billing-1 for 2s"), (9_000_001, "kill broker-2"), (15_000_000, "start billing-2"))
"""What an operator does in a flight of the small scenario: (µs, command)."""


def operated() -> tuple[tuple[int, Command], ...]:
    """The operator's commands, to be given at their instants."""
    return tuple((at_us, parse(text)) for at_us, text in OPERATOR)

"""The producer: accumulator, sender, sequences and transactions."""

"""Presenters of groups of the new protocol (KIP-848), where no barrier is drawn: epochs, targets, each member's way."""

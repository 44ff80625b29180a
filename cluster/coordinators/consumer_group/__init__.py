"""Groups of the new protocol (KIP-848): heartbeats, epochs, targets, and each member's way to its target."""

"""The group coordinator: classic groups, their offsets, and the rules of rebalances."""

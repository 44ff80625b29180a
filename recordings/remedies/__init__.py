"""Remedies: which setting would have changed a rebalance, measured by flying the flight again with each."""

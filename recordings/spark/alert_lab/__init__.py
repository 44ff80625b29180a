"""The alert laboratory: rules scored on hundreds of flights whose faults are known by construction."""

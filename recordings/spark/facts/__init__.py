"""The groundwork of the analyses: logs, offsets, owners, lag and rebalances, derived from events, as DataFrames."""

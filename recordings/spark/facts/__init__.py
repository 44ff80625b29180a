"""The groundwork of the analyses: what the events say of logs, offsets, owners, lag and rebalances, as DataFrames."""

"""Group and transaction coordinators: rules without I/O, replayed from their partitions."""

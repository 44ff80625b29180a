"""The place of a partition: its log as a ruler, readers, transactions, replicas."""

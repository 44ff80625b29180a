"""Brokers: partition logs, replication, and the requests they answer."""

"""A partition's log and what it keeps beside the records (Kafka's `storage` module)."""

"""A partition's log, its producer state and its retention (Kafka's `storage` module)."""

"""A flight's events as the lines of Kafka's own logs."""

"""A flight's events in the words of Kafka's own logs."""

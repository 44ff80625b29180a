"""Kafka's clients: consumers, producers and the applications that hold them."""

"""The consumer of the new group protocol (KIP-848): Kafka's `AsyncKafkaConsumer`."""

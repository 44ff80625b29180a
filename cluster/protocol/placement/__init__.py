"""Which brokers have the replicas of a partition: of a new topic, and by a reassignment."""

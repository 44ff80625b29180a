"""A cluster of one's own as a scenario: from what Kafka's tools print, from configurations, from a series of lag."""

"""The simulated Kafka cluster: no terminal, no Spark, no files."""

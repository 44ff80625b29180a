"""The places of topics, brokers and links."""

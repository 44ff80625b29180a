"""`flightdeck lint`: configurations of clients, brokers and topics, and scenarios, checked without a flight.

A file becomes `Part`s (`files`, `frameworks`, `plain_files`, `scenario_parts`): one for each consumer, producer, broker
or topic that it configures. The rules are data (`rules.toml`); each has a condition, a pure function over a part and
all parts of the run. What Kafka allows and its defaults are `kafka_keys.tsv`, printed by Kafka's own classes.
"""

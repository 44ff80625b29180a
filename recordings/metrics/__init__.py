"""A flight as Prometheus would see it: metrics under the names of kafka_exporter and of JMX exporter.

The names, labels and types were recorded from those exporters beside a real Kafka (docs/metrics.md). Each value comes
from the view or from a count of events; what the simulator cannot know is left out, and listed there.
"""

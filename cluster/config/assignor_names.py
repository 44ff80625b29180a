"""The names of assignors: of their protocols, of Kafka's classes, and of classes of one's own."""

from typing import Final

KAFKA_PACKAGE: Final = "org.apache.kafka.clients.consumer."
KAFKA_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
"""The assignors' classes and the names of their protocols (`ConsumerPartitionAssignor.name`)."""


def assignor_of(name: str) -> str:
    """The assignor's name in the group protocol; a dotted path of a class of one's own stays. Raises ValueError."""
    short = name.removeprefix(KAFKA_PACKAGE)
    if short in KAFKA_ASSIGNORS:
        return KAFKA_ASSIGNORS[short]
    if name in KAFKA_ASSIGNORS.values() or (is_dotted(name) and not name.startswith(KAFKA_PACKAGE)):
        return name
    raise ValueError(name)


def is_dotted(name: str) -> bool:
    """Whether a name is a class by its path, `mypackage.module.ClassName`: an assignor of one's own."""
    words = name.split(".")
    return len(words) > 1 and all(word.isidentifier() for word in words)

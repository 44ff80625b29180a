"""Text to a question on a key: `key customer-42 orders`, `key "two words" orders 12`."""

from typing import NamedTuple

from cluster.commands import CommandError, Names, tokens_of
from cluster.config import nearest

KEY_USAGE = "key KEY TOPIC [PARTITIONS]"
MOST_PARTITIONS = 2_147_483_647  # a partition's number is a signed integer of 32 bits


class KeyQuestion(NamedTuple):
    """Where a key goes in a topic, now and when the topic has `partitions`; 0 is twice as many as now."""

    key: str
    topic: str
    partitions: int


def read_key(rest: str, column: int, names: Names) -> KeyQuestion:
    """Read what follows `key`; `column` is that of its first letter. Raises CommandError."""
    found = tokens_of(rest)
    if len(found) < 2:
        raise CommandError(f"an argument is missing: {KEY_USAGE}", column + len(rest))
    key, topic, *more = found
    if topic.text not in names.topics:
        near = nearest(topic.text, names.topics)
        raise CommandError(f"there is no topic `{topic.text}`", column + topic.column, near)
    partitions = 0
    if more:
        word = more[0].text
        if not (word.isascii() and word.isdigit() and len(word) <= 10 and 1 <= int(word) <= MOST_PARTITIONS):
            raise CommandError(f"`{word}` is not a number of partitions", column + more[0].column)
        partitions = int(word)
    if len(more) > 1:
        raise CommandError(f"unexpected `{more[1].text}`", column + more[1].column)
    return KeyQuestion(key.text, topic.text, partitions)


def key_completions(rest: str, names: Names) -> list[str]:
    """The topics that may follow the key."""
    *before, last = rest.split(" ")
    return [name for name in names.topics if name.startswith(last) and name != last] if len(before) == 1 else []

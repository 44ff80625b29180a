"""The key that was probably meant: near enough that a slip of the finger explains it.

Applications put keys of their own into Kafka's configuration (`schema.registry.url`), so a key that Kafka does not have
is a mistake only if it is nearly one that Kafka has.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from recordings.lint.kafka_keys import Role, all_names, kafka_keys

NEAR: Final = 0.86
MOST_LOOKED_UP: Final = 100
"""Unknown keys of a part for which the near ones are searched: each is compared with hundreds of names."""
LONGEST: Final = 100
_SEPARATORS: Final = re.compile(r"[-_.\s]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNIT: Final = re.compile(r"(\.ms|\.bytes)$")


def meant_by(key: str, role: Role | None, own: Iterable[str] = ()) -> str | None:
    """The name of this role, or of a framework's `own` names, that a key nearly is; None when none is near.

    `session-timeout`, `sessionTimeoutMs` and `sesion.timeout.ms` are nearly `session.timeout.ms`.
    """
    if not key or len(key) > LONGEST or _is_prefixed(key):
        return None
    return _nearest(key, (*own, *(kafka_keys(role) if role is not None else ())))


def _is_prefixed(key: str) -> bool:
    """Whether a key is one of Kafka's behind a name of the user's: `listener.name.internal.ssl.keystore.location`."""
    return any(key[place + 1 :] in all_names() for place, letter in enumerate(key) if letter == ".")


@lru_cache(maxsize=1_000)
def _nearest(key: str, names: tuple[str, ...]) -> str | None:
    plain = _plain(key)
    best, best_score = None, NEAR
    matcher = SequenceMatcher(None, "", plain)  # keeps what it knows of its second text
    for name in names:
        other = _plain(name)
        if plain in (other, _UNIT.sub("", other)):
            return name
        if 2 * min(len(plain), len(other)) < NEAR * (len(plain) + len(other)):
            continue
        matcher.set_seq1(other)
        if matcher.quick_ratio() < best_score:
            continue
        if (score := matcher.ratio()) > best_score:
            best, best_score = name, score
    return best


def _plain(name: str) -> str:
    return _SEPARATORS.sub(".", _CAMEL.sub(".", name)).lower()

"""What a linted file configures, as the rules see it: one part for each consumer, producer, broker or topic."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from cluster.config import parse_duration
from cluster.config.units import MICROSECONDS
from recordings.lint.kafka_keys import KafkaKey, kafka_keys, number_of

PartKind = Literal["consumer", "producer", "admin", "streams", "broker", "topic", "client"]
"""A role, or `client`: keys that several kinds of clients have, in a file that does not say which."""

FACTS: Final[Mapping[str, str]] = {
    "restart": "how long a process is away when it restarts: `30s`",
    "per-record": "the longest time that processing one record takes: `200ms`",
    "retries-take": "how long all attempts and back-offs for one failing record take in poll()'s thread: `2m`",
    "sink": "`outside` when what is processed goes to a database or service, `kafka` when to a topic",
    "pod-names": "`changing` for a Deployment's pods, `stable` for a StatefulSet's",
    "instances": "how many processes run with this configuration: `4`",
    "partitions": "how many partitions the subscribed topics have together: `12`",
    "worker-threads": "how many threads process records behind poll(): `8`",
    "replication-factor": "the replicas of each partition of the topics: `3`",
    "brokers": "how many brokers the cluster has: `3`",
}
"""What a configuration does not say and a rule needs; a comment `# flightdeck: restart=30s` or `--fact` says it."""


class Setting(msgspec.Struct, frozen=True):
    """One value of a file. `value` is None when only the running process knows it (`${HOSTNAME}`).

    `written`: the key as the file spells it; `raw`: the text of the value, never printed.
    """

    value: str | None
    file: str
    line: int
    written: str
    raw: str = ""


class Part(msgspec.Struct, frozen=True):
    """One consumer, producer, broker or topic. `settings` by Kafka's key; `facts` by the names of `FACTS`.

    `defaults`: what a framework sets where the file says nothing; None is a value that only the process knows.
    `unknown`: keys of the file that are no key of this kind, with the names that could have been meant. `frame` is the
    framework that reads the file. `topics`: those that a producer writes to, where the file says so. `profile`: the one
    in which the part holds; empty, what holds in all.
    """

    kind: PartKind
    name: str
    file: str
    line: int
    settings: dict[str, Setting]
    facts: dict[str, Setting] = {}
    defaults: dict[str, str | None] = {}
    unknown: tuple["UnknownKey", ...] = ()
    frame: Literal["", "spring", "quarkus", "strimzi", "scenario"] = ""
    topics: tuple[str, ...] = ()
    profile: str = ""

    def text(self, key: str) -> str | None:
        """The value of a key: the file's, the framework's, Kafka's default. None: there is none, or it is unknown."""
        setting = self.settings.get(key)
        if setting is not None:
            return setting.value
        if key in self.defaults:
            return self.defaults[key]
        known = self._known(key)
        return None if known is None else known.default

    def number(self, key: str) -> int | None:
        """A whole number; None when it is unknown, or no number."""
        text = self.text(key)
        found = None if text is None else number_of(text)
        return None if found is None else int(found)

    def flag(self, key: str) -> bool | None:
        """A boolean; None when it is unknown, or none."""
        text = (self.text(key) or "").strip().lower()
        return text == "true" if text in ("true", "false") else None

    def word(self, key: str) -> str | None:
        """A word in lower case; None when it is unknown or empty."""
        text = self.text(key)
        return text.strip().lower() or None if text is not None else None

    def words(self, key: str) -> tuple[str, ...]:
        """The words of a list; none when it is unknown."""
        return tuple(word for part in (self.text(key) or "").split(",") if (word := part.strip()))

    def has(self, key: str) -> bool:
        """Whether the file gives the key itself, and not blank."""
        setting = self.settings.get(key)
        return setting is not None and (setting.value is None or bool(setting.value.strip()))

    def fact(self, name: str) -> str | None:
        """A fact's text; None without it."""
        setting = self.facts.get(name)
        return setting.value if setting is not None else None

    def count(self, name: str) -> int | None:
        """A fact that is a whole number; None without it."""
        text = self.fact(name)
        found = None if text is None else number_of(text)
        return None if found is None else int(found)

    def fact_ms(self, name: str) -> int | None:
        """A fact that is a duration, in ms; None without it."""
        text = self.fact(name)
        if text is None:
            return None
        try:
            return parse_duration(text) // MICROSECONDS["ms"]
        except ValueError:
            return None

    def place(self, keys: Iterable[str]) -> Setting:
        """The first of these keys or facts that the file gives; else the part's own first line."""
        for key in keys:
            found = self.settings.get(key) or self.facts.get(key)
            if found is not None:
                return found
        return Setting(None, self.file, self.line, "")

    def _known(self, key: str) -> KafkaKey | None:
        if self.kind == "client":
            return None
        return kafka_keys(self.kind).get(key)


class UnknownKey(msgspec.Struct, frozen=True):
    """A key that nothing reads: where it stands, and the key that was probably meant, or the roles that have it."""

    setting: Setting
    meant: str = ""
    of: tuple[str, ...] = ()

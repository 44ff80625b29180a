"""Every key of Kafka's release is read, without effect, said elsewhere, or refused unless it has Kafka's default.

`kafka_keys.json` is what Kafka 4.3.1 answers: the names and defaults of its four ConfigDefs (`ConsumerConfig`,
`ProducerConfig`, `AbstractKafkaConfig`, `LogConfig`).
"""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import get_args

import pytest

from cluster.config import ConfigError, Scope, find, scopes_of, skipped
from cluster.config.config import ELSEWHERE
from cluster.config.other_keys import NOT_BUILT, WITHOUT_EFFECT, default_of_unbuilt, without_effect

KAFKA: dict[Scope, dict[str, str | None]] = json.loads((Path(__file__).parent / "kafka_keys.json").read_text())
OF_A_PLUGIN = ("allow.everyone.if.no.acl.found", "super.users", "log4j*")
"""Read by Kafka's authorizer and logging, which have no ConfigDef."""


@pytest.mark.parametrize("scope", get_args(Scope))
def test_every_key_of_kafka_has_its_place(scope: Scope) -> None:
    homeless = [
        name
        for name in KAFKA[scope]
        if scope not in scopes_of(name)
        and name not in ELSEWHERE
        and without_effect(scope, name) is None
        and default_of_unbuilt(scope, name) is None
    ]
    assert homeless == []


@pytest.mark.parametrize("scope", get_args(Scope))
def test_what_is_listed_is_a_key_of_kafka(scope: Scope) -> None:
    names = [name for listed in WITHOUT_EFFECT[scope].values() for name in listed if name not in OF_A_PLUGIN]
    assert [name for name in names if not any(fnmatchcase(key, name) for key in KAFKA[scope])] == []
    for name, default in NOT_BUILT[scope].items():
        assert (KAFKA[scope][name] or "").strip("[]") == default, name


def test_what_would_change_something_may_only_have_kafkas_default() -> None:
    assert skipped("broker", "log.dirs", "/data")
    assert skipped("broker", "compression.type", "producer")
    assert skipped("topic", "remote.storage.enable", raw=False)
    assert not skipped("broker", "compression.type", "zstd")
    assert not skipped("topic", "remote.storage.enable", raw=True)
    assert not skipped("broker", "num.partitions", 3)  # has no effect, and is read: a wrong value is still refused
    assert not skipped("broker", "no.such.key", 1)


@pytest.mark.parametrize(
    ("scope", "name", "reason", "suggestion"),
    [
        ("broker", "log.dirs", "log.dirs has no effect: a broker's files are not simulated", None),
        ("broker", "compression.type", "not built yet: compression.type other than Kafka's default", None),
        ("broker", "log.dri", "unknown broker configuration key log.dri", "log.dir"),
        ("broker", "node.id", "node.id is not configured here: it is the broker's place in [cluster] brokers", None),
        ("consumer", "check.crc", "unknown consumer configuration key check.crc", "check.crcs"),
        ("topic", "log.dirs", "unknown topic configuration key log.dirs", None),
    ],
)
def test_a_setting_of_such_a_key_is_refused(scope: Scope, name: str, reason: str, suggestion: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        find(scope, name)
    assert (caught.value.reason, caught.value.suggestion) == (reason, suggestion)

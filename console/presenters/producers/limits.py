"""The settings that a producer's clocks run against, as its process has read them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from cluster.config import ConfigError, Value, resolve
from cluster.spec import ScenarioSpec
from cluster.view.state import ClusterView, ProducerView

ProducerConfigs = Mapping[str, Mapping[str, Value]]
"""Producer instance, or group of members that write → what the scenario sets of the producer's configuration."""


class ProducerLimits(NamedTuple):
    """Timeouts in µs, memory in bytes; requests in flight are counted for each connection."""

    in_flight: int
    request_us: int
    delivery_us: int
    linger_us: int
    buffer_bytes: int


def configs_of(spec: ScenarioSpec) -> ProducerConfigs:
    """The configurations of a scenario's producers, those inside members included."""
    groups = {group.name: group.application.producer for group in spec.groups if group.application.has_producer}
    return groups | {name: producer.config for producer in spec.producers for name in producer.instances()}


def limits_of(view: ClusterView, configs: ProducerConfigs, producer: ProducerView) -> ProducerLimits | None:
    """The limits in force for a producer; None for one whose configuration is unknown."""
    member = view.members.get(producer.producer)
    config = configs.get(producer.producer if member is None else member.group)
    if config is None:
        return None
    return _limits(tuple(config.items()), tuple(producer.settings.items()))


@lru_cache(maxsize=1_024)
def _limits(config: tuple[tuple[str, Value], ...], changed: tuple[tuple[str, str], ...]) -> ProducerLimits | None:
    try:
        values = resolve("producer", {**dict(config), **{key: int(value) for key, value in changed}})
    except (ConfigError, ValueError):  # a recording of another version
        return None

    def number(key: str) -> int:
        value = values[key]
        return value if isinstance(value, int) else 0

    return ProducerLimits(
        number("max.in.flight.requests.per.connection"),
        1_000 * number("request.timeout.ms"),
        1_000 * number("delivery.timeout.ms"),
        1_000 * number("linger.ms"),
        number("buffer.memory"),
    )

"""The configuration of a topic where it differs from Kafka's default, and where each value comes from."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster.config import ConfigError, Scope, Value, coerce, resolve_topic
from cluster.spec import ScenarioSpec
from cluster.view.state import ClusterView, TopicView
from console.presenters.list_view import Listing
from console.presenters.styled_text import ACCENT, MUTED, STRONG, Line, Span, line
from console.presenters.table import TableColumn, layout

COLUMNS = (
    TableColumn("key", 26, grow=1, most=34),
    TableColumn("value", 14, grow=1, most=24),
    TableColumn("Kafka's default", 15, rank=1, grow=1, most=24),
    TableColumn("set by", 14, grow=1),
)
CLUSTER = "cluster"


class ConfiguredKey(NamedTuple):
    """A key with its value and default as text, and what set it."""

    value: str
    default: str
    origin: str


def written(value: Value) -> str:
    """A value as commands write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else ",".join(value) if isinstance(value, tuple) else str(value)


def configuration(view: ClusterView, topic: str, spec: ScenarioSpec) -> dict[str, ConfiguredKey]:
    """The keys of a topic that differ from Kafka's default; a command's values count before the scenario's."""
    declared = next((one.config for one in spec.topics if one.name == topic), {})
    given, in_flight = _coerced("topic", view.settings.get(topic, {})), view.settings.get(CLUSTER, {})
    try:
        begun = resolve_topic(spec.config, declared)
        behind = resolve_topic({**spec.config, **_coerced("broker", in_flight)}, declared)
        defaults = resolve_topic({}, {})
    except ConfigError:  # a recording of another version
        return {}
    values = {**behind, **given}

    def origin(key: str) -> str:
        if values[key] != behind[key]:
            return f"set {topic}"
        if behind[key] != begun[key]:
            return f"set {CLUSTER}"
        return "the scenario's topic" if key in declared else "the scenario's brokers"

    return {
        key: ConfiguredKey(written(value), written(defaults[key]), origin(key))
        for key, value in values.items()
        if value != defaults[key]
    }


def _coerced(scope: Scope, texts: Mapping[str, str]) -> dict[str, Value]:
    """Values of commands in the keys' own types; those that this version does not know are left out."""
    found: dict[str, Value] = {}
    for key, text in texts.items():
        try:
            found[key] = coerce(scope, key, text)
        except ConfigError:
            continue
    return found


class ConfigurationListing(Listing):
    """One line for each key that differs from Kafka's default."""

    title = "configuration that differs from Kafka's default"

    def __init__(self, view: ClusterView, topic: TopicView, spec: ScenarioSpec | None, width: int) -> None:
        super().__init__(width)
        self.keys = configuration(view, topic.topic, spec) if spec is not None and not topic.internal else {}
        self.layout = layout(COLUMNS, width)
        words = "none: every key has Kafka's default"
        if topic.internal:
            words = "an internal topic: its brokers' offsets.topic.* and transaction.state.log.* keys configure it"
        elif spec is None:
            words = "unknown: this recording's scenario cannot be read"
        self.vacant = line((words, MUTED))

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.keys else ()

    def row_keys(self) -> Sequence[str]:
        """The keys, in Kafka's order."""
        return list(self.keys)

    def rows(self, key: str) -> tuple[Line]:
        """One key."""
        one = self.keys[key]
        cells: list[Line | Span | str] = [
            (key, STRONG),
            line((one.value, ACCENT)),
            line((one.default or "not set", MUTED)),
            one.origin,
        ]
        return (self.layout.row(cells),)

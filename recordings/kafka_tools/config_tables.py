"""`kafka-configs.sh --describe` of a flight: what the scenario and `set` have set. Source: `ConfigCommand`.

A key's synonyms are told as far as they are known here: the value itself, the brokers' own key of the same meaning
that the scenario has, and that key's default.
"""

from typing import Final

from cluster.config.keys import CONFIG_KEYS
from cluster.view.state import ClusterView
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import ToolLine
from recordings.kafka_tools.topic_tables import Configs

_BY_OPTION: Final = {"topic": "topics", "broker": "brokers", "group": "groups"}
_REFUSED: Final = "is not described here: topics and brokers have configurations in a flight"


def entity_of(line: ToolLine) -> tuple[str, str]:
    """The type and the name that a line asks for; "" as a name is every entity. Raises CommandError."""
    if line.has("entity-type"):
        kind, name, option = line.first("entity-type"), line.first("entity-name"), "entity-type"
    else:
        option = next((each for each in _BY_OPTION if line.has(each)), "")
        if not option and not any(line.has(each) for each in ("broker-defaults", "client", "user", "ip")):
            raise line.wrong("At least one entity type must be specified")
        kind, name = _BY_OPTION.get(option, "this entity"), line.one(option) if option else ""
    if kind not in ("topics", "brokers"):
        raise line.wrong(f"--entity-type {kind} {_REFUSED}", option)
    return kind, name


def describe_configs(view: ClusterView, configs: Configs, line: ToolLine) -> Printed:
    """Dynamic configurations of topics or brokers, by their names. Raises CommandError for what has none here."""
    kind, name = entity_of(line)
    if line.has("all"):
        raise line.wrong("--all is not understood here: a flight knows the keys that were set", "all")
    known = list(view.topics) if kind == "topics" else [str(number) for number in view.brokers]
    if name and name not in known:
        return Printed(f"The {kind[:-1]} '{name}' doesn't exist and doesn't have dynamic config.\n")
    text = []
    for entity in [name] if name else known:
        text.append(f"Dynamic configs for {kind[:-1]} {entity} are:")
        own = configs.get(entity if kind == "topics" else f"broker-{entity}", {})
        text += [_line(kind, key, value, configs) for key, value in sorted(own.items())]
    if kind == "brokers" and not name:
        text.append("Default configs for brokers in the cluster are:")
    return Printed("".join(f"{one}\n" for one in text))


def _line(kind: str, key: str, value: str, configs: Configs) -> str:
    synonyms = [f"{'DYNAMIC_TOPIC_CONFIG' if kind == 'topics' else 'DYNAMIC_BROKER_CONFIG'}:{key}={value}"]
    broker_key = key if kind == "brokers" or ("broker", key) in _DEFAULTS else f"log.{key}"
    if broker_key in configs.get("cluster", {}):
        synonyms.append(f"STATIC_BROKER_CONFIG:{broker_key}={configs['cluster'][broker_key]}")
    default = _DEFAULTS.get(("broker", broker_key))
    if default is not None:
        synonyms.append(f"DEFAULT_CONFIG:{broker_key}={default}")
    return f"  {key}={value} sensitive=false synonyms={{{', '.join(synonyms)}}}"


def value_text(value: object) -> str:
    """A value as Kafka writes it: `true`, `a,b`, `1000`."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


_DEFAULTS: Final = {(key.scope, key.name): value_text(key.default) for key in CONFIG_KEYS if key.default is not None}

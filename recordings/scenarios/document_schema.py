"""The shape of the view document: which paths can exist in a scenario.

The table below is the contract of `scenario-format.md` (§ the view document). A leaf is a sample value of its type.
`ByName` is a map whose keys are names of one kind. `KnownNames` holds the names that a scenario can ever have: members
`NAME-n` of a declared group and partitions `TOPIC-n` of a declared topic, because `scale` and `add partitions` create
them, and every id that a transactions pattern produces.
"""

import re
from typing import Any

import msgspec

from cluster.config import nearest
from cluster.spec import ScenarioSpec

INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state")


class ByName(msgspec.Struct, frozen=True):
    """A map from names of one kind (`group`, `member`, `partition` …) to nodes of one shape."""

    kind: str
    node: Any


# fmt: off
_COUNTS = {
    "produced": 0, "acked": 0, "appended": 0, "delivered": 0, "duplicated": 0, "lost": 0, "aborted": 0, "unread": 0,
    "out_of_order_keys": 0, "sink_duplicates": 0,
    "acknowledged": 0, "skipped": 0, "delivered_unacknowledged": 0, "delivered_then_lost": 0,
}

SHAPE: dict[str, Any] = {
    "now_ms": 0,
    "faults": [],
    "groups": ByName("group", {
        "state": "", "protocol": "", "assignor": "", "generation": 0, "coordinator": 0, "leader": "", "members": 0,
        "rebalances": 0, "lag": 0, "time_lag_ms": 0, "committed": ByName("partition", 0),
        "assignment": ByName("member", []), "stopped_partition_ms": 0,
        "last_rebalance": {"cause": "", "trigger": "", "took_ms": 0, "waited_for": "", "moved": 0, "reread": 0},
        "group_epoch": 0, "assignment_epoch": 0, "member_epochs": ByName("member", 0),
        "member_states": ByName("member", ""), "target": ByName("member", []),
        "pending_revocation": ByName("member", []), "classic_members": [],
    }),
    "members": ByName("member", {
        "group": "", "state": "", "generation": 0, "member_id": "", "instance_id": "", "owned": [],
        "heartbeat_age_ms": 0, "session_left_ms": 0, "poll_age_ms": 0, "lag": 0, "processed": 0, "fenced": 0,
        "alive": False, "paused_partitions": [], "buffered": ByName("partition", 0),
        "read_from": ByName("partition", 0),
    }),
    "topics": ByName("topic", {"partitions": 0, "leaderless": 0, "under_replicated": 0, "records": 0, "bytes": 0}),
    "partitions": ByName("partition", {
        "leader": 0, "isr": [], "replicas": [], "leader_epoch": 0, "log_start": 0, "last_stable_offset": 0,
        "high_watermark": 0, "log_end": 0,
    }),
    "brokers": ByName("broker", {"up": False, "state": "", "controller": False, "leaders": 0, "coordinator_of": []}),
    "producers": ByName("producer", {
        "state": "", "sent": 0, "acked": 0, "failed": 0, "retries": 0, "requests": 0, "batches": 0, "producer_id": 0,
        "epoch": 0, "buffered_bytes": 0, "requests_in_flight": 0, "oldest_batch_ms": 0,
    }),
    "transactions": ByName("transaction", {
        "state": "", "producer_id": 0, "epoch": 0, "begun": 0, "committed": 0, "aborted": 0, "fenced": 0, "open_ms": 0,
    }),
    "delivery": {**_COUNTS, "by_group": ByName("group", _COUNTS)},
}
# fmt: on
"""Every path of the view document."""


class KnownNames:
    """The names that can exist in flights of one scenario."""

    def __init__(self, spec: ScenarioSpec) -> None:
        names = spec.names()
        writing = self._writing = [group.name for group in spec.groups if group.application.has_producer]
        self.known: dict[str, tuple[str, ...]] = {
            "group": tuple(names.groups),
            "member": names.members(),
            "topic": (*names.topics, *INTERNAL_TOPICS),
            "partition": names.partitions(),
            "broker": tuple(str(broker.id) for broker in spec.brokers),
            "producer": tuple(instance for instances in names.producers.values() for instance in instances)
            + tuple(member for name in writing for member in names.groups.get(name, ())),
            "transaction": _transactional_ids(spec),
        }
        ids = [producer.transactions.id for producer in spec.producers if producer.transactions is not None]
        ids += [f"{group.name}-{{n}}" for group in spec.groups if group.application.commit == "transaction"]
        self._patterns = [_numbered(pattern) for pattern in ids]

    def may_exist(self, kind: str, name: str) -> bool:
        """Whether a name of this kind can exist at some moment of some flight."""
        if name in self.known[kind]:
            return True
        owner, dash, number = name.rpartition("-")
        numbered = bool(dash) and number.isascii() and number.isdigit() and (number[0] != "0" or number == "0")
        match kind:
            case "member":
                return numbered and owner in self.known["group"] and number != "0"
            case "producer":
                return numbered and owner in self._writing and number != "0"
            case "partition":
                return numbered and owner in self.known["topic"]
            case "transaction":
                return any(pattern.fullmatch(name) for pattern in self._patterns)
        return False


def _transactional_ids(spec: ScenarioSpec) -> tuple[str, ...]:
    ids = [
        producer.transactions.id_of(number)
        for producer in spec.producers
        if producer.transactions is not None
        for number in range(1, producer.count + 1)
    ]
    by_members = [
        member for group in spec.groups if group.application.commit == "transaction" for member in group.instances()
    ]
    return (*ids, *by_members)


def _numbered(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(re.escape("{n}"), "[1-9][0-9]*"))


def written(path: tuple[str, ...]) -> str:
    """A path as an expression writes it: `partitions["orders-0"].leader`."""
    text = path[0]
    for key in path[1:]:
        text += f".{key}" if key.isidentifier() and key.isascii() else f'["{key}"]'
    return text


def path_error(path: tuple[str, ...], known_names: KnownNames | None) -> tuple[str, str | None] | None:
    """Why a path can never exist, and the nearest path that can; None when it can.

    Without `known_names` every name can exist.
    """
    node: Any = SHAPE
    for place, key in enumerate(path):
        here = path[:place]
        if isinstance(node, ByName):
            if known_names is not None and not known_names.may_exist(node.kind, key):
                return _no_such_name(path, place, node.kind, known_names)
            node = node.node
        elif isinstance(node, dict):
            if key not in node:
                where = f"{written(here)} has no {key}" if here else f"the view document has no {key}"
                near = nearest(key, node)
                return where, written((*here, near)) if near else None
            node = node[key]
        else:
            return f"{written(here)} is a single value: it has no {key}", None
    return None


def _no_such_name(path: tuple[str, ...], place: int, kind: str, known_names: KnownNames) -> tuple[str, str | None]:
    key, here = path[place], path[:place]
    with_dash = next((name for name in known_names.known[kind] if name.startswith(f"{key}-")), None)
    number = key.removeprefix("broker-")
    numbered = number if kind == "broker" and number != key and number in known_names.known[kind] else None
    near = numbered or with_dash or nearest(key, known_names.known[kind])
    hint = "; a broker's name here is its number" if numbered else ""
    hint = "; a name with a dash is written in brackets" if with_dash else hint
    return f"no {kind} is named {key} in this scenario{hint}", written((*here, near)) if near else None

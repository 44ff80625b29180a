"""A ScenarioSpec as a scenario file, which `recordings.scenarios.loader` reads back; defaults are left out.

The TOML is written here and not by `tomli-w`, which has no inline tables for configuration and gives every element of
an array its own line: `topics = ["orders"]` takes three lines, a load profile four for each of its points, and `config`
becomes a table of its own, far from its topic. A shrunk scenario is a page to be read.
"""

import json
from collections.abc import Iterator, Mapping

from cluster.config import DEFAULT_ASSIGNORS, format_duration, format_rate, format_size
from cluster.spec import (
    HPA_STABILIZATION_US,
    HPA_SYNC_US,
    START_JITTER_US,
    STARTUP_US,
    ApplicationSpec,
    ArrivalsSpec,
    AutoscalerSpec,
    ExpectationSpec,
    FailSpec,
    GroupSpec,
    KeysSpec,
    NetworkSpec,
    OutputSpec,
    ProcessingSpec,
    ProducerSpec,
    RetriesSpec,
    ScenarioSpec,
    SlowKeysSpec,
    TopicSpec,
    TransactionsSpec,
)

Row = tuple[str, object, object]
"""A key, its value, and its default, which is not written."""


def write_scenario(spec: ScenarioSpec) -> str:
    """The text of a scenario file. A file cannot configure single brokers: a spec that does is refused."""
    assert not any(broker.config for broker in spec.brokers), "a file cannot say this"
    numbered = [broker.id for broker in spec.brokers] == list(range(1, len(spec.brokers) + 1))
    plain = numbered and not any(broker.rack for broker in spec.brokers)
    racks = [_kept([("id", each.id, None), ("rack", each.rack, None)]) for each in spec.brokers]
    tables: list[str] = [
        _lines(
            [
                ("title", spec.title, None),
                ("module", spec.module, "other"),
                ("lesson", spec.lesson, ""),
                ("seed", spec.seed, 1),
                ("until", _duration(spec.until_us), "5m"),
                ("buggify", spec.buggify, False),
                ("start_jitter", _duration(spec.start_jitter_us), format_duration(START_JITTER_US)),
            ]
        ),
        "[cluster]\n"
        + _lines(
            [
                ("brokers", len(spec.brokers) if plain else racks, None),
                ("startup", _duration(spec.startup_us), format_duration(STARTUP_US)),
                ("config", spec.config, {}),
                ("replica_assignment", spec.internal_assignment, {}),
            ]
        ),
        _network(spec.network),
    ]
    tables += ["[[topic]]\n" + _lines(_topic(topic, min(3, len(spec.brokers)))) for topic in spec.topics]
    tables += ["[[producer]]\n" + _lines(_producer(producer)) for producer in spec.producers]
    tables += [_group(group) for group in spec.groups]
    for step in spec.steps:
        rows: list[Row] = [
            ("time", _duration(step.at_us), None),
            ("do", step.text, None),
            ("after_event", step.after_event, None),
        ]
        rows.append(("source", step.source, "scenario"))
        tables.append("[[at]]\n" + _lines(rows))
    tables += ["[[expect]]\n" + _lines(_expectation(each)) for each in spec.expectations]
    return "\n".join(table for table in tables if table)


def _network(network: NetworkSpec) -> str:
    links = [{"between": list(link.between), "latency": _duration(link.latency_us)} for link in network.links]
    rows: list[Row] = [
        ("latency", _duration(network.latency_us), "1ms"),
        ("jitter", network.jitter, 0.2),
        (
            "between_racks",
            _duration(network.between_racks_us) if network.between_racks_us is not None else None,
            None,
        ),
        ("links", links, []),
    ]
    lines = _lines(rows)
    return "[network]\n" + lines if lines else ""


def _topic(topic: TopicSpec, replication: int) -> list[Row]:
    """A topic's rows; what its assignment says, or `replication` as the default, is not said again."""
    assigned = topic.replica_assignment
    return [
        ("name", topic.name, None),
        ("partitions", topic.partitions, len(assigned) or 1),
        ("replication", topic.replication, len(assigned[0]) if assigned else replication),
        ("replica_assignment", [list(replicas) for replicas in assigned], []),
        ("config", topic.config, {}),
        ("created", _duration(topic.created_us), "0s"),
    ]


def _producer(producer: ProducerSpec) -> list[Row]:
    return [
        ("name", producer.name, None),
        ("topics", list(producer.topics), None),
        ("count", producer.count, 1),
        ("rate", format_rate(producer.rate_per_second), "10/s"),
        ("limit", producer.limit, None),
        ("arrivals", _arrivals(producer.arrivals), "steady"),
        ("keys", _keys(producer.keys), None),
        ("size", format_size(producer.size_bytes), "1KiB"),
        ("start", _duration(producer.start_us), "0s"),
        ("tombstones", producer.tombstones, 0.0),
        ("config", producer.config, {}),
        ("transactions", _transactions(producer.transactions), None),
    ]


def _arrivals(arrivals: ArrivalsSpec) -> object:
    if arrivals.kind != "profile":
        return arrivals.kind
    return [[_duration(at_us), format_rate(rate)] for at_us, rate in arrivals.profile]


def _keys(keys: KeysSpec) -> dict[str, object] | None:
    if keys == KeysSpec():
        return None
    rows: list[Row] = [
        ("kind", keys.kind, None),
        ("distinct", keys.distinct, 1_000),
        ("exponent", keys.exponent, 1.0),
        ("share", keys.share, 0.5),
    ]
    return _kept(rows)


def _transactions(transactions: TransactionsSpec | None) -> dict[str, object] | None:
    if transactions is None:
        return None
    rows: list[Row] = [
        ("id", transactions.id, None),
        ("records", transactions.records, 100),
        ("abort", transactions.abort, 0.0),
        ("on_abort", transactions.on_abort, "drop"),
    ]
    return _kept(rows)


def _group(group: GroupSpec) -> str:
    rows: list[Row] = [
        ("name", group.name, None),
        ("topics", list(group.topics), []),
        ("topic_regex", group.topic_regex, ""),
        ("subscriptions", {member: list(topics) for member, topics in group.subscriptions.items()}, {}),
        ("assign", {member: list(names) for member, names in group.assign.items()}, {}),
        ("members", group.members, max(1, len(group.assign))),
        ("stagger", _duration(group.stagger_us), "0s"),
        ("start", _duration(group.start_us), "0s"),
        ("startup", _duration(group.startup_us), "0s"),
        ("ready", group.ready, "started"),
        ("autoscaler", None if group.autoscaler is None else _autoscaler(group.autoscaler), None),
        ("static", group.static, False),
        ("assignors", list(group.assignors), list(DEFAULT_ASSIGNORS)),
        ("config", group.config, {}),
    ]
    application = _lines(_application(group.application))
    tables = ["[[group]]\n" + _lines(rows), "[group.application]\n" + application if application else ""]
    for own in group.own:
        settings: list[Row] = [
            ("assignors", None if own.assignors is None else list(own.assignors), None),
            ("config", own.config, {}),
            ("per_record", None if own.per_record_us is None else _duration(own.per_record_us), None),
            ("startup", None if own.startup_us is None else _duration(own.startup_us), None),
            ("on_revoked", own.on_revoked, None),
            ("revoke_takes", None if own.revoke_takes_us is None else _duration(own.revoke_takes_us), None),
        ]
        tables.append(f"[group.member.{json.dumps(own.name)}]\n" + _lines(settings))
    return "".join(tables)


def _autoscaler(autoscaler: AutoscalerSpec) -> dict[str, object]:
    rows: list[Row] = [
        ("lag_per_member", autoscaler.lag_per_member, None),
        ("min", autoscaler.least, 1),
        ("max", autoscaler.most, None),
        ("every", _duration(autoscaler.every_us), format_duration(HPA_SYNC_US)),
        ("stabilization", _duration(autoscaler.stabilization_us), format_duration(HPA_STABILIZATION_US)),
    ]
    return _kept(rows)


def _application(application: ApplicationSpec) -> list[Row]:
    poison, restart_us = application.poison, application.restart_after_us
    return [
        ("per_record", _duration(application.per_record_us), "0s"),
        ("jitter", application.jitter, 0.0),
        ("processing", _processing(application.processing), None),
        ("slow_keys", _slow_keys(application.slow_keys), None),
        ("commit", application.commit, "auto"),
        ("on_revoked", application.on_revoked, "nothing"),
        ("revoke_takes", _duration(application.revoke_takes_us), "0s"),
        ("writes", application.writes, None),
        ("outputs", [_output(each) for each in application.outputs], []),
        ("sink", application.sink, None),
        ("poison", None if poison is None else {"key": poison.key, "crashes": poison.crashes}, None),
        ("worker_threads", application.worker_threads, 0),
        ("queue", application.queue, 1_000),
        ("fail", _fail(application.fail), None),
        ("retries", _retries(application.retries), None),
        ("dead_letter", application.dead_letter, None),
        ("restart_after", None if restart_us is None else _duration(restart_us), None),
        ("producer", application.producer, {}),
    ]


def _processing(processing: ProcessingSpec | None) -> dict[str, object] | None:
    if processing is None:
        return None
    return {"p50": _duration(processing.p50_us), "p99": _duration(processing.p99_us)}


def _slow_keys(slow: SlowKeysSpec | None) -> dict[str, object] | None:
    if slow is None:
        return None
    rows: list[Row] = [
        ("keys", list(slow.keys), []),
        ("share", slow.share, 0.0),
        ("per_record", _duration(slow.per_record_us), None),
    ]
    return _kept(rows)


def _fail(fail: FailSpec | None) -> dict[str, object] | None:
    if fail is None:
        return None
    return _kept([("share", fail.share, None), ("times", fail.times, None), ("crashes", fail.crashes, True)])


def _retries(retries: RetriesSpec | None) -> dict[str, object] | None:
    if retries is None:
        return None
    backoff = _duration(retries.backoff_us)
    return _kept([("times", retries.times, None), ("backoff", backoff, "0s"), ("multiplier", retries.multiplier, 1.0)])


def _output(output: OutputSpec) -> dict[str, object]:
    return _kept([("topic", output.topic, None), ("share", output.share, 1.0), ("records", output.records, 1)])


def _expectation(expectation: ExpectationSpec) -> list[Row]:
    instants = {"by": expectation.by_us, "at": expectation.at_us}
    window = {"from": expectation.from_us, "to": expectation.to_us}
    return [
        ("that", expectation.that, None),
        ("event", expectation.event, None),
        *((key, None if at_us is None else _duration(at_us), None) for key, at_us in instants.items()),
        ("always", expectation.always, False),
        *((key, None if at_us is None else _duration(at_us), None) for key, at_us in window.items()),
        ("after", expectation.after, None),
        ("nth", expectation.nth, 1),
        ("where", expectation.where, {}),
        ("count", expectation.count, None),
    ]


def _duration(us: int) -> str:
    return format_duration(us)


def _kept(rows: list[Row]) -> dict[str, object]:
    return {key: value for key, value, default in rows if value is not None and value != default}


def _lines(rows: list[Row]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in _kept(rows).items())


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML forbids DEL, JSON does not
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_pairs(value)) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    assert isinstance(value, int | float), f"{value!r} has no form in a scenario file"
    return repr(value)


def _pairs(table: Mapping[str, object]) -> Iterator[str]:
    for key, value in table.items():
        bare = key.replace("_", "a").isalnum() and key.isascii()
        yield f"{key if bare else json.dumps(key)} = {_value(value)}"

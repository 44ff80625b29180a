"""Was any record lost, doubled, read after its abort, or read or written in another order, and does Kafka allow that?

The names are Jepsen's (`jepsen.tests.kafka`); `docs/anomalies.md` has the table of what is allowed when.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from cluster.config import Value, resolve
from cluster.protocol.names import ADMIN_CLIENT
from cluster.spec import ApplicationSpec, ScenarioSpec
from recordings.scenarios.loader import ScenarioErrors, SettingError, parse_scenario
from recordings.scenarios.overrides import apply_settings, parse_setting
from recordings.spark.analyses.analysis import Analysis
from recordings.spark.facts.anomalies import anomalies
from recordings.spark.formatting import many
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import Row

    from recordings.spark.analyses.analysis import FlightRows

AT_LEAST_ONCE = ("auto", "after-each-poll", "transaction")
"""Commit policies of applications that commit what they have processed, and no more."""


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """An anomaly, by Jepsen's name, of a producer or a group, the `subject`.

    `records` in `partitions` show it, in events from number `first_seq` on (null: it shows at the end of the flight
    only). `allowed` says whether Kafka allows it with the settings and faults of this flight, and `because` why.
    """

    anomaly: str
    subject: str
    records: int
    partitions: int
    first_seq: int | None
    allowed: bool
    because: str


class Circumstances(NamedTuple):
    """What decides whether an anomaly is allowed.

    `spec`: the scenario with the flight's settings, None if this version cannot read it: then Kafka's defaults hold.
    `changed`: a key that decides it was changed during the flight.
    """

    spec: ScenarioSpec | None
    read_committed: frozenset[str]
    log_lost: bool
    moved: frozenset[str]
    changed: bool

    def is_idempotent(self, producer: str) -> bool:
        """Whether a producer numbers its records, and waits for all in-sync replicas."""
        return all(_is_safe(config) for names, config in self._producers() if producer in names)

    def producers_are_safe(self) -> bool:
        """Whether every producer waits for all in-sync replicas, those of applications too."""
        return not self.changed and all(_is_safe(config) for _, config in self._producers())

    def commits_what_is_processed(self, group: str) -> bool:
        """Whether a group's members commit no record before they have processed it."""
        return not self.changed and all(
            one.commit in AT_LEAST_ONCE and not one.worker_threads for one in self._applications(group)
        )

    def skips_records(self, group: str) -> bool:
        """Whether a group's application skips a record that it cannot process."""
        return any(one.skips for one in self._applications(group))

    def _applications(self, group: str) -> Sequence[ApplicationSpec]:
        return [one.application for one in self.spec.groups if one.name == group] if self.spec is not None else []

    def _producers(self) -> Iterator[tuple[Sequence[str], Mapping[str, Value]]]:
        """The instances and the settings of each producer, and of the one in each process of an application."""
        if self.spec is None:
            return
        yield from ((one.instances(), one.producer_config()) for one in self.spec.producers)
        for group in self.spec.groups:
            if group.application.has_producer:
                yield group.instances(), resolve("producer", group.application.producer)


def _is_safe(config: Mapping[str, Value]) -> bool:
    return config["enable.idempotence"] is True and str(config["acks"]) in {"all", "-1"}


def _spec(flight: "Row") -> ScenarioSpec | None:
    """The scenario as it was flown; None if this version cannot read it."""
    try:
        scenario = parse_scenario(flight["scenario_text"], flight["scenario"], recorded=True)
        return apply_settings(scenario.spec, [parse_setting(text) for text in flight["settings"]])
    except (ScenarioErrors, SettingError):
        return None


def _by_the_log(flown: Circumstances, _: str) -> str:
    if flown.log_lost:
        return "an unclean election or a crash took records from the log"
    return "" if flown.producers_are_safe() else "a producer does not wait for all in-sync replicas"


def _lost_write(flown: Circumstances, group: str) -> str:
    if group in flown.moved:
        return "the position of the group was set past them: by an operator, a seek() or auto.offset.reset"
    if not flown.commits_what_is_processed(group):
        return "the application commits records before it has processed them"
    if flown.skips_records(group):
        return "the application skips records that it cannot process"
    return _by_the_log(flown, group)


def _without_numbers(flown: Circumstances, producer: str) -> str:
    if flown.changed:
        return "a setting of producers was changed during the flight"
    return "" if flown.is_idempotent(producer) else "the producer is not idempotent"


def _uncommitted(flown: Circumstances, group: str) -> str:
    if flown.changed:
        return "a setting was changed during the flight"
    if group not in flown.read_committed:
        return "the group reads with isolation.level read_uncommitted"
    return "an unclean election or a crash took a COMMIT from the log" if flown.log_lost else ""


def _at_the_end(_: Circumstances, __: str) -> str:
    return "the flight ends before the group has read them"


class Rule(NamedTuple):
    """What an anomaly is, when Kafka allows it, and why it is allowed in a flight (empty: it is not)."""

    is_when: str
    allowed_when: str
    why_allowed: Callable[[Circumstances, str], str]


RULES: dict[str, Rule] = {
    "lost-write": Rule(
        "An acknowledged record that a group has passed and can never process.",
        "After an unclean election or a crash; acks below all; an application that commits before it processes, or"
        " skips what it cannot process; a position that an operator, a seek() or auto.offset.reset sets.",
        _lost_write,
    ),
    "unseen": Rule(
        "An acknowledged record that a group has not read at the end.",
        "Always: a flight has no final poll.",
        _at_the_end,
    ),
    "duplicate": Rule(
        "A record at two offsets of its partition.",
        "Without idempotence.",
        _without_numbers,
    ),
    "inconsistent-offsets": Rule(
        "A record that a group processed after its log had dropped it: its offset goes to another one.",
        "After an unclean election or a crash; acks below all.",
        _by_the_log,
    ),
    "G1a": Rule(
        "A record of an aborted transaction that a group processed.",
        "With isolation.level read_uncommitted; after an unclean election or a crash.",
        _uncommitted,
    ),
    "poll-skip": Rule(
        "A member passes committed records of a partition without a rebalance or a new position.",
        "After an unclean election or a crash.",
        _by_the_log,
    ),
    "nonmonotonic-poll": Rule(
        "A member reads back in a partition without a rebalance or a new position.",
        "After an unclean election or a crash.",
        _by_the_log,
    ),
    "nonmonotonic-send": Rule(
        "A record of a producer stands behind a later one of its own.",
        "Without idempotence.",
        _without_numbers,
    ),
}
"""The anomalies that are looked for, by Jepsen's names."""

NOT_LOOKED_FOR = {
    "precommitted-read": "no application of a scenario polls what its open transaction has sent",
    "int-poll-skip, int-nonmonotonic-poll, int-nonmonotonic-send": "an application polls and sends in different calls",
    "int-send-skip, G0, G0-process, G0-realtime": "Kafka always allows them: writes of two transactions interleave",
    "G1c, G1c-process, G1c-realtime": "allowed wherever writes may interleave",
}
"""Jepsen's other anomalies, and why no flight is searched for them."""


def _hazards(tables: Tables) -> DataFrame:
    """The unclean elections and the crashes that take unflushed records, by flight: `events`."""
    unclean = tables["leader_elected"].where("reason = 'unclean'").select("run_id")
    crashes = tables["fault_started"].where("fault_kind = 'crash'").select("run_id")
    return unclean.unionByName(crashes).groupBy("run_id").agg(sf.count("*").alias("events"))


def _changed(tables: Tables) -> DataFrame:
    """The flights in which a key that decides what is allowed was changed: `run_id`."""
    keys = ("acks", "enable.idempotence", "enable.auto.commit", "commit", "isolation.level", "worker_threads")
    return tables["setting_changed"].where(sf.col("key").isin(*keys)).select("run_id").distinct()


def _moved(tables: Tables) -> DataFrame:
    """The groups whose position was set other than by what their members committed: `run_id`, `group`."""
    reset = tables["positions_reset"].where("reason in ('seek', 'latest', 'by_duration')")
    by_operator = tables["offsets_committed"].where(sf.col("member").isin("", ADMIN_CLIENT))
    return reset.select("run_id", "group").unionByName(by_operator.select("run_id", "group")).distinct()


def _build(rows: "FlightRows") -> list[Anomaly]:
    [flight] = rows["flights"]
    committed = frozenset(row["group"] for row in rows["isolation"])
    moved = frozenset(row["group"] for row in rows["moved"])
    flown = Circumstances(_spec(flight), committed, bool(rows["hazards"]), moved, bool(rows["changed"]))
    cut = {row["partition"] for row in rows["cut"]}
    shown: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows["anomalies"]:
        shown[row["anomaly"], row["subject"]].append(row)
    found: dict[tuple[str, str], Anomaly] = {}
    for key, places in shown.items():
        intact = any(row["partition"] not in cut for row in places)  # its log lost nothing that explains them
        seen = sum(row["records"] for row in places), len(places), min(row["first_seq"] for row in places)
        found[key] = _anomaly(flown._replace(log_lost=flown.log_lost and not intact), key, seen)
    for row in rows["readers"]:
        for anomaly, fate in (("lost-write", "lost"), ("unseen", "unread")):
            if row[fate]:
                key = anomaly, row["group"]
                found[key] = _anomaly(flown, key, (row[fate], 0, None))
    return [found[key] for key in sorted(found, key=_order)]


def _order(key: tuple[str, str]) -> tuple[int, str]:
    return list(RULES).index(key[0]), key[1]


def _anomaly(flown: Circumstances, key: tuple[str, str], seen: tuple[int, int, int | None]) -> Anomaly:
    (name, subject), (records, partitions, first_seq) = key, seen
    why = RULES[name].why_allowed(flown, subject)
    return Anomaly(
        anomaly=name,
        subject=subject,
        records=records,
        partitions=partitions,
        first_seq=first_seq,
        allowed=bool(why),
        because=why or "nothing in the settings or the faults of this flight allows it",
    )


def _forbidden(flight: FlightReport) -> list[Anomaly]:
    found: list[Anomaly] = getattr(flight, "anomalies", [])  # a report of an earlier version has none
    return [one for one in found if not one.allowed]


def _sentences(flight: FlightReport) -> Iterator[str]:
    for one in _forbidden(flight):
        yield f"{one.subject} shows {one.anomaly} in {many(one.records, 'record')}: Kafka does not allow it here."


DELIVERY = Analysis(
    key="anomalies",
    row=Anomaly,
    queries={
        "anomalies": anomalies,
        "isolation": lambda tables: tables["group_declared"].where("read_committed").select("run_id", "group"),
        "hazards": _hazards,
        "moved": _moved,
        "changed": _changed,
        "cut": lambda tables: tables["log_truncated"].select("run_id", "partition").distinct(),
    },
    build=_build,
    sentences=_sentences,
    eventful=lambda flight: bool(_forbidden(flight)),
)


def document() -> str:
    """`docs/anomalies.md`."""
    rules = [f"| `{name}` | {rule.is_when} | {rule.allowed_when} |" for name, rule in RULES.items()]
    others = [
        f"| {', '.join(f'`{one}`' for one in names.split(', '))} | {why} |" for names, why in NOT_LOOKED_FOR.items()
    ]
    return "\n".join(
        (
            "# Anomalies of delivery",
            "",
            "`flightdeck report` looks for these in every flight; `anomalies` in report.json has them. The names are",
            "those of `jepsen.tests.kafka`. A flight of a sound cluster has none that is not allowed.",
            "",
            "| anomaly | what it is | when Kafka allows it |",
            "|---|---|---|",
            *rules,
            "",
            "Jepsen allows `poll-skip` and `nonmonotonic-poll` to every consumer that calls subscribe(), because it",
            "does not see rebalances. An event log has them, so these consumers are judged as all others are.",
            "Compacted partitions are not searched for `poll-skip`.",
            "",
            "## Not looked for",
            "",
            "| anomaly | why |",
            "|---|---|",
            *others,
            "",
        )
    )

"""The metrics of an instant from the raw lines of a journal: no event class, no view, no fold, no counter.

Offsets of logs and committed offsets come from `independent_bill`, which reads the same lines.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tests.support.independent_bill import IndependentBill

Line = dict[str, Any]
Series = tuple[str, frozenset[tuple[str, str]]]

STATE_NUMBERS = {"Starting": 1, "Running": 3, "PendingControlledShutdown": 6}


def series(name: str, **labels: object) -> Series:
    return f"kafka_{name}", frozenset((key, str(value)) for key, value in labels.items())


def split(partition: str) -> dict[str, str]:
    topic, _, number = partition.rpartition("-")
    return {"topic": topic, "partition": number}


class _Place:
    def __init__(self) -> None:
        self.leader = self.epoch = -1
        self.replicas: list[int] = []
        self.adding: list[int] = []
        self.reassigned = False
        self.isr: list[int] = []
        self.bytes = 0
        self.leaders: dict[int, int] = {}  # epoch → broker that took it


class _Process:
    """A broker, a consumer or a producer: what it is, and what it has counted since it began."""

    def __init__(self) -> None:
        self.state, self.frozen, self.fenced, self.serves = "", False, True, False
        self.counts: Counter[tuple[str, str]] = Counter()
        self.group = ""
        self.owned: set[str] = set()
        self.positions: dict[str, int] = {}
        self.follower: dict[str, int] = {}


class _Known:
    """A group at its coordinator."""

    def __init__(self, line: Line) -> None:
        self.kept_in, self.stable = line["coordinator_partition"], line["read_committed"]
        self.kind, self.state, self.broker, self.generation = "classic", "Empty", -1, 0
        self.members: set[str] = set()
        self.pending: set[str] = set()


class IndependentMetrics:
    """Takes a journal's lines one by one; `values` has every series of that instant."""

    def __init__(self) -> None:
        self.bill = IndependentBill()
        self.places: dict[str, _Place] = {}
        self.brokers: dict[int, _Process] = {}
        self.consumers: defaultdict[str, _Process] = defaultdict(_Process)
        self.producers: defaultdict[str, _Process] = defaultdict(_Process)
        self.groups: dict[str, _Known] = {}
        self.controller = -1

    def take(self, line: Line) -> None:
        self.bill.take(line)
        handler = getattr(self, f"_{line['kind']}", None)
        if handler is not None:
            handler(line)

    def values(self) -> dict[Series, float]:
        found = dict(self._of_topics())
        for name in self.groups:
            found |= dict(self._of_group(name))
        for number, broker in self.brokers.items():
            if broker.state and not broker.frozen:
                found |= {
                    (name, labels | {("instance", f"broker-{number}")}): value
                    for (name, labels), value in (*self._of_broker(number), *self._of_coordinator(number))
                }
        for name, consumer in self.consumers.items():
            if consumer.state and not consumer.frozen:
                found |= dict(self._of_consumer(name, consumer))
        for name, producer in self.producers.items():
            if producer.state in {"Running", "Fenced"}:
                found |= dict(self._of_producer(name, producer))
        return found

    def _answering(self, name: str) -> bool:
        place, broker = self.places[name], self.brokers.get(self.places[name].leader)
        known = max(place.leaders, default=-1) == place.epoch
        return broker is not None and broker.serves and not broker.frozen and known

    # --- as kafka_exporter reads them -----------------------------------------------------------------------------

    def _of_topics(self) -> Iterator[tuple[Series, float]]:
        yield series("brokers"), sum(not broker.fenced for broker in self.brokers.values())
        for topic, names in self.bill.of_topic.items():
            yield series("topic_partitions", topic=topic), len(names)
        for name, place in self.places.items():
            if not place.replicas:
                continue
            where, log = split(name), self.bill.logs[name]
            if place.leader != -1:
                yield series("topic_partition_leader", **where), place.leader
            if self._answering(name):
                yield series("topic_partition_current_offset", **where), log.high_watermark
                yield series("topic_partition_oldest_offset", **where), log.start
            yield series("topic_partition_replicas", **where), len(place.replicas)
            yield series("topic_partition_in_sync_replica", **where), len(place.isr)
            missing = set(place.replicas) - set(place.isr)
            yield series("topic_partition_under_replicated_partition", **where), float(bool(missing))
            yield series("topic_partition_leader_is_preferred", **where), place.replicas[0] == place.leader

    def _coordinator(self, name: str) -> int | None:
        group = self.groups[name]
        leader = self.places[group.kept_in].leader
        if not self._answering(group.kept_in) or group.broker not in {-1, leader}:
            return None
        listed = group.state != "Dead" and (group.members or group.pending or group.generation)
        return leader if listed or self.bill.groups[name].committed else None

    def _of_group(self, name: str) -> Iterator[tuple[Series, float]]:
        if self._coordinator(name) is None:
            return
        group, offsets = self.groups[name], self.bill.groups[name].committed
        yield series("consumergroup_members", consumergroup=name), len(group.members) * (group.kind == "classic")
        for topic in {split(partition)["topic"] for partition in offsets}:
            both = {"consumergroup": name, "topic": topic}
            found = {partition: offsets.get(partition, -1) for partition in self.bill.of_topic[topic]}
            lags = {
                partition: self.bill.logs[partition].high_watermark - offset if offset >= 0 else -1
                for partition, offset in found.items()
                if self._answering(partition)
            }
            for partition, offset in found.items():
                yield series("consumergroup_current_offset", consumergroup=name, **split(partition)), offset
            for partition, lag in lags.items():
                yield series("consumergroup_lag", consumergroup=name, **split(partition)), lag
            yield series("consumergroup_current_offset_sum", **both), sum(found.values())
            yield series("consumergroup_lag_sum", **both), sum(lag for name, lag in lags.items() if found[name] >= 0)

    # --- as JMX exporter reads them -------------------------------------------------------------------------------

    def _of_broker(self, number: int) -> Iterator[tuple[Series, float]]:
        broker = self.brokers[number]
        yield series("server_kafkaserver_brokerstate"), STATE_NUMBERS[broker.state]
        replicas = {name: place for name, place in self.places.items() if number in place.replicas}
        led = {name for name, place in replicas.items() if place.leader == number}
        least = {name: min(self.bill.min_isr[split(name)["topic"]], len(replicas[name].replicas)) for name in led}
        wanted = {name: len(place.replicas) - len(place.adding) for name, place in replicas.items()}
        lacking = {name for name in led if len(replicas[name].isr) < wanted[name]}
        moving = {name for name in led if replicas[name].reassigned}
        below = {name for name in led if len(replicas[name].isr) < least[name]}
        at = {name for name in led if len(replicas[name].isr) == least[name]}
        for name, place in replicas.items():
            where, log = split(name), self.bill.logs[name]
            yield series("cluster_partition_underreplicated", **where), name in lacking
            yield series("cluster_partition_underminisr", **where), name in below
            yield series("cluster_partition_atminisr", **where), name in at
            yield series("cluster_partition_insyncreplicascount", **where), len(place.isr) if name in led else 0
            yield series("cluster_partition_replicascount", **where), wanted[name] if name in led else 0
            if name in led and self._answering(name):
                yield series("cluster_partition_laststableoffsetlag", **where), log.high_watermark - log.stable()
                yield series("log_log_logendoffset", **where), log.end
                yield series("log_log_logstartoffset", **where), log.start
                yield series("log_log_size", **where), place.bytes
        for what, names in (("leadercount", led), ("partitioncount", replicas), ("underreplicatedpartitions", lacking),
                            ("underminisrpartitioncount", below), ("atminisrpartitioncount", at),
                            ("reassigningpartitions", moving)):  # fmt: skip
            yield series(f"server_replicamanager_{what}"), len(names)
        for what in ("messagesin", "bytesin"):
            yield series(f"server_brokertopicmetrics_{what}_total"), broker.counts[what, ""]
            for topic in {topic for kind, topic in broker.counts if topic and kind == what}:
                yield series(f"server_brokertopicmetrics_{what}_total", topic=topic), broker.counts[what, topic]
        yield from self._of_controller(number)

    def _of_controller(self, number: int) -> Iterator[tuple[Series, float]]:
        places = self.places.values()
        fenced = [broker.fenced for broker in self.brokers.values()]
        for what, value in (
            ("activecontrollercount", self.controller == number),
            ("activebrokercount", fenced.count(False)),
            ("fencedbrokercount", fenced.count(True)),
            ("globaltopiccount", len(self.bill.of_topic)),
            ("globalpartitioncount", len(self.places)),
            ("offlinepartitionscount", sum(place.leader == -1 for place in places)),
            ("preferredreplicaimbalancecount", sum(place.replicas[:1] not in ([], [place.leader]) for place in places)),
        ):
            yield series(f"controller_kafkacontroller_{what}"), value
        unclean = self.brokers[number].counts["unclean", ""]
        yield series("controller_controllerstats_uncleanleaderelections_total"), unclean

    def _of_coordinator(self, number: int) -> Iterator[tuple[Series, float]]:
        mine = [name for name in self.groups if self._coordinator(name) == number]
        states = Counter((self.groups[name].kind, self.groups[name].state) for name in mine)
        kinds = Counter(self.groups[name].kind for name in mine)
        manager, metrics = "coordinator_group_groupmetadatamanager_num", "server_group_coordinator_metrics_"
        yield series(f"{manager}groups"), kinds["classic"]
        for state in ("PreparingRebalance", "CompletingRebalance", "Stable", "Empty"):
            yield series(f"{manager}groups{state.lower()}"), states["classic", state]
        yield series(f"{manager}offsets"), sum(len(self.bill.groups[name].committed) for name in mine)
        for kind in ("classic", "consumer"):
            yield series(f"{metrics}protocol_{kind}_group_count"), kinds[kind]
        for state in ("Empty", "Assigning", "Reconciling", "Stable"):
            yield series(f"{metrics}state_{state.lower()}_consumer_group_count"), states["consumer", state]
        counts = self.brokers[number].counts
        yield series(f"{metrics}group_completed_rebalance_count"), counts["stable", ""]
        yield series(f"{metrics}offset_commit_count"), counts["commits", ""]

    def _of_consumer(self, name: str, consumer: _Process) -> Iterator[tuple[Series, float]]:
        told = {"instance": name, "clientId": name}
        start = "consumer_fetch_manager_"
        yield series(f"{start}records_consumed", **told), consumer.counts["consumed", ""]
        for partition in consumer.owned:
            where, log = told | split(partition), self.bill.logs[partition]
            yield series(f"{start}preferred_read_replica", **where), consumer.follower.get(partition, -1)
            if partition in consumer.positions:
                end = log.stable() if self.groups[consumer.group].stable else log.high_watermark
                yield series(f"{start}records_lag", **where), max(end - consumer.positions[partition], 0)
                yield series(f"{start}records_lead", **where), max(consumer.positions[partition] - log.start, 0)

    def _of_producer(self, name: str, producer: _Process) -> Iterator[tuple[Series, float]]:
        told = {"instance": name, "clientId": name}
        for what in ("send", "retry", "error"):
            yield series(f"producer_record_{what}", **told), producer.counts[what, ""]
            for topic in {topic for _, topic in producer.counts if topic}:
                yield series(f"producer_topic_record_{what}", **told, topic=topic), producer.counts[what, topic]
        yield series("producer_batch_split", **told), producer.counts["split", ""]

    # --- lines: the cluster ---------------------------------------------------------------------------------------

    def _topic_created(self, line: Line) -> None:
        for number in range(line["partitions"]):
            self.places.setdefault(f"{line['topic']}-{number}", _Place())

    _partitions_added = _topic_created

    def _controller_elected(self, line: Line) -> None:
        self.controller = line["broker"]

    def _broker_started(self, line: Line) -> None:
        before = self.brokers.get(line["broker"])
        broker = self.brokers[line["broker"]] = _Process()
        broker.fenced = before is None or before.fenced
        broker.serves = line.get("serves", True)
        broker.state = "Running" if broker.serves else "Starting"

    def _broker_state_changed(self, line: Line) -> None:
        self.brokers[line["broker"]].state, self.brokers[line["broker"]].serves = line["state"], True

    def _broker_stopped(self, line: Line) -> None:
        broker = self.brokers[line["broker"]]
        broker.state, broker.serves, broker.frozen = "", False, False

    def _broker_paused(self, line: Line) -> None:
        self.brokers[line["broker"]].frozen = True

    def _broker_resumed(self, line: Line) -> None:
        self.brokers[line["broker"]].frozen = False

    def _broker_fenced(self, line: Line) -> None:
        self.brokers[line["broker"]].fenced = True

    def _broker_unfenced(self, line: Line) -> None:
        self.brokers[line["broker"]].fenced = False

    def _leader_elected(self, line: Line) -> None:
        place = self.places[line["partition"]]
        place.leader, place.epoch = line["leader"], line["leader_epoch"]
        place.replicas, place.isr = line["replicas"], line["isr"]
        if line["reason"] == "unclean":
            for broker in self.brokers.values():
                broker.counts["unclean", ""] += 1

    def _partition_reassigned(self, line: Line) -> None:
        place = self.places[line["partition"]]
        place.replicas, place.adding = line["replicas"], line["adding"]
        place.reassigned = bool(line["adding"] or line["removing"])

    def _isr_changed(self, line: Line) -> None:
        self.places[line["partition"]].isr = line["isr"]

    def _leadership_taken(self, line: Line) -> None:
        place = self.places[line["partition"]]
        place.leaders[line["leader_epoch"]] = line["broker"]
        if line["leader_epoch"] == max(place.leaders):
            place.bytes = line["bytes"]

    def _records_appended(self, line: Line) -> None:
        place, topic = self.places[line["partition"]], split(line["partition"])["topic"]
        counts = self.brokers[place.leaders[line["leader_epoch"]]].counts
        for name in ("", topic):
            counts["messagesin", name] += line["count"]
            counts["bytesin", name] += line["bytes"]
        if line["leader_epoch"] == max(place.leaders):
            place.bytes += line["bytes"]

    def _log_truncated(self, line: Line) -> None:
        if line["broker"] == self.bill.logs[line["partition"]].taken_by:
            self.places[line["partition"]].bytes = line.get("bytes", 0)

    def _log_start_advanced(self, line: Line) -> None:
        place = self.places[line["partition"]]
        if line["leader_epoch"] == max(place.leaders):
            place.bytes = line["bytes"]

    def _log_compacted(self, line: Line) -> None:
        if line["broker"] == self.bill.logs[line["partition"]].taken_by:
            self.places[line["partition"]].bytes = line["bytes"]

    # --- lines: groups --------------------------------------------------------------------------------------------

    def _group_declared(self, line: Line) -> None:
        self.groups[line["group"]] = _Known(line)

    def _group_protocol_declared(self, line: Line) -> None:
        self.groups[line["group"]].kind = line["protocol"]

    def _group_protocol_converted(self, line: Line) -> None:
        self.groups[line["group"]].kind, self.groups[line["group"]].broker = line["protocol"], line["broker"]

    def _member_id_assigned(self, line: Line) -> None:
        group = self.groups[line["group"]]
        group.pending.add(line["member_id"])
        group.state = "Empty" if group.state == "Dead" else group.state

    def _rebalance_started(self, line: Line) -> None:
        self.groups[line["group"]].state, self.groups[line["group"]].broker = "PreparingRebalance", line["broker"]

    def _join_received(self, line: Line) -> None:
        self.groups[line["group"]].pending.discard(line["member_id"])
        self.groups[line["group"]].members.add(line["member_id"])

    def _join_barrier_completed(self, line: Line) -> None:
        group = self.groups[line["group"]]
        group.generation, group.members = line["generation"], set(line["members"])
        group.state = "CompletingRebalance" if group.members else "Empty"

    def _group_stabilized(self, line: Line) -> None:
        self.groups[line["group"]].state = "Stable"
        self._counted_by_coordinator(line["group"], "stable", 1)

    def _counted_by_coordinator(self, group: str, what: str, count: int) -> None:
        leaders = self.places[self.groups[group].kept_in].leaders
        self.brokers[leaders[max(leaders)]].counts[what, ""] += count

    def _offsets_committed(self, line: Line) -> None:
        self._counted_by_coordinator(line["group"], "commits", len(line["offsets"]))
        if self.groups[line["group"]].state == "Dead":
            self.groups[line["group"]].state = "Empty"

    def _member_removed(self, line: Line) -> None:
        self.groups[line["group"]].members.discard(line["member_id"])
        self.groups[line["group"]].pending.discard(line["member_id"])

    def _static_member_replaced(self, line: Line) -> None:
        group = self.groups[line["group"]]
        if line["old_member_id"] in group.members:
            group.members = group.members - {line["old_member_id"]} | {line["member_id"]}

    def _group_loaded(self, line: Line) -> None:
        group = self.groups[line["group"]]
        group.broker, group.state, group.members = line["broker"], line["state"], set(line["members"])
        group.pending = set()
        if line["kind"] == "consumer_group_loaded":
            group.kind, group.generation = "consumer", line["group_epoch"]
            return
        group.generation = line["generation"]
        if group.members:
            group.kind = "classic"

    _consumer_group_loaded = _group_loaded

    def _group_unloaded(self, line: Line) -> None:
        if self.groups[line["group"]].broker in {-1, line["broker"]}:
            self.groups[line["group"]].pending.clear()

    def _group_deleted(self, line: Line) -> None:
        group = self.groups[line["group"]]
        group.state, group.generation, group.members, group.pending = "Dead", 0, set(), set()

    def _classic_group_upgraded(self, line: Line) -> None:
        group = self.groups[line["group"]]
        group.kind, group.broker, group.generation = "consumer", line["broker"], line["epoch"]
        group.members, group.pending = set(line["members"]), set()

    def _consumer_group_downgraded(self, line: Line) -> None:
        group = self.groups[line["group"]]
        group.kind, group.state, group.broker, group.generation = (
            "classic",
            "Stable",
            line["broker"],
            line["generation"],
        )
        group.members, group.pending = set(line["members"]), set()

    def _consumer_member_subscribed(self, line: Line) -> None:
        self._join_received(line)

    def _member_protocol_changed(self, line: Line) -> None:
        self.groups[line["group"]].members.add(line["member_id"])

    def _consumer_group_epoch_bumped(self, line: Line) -> None:
        self.groups[line["group"]].generation, self.groups[line["group"]].broker = line["epoch"], line["broker"]

    def _consumer_group_state_changed(self, line: Line) -> None:
        self.groups[line["group"]].state, self.groups[line["group"]].broker = line["state"], line["broker"]

    # --- lines: clients -------------------------------------------------------------------------------------------

    def _member_started(self, line: Line) -> None:
        consumer = self.consumers[line["member"]] = _Process()
        consumer.state, consumer.group = "runs", line["group"]

    def _member_stopped(self, line: Line) -> None:
        self.consumers[line["member"]] = _Process()

    def _member_paused(self, line: Line) -> None:
        self.consumers[line["member"]].frozen = True

    def _member_resumed(self, line: Line) -> None:
        self.consumers[line["member"]].frozen = False

    def _partitions_assigned(self, line: Line) -> None:
        self.consumers[line["member"]].owned.update(line["partitions"])

    def _partitions_revoked(self, line: Line) -> None:
        consumer = self.consumers[line["member"]]
        for name in line["partitions"]:
            consumer.owned.discard(name)
            consumer.positions.pop(name, None)
            consumer.follower.pop(name, None)

    def _positions_reset(self, line: Line) -> None:
        self.consumers[line["member"]].positions |= line["positions"]

    _positions_moved_on = _positions_reset

    def _poll_returned(self, line: Line) -> None:
        self._positions_reset(line)
        self.consumers[line["member"]].counts["consumed", ""] += line["records"]

    def _positions_given_up(self, line: Line) -> None:
        for name in line["partitions"]:
            self.consumers[line["member"]].positions.pop(name, None)

    def _position_out_of_range(self, line: Line) -> None:
        self.consumers[line["member"]].positions.pop(line["partition"], None)

    def _position_truncated(self, line: Line) -> None:
        if line["reset"] != "none" and line["diverging"] < 0:
            self.consumers[line["member"]].positions.pop(line["partition"], None)

    def _preferred_read_replica_changed(self, line: Line) -> None:
        self.consumers[line["member"]].follower[line["partition"]] = line["broker"]

    def _producer_state_changed(self, line: Line) -> None:
        producer = self.producers[line["producer"]]
        producer.state = line["state"]
        if line["state"] in {"Stopped", "Dead"}:
            self.producers[line["producer"]] = _Process()

    def _count(self, line: Line, what: str, partition: str, records: int) -> None:
        counts = self.producers[line["producer"]].counts
        counts[what, ""] += records
        counts[what, split(partition)["topic"]] += records

    def _produce_sent(self, line: Line) -> None:
        for name, records in [*line["records"].items(), *line["retried"].items()]:
            self._count(line, "send", name, records)

    def _batch_retried(self, line: Line) -> None:
        self._count(line, "retry", line["partition"], line["records"])

    def _batch_failed(self, line: Line) -> None:
        if line["error"] != "TransactionAbortedException":
            self._count(line, "error", line["partition"], line["records"])

    def _send_refused(self, line: Line) -> None:
        self.producers[line["producer"]].counts["error", ""] += line["records"]

    def _batch_split(self, line: Line) -> None:
        self.producers[line["producer"]].counts["split", ""] += 1

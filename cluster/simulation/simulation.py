"""The simulation: builds a running cluster from a scenario and a seed.

    simulation = Simulation(spec, seed, sinks=[…])

    async def main():
        async with simulation.running():
            await simulation.timeline.fly(until_us)

    trio.run(main, clock=simulation.timeline)

Commands go in (`timeline.submit`, the scenario's steps), events come out (`sinks`); nothing else crosses the border.
At t = 0 everything is up: brokers registered, every partition led, internal topics there.
"""

import math
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import msgspec
import trio

from cluster import events as e
from cluster.broker.broker import Broker
from cluster.broker.controller_channel import NO_CONTROLLER, ControllerChannel
from cluster.broker.host import BrokerHost
from cluster.broker.replica import Replica
from cluster.clients.application.dependency import Dependency
from cluster.clients.application.failures import Failures
from cluster.clients.application.processing_time import ProcessingTimes
from cluster.clients.client_environment import ClientEnvironment
from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.output_producer import OutputProducer
from cluster.clients.consumer.transactional_output import TransactionalOutputProducer
from cluster.clients.delivery_ledger import DeliveryLedger
from cluster.clients.key_order import KeyOrder
from cluster.clients.producer.producer import Producer
from cluster.commands import Command, Names
from cluster.config import ClusterConfig, ConsumerConfig, resolve
from cluster.controller.controller import Controller
from cluster.event_pipeline import Pipeline, Sink
from cluster.network import Endpoint, Network
from cluster.protocol.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, coordinator_partition, topic_of
from cluster.protocol.placement.topic_creation import (
    NotCreated,
    striped,
    why_not_added,
    why_not_on,
    why_not_placed,
    without_active_broker,
)
from cluster.protocol.record_batch import RecordBatch
from cluster.random_streams import random_stream
from cluster.simulation import garbage_collection
from cluster.simulation.active_faults import CommandRefusedError
from cluster.simulation.command_executor import CommandExecutor
from cluster.simulation.event_steps import EventSteps
from cluster.simulation.set_command import created_with
from cluster.spec import Buggify, GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec
from cluster.storage.log_config import LogConfig
from cluster.storage.lost_records import truncated
from cluster.storage.partition_log import PartitionLog, make_log
from cluster.view import ClusterView
from cluster.virtual_time import Timeline

CREATE_RETRY_US: Final = 100_000  # retry.backoff.ms of an administrator's client

CommandSeen = Callable[[Command, str, int, int, int], object]
"""(command, source, turn, at_us, seq of the last event before it)."""


class Simulation:
    """One cluster in virtual time. `sinks` get every event, stamped, after the simulation's own `view` folded it."""

    def __init__(
        self,
        spec: ScenarioSpec,
        seed: int,
        *,
        sinks: Sequence[Sink] = (),
        speed: float = math.inf,
        live: bool = False,
    ) -> None:
        self.spec, self.seed = spec, seed
        self.timeline = Timeline(self._execute_submitted, speed, live=live)
        self.timeline.on_command = self._command_came
        self._pipeline = Pipeline(self.timeline, list(sinks))
        self.emit: Callable[[e.Event], None] = self._pipeline.logger().emit
        self.on_command: CommandSeen | None = None
        names = frozenset(f"broker-{broker.id}" for broker in spec.brokers)
        self.network = Network(self.timeline, spec.network, seed, names)
        self._config = ClusterConfig.of(resolve("broker", spec.config))
        session_us = spec.broker_session_us
        self.controller = Controller([broker.id for broker in spec.brokers], session_us, self.emit)
        self.control = ControllerChannel(
            self.timeline, self.network, self.controller, self.emit, Buggify(seed, on=spec.buggify)
        )
        self.control.make_replica = self._make_replica
        self.brokers: dict[int, Broker] = {}
        self.consumers: dict[str, Consumer] = {}
        self.producers: dict[str, Producer] = {}
        self.topics: dict[str, int] = {}
        self._created: dict[str, tuple[int, TopicSpec]] = {}
        self._placed_by_controller: set[str] = set()  # topics that a command created: their places are not fixed
        self._groups = {group.name: group for group in spec.groups}
        self._emitted_assignors: dict[str, tuple[str, ...]] = {}  # as each group was declared
        self._first_numbers: dict[str, int] = {}
        self._key_order = KeyOrder()
        self._truths = {
            group.name: DeliveryLedger(group.name, self.emit, self._key_order, self._truncated) for group in spec.groups
        }
        self.dependencies = {group.name: Dependency() for group in spec.groups}
        self._clients = 0
        self.nursery: trio.Nursery
        self._executor = CommandExecutor(self)
        self.event_steps = EventSteps(self)
        if any(step.after_event is not None for step in spec.steps):
            self.event_steps.watch()

    @property
    def view(self) -> ClusterView:
        """The fold of all events so far."""
        return self._pipeline.view

    @property
    def seq(self) -> int:
        """The number of events emitted so far."""
        return self._pipeline.sequence

    @property
    def sinks(self) -> list[Sink]:
        """The functions that get every event; a sink that is added during a flight gets the events after that."""
        return self._pipeline.sinks

    def log_of(self, broker: int, partition: str) -> PartitionLog | None:
        """The log of a replica, for invariants and checkers; None if the broker has no such replica."""
        replica = self.brokers[broker].replicas.get(partition)
        return replica.log if replica is not None else None

    def _truncated(self, batch: RecordBatch) -> bool:
        """Whether a fetched batch has been truncated; the log of the latest leader decides."""
        name = batch.partition
        known = self.controller.partitions[name]
        if batch.leader_epoch == known.leader_epoch and known.leader >= 0:  # nearly always: its leader leads
            replica = self.brokers[known.leader].replica_of(name)
            end = batch.base_offset + batch.count
            if replica.led_epoch == batch.leader_epoch and end <= replica.log.log_end:
                return False
        replicas = [self.brokers[broker].replica_of(name) for broker in known.replicas]
        leader = max(replicas, key=lambda replica: replica.led_epoch)
        if batch.leader_epoch == leader.led_epoch and batch.next_offset <= leader.log.log_end:
            return False  # that appended it, and lost no end since
        return truncated(batch, leader.log, [replica.log for replica in replicas])

    # --- a flight ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Simulation"]:
        """Build the cluster and run it; at the end close the timeline and cancel every actor."""
        async with trio.open_nursery() as nursery:
            self.nursery = nursery
            with garbage_collection.few_collections():
                try:
                    self._build()
                    yield self
                finally:
                    self.timeline.close()
                    nursery.cancel_scope.cancel()

    def execute(self, command: Command) -> None:
        """Execute a command in this turn, or emit why it is refused. The command is not journaled."""
        self._executor.execute(command)

    def _execute_submitted(self, command: object) -> None:
        assert isinstance(command, Command)
        self.execute(command)

    def _command_came(self, turn: int, at_us: int, command: object) -> None:
        assert isinstance(command, Command)
        if self.on_command is not None:
            self.on_command(command, "operator", turn, at_us, self.seq)

    def give(self, command: Command, source: str) -> None:
        """Journal a command and execute it; a rerun makes the commands of every `source` but `operator` itself."""
        if self.on_command is not None:
            self.on_command(command, source, self.timeline.turn, self.timeline.now_us, self.seq)
        self._executor.execute(command)

    # --- who is there -----------------------------------------------------------------------------------------------

    def process(self, name: str) -> Broker | Consumer | Producer | None:
        """The process with this name; None if none was declared."""
        if name.startswith("broker-") and name[7:].isdigit():
            return self.brokers.get(int(name[7:]))
        return self.consumers.get(name) or self.producers.get(name)

    def names(self) -> Names:
        """Every name that a command may use now."""
        return Names(
            brokers=tuple(broker.name for broker in self.brokers.values()),
            groups={group: tuple(self._members(group)) for group in self._groups},
            producers={producer.name: producer.instances() for producer in self.spec.producers},
            topics=dict(self.topics),
        )

    def _members(self, group: str) -> list[str]:
        return [name for name, consumer in self.consumers.items() if consumer.group == group]

    def number_from(self, group: str, first: int) -> None:
        """Number a group's members from `first` on, instead of 1: a Deployment replaces all of them."""
        self._first_numbers[group] = first

    def members_up_to(self, group: str, count: int) -> list[str]:
        """The first `count` members of a group; those that do not exist yet are declared."""
        spec, first = self._groups[group], self._first_numbers.get(group, 1)
        names = [f"{group}-{number}" for number in range(first, first + count)]
        for name in names:
            if name not in self.consumers:
                self._declare_member(spec, name)
        return names

    def members_above(self, group: str, count: int) -> list[str]:
        """The members of a group besides its first `count`, the highest first."""
        wanted = dict.fromkeys(self.members_up_to(group, count))
        names = [name for name in self._members(group) if name not in wanted]
        return sorted(names, key=lambda name: -int(name.rpartition("-")[2]))

    # --- building -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._start_brokers()
        topics = [*self.spec.topics, *self._internal_topics()]
        for place, topic in enumerate(topics):
            if topic.created_us:
                self.timeline.call_at(topic.created_us, self._create_in_flight, place, topic)
            else:
                self._create(place, topic)
        for group in self.spec.groups:
            self._declare_group(group)
        for producer in self.spec.producers:
            self._declare_producer(producer)
        live, image = self.controller.live(), self.controller.partitions
        for broker in self.brokers.values():
            broker.activate(self.controller.brokers[broker.id].epoch, live, dict(image))
        for group in self.spec.groups:
            for place, name in enumerate(group.instances()):
                at_us = group.start_us + place * group.stagger_us
                self.timeline.call_at(at_us, self._first_start, self.consumers[name])
        for producer in self.spec.producers:
            for name in producer.instances():
                self.timeline.call_at(producer.start_us, self._first_start, self.producers[name])
        for step in self.spec.steps:
            if step.after_event is None:
                self.timeline.call_at(step.at_us, self.give, step.command, step.source)
        self._executor.start_autoscalers()

    def _first_start(self, process: Consumer | Producer) -> None:
        """Start a process of the scenario, unless a command or an autoscaler has started it before."""
        if not process.alive:
            process.launch(self.nursery)

    def _start_brokers(self) -> None:
        for spec in self.spec.brokers:
            stream = random_stream(self.seed, f"uuid/broker-{spec.id}")

            def new_uuid(bits: Callable[[int], int] = stream.getrandbits) -> str:
                return str(uuid.UUID(int=bits(128), version=4))

            config, startup_us = self.spec.broker_config(spec), self.spec.startup_us
            broker = Broker(spec, self.control, config, self.emit, new_uuid, startup_us)
            self.network.place(spec.name, broker.rack)
            self.brokers[spec.id] = self.control.brokers[spec.id] = broker
        for broker in self.brokers.values():
            broker.start_first_process()
        self.control.elect()
        for broker in self.brokers.values():
            self.controller.register(broker.id, 0)
        self.control.watch_sessions()
        if self._config.auto_leader_rebalance_enable:
            self.control.balance_leaders(
                self._config.leader_imbalance_check_interval_seconds * 1_000_000,
                self._config.leader_imbalance_per_broker_percentage,
            )

    def _internal_topics(self) -> list[TopicSpec]:
        config, brokers = self._config, len(self.brokers)
        topics = (
            TopicSpec(
                OFFSETS_TOPIC,
                config.offsets_topic_num_partitions,
                min(config.offsets_topic_replication_factor, brokers),
            ),
            TopicSpec(
                TRANSACTIONS_TOPIC,
                config.transaction_state_log_num_partitions,
                min(config.transaction_state_log_replication_factor, brokers),
                {"min.insync.replicas": config.transaction_state_log_min_isr},
            ),
        )
        return [self.spec.internally_assigned(topic) for topic in topics]

    def _create_in_flight(self, place: int, topic: TopicSpec) -> None:
        """CreateTopics (API 19); without a controller, or live replicas, the administrator tries again."""
        if topic.name in self.topics:  # an operator was first: TOPIC_ALREADY_EXISTS
            return
        live = self.controller.live()
        placed = self._declared(place, topic)
        if self.control.active == NO_CONTROLLER or not all(any(one in live for one in each) for each in placed):
            self.timeline.call_at(self.timeline.now_us + CREATE_RETRY_US, self._create_in_flight, place, topic)
            return
        self._emit_created(place, topic)
        self.control.publish(self._place(topic.name, 0, placed))

    def _create(self, place: int, topic: TopicSpec) -> list[str]:
        placed = self._declared(place, topic)
        self._emit_created(place, topic)
        return self._place(topic.name, 0, placed)

    def _emit_created(self, place: int, topic: TopicSpec) -> None:
        config = LogConfig.of(topic.topic_config(self.spec.config))
        self.controller.unclean_topics[topic.name] = config.unclean_leader_election_enable
        self.controller.min_insync_replicas[topic.name] = config.min_insync_replicas
        self._created[topic.name] = place, topic
        self.emit(
            e.TopicCreated(
                topic=topic.name,
                partitions=topic.partitions,
                replication_factor=topic.replication,
                min_insync_replicas=min(config.min_insync_replicas, topic.replication),
                internal=topic.name in {OFFSETS_TOPIC, TRANSACTIONS_TOPIC},
            )
        )

    def _place(self, name: str, first: int, placed: Sequence[tuple[int, ...]]) -> list[str]:
        created = [f"{name}-{number}" for number in range(first, first + len(placed))]
        self.topics[name] = first + len(placed)
        config = self._log_config(name)
        for partition, replicas in zip(created, placed, strict=True):
            for broker in replicas:
                host = self.brokers[broker]
                host.replicas[partition] = replica = _new_replica(host, partition, config)
                if host.running and replica.log.compacted:
                    host.log_cleaner.start()  # it may be the first compacted log of this broker
            self.controller.create(partition, replicas)
        return created

    def _log_config(self, topic: str) -> tuple[LogConfig, bool]:
        """A topic's configuration as it is now, which `set` may have changed, and whether it is an internal topic."""
        declared = next((each for each in self.spec.topics if each.name == topic), None)
        spec = declared if declared is not None else self._created[topic][1]
        return LogConfig.of(spec.topic_config(self.spec.config)), declared is None

    def _make_replica(self, host: BrokerHost[Replica], partition: str) -> Replica:
        return _new_replica(host, partition, self._log_config(topic_of(partition)))

    def _declared(self, place: int, topic: TopicSpec) -> Sequence[tuple[int, ...]]:
        """The replicas of each partition: as the scenario assigns them, else by their places."""
        if topic.replica_assignment:
            return topic.replica_assignment
        return [self._replicas(place, number, topic.replication) for number in range(topic.partitions)]

    def _replicas(self, place: int, number: int, count: int) -> tuple[int, ...]:
        """Replica k of partition p of the topic at `place` lives on the broker at place (topic + p + k) mod n."""
        brokers = sorted(self.brokers)
        return tuple(brokers[(place + number + k) % len(brokers)] for k in range(count))

    def create_topic(self, topic: TopicSpec) -> list[str]:
        """Create a topic that is declared from now on; returns its partitions. Raises CommandRefusedError.

        Fenced brokers get replicas when the others do not suffice. Source: `ReplicationControlManager.createTopic`.
        """
        place = len(self._created)
        placed: Sequence[tuple[int, ...]] = topic.replica_assignment
        if placed:
            _refuse(why_not_on(placed, self.controller.brokers, self.controller.live()))
        else:
            placed = self._striped(place, range(topic.partitions), topic.replication)
        others = [each for each in self.spec.topics if each.name != topic.name]
        self.spec = msgspec.structs.replace(self.spec, topics=(*others, topic))
        self._placed_by_controller.add(topic.name)
        self._emit_created(place, topic)
        created_with(self, topic)
        return self._place(topic.name, 0, placed)

    def _striped(self, place: int, numbers: range, replication: int) -> list[tuple[int, ...]]:
        """The replicas that the controller chooses for partitions of these numbers. Raises CommandRefusedError."""
        registered = sorted(self.controller.brokers.values(), key=lambda each: each.broker)
        fenced = [each.broker for each in registered if each.fenced]
        unfenced = [each.broker for each in registered if not each.fenced]
        _refuse(why_not_placed(replication, len(registered), len(unfenced)))
        live = self.controller.live()
        placed = [striped(unfenced, fenced, place + number, replication) for number in numbers]
        if not all(any(broker in live for broker in replicas) for replicas in placed):
            raise CommandRefusedError(str(without_active_broker(replication)))
        return placed

    def add_partitions(self, topic: str, to: int, assigned: Sequence[tuple[int, ...]] = ()) -> list[str]:
        """Give a topic more partitions, `assigned` or placed as its first ones were; returns their names.

        Raises CommandRefusedError when one of them would have no live replica
        (`ReplicationControlManager.createPartitions`).
        """
        place, first = self._created[topic][0], self.topics[topic]
        numbers = range(first, to)
        replication = len(self.controller.partitions[f"{topic}-0"].replicas)
        placed: Sequence[tuple[int, ...]]
        if assigned:
            controller = self.controller
            _refuse(why_not_added(assigned, numbers, replication, controller.brokers, controller.live()))
            placed = assigned[first:]
        elif topic in self._placed_by_controller:
            placed = self._striped(place, numbers, replication)
        else:
            placed = [self._replicas(place, number, replication) for number in numbers]
            live = self.controller.live()
            for number, replicas in zip(numbers, placed, strict=True):
                if not any(broker in live for broker in replicas):
                    raise CommandRefusedError(f"INVALID_REPLICATION_FACTOR: every broker of {topic}-{number} is fenced")
        self.emit(e.PartitionsAdded(topic=topic, partitions=to))
        return self._place(topic, first, placed)

    def _client_environment(self) -> ClientEnvironment:
        endpoints: dict[int, Endpoint] = {broker.id: broker.sockets for broker in self.brokers.values()}
        version = self._config.transaction_version
        leaders = self.controller.partitions
        known = self.timeline, self.network, endpoints, self.emit, self.seed, self._key_order, leaders, version
        return ClientEnvironment(
            *known,
            start_jitter_us=self.spec.start_jitter_us,
            group_session_timeout_ms=self._config.group_consumer_session_timeout_ms,
            group_heartbeat_interval_ms=self._config.group_consumer_heartbeat_interval_ms,
        )

    def _declare_group(self, group: GroupSpec) -> None:
        member = group.instances()[0] if group.members else group.name
        config = ConsumerConfig.of(group.consumer_config(member))
        partitions = self._config.offsets_topic_num_partitions
        topics = dict.fromkeys(group.topics)
        for name in group.instances():
            topics |= dict.fromkeys(group.topics_of(name))
        self.emit(
            e.GroupDeclared(
                group=group.name,
                topics=tuple(topics),
                assignors=group.assignors,
                offset_reset=config.auto_offset_reset,
                read_committed=config.read_committed,
                coordinator_partition=f"{OFFSETS_TOPIC}-{coordinator_partition(group.name, partitions)}",
                sink=group.application.sink or "",
            )
        )
        if config.group_protocol == "consumer":
            self.emit(
                e.GroupProtocolDeclared(group=group.name, protocol=config.group_protocol, topic_regex=group.topic_regex)
            )
        for name in group.instances():
            self._declare_member(group, name)

    def _declare_member(self, group: GroupSpec, name: str) -> None:
        self._clients += 1
        first, group = group.of(next(iter(group.instances()), "")), group.of(name)
        dependency = self.dependencies[group.name]
        times = ProcessingTimes(group.application, self.seed, name, dependency)
        failures = Failures(group.application, self.seed, group.name, dependency)
        random, truth = self.network.random_of(name), self._truths[group.name]
        application = Application(group.application, random, truth, times, failures)
        consumer = Consumer(self._client_environment(), group, name, self._clients, application)
        self.network.place(name, consumer.config.client_rack)
        consumer.on_crashed = partial(self._executor.crashed, name)
        consumer.on_resumed = partial(self._executor.partitions_resumed, name)
        consumer.on_pod_changed = partial(self._executor.pod_changed, group.name)
        self.consumers[name] = consumer
        consumer.emitted_assignors = self._emitted_assignors.setdefault(group.name, group.assignors)
        consumer.declare()
        if group.speaks_new_protocol != first.speaks_new_protocol:
            protocol = "consumer" if group.speaks_new_protocol else "classic"
            self.emit(e.MemberProtocolDeclared(group=group.name, member=name, protocol=protocol))
        if group.application.has_producer:
            kind = TransactionalOutputProducer if group.application.commit == "transaction" else OutputProducer
            output: OutputProducer = kind(self._client_environment(), group.application, name, self._clients)
            application.output_producer = self.producers[name] = output
            self._emit_producer(name, output.spec)

    def redeclare(self, group: GroupSpec) -> None:
        """Make members that are declared from now on by this spec."""
        self._groups[group.name] = group

    def _declare_producer(self, spec: ProducerSpec) -> None:
        for name in spec.instances():
            self._clients += 1
            self.producers[name] = Producer(self._client_environment(), spec, name, self._clients)
            self._emit_producer(name, spec)

    def _emit_producer(self, name: str, spec: ProducerSpec) -> None:
        transactions = self.producers[name].transactions
        self.emit(
            e.ProducerDeclared(
                producer=name,
                topics=spec.topics,
                rate_per_second=spec.rate_per_second,
                transactional_id=transactions.transactional_id if transactions is not None else "",
            )
        )


def _refuse(reason: NotCreated | None) -> None:
    """Raise CommandRefusedError if there is a reason."""
    if reason is not None:
        raise CommandRefusedError(str(reason))


def _new_replica(host: BrokerHost[Replica], partition: str, of: tuple[LogConfig, bool]) -> Replica:
    """An empty replica. An internal topic is compacted by its coordinators' keys, and has no retention."""
    config, internal = of
    log = make_log(partition, config.flush_messages, None if internal else config.compaction)
    replica = Replica(host, log, config.min_insync_replicas, None if internal else config.retention)
    if not internal:
        replica.max_message_bytes = config.max_message_bytes
    return replica

"""What a scenario declares: a cluster, its topics, clients and links, the steps of a flight and what must hold in it.

Plain frozen values without rules; `recordings.scenarios.loader` makes them from a file, tests make them by hand.
Times are integer microseconds of virtual time. `config` dictionaries are keyed by Kafka's names and hold only what was
overridden: `cluster.config.config.resolve` gives the full values.
"""

from typing import Final, Literal

import msgspec

from cluster.commands import AddPartitions, Command, CreateTopic, Names, Rollout, Scale
from cluster.config import DEFAULT_ASSIGNORS, ClusterConfig, Value, defaults, format_duration, resolve, resolve_topic
from cluster.protocol.names import topic_of
from cluster.spec.application_spec import ApplicationSpec
from cluster.spec.internal_topics import INTERNAL_TOPICS
from cluster.spec.member_spec import MemberSpec
from cluster.spec.scaling_spec import AutoscalerSpec, Readiness

MOST_BROKERS: Final = 1_000
# of all topics together: three replicas of each take some 300 MB, and a second to build
MOST_PARTITIONS: Final = 50_000
MOST_MEMBERS: Final = 2_000  # of all groups together
MOST_GROUPS: Final = 500
MOST_PRODUCERS: Final = 2_000  # instances
MOST_RECORDS_PER_SECOND: Final = 10_000_000  # of all producers' instances together
MOST_BATCHES: Final = 1_000_000  # that may wait in an instance's `buffer.memory`
MOST_KEYS: Final = 10_000_000  # distinct ones of a producer
START_JITTER_US: Final = 100_000
STARTUP_US: Final = 6_000_000
LONGEST_FLIGHT_US: Final = 8_784 * 3_600_000_000  # a leap year
"""The limits of a scenario: a larger one takes more memory or time than a machine has."""

KeysKind = Literal["none", "uniform", "zipf", "hot"]
ArrivalsKind = Literal["steady", "poisson", "profile"]


class BrokerSpec(msgspec.Struct, frozen=True):
    """One broker: its id, its rack if it stands in one, and the broker keys in which it differs from the cluster."""

    id: int
    rack: str | None = None
    config: dict[str, Value] = {}

    @property
    def name(self) -> str:
        """The token that names it in commands and links: `broker-2`."""
        return f"broker-{self.id}"


class LinkSpec(msgspec.Struct, frozen=True):
    """A link unlike the others: its two ends (broker, member or producer names) and its one-way latency in µs."""

    between: tuple[str, str]
    latency_us: int


class NetworkSpec(msgspec.Struct, frozen=True):
    """Every link: one-way latency in µs, jitter as a share of it (0 … 1), and the links that differ.

    `between_racks_us`: the latency between a broker and a broker or consumer of another rack; None: as any other.
    """

    latency_us: int = 1_000
    jitter: float = 0.2
    links: tuple[LinkSpec, ...] = ()
    between_racks_us: int | None = None


class TopicSpec(msgspec.Struct, frozen=True):
    """A topic; a file that does not say gets `replication` = min(3, brokers). `created_us`: when it is created.

    `replica_assignment`: the brokers of each partition, its preferred leader first; empty: the cluster places them.
    """

    name: str
    partitions: int = 1
    replication: int = 3
    config: dict[str, Value] = {}
    created_us: int = 0
    replica_assignment: tuple[tuple[int, ...], ...] = ()

    def topic_config(self, cluster: dict[str, Value]) -> dict[str, Value]:
        """Every topic key with its value, given the cluster's overrides of broker keys."""
        return resolve_topic(cluster, self.config)


class KeysSpec(msgspec.Struct, frozen=True):
    """How a producer chooses keys: `distinct` many, zipf with `exponent`, or one hot key with a `share` of records."""

    kind: KeysKind = "none"
    distinct: int = 1_000
    exponent: float = 1.0
    share: float = 0.5


class ArrivalsSpec(msgspec.Struct, frozen=True):
    """When records arrive: evenly, as a Poisson process, or by a profile of (from that µs on, records a second)."""

    kind: ArrivalsKind = "steady"
    profile: tuple[tuple[int, float], ...] = ()


class TransactionsSpec(msgspec.Struct, frozen=True):
    """A producer's habit with transactions: its id, a pattern (`{n}`: the instance), records in one, share aborted.

    `on_abort`: `drop` leaves aborted records, `retry` sends them again in the next transaction.
    """

    id: str
    records: int = 100
    abort: float = 0.0
    on_abort: Literal["drop", "retry"] = "drop"

    def id_of(self, number: int) -> str:
        """The `transactional.id` of the instance with this number, counted from 1."""
        return self.id.replace("{n}", str(number))


class ProducerSpec(msgspec.Struct, frozen=True):
    """Producers with one habit: `count` instances, each sending `rate_per_second` over its topics in turn.

    `limit` = records after which an instance sends no more; `size_bytes` = size of one record's value; `tombstones` =
    share of records without a value, which in a compacted topic remove their key.
    """

    name: str
    topics: tuple[str, ...]
    count: int = 1
    rate_per_second: float = 10.0
    limit: int | None = None
    arrivals: ArrivalsSpec = ArrivalsSpec()
    keys: KeysSpec = KeysSpec()
    size_bytes: int = 1_024
    start_us: int = 0
    config: dict[str, Value] = {}
    transactions: TransactionsSpec | None = None
    tombstones: float = 0.0

    def instances(self) -> tuple[str, ...]:
        """The instances' names, `checkout-1` … ; numbered also when there is only one."""
        return _instances(self.name, self.count)

    def producer_config(self) -> dict[str, Value]:
        """Every producer key with its value, the same for all instances."""
        return resolve("producer", self.config)


class GroupSpec(msgspec.Struct, frozen=True):
    """A consumer group: `members` consumers started `stagger_us` apart from `start_us` on.

    `startup_us`: from each start of a process until its application calls its first poll(). `ready`: a member is ready
    when it polls (`started`), or when it has its first assignment (`joined`).
    `topic_regex`: what members of the new protocol subscribe to instead of topics; the broker finds those that match.
    `own`: the settings of the members that differ from the others. `assign`: the partitions of members that call
    assign() instead of subscribe(), and so join no group.
    """

    name: str
    topics: tuple[str, ...] = ()
    topic_regex: str = ""
    subscriptions: dict[str, tuple[str, ...]] = {}
    assign: dict[str, tuple[str, ...]] = {}
    members: int = 1
    stagger_us: int = 0
    start_us: int = 0
    startup_us: int = 0
    ready: Readiness = "started"
    autoscaler: AutoscalerSpec | None = None
    static: bool = False
    assignors: tuple[str, ...] = DEFAULT_ASSIGNORS
    config: dict[str, Value] = {}
    application: ApplicationSpec = ApplicationSpec()
    own: tuple[MemberSpec, ...] = ()

    def own_of(self, member: str) -> MemberSpec:
        """The settings of a member that are not its group's."""
        return next((each for each in self.own if each.name == member), MemberSpec(member))

    def of(self, member: str) -> "GroupSpec":
        """The group as one of its members has it: with that member's settings, and no other's."""
        own = next((each for each in self.own if each.name == member), None)
        if own is None:
            return self if not self.own else msgspec.structs.replace(self, own=())
        application = self.application
        if own.per_record_us is not None:
            application = msgspec.structs.replace(application, per_record_us=own.per_record_us, processing=None)
        if own.on_revoked is not None:
            application = msgspec.structs.replace(application, on_revoked=own.on_revoked)
        if own.revoke_takes_us is not None:
            application = msgspec.structs.replace(application, revoke_takes_us=own.revoke_takes_us)
        return msgspec.structs.replace(
            self,
            startup_us=self.startup_us if own.startup_us is None else own.startup_us,
            assignors=self.assignors if own.assignors is None else own.assignors,
            config=self.config | own.config,
            application=application,
            own=(),
        )

    def why_no_listener(self) -> str | None:
        """Why its rebalance listener cannot do what it is asked for; None if it can, or is asked for nothing."""
        application = self.application
        if application.on_revoked == "commit" and application.commit in ("never", "transaction"):
            return f'on_revoked: with commit = "{application.commit}" commitSync has nothing to commit'
        if application.listens and self.assigns_all:
            return f"on_revoked: members of {self.name} call assign(): nothing is revoked from them"
        return None

    @property
    def assigns_all(self) -> bool:
        """Whether every declared member calls assign(), and so none joins the group."""
        return bool(self.assign) and all(name in self.assign for name in self.instances())

    @property
    def speaks_new_protocol(self) -> bool:
        """Whether a member has `group.protocol = consumer` (KIP-848)."""
        return any(
            config.get("group.protocol") == "consumer" for config in (self.config, *(m.config for m in self.own))
        )

    def every_assignor(self) -> tuple[str, ...]:
        """The assignors of the group and of each member that has its own, each once."""
        return tuple(dict.fromkeys([*self.assignors, *(name for own in self.own for name in own.assignors or ())]))

    def instances(self) -> tuple[str, ...]:
        """The members' names, `billing-1` … ; numbered also when there is only one."""
        return _instances(self.name, self.members)

    def topics_of(self, member: str) -> tuple[str, ...]:
        """The topics that a member reads: its own subscription if it has one, else the group's; with assign() those."""
        if self.assign.get(member):
            return tuple(dict.fromkeys(topic_of(name) for name in self.assign[member]))
        return self.subscriptions.get(member, self.topics)

    def consumer_config(self, member: str) -> dict[str, Value]:
        """Every consumer key with its value for one member.

        What the file says in words of its own is put into Kafka's: the assignors, the commit policy (any but `auto`
        means that the application commits), and with `static` the member's name as `group.instance.id`. A
        `group.instance.id` in `config` is every member's: processes with one id fence each other.
        """
        if self.own:
            return self.of(member).consumer_config(member)
        said: dict[str, Value] = {
            "partition.assignment.strategy": self.assignors,
            "enable.auto.commit": self.application.commit == "auto",
        }
        if self.static:
            said["group.instance.id"] = member
        return resolve("consumer", self.config) | said


class StepSpec(msgspec.Struct, frozen=True):
    """A command that the scenario gives at an instant; `text` is its canonical text.

    `after_event`: right after the event with this number, which happens at that instant; None: before all else there.
    `source`: of the command in the journal; the hidden faults of a game have their own.
    """

    at_us: int
    command: Command
    text: str
    after_event: int | None = None
    source: Literal["scenario", "game"] = "scenario"


class ExpectationSpec(msgspec.Struct, frozen=True):
    """What must hold: `that` (CEL over the view document) with `by`, `at` or `always`, or an `event` with fields.

    Exactly one of `that` and `event` is given. A window begins at `from_us`, or when the scenario's steps give the
    command whose canonical text is `after` for the `nth` time. `line` = its line in the file, 0 without one.
    """

    that: str | None = None
    event: str | None = None
    where: dict[str, str | int | float | bool] = {}
    by_us: int | None = None
    at_us: int | None = None
    always: bool = False
    from_us: int | None = None
    after: str | None = None
    nth: int = 1
    to_us: int | None = None
    count: int | None = None
    line: int = 0


class ScenarioSpec(msgspec.Struct, frozen=True):
    """A whole scenario: everything that a simulation needs to be built and flown, and what must hold at the end.

    `buggify`: brokers often do what they may do and seldom do (`cluster/spec/buggify.py`). `start_jitter_us`: each life
    of a consumer is late by less than this. `startup_us`: from a broker's start until it registers. A file that says
    neither gets START_JITTER_US and STARTUP_US. `internal_assignment`: the `replica_assignment` of Kafka's own topics.
    """

    title: str
    module: str = "other"
    lesson: str = ""
    seed: int = 1
    until_us: int = 300_000_000
    buggify: bool = False
    start_jitter_us: int = 0
    startup_us: int = 0
    brokers: tuple[BrokerSpec, ...] = (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3))
    config: dict[str, Value] = {}
    network: NetworkSpec = NetworkSpec()
    topics: tuple[TopicSpec, ...] = ()
    producers: tuple[ProducerSpec, ...] = ()
    groups: tuple[GroupSpec, ...] = ()
    steps: tuple[StepSpec, ...] = ()
    expectations: tuple[ExpectationSpec, ...] = ()
    internal_assignment: dict[str, tuple[tuple[int, ...], ...]] = {}

    def broker_config(self, broker: BrokerSpec) -> dict[str, Value]:
        """Every broker key with its value for one broker: its own, else the cluster's, else the default."""
        return resolve("broker", self.config | broker.config)

    @property
    def broker_session_us(self) -> int:
        """How long the controller waits for a silent broker, in µs: `broker.session.timeout.ms`."""
        return ClusterConfig.of(resolve("broker", self.config)).broker_session_timeout_ms * 1_000

    def given_us(self, text: str) -> list[int]:
        """When the steps give a command, by its canonical text: every instant, in order."""
        return sorted(step.at_us for step in self.steps if step.text == text)

    def given_before(self, before_us: int) -> list[tuple[int, Command]]:
        """The commands of the steps before an instant, each with its µs, in order."""
        given = [(step.at_us, step.command) for step in self.steps if step.at_us < before_us]
        return sorted(given, key=lambda one: one[0])

    def created_us(self) -> dict[str, int]:
        """When each topic is created, in µs: 0 for one that is there from the start, else by its file or a step."""
        return self.created_by_steps_us() | {topic.name: topic.created_us for topic in self.topics}

    def created_by_steps_us(self) -> dict[str, int]:
        """The topics that no table declares, and when the first step creates each, in µs."""
        steps = sorted(self.steps, key=lambda step: -step.at_us)
        created = {step.command.topic: step.at_us for step in steps if isinstance(step.command, CreateTopic)}
        declared = [topic.name for topic in self.topics]
        return {name: at_us for name, at_us in created.items() if name not in declared}

    def no_topic_yet(self, topic: str) -> str:
        """Why a command about a topic has no object before the topic is created, and what creates it."""
        by = "a step creates it" if topic in self.created_by_steps_us() else "the scenario creates it"
        return f"there is no topic {topic} yet: {by} at {format_duration(self.created_us()[topic])}"

    def names(self) -> Names:
        """Every name that may be used in a command: what is declared, and what a step scales or adds to.

        The new pods of a Deployment are numbered on: each such step may make as many as there were at most.
        """
        most = {group.name: group.autoscaler.most for group in self.groups if group.autoscaler is not None}
        members = {group.name: max(group.members, most.get(group.name, 0)) for group in self.groups}
        deployed = dict.fromkeys(members, 1)
        created = [step.command for step in self.steps if isinstance(step.command, CreateTopic)]
        topics = {command.topic: command.named_partitions for command in created}
        topics |= {topic.name: topic.partitions for topic in self.topics}
        for step in self.steps:
            match step.command:
                case Scale(group=group, to=to) if group in members:
                    members[group] = max(members[group], to)
                case Rollout(workload="deployment", group=group) if group in members:
                    deployed[group] += 1
                case AddPartitions(topic=topic, to=to) if topic in topics:
                    topics[topic] = max(topics[topic], to)
        return Names(
            brokers=tuple(broker.name for broker in self.brokers),
            groups={
                name: _instances(name, min(count * deployed[name], MOST_MEMBERS)) for name, count in members.items()
            },
            producers={producer.name: producer.instances() for producer in self.producers},
            topics=topics,
            internal=self.internal_topics(),
        )

    def internally_assigned(self, topic: TopicSpec) -> TopicSpec:
        """One of Kafka's own topics with the replicas that the scenario assigns to it."""
        assigned = self.internal_assignment.get(topic.name)
        if not assigned:
            return topic
        return msgspec.structs.replace(topic, replication=len(assigned[0]), replica_assignment=assigned)

    def internal_topics(self) -> dict[str, int]:
        """Kafka's own topics, and the number of partitions of each; also where other keys do not fit together."""
        values = defaults("broker") | self.config
        return {topic: count for topic, key in INTERNAL_TOPICS.items() if isinstance(count := values[key], int)}


def _instances(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}-{number}" for number in range(1, count + 1))

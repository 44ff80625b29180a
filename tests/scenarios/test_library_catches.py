"""Each scenario of the library under one deliberate break of the rule it teaches: some expectation must notice.

A scenario that holds whatever the cluster does teaches nothing. A break is a line of the scenario said otherwise, or a
change of a class or function of `cluster/` for the length of one flight; that a scenario holds unbroken is the business
of `test_library`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from cluster.assignors import ASSIGNORS
from cluster.broker import coordinator_runtime as coordination
from cluster.broker.replica import Replica
from cluster.clients.application.dependency import Dependency
from cluster.clients.application.outputs import Outputs
from cluster.clients.application.processing_time import ProcessingTimes
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.producer import arrivals as workload
from cluster.clients.producer.transaction_offsets import TransactionOffsets
from cluster.coordinators.assignors import SERVER_ASSIGNORS
from cluster.coordinators.consumer_group import lifecycle, membership
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.topic_metadata import TopicMetadata
from cluster.coordinators.group import join as group_join
from cluster.coordinators.group import offset_commit
from cluster.coordinators.group.group import ClassicGroup
from cluster.protocol import java_string_hash
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import Slice
from cluster.simulation.event_steps import EventSteps
from cluster.storage.partition_log import PartitionLog
from cluster.storage.transaction_index import TransactionIndex
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import library, load, parse_scenario
from tests.mutants import consumer_groups, migration
from tests.support.slow_cases import mostly_slow

Patch = pytest.MonkeyPatch
MASK = 0x7FFF_FFFF


class Break(NamedTuple):
    """What is broken, in words; a patch of the cluster, or (where it stands, what stands there instead) of the text.

    `until_s`: the flight shows it by then, and need not go on.
    """

    words: str
    patch: Callable[[Patch], None] = lambda _: None
    text: tuple[str, str] = ("", "")
    until_s: int | None = None


def a_commit_names_the_record_read_last(patch: Patch) -> None:
    assign = Fetcher.assign

    def one_back(fetcher: Fetcher, positions: dict[str, int], *epochs: Mapping[str, int]) -> None:
        assign(fetcher, {name: max(0, position - 1) for name, position in positions.items()}, *epochs)

    patch.setattr(Fetcher, "assign", one_back)


def a_killed_process_ends_its_turn(patch: Patch) -> None:
    patch.setattr(EventSteps, "_emit_own", lambda _, __, emit, event: emit(event))


def a_slow_dependency_adds_nothing(patch: Patch) -> None:
    patch.setattr(ProcessingTimes, "differ", property(lambda _: False))


def a_pause_outlives_a_revocation(patch: Patch) -> None:
    patch.setattr(Consumer, "partitions_gone", lambda *_: None)


def calls_of_the_dependency_succeed(patch: Patch) -> None:
    patch.setattr(Dependency, "failing", property(lambda _: False, lambda *_: None), raising=False)


def records_of_one_identity(patch: Patch) -> None:
    patch.setattr(Outputs, "_name", lambda _, partition, __: partition)


def any_commit_is_accepted(patch: Patch) -> None:
    patch.setattr(offset_commit, "validate_commit", lambda *_, **__: ErrorCode.NONE)


def the_first_join_closes_the_barrier(patch: Patch) -> None:
    patch.setattr(ClassicGroup, "all_joined", property(lambda group: bool(group.parked_joins)))


def all_groups_share_their_offsets(patch: Patch) -> None:
    begin, shared = ClassicGroup.__init__, dict[str, Any]()

    def begin_sharing(group: ClassicGroup, group_id: str, now_us: int) -> None:
        begin(group, group_id, now_us)
        group.offsets = shared

    patch.setattr(ClassicGroup, "__init__", begin_sharing)


def the_hash_of_a_group_is_masked(patch: Patch) -> None:
    patch.setattr(coordination, "coordinator_partition", lambda group, count: (java_string_hash(group) & MASK) % count)


def fetches_ask_for_what_is_buffered(patch: Patch) -> None:
    collect = Fetcher.collect

    def drop_the_rest(fetcher: Fetcher, max_records: int) -> list[Slice]:
        slices = collect(fetcher, max_records)
        fetcher._buffer.clear()
        fetcher._buffered.clear()
        fetcher.route()
        return slices

    patch.setattr(Fetcher, "collect", drop_the_rest)


def poll_returns_the_last_records_first(patch: Patch) -> None:
    collect = Fetcher.collect
    patch.setattr(Fetcher, "collect", lambda fetcher, most: collect(fetcher, most)[::-1])


def keys_choose_no_partition(patch: Patch) -> None:
    patch.setattr(workload.Keys, "draw", lambda keys: int(keys._random() * 1_000_000))


def no_replica_falls_out_of_the_isr(patch: Patch) -> None:
    patch.setattr(Replica, "in_sync", lambda replica, _now_us, _lag_us: replica.isr)


def deleting_records_forgets_their_producers(patch: Patch) -> None:
    drop_before = PartitionLog.drop_before

    def drop_and_forget(log: PartitionLog, offset: int) -> None:
        drop_before(log, offset)
        log.producers.load({})

    patch.setattr(PartitionLog, "drop_before", drop_and_forget)


def too_few_in_sync_replicas_are_enough(patch: Patch) -> None:
    begin = Replica.__init__

    def begin_content(replica: Replica, host: Any, log: Any, _: int, *others: Any) -> None:  # noqa: ANN401 - as it came
        begin(replica, host, log, 1, *others)

    patch.setattr(Replica, "__init__", begin_content)


def a_new_coordinator_knows_no_member(patch: Patch) -> None:
    restore = ClassicGroup.restore

    def forget_the_members(group: ClassicGroup) -> None:
        group.stored = None
        restore(group)

    patch.setattr(ClassicGroup, "restore", forget_the_members)


def a_new_coordinator_knows_no_member_of_new_groups(patch: Patch) -> None:
    def forget_the_members(context: Any, group: ConsumerGroup, now_us: int) -> Any:  # noqa: ANN401 - as it came
        for member_id in list(group.members):
            group.remove_member(member_id)
            group.targets.pop(member_id, None)
        return lifecycle.load(context, group, now_us)

    patch.setattr("cluster.coordinators.group.coordinator.load", forget_the_members)


def one_assignor_deals_like_another(name: str, other: str) -> Callable[[Patch], None]:
    def deal(patch: Patch) -> None:
        kind = type(ASSIGNORS[name])
        patch.setattr(kind, "assign", lambda _, counts, who: ASSIGNORS[other].assign(counts, who))
        if hasattr(kind, "assign_by_rack"):
            patch.setattr(kind, "assign_by_rack", lambda _, counts, __, who: ASSIGNORS[other].assign(counts, who))

    return deal


def the_brokers_range_is_uniform(patch: Patch) -> None:
    patch.setattr(type(SERVER_ASSIGNORS["range"]), "assign", lambda _, group: SERVER_ASSIGNORS["uniform"].assign(group))


def a_cooperative_member_gives_everything_up(patch: Patch) -> None:
    patch.setattr(type(ASSIGNORS["cooperative-sticky"]), "protocols", ("EAGER",))


def readers_wait_for_no_transaction(patch: Patch) -> None:
    patch.setattr(TransactionIndex, "last_stable_offset", lambda _, high_watermark, __: high_watermark)


def offsets_are_not_part_of_the_transaction(patch: Patch) -> None:
    async def forget(*_: object) -> None:
        """Nothing is sent to the group's coordinator."""

    patch.setattr(TransactionOffsets, "send", forget)


def a_changed_subscription_is_not_noticed(patch: Patch) -> None:
    patch.setattr(group_join, "same_protocols", lambda *_: True)


def any_member_epoch_is_accepted(patch: Patch) -> None:
    patch.setattr(membership, "_epoch_refusal", lambda *_: None)


def a_new_topic_starts_no_search(patch: Patch) -> None:
    patch.setattr(TopicMetadata, "created", property(lambda _: 0, lambda *_: None), raising=False)


BREAKS: dict[str, Break] = {
    "deployment-or-statefulset": Break(
        "a StatefulSet is a Deployment", text=("rollout statefulset stateful", "rollout deployment stateful")
    ),
    "broker-rolling-restart": Break("there is no gate", text=("brokers wait for isr", "brokers down 1s")),
    "broker-drained": Break("a partition stays", text=("reassign orders-1 to 2,3,1", "reassign orders-1 to 2,3,4")),
    "autoscaler-chases-its-lag": Break("it never scales down", text=('stabilization = "4m"', 'stabilization = "9m"')),
    "slow-start": Break("both start in time", text=('startup = "60s"', 'startup = "30s"')),
    "add-partitions": Break(
        "latest is earliest", text=('"auto.offset.reset" = "latest"', '"auto.offset.reset" = "earliest"')
    ),
    "assigned-by-hand": Break("any commit without a generation is accepted", any_commit_is_accepted, until_s=81),
    "asymmetric-partition": Break(
        "the cut works in both directions", text=("cut broker-2 -> broker-1", "cut broker-2 broker-3")
    ),
    "assignor-upgrade": Break(
        "careful skips the first bounce, too",
        text=("strategy cooperative-sticky,range", "strategy cooperative-sticky"),
        until_s=50,
    ),
    "at-least-once": Break("the producer is idempotent", text=('idempotence" = false', 'idempotence" = true')),
    "at-most-once": Break("it tries again", text=('retries" = 0', 'retries" = 3')),
    "idempotent": Break("batches have no sequence", text=('idempotence" = true', 'idempotence" = false')),
    "dedupe-survives-leader-change": Break(
        "batches have no sequence", text=('idempotence" = true', 'idempotence" = false')
    ),
    "dedupe-survives-deletion": Break(
        "deleting records forgets their producers", deleting_records_forgets_their_producers
    ),
    "linger-and-batch": Break("nothing lingers", text=('"linger.ms" = 100', '"linger.ms" = 0')),
    "sticky-vs-round-robin-partitioner": Break(
        "both stay on a partition",
        text=(', "partitioner.class" = "org.apache.kafka.clients.producer.RoundRobinPartitioner"', ""),
    ),
    "partition-load": Break(
        "the slow partition is not avoided",
        text=("slow adaptive-1 broker-1 to 180ms", "slow adaptive-1 broker-1 to 1ms"),
    ),
    "two-partitioners": Break(
        "the default is Java's hash",
        text=('{ "partitioner" = "consistent_random" }', '{ "partitioner" = "murmur2_random" }'),
    ),
    "committed-offset-moves-back": Break(
        "the reader is quick", text=('per_record = "100ms"', 'per_record = "1ms"'), until_s=50
    ),
    "below-min-isr": Break("too few in-sync replicas are enough", too_few_in_sync_replicas_are_enough),
    "commit-after-processing": Break(
        "the commit comes first", text=('commit = "after-each-poll"', 'commit = "before-processing"')
    ),
    "commit-before-processing": Break(
        "the commit comes last", text=('commit = "before-processing"', 'commit = "after-each-poll"')
    ),
    "crash-between-commit-and-answer": Break("a killed process ends its turn", a_killed_process_ends_its_turn),
    "external-sink": Break("the commit comes first", text=('commit = "transaction"', 'commit = "before-processing"')),
    "read-process-write": Break("offsets are not part of the transaction", offsets_are_not_part_of_the_transaction),
    "stuck-last-stable-offset": Break("readers wait for no transaction", readers_wait_for_no_transaction),
    "transaction-abort": Break("a reader wants everything", text=('"read_committed"', '"read_uncommitted"')),
    "transaction-step-by-step": Break("readers wait for no transaction", readers_wait_for_no_transaction),
    "zombie-producer": Break("the successor has an id of its own", text=('id = "pay"', 'id = "pay-old"')),
    "coordinator-failover": Break("a new coordinator knows no member", a_new_coordinator_knows_no_member),
    "eager-cooperative-consumer": Break(
        "a member gives everything up", a_cooperative_member_gives_everything_up, until_s=51
    ),
    "eager-vs-cooperative": Break("a member gives everything up", a_cooperative_member_gives_everything_up),
    "fetcher-buffer": Break("a fetch asks for what is buffered", fetches_ask_for_what_is_buffered),
    "hanging-transaction": Break(
        "leaders verify", text=('verification.enable" = false', 'verification.enable" = true')
    ),
    "hanging-transaction-prevented": Break(
        "version 1 without verification",
        text=(
            '"transaction.version" = 2\n"transaction.partition.verification.enable" = true',
            '"transaction.version" = 1\n"transaction.partition.verification.enable" = false',
        ),
    ),
    "hot-key": Break("the key is not hot", text=("share = 0.5", "share = 0.01")),
    "network-flap": Break(
        "a broker is missed at once",
        text=("seed = 37", 'seed = 37\ncluster.config = { "broker.session.timeout.ms" = 3000 }'),
    ),
    "offset-reset": Break(
        "latest is earliest", text=('"auto.offset.reset" = "latest"', '"auto.offset.reset" = "earliest"')
    ),
    "order-per-key": Break("a key does not choose its partition", keys_choose_no_partition),
    "order-per-partition": Break("poll() returns the last records first", poll_returns_the_last_records_first),
    "output-acks": Break("its producer keeps Kafka's defaults", text=('"acks" = "1", ', "")),
    "fan-out": Break("every record for an input has the input's identity", records_of_one_identity),
    "slow-dependency": Break("a slow dependency adds nothing", a_slow_dependency_adds_nothing),
    "failing-dependency": Break("calls of the dependency succeed", calls_of_the_dependency_succeed, until_s=91),
    "dead-letters": Break("dead letters are not finished", text=('dead_letter = "orders-dlt"\n', "")),
    "compacted-topic": Break("no record has to wait", text=('"min.compaction.lag.ms" = "1h"', "")),
    "poison-pill": Break("the application survives it", text=("crashes = true", "crashes = false")),
    "slow-follower": Break("no replica falls out of the in-sync set", no_replica_falls_out_of_the_isr),
    "broker-down": Break(
        "a dead broker is missed late",
        text=("brokers = 3", 'brokers = 3\nconfig = { "broker.session.timeout.ms" = 18000 }'),
    ),
    "fetch-from-follower": Break(
        "leaders select no replica",
        text=('"replica.selector.class" = "org.apache.kafka.common.replica.RackAwareReplicaSelector"', ""),
    ),
    "first-flight": Break("the first join closes the barrier", the_first_join_closes_the_barrier, until_s=25),
    "first-join": Break("the barrier is open for a second", text=('delay.ms" = 3000', 'delay.ms" = 1000')),
    "rack-aware-assignment": Break(
        "a member is in another's rack",
        text=('"near-1"]\nconfig = { "client.rack" = "c" }', '"near-1"]\nconfig = { "client.rack" = "a" }'),
    ),
    "range-two-topics": Break("range deals over all topics", one_assignor_deals_like_another("range", "roundrobin")),
    "rolling-restart-dynamic": Break("a restart takes no time", text=("down 10s", "down 0s")),
    "rolling-restart-static": Break("no member has an instance id", text=("static = true", "static = false")),
    "round-robin-uneven": Break("round robin balances", one_assignor_deals_like_another("roundrobin", "sticky")),
    "static-restart": Break("no member has an instance id", text=("static = true", "static = false")),
    "static-twins": Break("the twins have names of their own", text=(', "group.instance.id" = "cashier"', "")),
    "sticky-member-leaves": Break("sticky is not", one_assignor_deals_like_another("sticky", "roundrobin")),
    "subscription-change": Break("a changed subscription is not noticed", a_changed_subscription_is_not_noticed),
    "uniform-vs-range": Break("range deals over all topics", the_brokers_range_is_uniform, until_s=36),
    "unclean-election": Break("the election is a clean one", text=('do = "elect unclean', 'do = "elect preferred')),
    "your-own-assignor": Break("another one is loaded", text=("EvenAndOdd", "MadeForTwo")),
    "scale-out": Break("there is a partition for everybody", text=("partitions = 4", "partitions = 5"), until_s=201),
    "session-expired": Break(
        "a session is shorter", text=('"earliest" }', '"earliest", "session.timeout.ms" = 30000 }')
    ),
    "coordinator-placement": Break("the hash of a group is masked, as a key's is", the_hash_of_a_group_is_masked),
    "consumer-coordinator-failover": Break(
        "a new coordinator knows no member", a_new_coordinator_knows_no_member_of_new_groups
    ),
    "consumer-epoch-fenced": Break("any member epoch is accepted", any_member_epoch_is_accepted),
    "regex-subscription": Break("a new topic starts no search", a_new_topic_starts_no_search, until_s=61),
    "consumer-protocol-first-join": Break(
        "a target is kept for ever", consumer_groups.keeps_the_target_for_ever, until_s=11
    ),
    "consumer-session-expired": Break("a session never ends", consumer_groups.never_ends_a_session),
    "consumer-static-restart": Break("no member has an instance id", text=("static = true", "static = false")),
    "cooperative-join": Break("a member gives everything up", a_cooperative_member_gives_everything_up),
    "deploy-storm": Break(
        "the session is as long as ever", text=('"session.timeout.ms" = 6000', '"session.timeout.ms" = 45000')
    ),
    "dynamic-restart": Break("a dead id does not hold the barrier", the_first_join_closes_the_barrier),
    "idle-consumer": Break("there is a partition for everybody", text=("partitions = 2", "partitions = 3")),
    "offset-is-next-to-read": Break("a commit names the record read last", a_commit_names_the_record_read_last),
    "migration-rolling": Break(
        "a classic member is not told to join again", migration.leaves_classic_members_alone, until_s=100
    ),
    "migration-back": Break(
        "the brokers allow no downgrade",
        text=("seed = 6", 'seed = 6\ncluster.config = { "group.consumer.migration.policy" = "upgrade" }'),
        until_s=150,
    ),
    "one-slow-member": Break(
        "partitions are assigned before others gave them up",
        consumer_groups.assigns_before_others_gave_up,
        until_s=46,
    ),
    "one-slow-pod": Break("no member differs", text=('[group.member."billing-3"]\nper_record = "1s"', ""), until_s=250),
    "commit-on-revoke": Break(
        "its listener does nothing",
        text=('application = { on_revoked = "commit" }', 'application = { on_revoked = "nothing" }'),
        until_s=40,
    ),
    "paused-by-hand": Break("a pause outlives a revocation", a_pause_outlives_a_revocation, until_s=75),
    "pause-and-resume": Break(
        "it processes between two calls of poll()",
        text=('commit = "after-each-poll", worker_threads = 4, queue = 40', 'commit = "after-each-poll"'),
        until_s=70,
    ),
    "poll-too-slow": Break(
        "the application may take its time", text=('"earliest" }', '"earliest", "max.poll.interval.ms" = 360000 }')
    ),
    "two-groups": Break("all groups share their offsets", all_groups_share_their_offsets),
    "two-heartbeats-lost": Break(
        "the session is too short", text=('"session.timeout.ms" = 10000', '"session.timeout.ms" = 8000')
    ),
}

UNBREAKABLE = {
    "reference-l": "a load for measuring: it expects nothing",
    "reference-m": "a load for measuring: it expects nothing",
    "reference-s": "a load for measuring: it expects nothing",
    "reference-xl": "a load for measuring: it expects nothing",
}


def test_every_scenario_is_broken() -> None:
    assert sorted([*BREAKS, *UNBREAKABLE]) == library()


LONG = ("add-partitions", "broker-down", "deploy-storm", "read-process-write", "scale-out", "session-expired")


@pytest.mark.parametrize("name", mostly_slow(BREAKS, quick=[name for name in BREAKS if name not in LONG][::8], slow=36))
def test_a_broken_rule_is_noticed(name: str, monkeypatch: Patch) -> None:
    broken = BREAKS[name]
    there, instead = broken.text
    text = load(name).text
    assert there in text
    scenario = parse_scenario(text.replace(there, instead, 1), name)
    until_us = None if broken.until_s is None else broken.until_s * 1_000_000
    plan = make_plan(scenario, until_us=until_us, invariants=False)  # which would end the flight before them
    broken.patch(monkeypatch)
    results = fly(plan).expectations
    assert [each for each in results if each["ok"] is False], f"{broken.words}: nothing notices"

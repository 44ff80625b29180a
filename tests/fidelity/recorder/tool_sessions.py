"""The sessions with Kafka's tools that are recorded: what is looked at, in its order."""

import signal
import subprocess
import time

from tests.fidelity.recorder.offset_sessions import exports, offsets
from tests.fidelity.recorder.tool_runner import Tools

GROUPS = "kafka-consumer-groups.sh --describe --group"
SHAPES = {
    "": "",
    "-verbose": " --verbose",
    "-members": " --members",
    "-members-verbose": " --members --verbose",
    "-state": " --state",
    "-state-verbose": " --state --verbose",
}


def _looks_at_group(tools: Tools, when: str, group: str, *shapes: str) -> None:
    for shape in shapes or SHAPES:
        tools.look(f"{when}{shape}", f"{GROUPS} {group}{SHAPES[shape]}")


def _consumer(tools: Tools, group: str, client: str, *more: str) -> subprocess.Popen[bytes]:
    words = " ".join(f"--command-property {word}" for word in (f"client.id={client}", *more))
    return tools.start(f"kafka-console-consumer.sh --topic orders --group {group} {words}")


def _session(tools: Tools) -> None:  # noqa: PLR0915 - one list of looks, in their order
    for topic, replicas, more in (
        ("orders", "1:2:3,2:3:1,3:1:2", " --config min.insync.replicas=2"),
        ("payments", "2,1", " --config retention.ms=3600000 --config cleanup.policy=compact"),
        ("audit", "3:2", ""),
    ):
        tools.run(f"kafka-topics.sh --create --topic {topic} --replica-assignment {replicas}{more}")
    keyed = "".join(f"key-{number % 7}:value-{number}\n" for number in range(40))
    properties = "--reader-property parse.key=true --reader-property key.separator=:"
    tools.run(f"kafka-console-producer.sh --topic orders {properties}", given=keyed)
    tools.look("topics", "kafka-topics.sh --describe")
    tools.look("topic-missing", "kafka-topics.sh --describe --topic nowhere")
    tools.look("config-topic", "kafka-configs.sh --describe --entity-type topics --entity-name payments")
    tools.look("config-topics", "kafka-configs.sh --describe --entity-type topics --entity-name orders")
    tools.run("kafka-configs.sh --alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=2")
    tools.look("config-broker", "kafka-configs.sh --describe --entity-type brokers --entity-name 1")
    tools.look("group-missing", f"{GROUPS} nobody")
    tools.look(
        "reset-new-group",
        "kafka-consumer-groups.sh --reset-offsets --group fresh --topic orders --to-earliest --dry-run",
    )
    first = [_consumer(tools, "billing", "billing-1"), _consumer(tools, "billing", "billing-2")]
    static = [
        _consumer(tools, "static", "static-1", "group.instance.id=pod-1"),
        _consumer(tools, "static", "static-2", "group.instance.id=pod-2"),
    ]
    new = [_consumer(tools, "ledger", f"ledger-{number}", "group.protocol=consumer") for number in (1, 2, 3, 4)]
    time.sleep(20)
    tools.run(f"kafka-console-producer.sh --topic orders {properties}", given=keyed)
    time.sleep(8)
    for group in ("billing", "static", "ledger"):
        _looks_at_group(tools, f"{group}-stable", group)
    tools.look("groups-all", "kafka-consumer-groups.sh --describe --all-groups")
    tools.look("groups-list", "kafka-consumer-groups.sh --list --state")
    tools.look(
        "reset-active", "kafka-consumer-groups.sh --reset-offsets --group billing --all-topics --to-earliest --execute"
    )
    tools.look("delete-active", "kafka-consumer-groups.sh --delete --group billing")
    tools.look("delete-offsets-active", "kafka-consumer-groups.sh --delete-offsets --group billing --topic orders")
    first[0].send_signal(signal.SIGKILL)
    first.append(_consumer(tools, "billing", "billing-3"))
    time.sleep(8)
    _looks_at_group(tools, "billing-rebalancing", "billing", "", "-members", "-state")
    for process in (*first, *static, *new):
        process.terminate()
    time.sleep(55)
    _looks_at_group(tools, "billing-empty", "billing")
    _looks_at_group(tools, "ledger-empty", "ledger", "", "-state-verbose")
    reset = "kafka-consumer-groups.sh --reset-offsets --group billing"
    tools.look("reset-earliest", f"{reset} --all-topics --to-earliest --dry-run")
    tools.look("reset-shift", f"{reset} --topic orders:0,2 --shift-by -3")
    tools.look("reset-beyond", f"{reset} --topic orders --to-offset 10000 --execute")
    tools.look("reset-no-scope", f"{reset} --to-earliest")
    tools.look("reset-no-such-partition", f"{reset} --topic orders:9 --to-earliest")
    tools.look("reset-no-scenario", f"{reset} --topic orders")
    tools.look("after-reset", f"{GROUPS} billing")
    tools.look("delete-offsets", "kafka-consumer-groups.sh --delete-offsets --group billing --topic orders:1")
    tools.look("after-delete-offsets", f"{GROUPS} billing")
    tools.look("delete", "kafka-consumer-groups.sh --delete --group billing")
    tools.look("delete-missing", "kafka-consumer-groups.sh --delete --group billing")
    open_one = tools.start(
        "kafka-producer-perf-test.sh --topic payments --num-records 100000 --record-size 100 "
        "--throughput 20 --transactional-id writer --transaction-duration-ms 50000"
    )
    time.sleep(8)
    open_one.send_signal(signal.SIGKILL)
    transactions = "kafka-transactions.sh"
    tools.look("transactions-list", f"{transactions} list")
    tools.look("transactions-describe", f"{transactions} describe --transactional-id writer")
    tools.look("producers-0", f"{transactions} describe-producers --topic payments --partition 0")
    tools.look("producers-none", f"{transactions} describe-producers --topic audit --partition 0")
    tools.look("find-hanging", f"{transactions} find-hanging --topic payments")
    tools.look("find-hanging-everywhere", f"{transactions} find-hanging")
    tools.look("abort-nothing", f"{transactions} abort --topic audit --partition 0 --start-offset 0")
    tools.look("alter-fewer", "kafka-topics.sh --alter --topic orders --partitions 2")
    tools.look("election", "kafka-leader-election.sh --election-type preferred --topic orders --partition 0")
    tools.look("election-unclean", "kafka-leader-election.sh --election-type unclean --topic orders --partition 0")


def _topics(tools: Tools) -> None:
    """Topics that are created and deleted, and what is refused."""
    create = "kafka-topics.sh --create --topic"
    tools.look("create", f"{create} returns --partitions 6 --replication-factor 3")
    tools.look("create-again", f"{create} returns --partitions 6 --replication-factor 3")
    tools.look("create-if-not-exists", f"{create} returns --partitions 6 --replication-factor 3 --if-not-exists")
    tools.look("create-too-many-replicas", f"{create} wide --partitions 1 --replication-factor 4")
    tools.look("create-no-partitions", f"{create} none --partitions 0")
    tools.look("create-no-replicas", f"{create} none --replication-factor 0")
    tools.look("create-bad-name", f"{create} re/turns")
    tools.look("create-with-period", f"{create} re.turns")
    tools.look("create-collision", f"{create} re_turns")
    tools.look("create-unknown-key", f"{create} none --config retention.mss=1")
    tools.look("create-bad-value", f"{create} none --config retention.ms=soon")
    tools.look("create-internal", f"{create} __consumer_offsets")
    tools.look("create-configured", f"{create} kept --config retention.ms=60000 --config cleanup.policy=compact,delete")
    tools.look("created", "kafka-topics.sh --describe --topic kept")
    tools.look("delete-topic", "kafka-topics.sh --delete --topic kept")
    tools.look("delete-topic-missing", "kafka-topics.sh --delete --topic nowhere")
    tools.look("delete-topic-if-exists", "kafka-topics.sh --delete --topic nowhere --if-exists")


def _options(tools: Tools) -> None:
    """Options that do not go together, and pairs that are no configuration."""
    create, alter = "kafka-topics.sh --create --topic", "kafka-topics.sh --alter --topic orders"
    tools.look("create-two", f"{create} first --topic second")
    tools.look("create-two-counts", f"{create} first --partitions 2 --partitions 3")
    tools.look("create-if-exists", f"{create} first --if-exists")
    tools.look("create-excluding", f"{create} first --exclude-internal --if-exists")
    tools.look("alter-if-not-exists", f"{alter} --partitions 6 --if-not-exists")
    tools.look("alter-replicas", f"{alter} --partitions 6 --replication-factor 2")
    tools.look("alter-config", f"{alter} --partitions 6 --config retention.ms=1")
    tools.look("alter-no-partitions", alter)
    tools.look("describe-partitions", "kafka-topics.sh --describe --partitions 3")
    tools.look("list-config", "kafka-topics.sh --list --config retention.ms=1 --if-exists")
    tools.look("list-under-replicated", "kafka-topics.sh --list --under-replicated-partitions")
    for name, pair in {
        "three": "a=b=c",
        "no-value": "retention.ms=",
        "no-key": "=5",
        "list": "cleanup.policy=[compact,delete]",
        "unit": "retention.ms=5s",
        "bytes": "segment.bytes=1MB",
        "ratio": "min.cleanable.dirty.ratio=half",
        "boolean": "preallocate=yes",
        "range": "min.insync.replicas=0",
        "sign": "retention.ms=+5000",
        "last-equals": "retention.ms=5000=",
    }.items():
        tools.look(f"create-pair-{name}", f"{create} none --config {pair}")
    groups = "kafka-consumer-groups.sh"
    tools.look("groups-all-and-one", f"{groups} --describe --group billing --all-groups")
    tools.look("groups-list-of-one", f"{groups} --list --group billing")
    tools.look("groups-describe-topic", f"{groups} --describe --group billing --topic orders")
    tools.look("groups-delete-topic", f"{groups} --delete --group billing --topic orders")
    tools.look("groups-delete-members", f"{groups} --delete --group billing --members")
    tools.look("groups-two-shapes", f"{groups} --describe --group billing --members --offsets")
    tools.look("delete-offsets-of-two", f"{groups} --delete-offsets --group billing --group other --topic orders")


def _plans(tools: Tools) -> None:
    """`--from-file`: what is not in it, not in the cluster, or has no leader."""
    tools.run("kafka-topics.sh --create --if-not-exists --topic orders --partitions 3 --replication-factor 3")
    tools.run("kafka-topics.sh --create --topic alone --replica-assignment 1,2,3")
    reset = "kafka-consumer-groups.sh --timeout 25000 --reset-offsets --group planned"
    tools.look("reset-two-offsets", f"{reset} --topic alone --to-offset 0 --to-offset 9")
    tools.look("reset-two-shifts", f"{reset} --topic alone --shift-by 1 --shift-by 2")
    tools.look("plan", f"{reset} --execute", "alone,0,3 alone,2,9")
    tools.look("plan-without-group", f"{reset} --group other", "other,alone,0,0")
    tools.look("plan-without-any", f"{reset} --execute", "other,alone,0,0")
    tools.look("plan-missing-partition", f"{reset} --execute", "alone,0,0 alone,9,0")
    tools.look("plan-missing-topic", f"{reset} --execute", "alone,0,0 nowhere,0,0")
    tools.look("plan-with-scope", f"{reset} --topic alone:9", "alone,0,0")
    tools.kill(2)
    time.sleep(12)
    tools.look("plan-without-leader", f"{reset} --execute", "alone,0,0 alone,1,0")
    tools.look("reset-without-leader", f"{reset} --topic alone --to-earliest --execute")


DESCRIBE_MOVED, LISTED = "kafka-topics.sh --describe --topic moved", "kafka-reassign-partitions.sh --list"


def _refused_reassignments(tools: Tools) -> None:
    """What the tool refuses, and what it says of partitions, topics and brokers that are not there."""
    tools.look("reassign-list-none", LISTED)
    tools.reassign("reassign-unknown-broker", "execute", ("moved-0", (9, 2)))
    tools.reassign("reassign-unknown-topic", "execute", ("nowhere-0", (3, 2)))
    tools.reassign("reassign-unknown-partition", "execute", ("moved-9", (3, 2)))
    tools.reassign("reassign-twice", "execute", ("moved-0", (3, 2)), ("moved-0", (3, 1)))
    tools.reassign("reassign-broker-twice", "execute", ("moved-0", (3, 3)))
    tools.reassign("reassign-no-replicas", "execute", ("moved-0", ()))
    tools.reassign("reassign-cancel-none", "cancel", ("moved-0", (3, 2)))
    tools.reassign("reassign-wrong-option", "cancel", ("moved-0", (3, 2)), more=" --additional")
    tools.look("reassign-no-json", "kafka-reassign-partitions.sh --execute")
    tools.look("reassign-list-additional", f"{LISTED} --additional")
    tools.look("reassign-two-actions", f"{LISTED} --verify")
    tools.look("reassign-no-action", "kafka-reassign-partitions.sh --additional")
    execute = "kafka-reassign-partitions.sh --execute --reassignment-json-file"
    one = '{"topic":"moved","partition":0,"replicas":[3,2],"log_dirs":["any"]}'
    tools.look_with("reassign-sizes", execute, f'{{"version":1,"partitions":[{one}]}}')
    tools.look_with("reassign-version", execute, '{"version":2,"partitions":[]}')
    tools.look_with("reassign-nothing", execute, '{"version":1,"partitions":[]}')
    tools.reassign("reassign-execute-preserving", "execute", ("moved-0", (3, 2)), more=" --preserve-throttles")
    tools.look("reassign-missing-first", "kafka-reassign-partitions.sh --execute --preserve-throttles")
    tools.reassign("reassign-verify-timeout", "verify", ("moved-0", (3, 2)), more=" --timeout 5000")
    tools.look("reassign-list-timeout", f"{LISTED} --timeout 5000")
    tools.reassign("reassign-verify-next", "verify", ("moved-3", (1, 2)))
    tools.reassign("reassign-verify-beyond", "verify", ("moved-9", (1, 2)))
    tools.reassign("reassign-verify-unknown-topic", "verify", ("nowhere-0", (1, 2)))
    tools.reassign("reassign-verify-unknown-broker", "verify", ("moved-0", (9, 2)))
    tools.reassign("reassign-cancel-unknown-topic", "cancel", ("nowhere-0", (1, 2)))
    tools.reassign("reassign-cancel-beyond", "cancel", ("moved-9", (1, 2)))
    tools.reassign("reassign-preserving", "verify", ("moved-0", (1, 2)), more=" --preserve-throttles")


def _generated(tools: Tools) -> None:
    """What `--generate` proposes and refuses."""
    tools.generate("generate", ("moved",), " --broker-list 1,2,3")
    tools.generate("generate-unknown-topic", ("nowhere",), " --broker-list 1,2,3")
    tools.generate("generate-unknown-broker", ("moved",), " --broker-list 1,2,9")
    tools.generate("generate-too-few-brokers", ("moved",), " --broker-list 3")
    tools.generate("generate-no-brokers", ("moved",), "")
    tools.generate("generate-broker-twice", ("moved",), " --broker-list 1,2,2")
    tools.generate("generate-no-known-broker", ("moved",), " --broker-list 8,9")
    tools.generate("generate-bad-broker", ("moved",), " --broker-list 1,x")
    tools.generate("generate-no-topics", (), " --broker-list 1,2")
    tools.generate("generate-topic-twice", ("moved", "moved"), " --broker-list 1,2,3")


def _reassignments(tools: Tools) -> None:
    """Replicas that move, while broker-3 copies slowly; what is refused; a way back that is none."""
    tools.run("kafka-topics.sh --create --topic moved --replica-assignment 1:2,2:1,1:2")
    tools.run("kafka-producer-perf-test.sh --topic moved --num-records 60000 --record-size 1000 --throughput -1")
    _refused_reassignments(tools)
    _generated(tools)
    tools.reassign("reassign", "execute", ("moved-1", (3, 1)))
    time.sleep(3)
    tools.reassign("reassign-completed", "verify", ("moved-1", (3, 1)), ("moved-0", (3, 2)))
    tools.look("reassign-described", DESCRIBE_MOVED)
    tools.reassign("reassign-fewer", "execute", ("moved-2", (2,)))
    tools.look("reassign-fewer-described", DESCRIBE_MOVED)
    tools.slow_down("moved", 3)
    tools.reassign("reassign-slow", "execute", ("moved-0", (3, 2)))
    tools.look("reassign-list", LISTED)
    tools.reassign("reassign-in-progress", "verify", ("moved-0", (3, 2)))
    tools.look("reassign-in-progress-described", DESCRIBE_MOVED)
    tools.look("reassign-under-replicated", f"{DESCRIBE_MOVED} --under-replicated-partitions")
    tools.look("reassign-under-min-isr", f"{DESCRIBE_MOVED} --at-min-isr-partitions")
    tools.reassign("reassign-second", "execute", ("moved-2", (1, 2)))
    tools.reassign("reassign-back", "execute", ("moved-0", (1, 2)), more=" --additional")
    time.sleep(3)
    tools.look("reassign-back-list", LISTED)
    tools.reassign("reassign-cancel", "cancel", ("moved-0", (3, 2)))
    tools.look("reassign-cancelled-described", DESCRIBE_MOVED)
    tools.slow_down("moved", 3)
    tools.reassign("reassign-two", "execute", ("moved-2", (3, 2)), ("moved-0", (3, 1, 2)))
    tools.look("reassign-two-list", LISTED)
    tools.reassign("reassign-two-verify", "verify", ("moved-2", (3, 2)), ("moved-0", (3, 1, 2)), ("nowhere-0", (1,)))
    tools.look("reassign-two-described", DESCRIBE_MOVED)
    tools.reassign("reassign-two-cancel", "cancel", ("moved-0", (3, 2)), ("moved-2", (3, 2)))
    tools.kill(3)
    time.sleep(12)
    tools.reassign("reassign-to-dead", "execute", ("moved-0", (3, 2)))
    tools.reassign("reassign-from-dead", "execute", ("moved-1", (2, 1)))
    tools.look("reassign-from-dead-described", DESCRIBE_MOVED)


def _assignments(tools: Tools) -> None:
    """`--replica-assignment` of topics that are created, or get more partitions."""
    create, assigned = "kafka-topics.sh --create --topic", "--replica-assignment"
    for name, replicas in {
        "unknown-broker": "1:2,2:9",
        "uneven": "1:2,2",
        "uneven-list": "1:2,2,3:1:2",
        "broker-twice": "1:1",
        "brokers-twice": "3:2:3:2",
        "gap": "1:2,,2:3",
        "first-gap": ",1:2",
        "no-number": "1:b",
        "no-broker": "1:",
        "no-brokers": ":",
        "negative": "1:-2",
        "too-large": "1:2147483648",
    }.items():
        tools.look(f"assign-{name}", f"{create} {name} {assigned} {replicas}")
    tools.look("assign-partitions", f"{create} none {assigned} 1 --partitions 1")
    tools.look("assign-factor", f"{create} none {assigned} 1 --replication-factor 1")
    tools.look("assign-two", f"{create} none {assigned} 1 {assigned} 2")
    tools.look("assign-delete", f"kafka-topics.sh --delete --topic none {assigned} 1")
    tools.look("assign-describe", f"kafka-topics.sh --describe --topic none {assigned} 1")
    tools.look("assign-nothing", f"{create} unplaced {assigned} ,")
    tools.look("assign-nothing-described", "kafka-topics.sh --describe --topic unplaced")
    tools.look("assign", f"{create} placed {assigned} 1:2:3,+2:3:1,3:1:2,,")
    tools.look("assign-described", "kafka-topics.sh --describe --topic placed")
    tools.look("assign-again", f"{create} placed {assigned} 9,9")
    more = "kafka-topics.sh --alter --topic placed"
    tools.look("assign-more-no-partitions", f"{more} {assigned} 1:2:3")
    for name, partitions, replicas in (
        ("same", 3, "1:2"),
        ("fewer", 2, "1:2:3"),
        ("too-few", 5, "1:2:3,1:2:3,1:2:3,3:2:1"),
        ("too-many", 4, "1:2:3,1:2:3,1:2:3,3:2:1,1:2:3"),
        ("only-new", 4, "3:2:1"),
        ("only-old", 4, "1:2:3,2:3:1,3:1:2"),
        ("uneven", 4, "1:2,1:2,1:2,3:2"),
        ("uneven-list", 4, "1:2:3,1:2:3,1:2:3,3:2"),
        ("unknown-broker", 4, "1:2:3,1:2:3,1:2:3,3:2:9"),
        ("broker-twice", 4, "1:2:3,1:2:3,1:2:3,3:2:2"),
        ("old-unknown", 4, "9:8:7,1:2:3,1:2:3,3:2:1"),
    ):
        tools.look(f"assign-more-{name}", f"{more} --partitions {partitions} {assigned} {replicas}")
    tools.look("assign-more-described", "kafka-topics.sh --describe --topic placed")


PARTS = {
    "reassignments": _reassignments,
    "session": _session,
    "topics": _topics,
    "options": _options,
    "plans": _plans,
    "assignments": _assignments,
    "exports": exports,
    "offsets": offsets,
}
"""The parts of a recording, in their order."""

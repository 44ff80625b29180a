"""The recorded sessions that ask for offsets: `--export` of new ones, and `kafka-get-offsets.sh`."""

import time

from tests.fidelity.recorder.tool_runner import Tools


def exports(tools: Tools) -> None:
    """`--export` of new offsets, of which names are quoted, and `--list` with what is no state or type."""
    long = "orders.of-the_northern.region"
    for topic in ("exported", long):
        tools.run(f"kafka-topics.sh --create --topic {topic} --replica-assignment 1,2")
    reset = "kafka-consumer-groups.sh --reset-offsets --to-earliest"
    one = f"{reset} --topic exported --group"
    tools.look("export", f"{one} kept --export --dry-run")
    tools.look("export-neither", f"{one} kept --export")
    tools.look("export-two-groups", f"{one} kept --group other --export --dry-run")
    tools.look("export-long-topic", f"{reset} --topic {long} --group kept --export --dry-run")
    tools.look("export-long-group", f"{one} {'g' * 24} --group {'g' * 25} --export --dry-run")
    for name, group in {
        "comma": "a,b",
        "quote": "'a\"b'",
        "plus": "a+b",
        "backslash": "'a\\b'",
        "letters": "grüße",
    }.items():
        tools.look(f"export-{name}", f"{one} {group} --group other --export --dry-run")
    tools.look("export-execute", f"{one} kept --export --execute")
    tools.look("export-all-groups", f"{reset} --topic exported --all-groups --export --dry-run")
    for name, options in {
        "state": "--state Stble",
        "states": "--state stable,",
        "one-state": "--state EMPTY",
        "no-state": "--state stable",
        "type": "--type share",
        "types": "--type classic,share",
        "one-type": "--type Classic",
    }.items():
        tools.look(f"export-list-{name}", f"kafka-consumer-groups.sh --list {options}")


def offsets(tools: Tools) -> None:
    """The offsets of partitions; `measured-0` has five records, of which two are deleted, the others have none."""
    for topic, replicas in (("measured", "1:2"), ("measured.more", "1:2,2:1"), ("alone", "3")):
        tools.run(f"kafka-topics.sh --create --topic {topic} --replica-assignment {replicas}")
    tools.run("kafka-console-producer.sh --topic measured", given="".join(f"value-{number}\n" for number in range(5)))
    deletion = '{"partitions":[{"topic":"measured","partition":0,"offset":2}],"version":1}'
    tools.look_with("offsets-deletion", "kafka-delete-records.sh --offset-json-file", deletion)
    ours = "measured|measured.more|alone"
    for name, options in {
        "latest": f"--topic '{ours}'",
        "word": f"--topic '{ours}' --time latest",
        "number": f"--topic '{ours}' --time -1",
        "earliest": f"--topic '{ours}' --time earliest",
        "earliest-number": f"--topic '{ours}' --time -2",
        "max": "--topic measured --time -3",
        "local": f"--topic '{ours}' --time -4",
        "tiered": f"--topic '{ours}' --time -5",
        "pending": f"--topic '{ours}' --time -6",
        "before-all": f"--topic '{ours}' --time -7",
        "from-0": f"--topic '{ours}' --time 0",
        "future": f"--topic '{ours}' --time 9999999999999",
        "malformed": f"--topic '{ours}' --time yesterday",
        "list": "--topic 'measured, alone'",
        "regex": "--topic 'measured.*'",
        "bad-regex": "--topic '['",
        "no-topic": "--topic nowhere",
        "two-topics": "--topic alone --topic measured",
        "partitions": "--topic 'measured.*' --partitions 1,5",
        "no-partition": "--topic measured --partitions 7",
        "negative-partition": "--topic measured --partitions -1,+0",
        "bad-partitions": "--topic measured --partitions 0,x",
        "rules": "--topic-partitions 'measured.more:0-1,alone'",
        "rule-from": "--topic-partitions measured.more:1-",
        "rule-to": "--topic-partitions 'measured.*:-1'",
        "rule-one": "--topic-partitions 'measured.*:1'",
        "rule-open": "--topic-partitions measured:",
        "bad-rule": "--topic-partitions measured:x",
        "large-rule": "--topic-partitions measured:99999999999",
        "both": "--topic alone --topic-partitions alone:0",
        "both-partitions": "--partitions 0 --topic-partitions alone:0",
        "no-internal": "--topic '.*(measured|__).*' --exclude-internal-topics",
    }.items():
        tools.look(f"offsets-{name}", f"kafka-get-offsets.sh {options}")
    tools.kill(3)
    time.sleep(20)
    tools.look("offsets-leaderless", "kafka-get-offsets.sh --topic 'alone|measured'")

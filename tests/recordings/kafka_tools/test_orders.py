"""Pasted lines as commands, and what is refused because there is none."""

from pathlib import Path

import pytest

from cluster import events as e
from cluster.commands import CommandError, text_of
from recordings.flights.runner import fly, make_plan
from recordings.kafka_tools.pasted import commands_of
from recordings.scenarios.loader import ScenarioErrors, load, parse_scenario
from tests.support.console.console_page import files
from tests.support.kafka_tools_recorded import BILLING, flown
from tests.support.repository import ROOT

PLACES = '{"partitions":[{"topic":"orders","partition":0},{"topic":"orders","partition":2}]}'
OFFSETS = '{"partitions":[{"topic":"orders","partition":0,"offset":42}],"version":1}'
EXECUTE = (
    "kafka-reassign-partitions.sh --bootstrap-server kafka:9092 --execute --reassignment-json-file"
    ' \'{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3]}]}\''
)
RESET = "kafka-consumer-groups.sh --reset-offsets --group g --all-topics --execute"
SERVER = "--bootstrap-server kafka:9092"
RUNBOOK = f"""{BILLING}\
[[at]]
time = "5s"
do = "kafka-consumer-groups.sh --bootstrap-server kafka:9092 --describe --group billing"
[[at]]
time = "6s"
do = "kafka-topics.sh --bootstrap-server kafka:9092 --alter --topic orders --partitions 6"
[[at]]
time = "8s"
do = "kafka-configs.sh --alter --topic orders --add-config min.insync.replicas=2,retention.ms=60000"
[[expect]]
that = "topics.orders.partitions == 6"
by = "10s"
"""


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        (f"$ bin/kafka-topics.sh {SERVER} --alter --topic orders --partitions 6", ["add partitions orders to 6"]),
        (f"kafka-topics.sh {SERVER} --create --topic returns", ["create topic returns"]),
        (
            "kafka-topics.sh --create --if-not-exists --topic x --partitions 6 --config cleanup.policy=compact,delete",
            ["create topic x if not exists partitions 6 config cleanup.policy=[compact,delete]"],
        ),
        ("kafka-topics.sh --create --topic x --replication-factor 3 --config a.b=1 --config c.d=2",
         ["create topic x replicas 3 config a.b=1,c.d=2"]),
        ("kafka-topics.sh --create --topic x --replica-assignment 3:1,+2:1,, --config a=1",
         ["create topic x assignment 3:1,2:1 config a=1"]),
        ("kafka-topics.sh --create --topic x --replica-assignment ,", ["create topic x"]),
        ("kafka-topics.sh --create --topic x --replica-assignment ''", ["create topic x"]),
        ("kafka-topics.sh --alter --topic x --partitions 3 --replica-assignment '1 : 2, 2:3, 3:1'",
         ["add partitions x to 3 assignment 1:2,2:3,3:1"]),
        (
            "kafka-configs --alter --entity-type topics --entity-name orders --add-config a.b=1,c.d=[x,y]",
            ["set orders a.b 1", "set orders c.d x,y"],
        ),
        (f"kafka-configs.sh {SERVER} --alter --broker 2 --add-config k=v", ["set broker-2 k v"]),
        ("kafka-configs.sh --alter --entity-type brokers --entity-default --add-config k=v", ["set cluster k v"]),
        (
            "kafka-leader-election.sh --election-type PREFERRED --topic orders --partition 1",
            ["elect preferred orders-1"],
        ),
        (
            f"kafka-leader-election.sh --election-type=unclean --path-to-json-file '{PLACES}'",
            ["elect unclean orders-0", "elect unclean orders-2"],
        ),
        (
            f"kafka-delete-records.sh --offset-json-file '{OFFSETS}'",
            ["delete records orders-0 before 42"],
        ),
        (
            f"kafka-transactions.sh {SERVER} abort --topic orders --partition 0 --start-offset 7",
            ["abort hanging transaction orders-0"],
        ),
        (f"kafka-topics.sh {SERVER}  --list", [f'mark "kafka-topics.sh {SERVER} --list"']),
        (f"{RESET} --to-earliest", ["reset offsets of g to earliest"]),
        (f"{RESET} --group h --to-latest", ["reset offsets of g to latest", "reset offsets of h to latest"]),
        (f"{RESET} --to-current", ["reset offsets of g to current"]),
        (f"{RESET} --to-offset -2", ["reset offsets of g to offset 0"]),
        (f"{RESET} --shift-by -3", ["reset offsets of g by -3"]),
        (
            f"{RESET} --from-file '\"orders\",0,42 \"orders\",1,7'",
            ["reset offsets of g to offsets 42,7 in orders-0,orders-1"],
        ),
        (f"{RESET} --shift-by=+3", ["reset offsets of g by 3"]),
        (f"{RESET} --by-duration PT1H30M", ["reset offsets of g to 90m ago"]),
        (f"{RESET} --to-datetime 1970-01-01T00:00:12.500", ["reset offsets of g to instant 12500ms"]),
        (f"{RESET} --to-datetime 1970-01-01T01:00:12.000+01:00", ["reset offsets of g to instant 12s"]),
        (
            "kafka-consumer-groups.sh --reset-offsets --group g --from-file 'orders,0,42\norders,1,7' --execute",
            ["reset offsets of g to offsets 42,7 in orders-0,orders-1"],
        ),
        (
            f"{RESET} --group h --from-file h,a,0,1",
            ['mark "No reset plan for group g found"', "reset offsets of h to offsets 1 in a-0"],
        ),
        (f"{RESET} --to-offset 1 --to-offset 9", ["reset offsets of g to offset 1"]),
        (
            "kafka-topics.sh --create --topic x --config retention.ms=5= --config retention.ms=+7 --config flush.ms=8",
            ["create topic x config retention.ms=7,flush.ms=8"],
        ),
        (
            "kafka-transactions.sh abort --topic a --topic b --partition 0 --start-offset 7",
            ["abort hanging transaction b-0"],
        ),
        (
            f"{RESET} --group h --from-file 'h,a,0,1 g,a,0,2'",
            ["reset offsets of g to offsets 2 in a-0", "reset offsets of h to offsets 1 in a-0"],
        ),
        (
            f"{RESET.replace('--all-topics', '--topic a:0,2 --topic b')} --to-offset 7",
            ["reset offsets of g to offset 7 in a-0,a-2,b"],
        ),
        (EXECUTE, ["reassign orders-0 to 2,3"]),
        (EXECUTE.replace("execute", "cancel"), ["cancel reassignment of orders-0"]),
        ("kafka-consumer-groups.sh --delete --group g --group h", ["delete group g", "delete group h"]),
        (
            "kafka-consumer-groups.sh --delete-offsets --group g --topic a:1 --topic b",
            ["delete offsets of g in a-1,b"],
        ),
        ("kill broker-1", ["kill broker-1"]),
    ],
)  # fmt: skip
def test_lines_are_the_commands_that_the_cluster_has(line: str, commands: list[str]) -> None:
    assert [text_of(command) for command in commands_of(line)] == commands


@pytest.mark.parametrize(
    "before",
    [
        "kubectl exec -it kafka-0 -c kafka -- bin/",
        "docker exec kafka-broker /opt/kafka/bin/",
        "docker compose exec kafka ",
        "sudo -u kafka ",
        "KAFKA_OPTS='-Xmx1g -D a=b' env A=b ",
        "$ ",
        "[kafka@host-1 ~]$ ",
        "root@3f2a:/opt/kafka# bin/",
        "kafka@host:~$ sudo ",
    ],
)
def test_what_starts_a_tool_elsewhere_is_left_out(before: str) -> None:
    line = "kafka-topics.sh --bootstrap-server x:9092 --alter --topic orders --partitions 9"
    assert commands_of(before + line) == commands_of(line)
    with pytest.raises(CommandError) as refused:
        commands_of(f"{before}{line} --topik")
    assert refused.value.column == len(before) + len(line) + 1


@pytest.mark.parametrize(
    ("line", "said", "suggestion"),
    [
        ("kafka-reassign-partitions.sh --execute", 'Missing required argument "[reassignment-json-file]"', None),
        (f"{EXECUTE} --throttle 1000", "replication has no quotas", None),
        (EXECUTE.replace("execute", "cancel") + " --additional", "can't be used with action", None),
        (EXECUTE.replace("2, 3", "2, 2"), "orders-0 contains multiple entries for 2", None),
        (EXECUTE.replace("[2, 3]", "[]"), "Partition replica list cannot be empty", None),
        (EXECUTE.replace("}]", '}, {"topic": "orders", "partition": 0, "replicas": [1]}]'), "duplicate topic", None),
        ("kafka-topics.sh --delete --topic orders", "kafka-delete-records.sh empties", None),
        ("kafka-topics.sh --create --topic re/turns", "one or more characters other than ASCII alphanumerics", None),
        ("kafka-topics.sh --create", 'Missing required argument "[topic]"', None),
        ("kafka-topics.sh --create --topic x --config a=[b]", "a value with brackets is not understood here", None),
        (f"{RESET.replace('--all-topics', '--topic a')} --shift-by 1 --shift-by 2", "you asked for only one", None),
        ("kafka-configs.sh --alter --topic orders --add-config a=b=c", '"key=[val1,val2]" to group values', None),
        ("kafka-configs.sh --alter --topic orders --add-config retention.ms=5s", "Not a number of type LONG", None),
        ("kafka-configs.sh --alter --broker 1 --add-config log.retention.hours=1h", "Not a number of type INT", None),
        ("kafka-topics.sh --create --topic x --partitions 0", "The partitions must be greater than 0", None),
        ("kafka-topics.sh --create --topic x --replication-factor 0", "must be between 1 and 32767", None),
        ("kafka-topics.sh --create --topic x --config retention.ms", 'format "key=val"', None),
        ("kafka-topics.sh --alter --topic orders --partions 3", "no option --partions", "--partitions"),
        (f"{RESET} --to-datetime 2026-01-01T00:00:00.000", "a flight begins at 1970-01-01T00:00:00.000", None),
        (f"{RESET} --to-datetime 1969-12-31T23:59:59.999", "a flight begins at 1970-01-01T00:00:00.000", None),
        (f"{RESET} --to-datetime 1970-01-01", "is not a date: write it like 1970-01-01T00:00:00.000", None),
        (f"{RESET} --to-datetime 1970-02-30T00:00:00.000", "is not a date", None),
        ("kafka-consumer-groups.sh --delete", "takes one of these options: [group], [all-groups]", None),
        ("kafka-consumer-groups.sh --delete-offsets --group g", "following options: [group], [topic]", None),
        ("kafka-consumer-groups.sh --delete-offsets --group g --topic a:-1", "Invalid partition '-1'", None),
        (f"{RESET} --from-file plan.csv", "no file is read here", None),
        (f"{RESET} --from-file '\"orders,0,1'", "is not topic,partition,offset", None),
        (f"{RESET} --from-file orders,0,x", "`orders,0,x` is not topic,partition,offset", None),
        (f"{RESET} --group h --from-file orders,0,1", "is not group,topic,partition,offset", None),
        (f"{RESET} --from-file h,orders,0,1", "No reset plan for group g found", None),
        (f"{RESET} --by-duration 10s", "write it like PT1H", None),
        (f"{RESET} --to-offset ten", "`ten` is not a whole number", None),
        (f"{RESET} --shift-by 99999999999999999999", "is not a whole number", None),
        (f"{RESET} --to-earliest --to-latest", "can't be used with option", None),
        (f"{RESET.replace('--group g', '--all-groups')} --to-latest", "name each group in a scenario", None),
        (f"{RESET.replace('--all-topics', '--topic a:x')} --to-latest", "Invalid partition 'x'", None),
        ("kafka-consumer-groups.sh --reset-offsets --group g --dry-run --execute", "only accepts one of", None),
        ("kafka-consumer-group.sh --list", "is not understood", "kafka-consumer-groups.sh"),
        ("kafka-configs.sh --alter --topic orders --add-config retention.ms", 'format "key=val"', None),
        ("kafka-configs.sh --alter --topic orders --delete-config k", "--add-config KEY=VALUE", None),
        ("kafka-delete-records.sh --offset-json-file records.json", "write its JSON in its place", None),
        ("kafka-delete-records.sh --offset-json-file '{\"partitions\": [1]}'", "not the tool's JSON", None),
        ("kafka-transactions.sh abort --topic orders --partition 0", "is identified by its --start-offset", None),
        ("kafka-transactions.sh abrt --topic orders", "exactly one action", "abort"),
        ("kafka-leader-election.sh --election-type best --topic orders --partition 0", "PREFERRED or UNCLEAN", None),
        ("kafka-topics.sh orders", "belongs to no option", None),
        ("kafka-topics.sh --list | grep a", "`|` is the shell's: leave it out, and what follows", None),
        ("kafka-topics.sh --alter --topic a --partitions 9 && echo", "`&&` is the shell's", None),
        ("kubectl exec kafka-0 -- kafka-console-producer.sh", "set PRODUCER rate N", None),
        ("kubectl get pods", "no command `kubectl`", None),
        ("kafka-console-producer.sh --topic orders", "set PRODUCER rate N", None),
    ],
)
def test_what_has_no_command_is_refused_with_the_nearest_that_works(
    line: str, said: str, suggestion: str | None
) -> None:
    with pytest.raises(CommandError) as refused:
        commands_of(line)
    assert said in refused.value.message
    assert refused.value.suggestion == suggestion


def test_a_runbook_is_rehearsed_from_a_scenario() -> None:
    scenario = parse_scenario(RUNBOOK, "runbook.toml").spec
    assert [step.text for step in scenario.steps] == [
        'mark "kafka-consumer-groups.sh --bootstrap-server kafka:9092 --describe --group billing"',
        "add partitions orders to 6",
        "set orders min.insync.replicas 2",
        "set orders retention.ms 60000",
    ]
    emitted = flown(scenario)
    assert [event.partitions for event in emitted if isinstance(event, e.PartitionsAdded)] == [6]


def test_a_line_that_cannot_be_rehearsed_is_an_error_at_its_line() -> None:
    with pytest.raises(ScenarioErrors) as refused:
        parse_scenario(RUNBOOK.replace("--partitions 6", "--partitons 6"), "runbook.toml")
    assert "no option --partitons" in str(refused.value)
    assert "--partitions" in str(refused.value)


AGAIN = files((ROOT / "docs" / "runbooks.md").read_text("utf-8"))["again.toml"]


def test_a_runbook_that_resets_a_running_group_is_judged_wrong(tmp_path: Path) -> None:
    """Without the step that stops the members nothing is reset, and an expectation says so."""
    scenario = tmp_path / "runbook.toml"
    scenario.write_text(AGAIN.replace("scale billing to 0", "scale billing to 2"), "utf-8")
    result = fly(make_plan(load(scenario)))
    assert not result.held
    assert [one["ok"] for one in result.expectations] == [False, False, True]

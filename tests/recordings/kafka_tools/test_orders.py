"""Pasted lines as commands, and what is refused, in the words that Kafka's tools used on a real cluster."""

import copy
import re
from pathlib import Path

import pytest

from cluster import events as e
from cluster.commands import CommandError, CreateTopic, Names, text_of
from cluster.spec import created_topic
from cluster.view import ClusterView, fold
from cluster.view.state import NEVER
from cluster.view.transactions import PartitionTransactions
from recordings.flights.runner import fly, make_plan
from recordings.kafka_tools.pasted import commands_of
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.refusals import refusal_of
from recordings.kafka_tools.tool_lines import read_tool_line
from recordings.scenarios.loader import ScenarioErrors, load, parse_scenario
from tests.support.console.console_page import files
from tests.support.kafka_tools_recorded import LOOKS, flown, same
from tests.support.repository import ROOT
from tests.support.scenario_builders import spec

PLACES = '{"partitions":[{"topic":"orders","partition":0},{"topic":"orders","partition":2}]}'
OFFSETS = '{"partitions":[{"topic":"orders","partition":0,"offset":42}],"version":1}'
EXECUTE = (
    "kafka-reassign-partitions.sh --bootstrap-server kafka:9092 --execute --reassignment-json-file"
    ' \'{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3]}]}\''
)
RESET = "kafka-consumer-groups.sh --reset-offsets --group g --all-topics --execute"
SAID_BEFORE = re.compile(
    "(Error while executing topic command : |Error: Executing consumer group command failed due to "
    '|Exception in thread "main" [A-Za-z.]+: )'
)
SERVER = "--bootstrap-server kafka:9092"
RUNBOOK = """
title = "a runbook"
until = "20s"
[cluster]
brokers = 3
[[topic]]
name = "orders"
partitions = 3
[[producer]]
name = "shop"
topics = ["orders"]
rate = "20/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
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


# --- in the words of the tools ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def view() -> ClusterView:
    """A group `billing` of two members in a cluster like the recorded one, after 12 s."""
    text = RUNBOOK[: RUNBOOK.index("[[at]]")]
    folded = ClusterView()
    for event in flown(parse_scenario(text, "like-the-recorded").spec):
        fold(folded, event)
    return folded


def printed(view: ClusterView, line: str) -> Printed:
    found = refusal_of(view, read_tool_line(line))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "name", ["reset-active", "delete-active", "delete-offsets-active", "alter-fewer", "election", "election-unclean"]
)
def test_kafka_refuses_in_its_own_words(view: ClusterView, name: str) -> None:
    same(name, printed(view, LOOKS[name]["command"]))


@pytest.mark.parametrize(
    "name", ["create-again", "create-if-not-exists", "create-too-many-replicas", "create-collision"]
)
def test_a_topic_is_refused_in_the_tools_words(view: ClusterView, name: str) -> None:
    known = {**view.topics, "returns": view.topics["orders"], "re.turns": view.topics["orders"]}
    with_topics = copy.copy(view)
    with_topics.topics = known
    same(name, printed(with_topics, LOOKS[name]["command"]))


def test_a_topic_that_may_be_there_is_warned_of_all_the_same(view: ClusterView) -> None:
    known = copy.copy(view)
    known.topics = {**view.topics, "re.turns": view.topics["orders"]}
    warning = LOOKS["create-with-period"]["printed"].split("\n")[0]
    assert printed(known, "kafka-topics.sh --create --topic re.turns --if-not-exists") == Printed(f"{warning}\n")


@pytest.mark.parametrize("name", ["create", "create-with-period", "create-configured"])
def test_a_topic_that_can_be_created_is_not_refused(view: ClusterView, name: str) -> None:
    assert refusal_of(view, read_tool_line(LOOKS[name]["command"])) is None


@pytest.mark.parametrize(
    "name",
    [
        *("create-no-partitions", "create-no-replicas", "create-bad-name", "create-two", "create-two-counts"),
        *("create-if-exists", "create-excluding", "alter-if-not-exists", "alter-replicas", "alter-no-partitions"),
        *("describe-partitions", "list-config", "list-under-replicated", "create-pair-three", "create-pair-no-value"),
        *("create-pair-list", "create-pair-unit", "create-pair-bytes", "create-pair-ratio", "groups-all-and-one"),
        *("groups-list-of-one", "groups-describe-topic", "groups-delete-topic", "groups-delete-members"),
        "delete-offsets-of-two",
    ],
)
def test_lines_that_the_tool_cannot_take_are_refused_in_its_words(name: str) -> None:
    with pytest.raises(CommandError) as refused:
        commands_of(LOOKS[name]["command"])
    assert refused.value.message == SAID_BEFORE.sub("", LOOKS[name]["printed"].strip())


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        ("unclean.leader.election.enable=yes", "Expected value to be either true or false"),
        ("segment.bytes=2147483648", "Not a number of type INT"),
        ("retention.ms=1e3", "Not a number of type LONG"),
        ("cleanup.policy=delete,purge", "String must be one of: compact, delete"),
        ("cleanup.policy=delete,delete", "values must not be duplicated."),
        ("cleanup.policy=delete,,compact", "values must not be empty."),
    ],
)
def test_a_tools_values_are_those_of_kafkas_types(pair: str, reason: str) -> None:
    with pytest.raises(CommandError) as refused:
        commands_of(f"kafka-topics.sh --create --topic x --config {pair}")
    assert refused.value.message.endswith(reason)


def test_a_topic_has_no_name_that_commands_read_as_another() -> None:
    names = Names(groups={"g": ("g-1",)}, topics={"orders": 3})
    with pytest.raises(CommandError, match=r"^g-7 is the name of a process of g$") as refused:
        commands_of("kafka-topics.sh --create --topic g-7", names)
    assert refused.value.column == len("kafka-topics.sh --create ")


def test_values_of_kafkas_types_are_read_alike() -> None:
    [created] = commands_of(
        "kafka-topics.sh --create --topic x --config unclean.leader.election.enable=TRUE"
        " --config min.cleanable.dirty.ratio=.5d --config 'cleanup.policy = compact , delete'"
    )
    assert isinstance(created, CreateTopic)
    assert created_topic(spec(until_s=1), created).config == {
        "unclean.leader.election.enable": True,
        "min.cleanable.dirty.ratio": 0.5,
        "cleanup.policy": ("compact", "delete"),
    }


def test_a_group_that_does_not_exist_cannot_be_deleted(view: ClusterView) -> None:
    refused = printed(view, "kafka-consumer-groups.sh --delete --group nobody")
    same("delete-missing", refused._replace(out=refused.out.replace("nobody", "billing")))


def test_a_dry_run_prints_the_plan_of_a_new_group(view: ClusterView) -> None:
    line = LOOKS["reset-new-group"]["command"]
    same("reset-new-group", printed(view, line))
    ends = {str(one.number): one.high_watermark for one in view.partitions.values() if one.topic == "orders"}
    latest = printed(view, line.replace("earliest", "latest")).out.split("\n")[2:-1]
    assert {row.split()[2]: int(row.split()[3]) for row in latest} == ends
    beyond = printed(view, line.replace("--to-earliest", "--to-offset 99999")).out.split("\n")[2:-1]
    assert beyond == latest


def test_the_plan_of_a_file_is_within_the_logs(view: ClusterView) -> None:
    line = "kafka-consumer-groups.sh --reset-offsets --group fresh --from-file 'orders,0,3 orders,2,99999'"
    rows = [row.split() for row in printed(view, line).out.split("\n")[2:-1]]
    end = str(view.partitions["orders-2"].high_watermark)
    assert rows == [["fresh", "orders", "0", "3"], ["fresh", "orders", "2", end]]


@pytest.mark.parametrize("name", ["plan-missing-partition", "plan-without-leader"])
def test_a_plan_that_is_not_found_is_sought_until_the_timeout(view: ClusterView, name: str) -> None:
    """Nothing is committed then: the tool lists the offsets of all rows before it commits one."""
    leaderless = copy.deepcopy(view)
    leaderless.partitions["orders-1"].leader = NEVER
    said = printed(leaderless, LOOKS[name]["command"].replace("alone,", "orders,"))
    words, _, rest = LOOKS[name]["printed"].partition(", deadlineMs=")
    assert said.out.strip().startswith(words)
    assert "timed out" in rest
    assert "timed out: orders-9 has" in said.out or "timed out: orders-1 has" in said.out
    assert not said.ok
    assert refusal_of(view, read_tool_line(line_of_rows("orders,0,3 orders,2,9"))) is None


def test_a_plan_of_a_topic_that_is_not_there_fails_at_once(view: ClusterView) -> None:
    same("plan-missing-topic", printed(view, LOOKS["plan-missing-topic"]["command"].replace("alone", "orders")))


def test_a_scope_beside_a_plan_is_looked_up(view: ClusterView) -> None:
    said = printed(view, LOOKS["plan-with-scope"]["command"].replace("alone", "orders"))
    assert said.out.strip() == LOOKS["plan-with-scope"]["printed"].strip().replace("alone", "orders")


def line_of_rows(rows: str, more: str = "") -> str:
    return f"kafka-consumer-groups.sh --reset-offsets --group planned{more} --from-file '{rows}' --execute"


def test_a_scope_without_leader_is_refused_before_anything_is_committed(view: ClusterView) -> None:
    leaderless = copy.deepcopy(view)
    leaderless.partitions["orders-1"].leader = NEVER
    said = printed(leaderless, LOOKS["reset-without-leader"]["command"].replace("alone", "orders"))
    assert said.out.strip() == LOOKS["reset-without-leader"]["printed"].strip().replace("alone", "orders")


def test_a_group_without_a_plan_holds_back_no_other(view: ClusterView) -> None:
    look = LOOKS["plan-without-group"]
    same("plan-without-group", renamed(printed(view, look["command"].replace("alone", "orders"))))
    alone = printed(view, line_of_rows("other,orders,0,3"))
    assert alone.out.strip() == LOOKS["plan-without-any"]["printed"].strip()
    assert refusal_of(view, read_tool_line(line_of_rows("other,orders,0,3", " --group other"))) is None
    both = line_of_rows("other,orders,0,3 billing,orders,0,3", " --group other --group billing")
    assert refusal_of(view, read_tool_line(both)) is None, "the cluster refuses the active group by itself"


def renamed(made: Printed) -> Printed:
    return made._replace(out=made.out.replace("orders         ", "alone          "))


@pytest.mark.parametrize(
    ("identified", "said"),
    [
        ("--start-offset 3", ""),
        ("--producer-id 7", ""),
        ("--start-offset 4", "Could not find any open transactions starting at offset 4 on partition orders-0"),
        ("--producer-id 9", "Could not find any open transactions of producer id 9 on partition orders-0"),
        ("--start-offset 5", "only the oldest open transaction of a partition is aborted here"),
        ("--producer-id 8", "that of orders-0 starts at offset 3"),
    ],
)
def test_no_other_transaction_is_aborted_than_the_line_names(view: ClusterView, identified: str, said: str) -> None:
    two = copy.deepcopy(view)
    two.partitions["orders-0"].transactions = PartitionTransactions()
    two.partitions["orders-0"].transactions.index.open.update({7: 3, 8: 5})
    line = read_tool_line(f"kafka-transactions.sh {SERVER} abort --topic orders --partition 0 {identified}")
    refused = refusal_of(two, line)
    assert (refused is None) == (said == "")
    assert refused is None or said in refused.err


@pytest.mark.parametrize("name", ["reset-no-scope", "reset-no-scenario"])
def test_options_that_are_missing_are_named_as_the_tool_does(view: ClusterView, name: str) -> None:
    with pytest.raises(CommandError) as refused:
        printed(view, LOOKS[name]["command"])
    assert refused.value.message == LOOKS[name]["printed"].strip()


def test_a_partition_that_does_not_exist_is_said(view: ClusterView) -> None:
    line = LOOKS["reset-no-such-partition"]["command"].replace("billing", "fresh")
    assert printed(view, line).out.strip() == LOOKS["reset-no-such-partition"]["printed"].strip()


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

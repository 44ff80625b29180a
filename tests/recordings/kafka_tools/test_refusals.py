"""What is refused, or planned, in the words that Kafka's tools used on a real cluster."""

import copy
import re

import pytest

from cluster.commands import CommandError, CreateTopic, Names
from cluster.spec import created_topic
from cluster.view import ClusterView
from cluster.view.state import NEVER
from cluster.view.transactions import PartitionTransactions
from recordings.kafka_tools.pasted import commands_of
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.refusals import refusal_of
from recordings.kafka_tools.tool_lines import read_tool_line
from recordings.scenarios.loader import parse_scenario
from tests.support.kafka_tools_recorded import BILLING, LOOKS, same, view_at
from tests.support.scenario_builders import spec

SAID_BEFORE = re.compile(
    "(Error while executing topic command : |Error: Executing consumer group command failed due to "
    '|Exception in thread "main" [A-Za-z.]+: )'
)


@pytest.fixture(scope="module")
def view() -> ClusterView:
    """A group `billing` of two members in a cluster like the recorded one, at its end."""
    return view_at(parse_scenario(BILLING, "like-the-recorded").spec)


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
    line = read_tool_line(f"kafka-transactions.sh abort --topic orders --partition 0 {identified}")
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

"""What real tools of Kafka 4.3.1 and of earlier releases have printed, as a scenario; and no text makes a traceback."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cluster.spec import ScenarioSpec
from recordings.bounded_files import RecordingError
from recordings.importing.draft import ClusterDraft, ImportFileError
from recordings.importing.make import Imported, read_files, scenario_of
from recordings.importing.tool_output import read_tool_output
from recordings.scenarios.loader import parse_scenario
from tests.support.kafka_tools_recorded import LOOKS

OLDER = """
Topic:orders\tPartitionCount:2\tReplicationFactor:2\tConfigs:cleanup.policy=compact,delete,retention.ms=1000
\tTopic: orders\tPartition: 0\tLeader: 101\tReplicas: 101,102\tIsr: 101,102
\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 102,103\tIsr: 102

GROUP           CONSUMER-ID                          HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT
billing         5d64efef-7232-40db-a56f-87ae7cb24bfd /127.0.0.1      consumer-1      2               orders(0,1)
"""


BEFORE_2_3 = """
Note: This will not show information about old Zookeeper-based consumers.

TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
orders          0          100             120             20              consumer-1-029  /127.0.0.1      consumer-1
orders          1          90              100             10              consumer-2-42c  /127.0.0.1      consumer-2

CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT
consumer-1-029  /127.0.0.1      consumer-1      1               orders(0)
consumer-2-42c  /127.0.0.1      consumer-2      2               audit(0), orders(1)
consumer-3-9a1  /127.0.0.1      consumer-3      0               -

COORDINATOR (ID)          ASSIGNMENT-STRATEGY       STATE                #MEMBERS
localhost:9092 (1)        range                     Stable               3
"""
USERS = """Quota configs for user-principal 'alice', client-id 'orders-api' are producer_byte_rate=1048576.0
Quota configs for the default client-id are consumer_byte_rate=2097152.0
SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=4096
"""


def made(*texts: str) -> Imported:
    draft = ClusterDraft()
    for number, text in enumerate(texts):
        read_tool_output(text, f"{number}.txt", draft)
    return scenario_of(draft, "title", "lesson")


def recorded(*names: str) -> ScenarioSpec:
    return made(*(LOOKS[name]["printed"] for name in names)).spec


def test_topics_of_a_real_cluster() -> None:
    spec = recorded("topics")
    assert [(one.name, one.partitions, one.replication) for one in spec.topics] == [
        ("orders", 3, 3),
        ("audit", 1, 2),
        ("payments", 2, 1),
    ]
    assert spec.topics[2].config == {
        "min.insync.replicas": 1,
        "cleanup.policy": ("compact",),
        "retention.ms": 3_600_000,
    }
    assert len(spec.brokers) == 3


@pytest.mark.parametrize(
    ("names", "members", "static", "new"),
    [
        (("static-stable",), 2, False, False),  # instance ids stand among the members only
        (("static-stable-members",), 2, True, False),
        (("ledger-stable",), 3, False, False),  # the fourth has no partition
        (("ledger-stable", "ledger-stable-members-verbose"), 4, False, True),
        (("ledger-stable-state",), 4, False, True),
        (("ledger-stable-state-verbose",), 4, False, True),
        (("billing-rebalancing-members",), 3, False, False),
        (("billing-empty-state",), 0, False, False),
        (("billing-empty",), 0, False, False),
    ],
)
def test_groups_of_a_real_cluster(names: tuple[str, ...], members: int, static: bool, new: bool) -> None:
    (group,) = recorded("topics", *names).groups
    assert group.topics in (("orders",), ("orders", "audit", "payments"))
    assert (group.members, group.static, group.speaks_new_protocol) == (members, static, new)


def test_configurations_of_a_real_cluster() -> None:
    found = made(*(LOOKS[name]["printed"] for name in ("config-topic", "config-topics", "config-broker")))
    topics = {topic.name: topic.config for topic in found.spec.topics}
    assert topics["payments"] == {"cleanup.policy": ("compact",), "retention.ms": 3_600_000}
    assert topics["orders"] == {"min.insync.replicas": 2}
    assert "keys of the brokers that a flight does not have: log.cleaner.threads" in found.left_out


def test_releases_before_2_3_name_no_group(tmp_path: Path) -> None:
    """Its tables have no column of the group: the file's name stands for it, and says so."""
    file = tmp_path / "billing.txt"
    file.write_text(BEFORE_2_3)
    found = scenario_of(read_files([file]), "title", "lesson")
    (group,) = found.spec.groups
    assert (group.name, group.members, set(group.topics)) == ("billing", 3, {"orders", "audit"})
    assert "billing: the group's name, from its file's: no column has it" in found.guessed
    assert not any("not understood" in one for one in found.left_out)


def test_the_group_that_a_command_or_a_sentence_names_comes_before_the_file() -> None:
    offsets = "\n".join(BEFORE_2_3.splitlines()[3:6])
    command = "$ kafka-consumer-groups.sh --bootstrap-server b:9092 --describe --group"
    found = made(f"{command} billing\n\n{offsets}\n{command}=audit\n\n{offsets}\n$ kafka-topics.sh --list\norders\n")
    assert {group.name for group in found.spec.groups} == {"billing", "audit"}
    assert "the lag of billing: 30 records; a flight begins with empty topics" in found.left_out
    assert not any("no column" in one for one in found.guessed)
    found = made(f"Consumer group 'billing' has no active members.\n\n{offsets}\n")
    assert [group.name for group in found.spec.groups] == ["billing"]
    with pytest.raises(ImportFileError, match=r"^0\.txt:5: a second table without its group's name"):
        made(f"{offsets}\n\n{offsets}\n")


def test_an_empty_group_of_a_release_before_2_3_has_no_assignor() -> None:
    titles, row = BEFORE_2_3.splitlines()[-2:]
    row = row.replace("range ", "      ").replace("Stable", "Empty ").replace("3", "0")
    found = made(f"{titles}\n{row}\n")
    assert [(group.members, broker.id) for group in found.spec.groups for broker in found.spec.brokers] == [(0, 1)]
    assert not any("assignor" in one for one in found.left_out)


PROMPTS = (
    "[kafka@broker-1 ~]$", "root@kafka-0:/opt/kafka#", "$", "%", "kubectl exec -n kafka kafka-0 --",
    "docker compose exec broker bin/kafka-topics.sh --list && ", "PS C:\\kafka> .\\bin\\windows\\",
)  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("tool", ["kafka-consumer-groups.sh", "kafka-consumer-groups"])
def test_a_session_with_its_prompts_and_commands_is_read(prompt: str, tool: str) -> None:
    """With seven words, `prompt command --describe …` is as long as a row of the table above it."""
    options = ("--all-groups", "--members", "--verbose", "--timeout 9000", "--group billing")
    tables = [LOOKS[name]["printed"].strip("\n") for name in ("billing-stable", "billing-stable-members-verbose")]
    for words in range(len(options)):
        line = f"{prompt} {tool} --bootstrap-server b:9092 --describe {' '.join(options[: words + 1])}"
        imported = made("\n".join([line, tables[0], line, tables[1], line, ""]))
        assert imported.spec.groups == made(*tables).spec.groups
        assert not [said for said in imported.left_out if "not understood" in said]


def test_partitions_without_a_leader_are_named() -> None:
    assert "partitions without a leader: 1, such as orders-1" in made(OLDER).left_out


def test_a_value_that_one_broker_alone_has_is_named() -> None:
    """A scenario has one value for all brokers: the last one that was printed is not that of the others."""
    text = "".join(
        f"All configs for broker {broker} are:\n  min.insync.replicas={value} sensitive=false"
        f" synonyms={{STATIC_BROKER_CONFIG:min.insync.replicas={value}}}\n"
        f"  node.id={broker} sensitive=false synonyms={{STATIC_BROKER_CONFIG:node.id={broker}}}\n"
        for broker, value in enumerate((2, 1, 2), 1)
    )
    found = made(text)
    assert found.spec.config["min.insync.replicas"] == 2
    assert [one for one in found.left_out if "of broker" in one] == [
        "min.insync.replicas of broker 2: 1; all brokers have 2"
    ]


def test_quotas_alone_are_no_cluster() -> None:
    with pytest.raises(ImportFileError, match="quotas or credentials alone"):
        made(USERS + "Quota configs for client-id 'a' are \n")


def test_quotas_and_credentials_are_left_out_by_name() -> None:
    found = made(OLDER + "\n" + USERS)
    assert {one for one in found.left_out if " configs of " in one} == {
        "Quota configs of user-principal 'alice', client-id 'orders-api'",
        "Quota configs of the default client-id",
        "SCRAM credential configs of user-principal 'alice'",
    }


def test_earlier_releases_have_other_blanks_and_columns() -> None:
    found = made(OLDER)
    (topic,), (group,) = found.spec.topics, found.spec.groups
    assert not any("no column" in one for one in found.guessed)
    assert (topic.partitions, topic.replication, topic.config["cleanup.policy"]) == (2, 2, ("compact", "delete"))
    assert (group.members, group.topics, len(found.spec.brokers)) == (1, ("orders",), 3)
    assert "partitions without all in-sync replicas: 1, such as orders-1" in found.left_out
    assert [broker.id for broker in found.spec.brokers] == [101, 102, 103]
    assert topic.replica_assignment == ((101, 102), (102, 103))


def row(number: int, leader: str, replicas: str, more: str = "") -> str:
    return f"\tTopic: t\tPartition: {number}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {replicas}{more}\tElr: \n"


THREE = "Topic: t\tTopicId: x\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: \n"
MOVING = "\tAdding Replicas: 7\tRemoving Replicas: 1"


@pytest.mark.parametrize(
    ("rows", "assigned", "left_out"),
    [
        (
            row(0, "1", "1,2") + row(1, "2", "2,5") + row(2, "2", "5,2"),
            ((1, 2), (2, 5), (5, 2)),
            ["partitions without their preferred leader: 1, such as t-2"],
        ),
        (
            row(0, "1", "7,2,1", MOVING) + row(1, "none", "2,5") + row(2, "5", "5,2", "\tAdding Replicas: \t"),
            ((7, 2), (2, 5), (5, 2)),
            [
                "partitions with a reassignment in progress, complete in the scenario: 1, such as t-0",
                "partitions without their preferred leader: 1, such as t-0",
                "partitions without a leader: 1, such as t-1",
            ],
        ),
        (
            row(0, "1", "1,2") + row(2, "5", "5,2"),
            (),
            ["the brokers of the replicas of t: no row has those of t-1"],
        ),
        (
            row(0, "1", "1,2") + row(1, "2", "2") + row(2, "5", "5,2"),
            (),
            ["the brokers of the replicas of t: not all partitions have as many"],
        ),
        (
            row(0, "1", "1,1") + row(1, "2", "2,1") + row(2, "2", "2,1"),
            (),
            ["the brokers of the replicas of t: not all partitions have as many"],
        ),
        ("", (), []),
    ],
)
def test_the_twin_has_the_leaders_of_the_real_cluster(
    rows: str, assigned: tuple[tuple[int, ...], ...], left_out: list[str]
) -> None:
    found = made(THREE + rows)
    (topic,) = found.spec.topics
    assert (topic.partitions, topic.replication, topic.replica_assignment) == (3, 2, assigned)
    assert found.left_out == left_out
    assert parse_scenario(found.text, "t.toml").spec == found.spec


def test_the_twin_has_the_coordinators_of_the_real_cluster() -> None:
    """A topic keeps the number of replicas with which it was created, whatever the brokers' key says later."""
    offsets = THREE.replace("t\t", "__consumer_offsets\t", 1)
    rows = "".join(row(number, "1", "1,2").replace(" t\t", " __consumer_offsets\t") for number in range(3))
    factor = "All configs for broker 1 are:\n  offsets.topic.replication.factor=3 sensitive=false synonyms={}\n"
    found = made(offsets + rows + factor)
    assert found.spec.internal_assignment == {"__consumer_offsets": ((1, 2),) * 3}
    assert found.spec.config == {"offsets.topic.num.partitions": 3, "offsets.topic.replication.factor": 2}
    assert parse_scenario(found.text, "t.toml").spec == found.spec
    without_rows = made(offsets.replace("t\tPartitionCount: 3", "t\tPartitionCount: 50")).spec
    assert (without_rows.internal_assignment, without_rows.config) == ({}, {"offsets.topic.num.partitions": 3})


def test_brokers_without_a_named_id_have_the_lowest_free_ones() -> None:
    draft = ClusterDraft(count=4, brokers={2, 7})
    assert [broker.id for broker in scenario_of(draft, "t", "l").spec.brokers] == [1, 2, 3, 7]


def test_names_that_a_scenario_cannot_have_are_changed_and_said() -> None:
    found = made(
        "Topic: billing\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
        "Topic: billing-1\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
        "GROUP TOPIC PARTITION LAG CONSUMER-ID\n"
        "billing billing 0 12 c1\n"
        "cluster billing 0 - -\n"
        "bill/ing billing 0 - -\n"
    )
    assert [topic.name for topic in found.spec.topics] == ["billing.topic", "billing-1.topic"]
    assert [group.name for group in found.spec.groups] == ["billing", "cluster.group", "bill-ing"]
    assert "topic billing is called billing.topic: a scenario cannot have its name" in found.left_out
    assert "the lag of billing: 12 records; a flight begins with empty topics" in found.left_out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello\n", "a.txt:1: no line is of kafka-topics.sh"),
        ("", "a.txt: no line is of kafka-topics.sh"),
        (
            "\nTopic: t\tPartitionCount: many\tReplicationFactor: 1",
            "a.txt:2: PartitionCount is 'many', not a whole number from 1 to 50,000",
        ),
        (
            "GROUP TOPIC PARTITION LAG CONSUMER-ID\ng t 0\n",
            "a.txt:2: this row has not the columns of its table: GROUP, TOPIC, PARTITION, LAG, CONSUMER-ID",
        ),
        ("GROUP TOPIC PARTITION LAG\ng t -1 0\n", "a.txt:2: PARTITION is '-1'"),
        ("GROUP  PARTITION\nbilling  0\n", "a.txt:2: the table of this row has no column TOPIC"),
        ("GROUP  #PARTITIONS\nbilling  4\n", "a.txt:2: the table of this row has no column CONSUMER-ID"),
        (
            "GROUP CONSUMER-ID\t\t\tCLIENT-ID  #PARTITIONS\nbilling 4\n",
            "a.txt:2: this row has not the columns of its table",
        ),
    ],
)
def test_a_mistake_has_its_file_line_and_reason(text: str, reason: str) -> None:
    with pytest.raises(ImportFileError) as error:
        read_tool_output(text, "a.txt", ClusterDraft())
    assert str(error.value).startswith(reason)


def test_a_file_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"\xe9t\xe9")
    for name, reason in (
        ("latin.txt", "not text"),
        ("gone.txt", "No such file"),
        (".", "directory"),
        ("a.toml", "a scenario already"),
    ):
        with pytest.raises(RecordingError, match=reason):
            read_files([tmp_path / name])


WORDS = sorted({word for look in LOOKS.values() for word in look["printed"].replace("\t", " \t").split(" ")})
LINES = sorted({line for look in LOOKS.values() for line in look["printed"].splitlines()})


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(LINES), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), st.text(max_size=60)
        ),
        max_size=12,
    ).map("\n".join)
)
@example("Topic: a\x1bb\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \x7f=1")
def test_no_text_makes_a_traceback_and_what_is_made_can_be_loaded(text: str) -> None:
    draft = ClusterDraft()
    try:
        read_tool_output(text, "a.txt", draft)
        found = scenario_of(draft, "t", "l")
    except RecordingError:
        return
    assert parse_scenario(found.text, "a.toml").spec == found.spec


def test_more_replicas_than_brokers_that_a_scenario_can_have_are_refused() -> None:
    draft = ClusterDraft()
    draft.topic("orders").replication = 2_147_483_648
    with pytest.raises(RecordingError, match="the files need 2,147,483,648 brokers; a cluster has at most 1,000 here"):
        scenario_of(draft, "Imported", "")


def test_the_error_of_a_tool_alone_makes_no_scenario() -> None:
    failed = "\nError while executing topic command : Timed out waiting for a node assignment. Call: listTopics\n"
    with pytest.raises(ImportFileError, match=r"^0\.txt:2: the tool failed: Error while .* Timed out"):
        made(failed)
    found = made(f"{failed}{LOOKS['topics']['printed']}")
    assert any(words.startswith("0.txt:2 is an error of the tool: ") for words in found.left_out)


def test_a_group_that_only_a_warning_names_is_there() -> None:
    found = made("\nWarning: Consumer group 'billing' is rebalancing.\n")
    assert [group.name for group in found.spec.groups] == ["billing"]
    assert "the rebalance of billing that was under way" in found.left_out

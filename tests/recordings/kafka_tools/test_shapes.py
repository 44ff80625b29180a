"""Tables byte for byte as Kafka's own tools printed them on a real cluster (`tests/fidelity/recorder`)."""

import pytest

from recordings.kafka_log.java_maps import string_map_order, timeline_map_order
from recordings.kafka_tools.group_tables import (
    MemberRow,
    OffsetRow,
    ResetRow,
    StateRow,
    list_table,
    members_table,
    offsets_table,
    reset_table,
    state_table,
)
from recordings.kafka_tools.printed import MISSING, failed, pretty_table
from recordings.kafka_tools.topic_tables import in_admin_order
from tests.support.kafka_tools_recorded import LOOKS, same

STATES = {"stable": "Stable", "empty": "Empty", "rebalancing": "PreparingRebalance"}


def looks(shape: str) -> list[str]:
    """The looks at a group in a state whose names end in a shape."""
    return [name for name in LOOKS if any(name.endswith(f"-{state}{shape}") for state in STATES)]


def state_of(name: str) -> str:
    return next(state for word, state in STATES.items() if f"-{word}" in name)


def table(text: str) -> list[dict[str, str]]:
    """The rows of one table, cut where its titles begin: the first title has `COORDINATOR (ID)` as one."""
    titles, *lines = [line for line in text.splitlines() if line.strip() and "roup '" not in line]
    names = titles.replace("COORDINATOR (ID)", "COORDINATOR-(ID)").split()
    shown = titles.replace("COORDINATOR (ID)", "COORDINATOR-(ID)")
    starts = [0]
    for name in names[1:]:
        starts.append(shown.index(f" {name}", starts[-1]) + 1)
    ends = [*starts[1:], 10_000]
    return [
        {name: line[start:end].rstrip() for name, start, end in zip(names, starts, ends, strict=True)} for line in lines
    ]


@pytest.mark.parametrize("name", [*looks(""), *looks("-verbose")])
def test_offsets(name: str) -> None:
    rows = [
        OffsetRow(
            row["GROUP"], row["TOPIC"], row["PARTITION"], row.get("LEADER-EPOCH", MISSING), row["CURRENT-OFFSET"],
            row["LOG-END-OFFSET"], row["LAG"], row["CONSUMER-ID"], row["HOST"], row["CLIENT-ID"],
        )
        for row in table(LOOKS[name]["printed"])
    ]  # fmt: skip
    assert len(rows) == 3
    same(name, offsets_table(rows[0].group, state_of(name), rows, verbose=name.endswith("-verbose")))


@pytest.mark.parametrize("name", [*looks("-members"), *looks("-members-verbose")])
def test_members(name: str) -> None:
    rows = [
        MemberRow(
            row["GROUP"], row["CONSUMER-ID"], row.get("GROUP-INSTANCE-ID", ""), row["HOST"], row["CLIENT-ID"],
            int(row["#PARTITIONS"]), row.get("CURRENT-EPOCH", ""), row.get("CURRENT-ASSIGNMENT", ""),
            row.get("TARGET-EPOCH", ""), row.get("TARGET-ASSIGNMENT", ""), MISSING,
        )
        for row in table(LOOKS[name]["printed"])
    ]  # fmt: skip
    same(name, members_table(name.split("-", maxsplit=1)[0], state_of(name), rows, verbose=name.endswith("-verbose")))


@pytest.mark.parametrize("name", [*looks("-state"), *looks("-state-verbose")])
def test_states(name: str) -> None:
    (row,) = table(LOOKS[name]["printed"])
    made = StateRow(
        row["GROUP"], row["COORDINATOR-(ID)"], row["ASSIGNMENT-STRATEGY"], row["STATE"], row.get("GROUP-EPOCH", ""),
        row.get("TARGET-ASSIGNMENT-EPOCH", ""), int(row["#MEMBERS"]),
    )  # fmt: skip
    same(name, state_table(made, verbose=name.endswith("-verbose")))


@pytest.mark.parametrize("name", ["reset-new-group", "reset-earliest", "reset-shift", "reset-beyond"])
def test_new_offsets(name: str) -> None:
    rows = [
        ResetRow(row["GROUP"], row["TOPIC"], int(row["PARTITION"]), int(row["NEW-OFFSET"]))
        for row in table(LOOKS[name]["printed"])
    ]
    same(name, reset_table([rows[0].group], rows))


def test_the_list_of_groups_comes_with_their_states() -> None:
    rows = [(row["GROUP"], "", row["STATE"]) for row in table(LOOKS["groups-list"]["printed"])]
    same("groups-list", list_table(rows, types=False, states=True))


@pytest.mark.parametrize(
    "name", ["transactions-list", "transactions-describe", "producers-0", "producers-none", "find-hanging"]
)
def test_transactions(name: str) -> None:
    lines = [line.split("\t")[:-1] for line in LOOKS[name]["printed"].splitlines()]
    titles, *rows = [[cell.rstrip() for cell in line] for line in lines]
    same(name, pretty_table(titles, rows))


def test_an_unknown_group_is_an_error_in_the_words_of_the_tool() -> None:
    words = "org.apache.kafka.common.errors.GroupIdNotFoundException: Group nobody not found."
    same("group-missing", failed(f"Executing consumer group command failed due to {words}"))


def member_ids(name: str) -> list[str]:
    return [row["CONSUMER-ID"] for row in table(LOOKS[name]["printed"])]


@pytest.mark.parametrize("name", ["billing-stable-members", "static-stable-members", "billing-rebalancing-members"])
def test_members_come_in_the_order_of_the_coordinators_map(name: str) -> None:
    ids = member_ids(name)
    assert string_map_order(sorted(ids)) == string_map_order(sorted(ids, reverse=True)) == ids


def test_members_of_the_new_protocol_come_in_the_order_of_another_map() -> None:
    first, *others = member_ids("ledger-stable-members")
    assert timeline_map_order([*others, first]) == [first, *others]  # the others share a slot


def test_topics_come_in_the_order_of_the_admin_clients_maps() -> None:
    lines = LOOKS["topics"]["printed"].splitlines()
    topics = [line.split("\t")[0].removeprefix("Topic: ") for line in lines if line.startswith("Topic: ")]
    assert in_admin_order(sorted(topics)) == topics != sorted(topics)

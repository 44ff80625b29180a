"""Two runs that did the same have the same facts."""

import pytest

from tests.fidelity.normalisation import Row, facts, in_present_words

COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
GROUPS = "org.apache.kafka.coordinator.group.GroupMetadataManager"
CONTEXT = "[Consumer clientId=g-1, groupId=g] "
A = "0f0e0d0c-0000-1111-2222-333344445555"
B = "aaaabbbb-0000-1111-2222-333344445555"


def row(text: str, at_ms: float = 100, logger: str = COORDINATOR, level: str = "INFO", writer: str = "") -> Row:
    return Row(at_ms, level, logger, text, writer)


def texts(*rows: Row) -> list[str]:
    """The texts of what one member wrote."""
    by_member = [each._replace(text=f"{CONTEXT}{each.text}") if each.text[0] != "[" else each for each in rows]
    return [fact.text for fact in facts(by_member, ())]


def test_member_ids_are_named_by_the_order_in_which_they_were_made() -> None:
    rows = [
        row(f"{name}-{uuid}", at) for at, name, uuid in ((1, "g-1", A), (2, "g-1", B), (3, "g-2", A), (4, "g-1", B))
    ]
    assert texts(*rows) == ["g-1#1", "g-1#2", "g-1#1", "g-1#2"]


def test_a_static_classic_member_of_a_consumer_group_says_its_id_with_its_generation() -> None:
    joined = "Successfully joined group with generation Generation{generationId=4, memberId='QMRitdDqS6azAEtdZy30Lg'}"
    created = "[GroupId g] Created a new member QMRitdDqS6azAEtdZy30Lg to replace the existing member."
    assert texts(row(created, logger=GROUPS), row(joined, 101))[0].endswith(
        "a new member g-1#1 to replace the existing member."
    )


def test_a_client_and_a_coordinator_are_actors_and_their_context_is_gone() -> None:
    client = row("[Consumer instanceId=x, clientId=g-1, groupId=g] (Re-)joining group")
    group = row(
        "[GroupCoordinator id=1 topic=__consumer_offsets partition=4] Stabilized group g generation 1", logger=GROUPS
    )
    assert [(fact.actor, fact.text) for fact in facts([client, group], ())] == [
        ("g-1", "(Re-)joining group"),
        ("GroupCoordinator g", "Stabilized group g generation 1"),
    ]


def test_a_line_without_context_belongs_to_the_client_that_wrote_it() -> None:
    utils = COORDINATOR.replace("ConsumerCoordinator", "ConsumerUtils")
    (fact,) = facts([row("Setting offset for nothing", logger=utils, writer="g-1")], ())
    assert (fact.actor, fact.text) == ("g-1", "(without context) Setting offset for nothing")


@pytest.mark.parametrize("words", ["Adding newly assigned partitions:", "Lost previously assigned partitions"])
def test_partitions_without_brackets_are_what_an_older_release_writes(words: str) -> None:
    invoker = COORDINATOR.replace("ConsumerCoordinator", "ConsumerRebalanceListenerInvoker")
    lists = {1: "[t-10, t-2]", 999: "t-2, t-10", 2_000: "[]", 3_000: ""}
    said = [row(f"{CONTEXT}{words} {names}", at, invoker) for at, names in lists.items()]
    assert texts(*said) == [f"{words} {names}" for names in ("[t-10, t-2]", "[t-10, t-2]", "[]", "[]")]


def test_only_lists_of_partitions_get_brackets() -> None:
    for text in ("Adding newly assigned partitions: [t-1]", "Setting offset for partition t-1", "assigned partitions"):
        assert in_present_words(text) == text


def test_nodes_are_named_by_id_in_every_release() -> None:
    assert texts(
        row("found broker-1:9092 (id: 3 rack: null)", 1),
        row("found 127.0.0.1:19092 (id: 3 rack: null isFenced: false)", 2),
    ) == ["found NODE 3", "found NODE 3"]


def test_lines_for_each_partition_are_one_fact_with_the_partitions_in_order() -> None:
    rows = [row(f"{CONTEXT}Found no committed offset for partition t-{n}", n) for n in (2, 0, 1)]
    assert texts(*rows) == ["Found no committed offset for partition t-0, t-1, t-2"]


def test_lines_of_another_second_or_member_are_facts_of_their_own() -> None:
    words = "Found no committed offset for partition"
    rows = [row(f"[Consumer clientId=g-{n}, groupId=g] {words} t-{n}", at) for n, at in ((1, 0), (2, 1), (1, 2_000))]
    assert texts(*rows) == [f"{words} t-1", f"{words} t-2", f"{words} t-1"]


def test_the_members_of_an_assignment_are_in_order() -> None:
    a, b = f"a-1-{A}=Assignment(partitions=[t-2, t-0])", f"b-1-{B}=Assignment(partitions=[t-1])"
    (text,) = texts(row(f"Finished assignment for group at generation 1: {{{b}, {a}}}"))
    assert text.endswith(": {a-1#1=Assignment(partitions=[t-0, t-2]), b-1#1=Assignment(partitions=[t-1])}")


def test_offsets_above_zero_are_not_compared_and_zero_is() -> None:
    assert texts(row("to position FetchPosition{offset=17, x", 1), row("to position FetchPosition{offset=0, x", 2)) == [
        "to position FetchPosition{offset=N, x",
        "to position FetchPosition{offset=0, x",
    ]


def test_a_lookup_that_is_repeated_counts_once_and_a_later_one_again() -> None:
    rows = [row(f"{CONTEXT}Discovered group coordinator NODE 1", at) for at in (0, 100, 1_900, 9_000)]
    assert [fact.at_ms for fact in facts(rows, ())] == [0, 9_000]


def test_producer_ids_are_named_by_who_has_them() -> None:
    transactions = "org.apache.kafka.clients.producer.internals.TransactionManager"
    rows = [
        row(
            "[TransactionCoordinator id=1] Initialized transactionalId pay with producerId 15 and producer epoch 0",
            1,
            "x.TransactionCoordinator",
        ),
        row("[Producer clientId=p-1, transactionalId=pay] ProducerId set to 15 with epoch 0", 2, transactions),
        row("[Producer clientId=q-1] ProducerId set to 3 with epoch 0", 3, transactions),
    ]
    assert [text.partition(" with epoch")[0] for text in texts(*rows)][1:] == [
        "ProducerId set to P:pay",
        "ProducerId set to P:q-1",
    ]


def test_what_flightdeck_does_not_write_is_not_compared() -> None:
    assert texts(row("connected", logger="x.NetworkClient"), row("x", level="DEBUG"), row("warm-up", 5)) == []


def test_what_applications_are_told_stands_among_the_lines() -> None:
    found = facts([row("[Consumer clientId=g-1, groupId=g] (Re-)joining group", 20)], [(10, "g-1", "assigned []")])
    assert [(fact.at_ms, fact.actor) for fact in found] == [(10, "app g-1"), (20, "g-1")]

"""The order of Java's hash maps, as real clients' log lines showed it."""

import pytest

from recordings.kafka_log.java_maps import commit_order, hash_map_order, hash_set_order, tree_set

SEEN = {  # of a refused commit a client of 4.1.0 or 4.3.1 named the first
    "s43alli-2": ["s43alli-0", "s43alli-1", "s43alli-2"],
    "s43one-2": ["s43one-0", "s43one-1", "s43one-2"],
    "s16-4": ["s16-3", "s16-4", "s16-5"],
    "s23-4": ["s23-1", "s23-4"],
    "s30-0": ["s30-0", "s30-1", "s30-2"],
}


@pytest.mark.parametrize("first", SEEN)
def test_a_refused_commit_names_the_first_of_javas_map(first: str) -> None:
    assert commit_order(SEEN[first])[0] == first
    assert sorted(commit_order(SEEN[first])) == SEEN[first]


def test_the_partitions_of_a_topic_stay_together() -> None:
    topics = [name.rpartition("-")[0] for name in commit_order(f"{t}-{n}" for n in range(9) for t in ("a", "b", "c"))]
    assert topics == sorted(topics)  # one letter: the hash is its code


def test_a_map_grows_when_it_is_three_quarters_full() -> None:
    twelve, thirteen = ({str(n): 16 - n % 2 * 16 + n for n in range(count)} for count in (12, 13))
    assert hash_map_order(twelve, twelve) == list(twelve)
    assert hash_map_order(thirteen, thirteen) != list(thirteen)


TRUNCATED = [  # by a follower of 4.3.1 whose leader had died: all that it had followed there and that was empty
    *("__consumer_offsets-15", "__consumer_offsets-48", "__transaction_state-11", "__transaction_state-44"),
    *("__consumer_offsets-9", "__consumer_offsets-42", "__transaction_state-17", "__consumer_offsets-21", "s50-4"),
    *("__transaction_state-38", "__transaction_state-26", "__consumer_offsets-30", "__transaction_state-32"),
    *("__transaction_state-20", "__consumer_offsets-3", "__consumer_offsets-36", "__consumer_offsets-45"),
    *("__transaction_state-14", "__consumer_offsets-12", "__transaction_state-47", "__transaction_state-2"),
    *("__transaction_state-35", "__transaction_state-8", "__consumer_offsets-18", "__transaction_state-41", "s50-1"),
    *("__consumer_offsets-0", "__transaction_state-29", "__consumer_offsets-27", "__consumer_offsets-39"),
    *("__consumer_offsets-6", "__transaction_state-23", "__consumer_offsets-33"),
]


def test_a_follower_goes_through_its_partitions_in_the_order_of_scalas_hash_set() -> None:
    assert hash_set_order(sorted(TRUNCATED)) == TRUNCATED
    assert hash_set_order(["s58-1", "s58-4"]) == ["s58-4", "s58-1"]


def test_partitions_of_a_tree_set_are_in_the_order_of_their_numbers() -> None:
    assert tree_set(["b-0", "a-10", "a-2"]) == "[a-2, a-10, b-0]"
    assert tree_set([]) == "[]"

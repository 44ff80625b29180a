"""The order of Java's hash maps, as real clients' log lines showed it."""

import pytest

from recordings.java_maps import commit_order, hash_map_order

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

"""Placements against a plain list: whose record stands at each offset of a log that grows, is cut, and is deleted."""

from hypothesis import given
from hypothesis import strategies as st

from cluster.view.placements import Placements

STEP = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(("a", "b", "")), st.integers(1, 4)),
    st.tuples(st.just("cut"), st.just(""), st.integers(0, 40)),
    st.tuples(st.just("drop"), st.just(""), st.integers(0, 40)),
)


@given(st.lists(STEP, max_size=30), st.integers(0, 40), st.integers(0, 40))
def test_it_names_what_stands_at_each_offset(steps: list[tuple[str, str, int]], first: int, end: int) -> None:
    placements, plain = Placements(), list[tuple[str, int]]()
    serials = {"a": 0, "b": 100, "": 0}
    for word, producer, number in steps:
        if word == "append":
            at, serial = len(plain), serials[producer]
            placements.append(at, at + number, producer, serial)
            plain += [(producer, serial + place) for place in range(number)]
            serials[producer] += number
        elif word == "cut" and number < len(plain) and number >= placements.first:
            placements.cut(number)
            del plain[number:]
        elif word == "drop":
            placements.drop_before(number)
    found = {
        offset: (producer, serial + offset - at)
        for at, until, producer, serial in placements.between(first, end)
        for offset in range(at, until)
    }
    wanted = {place: named for place, named in enumerate(plain) if named[0] and first <= place < end}
    assert found == {place: named for place, named in wanted.items() if place >= placements.first}
    assert placements.end == len(plain)


def test_successive_records_of_one_producer_are_one_run() -> None:
    placements = Placements()
    for at in range(0, 50, 5):
        placements.append(at, at + 5, "a", at)
    assert (placements.ends, placements.producers) == ([50], ["a"])

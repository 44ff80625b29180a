"""Comparing lines: however both sides are cut into pieces, the first difference is the same."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from recordings.journal.comparison import Comparison


def line(seq: int, offset: int = 0) -> bytes:
    return b'{"kind":"k","seq":%d,"at_us":%d,"offset":%d}\n' % (seq, seq * 10, offset)


def pieces(lines: list[bytes], sizes: list[int]) -> Iterator[bytes]:
    rest = list(lines)
    for size in sizes:
        if rest:
            yield b"".join(rest[:size])
            rest = rest[size:]
    if rest:
        yield b"".join(rest)


SIZES = st.lists(st.integers(1, 7), max_size=8)


@given(count=st.integers(0, 30), recorded=SIZES, flown=SIZES)
def test_equal_streams_match_however_they_are_cut(count: int, recorded: list[int], flown: list[int]) -> None:
    lines = [line(seq) for seq in range(1, count + 1)]
    comparison = Comparison(pieces(lines, recorded))
    for chunk in pieces(lines, flown):
        comparison(chunk)
    comparison.finish(recorded_until_us=1_000, flown_until_us=1_000)
    assert comparison.divergence is None
    assert comparison.compared == count


@given(count=st.integers(1, 30), data=st.data(), recorded=SIZES, flown=SIZES)
def test_the_first_difference_is_found(count: int, data: st.DataObject, recorded: list[int], flown: list[int]) -> None:
    place = data.draw(st.integers(1, count))
    longer = data.draw(st.booleans())
    ours = [line(seq, 10**6 if longer and seq == place else int(seq == place)) for seq in range(1, count + 1)]
    comparison = Comparison(pieces([line(seq) for seq in range(1, count + 1)], recorded))
    for chunk in pieces(ours, flown):
        comparison(chunk)
    comparison.finish(recorded_until_us=1_000, flown_until_us=1_000)
    assert comparison.compared == place - 1
    assert comparison.divergence is not None
    assert comparison.divergence.seq == place
    assert comparison.divergence.recorded == {"kind": "k", "seq": place, "at_us": place * 10, "offset": 0}


@given(common=st.integers(0, 12), more=st.integers(1, 5), recorded=SIZES, flown=SIZES)
def test_an_event_that_one_side_lacks(common: int, more: int, recorded: list[int], flown: list[int]) -> None:
    short = [line(seq) for seq in range(1, common + 1)]
    long = [line(seq) for seq in range(1, common + more + 1)]
    for left, right, missing in ((short, long, "recorded"), (long, short, "rerun")):
        for end_us, differs in ((common * 10, False), (common * 10 + 10, True)):
            comparison = Comparison(pieces(left, recorded))
            for chunk in pieces(right, flown):
                comparison(chunk)
            comparison.finish(recorded_until_us=end_us, flown_until_us=end_us)
            assert comparison.compared == common
            assert (comparison.divergence is not None) is differs
            if comparison.divergence is not None:
                assert getattr(comparison.divergence, missing) is None
                assert comparison.divergence.seq == common + 1

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.config import (
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_rate,
    parse_size,
    spoken_duration,
)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("500us", 500),
        ("20ms", 20_000),
        ("30s", 30_000_000),
        ("10m", 600_000_000),
        ("2h", 7_200_000_000),
        ("1.5s", 1_500_000),
        ("0s", 0),
        (" 20ms ", 20_000),
        ("0.001ms", 1),
        ("5m10s", 310_000_000),
        ("1h5m", 3_900_000_000),
        ("1h2m3.5s", 3_723_500_000),
        ("2s500ms", 2_500_000),
    ],
)
def test_durations_of_the_contract(text: str, us: int) -> None:
    assert parse_duration(text) == us


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("20", "has no unit"),
        ("20 ms", "unknown unit"),
        ("20sec", "unknown unit 'sec'"),
        ("", "is not a duration"),
        ("-5s", "is not a duration"),
        ("1e3s", "unknown unit 'e3s'"),
        ("٣s", "is not a duration"),
        ("0.5us", "less than a whole microsecond"),
        ("5m1.5us", "less than a whole microsecond"),
        ("10s5m", "larger units first, each once, as in 1h5m10s"),
        ("5m5m", "larger units first, each once"),
        ("5m10", "unknown unit 'm10'"),
        ("5m10sec", "unknown unit"),
        ("900000h200000h", "larger units first"),
        ("999999h60m1us", "too long"),
    ],
)
def test_a_bad_duration_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**15))
def test_durations_come_back(us: int) -> None:
    assert parse_duration(format_duration(us)) == us


def test_durations_are_written_in_the_largest_whole_unit() -> None:
    assert [format_duration(us) for us in (0, 1, 90_000_000, 120_000_000, 7_200_000_000)] == [
        "0s",
        "1us",
        "90s",
        "2m",
        "2h",
    ]


@pytest.mark.parametrize(("text", "size"), [("512B", 512), ("1KiB", 1024), ("1.5MiB", 1_572_864), ("1GiB", 1 << 30)])
def test_sizes_of_the_contract(text: str, size: int) -> None:
    assert parse_size(text) == size


@given(st.integers(min_value=0, max_value=1 << 50))
def test_sizes_come_back(size: int) -> None:
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1KB", "unknown unit 'KB'"),
        ("1", "has no unit"),
        ("one", "is not a size"),
        ("0.3B", "less than a whole byte"),
    ],
)
def test_a_bad_size_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "rate"), [("200/s", 200.0), ("3/m", 0.05), ("1800/h", 0.5), ("0.5/s", 0.5), ("0/s", 0.0)]
)
def test_rates_of_the_contract(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["200", "200/ms", "/s", "200 /s", "-1/s", "many/s"])
def test_a_bad_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        parse_rate(text)


@given(st.floats(min_value=0, max_value=1e6))
def test_any_rate_comes_back(rate: float) -> None:
    assert parse_rate(format_rate(rate)) == rate


@given(st.integers(min_value=0, max_value=10**6), st.sampled_from(["s", "m", "h"]))
def test_rates_come_back(count: int, period: str) -> None:
    rate = parse_rate(f"{count}/{period}")
    assert parse_rate(format_rate(rate)) == rate


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0 s"),
        (1, "0.000001 s"),
        (2_500_000, "2.5 s"),
        (300_000_000, "5 m"),
        (3_600_000_000, "1 h"),
        (4_609_365_000, "1 h 16 m 49.365 s"),
    ],
)
def test_durations_for_people(us: int, words: str) -> None:
    assert spoken_duration(us) == words

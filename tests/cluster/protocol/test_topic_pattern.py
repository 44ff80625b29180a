"""Regular expressions of subscriptions: what RE2/J accepts, what it matches, and that no expression takes long."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.protocol import topic_pattern as module
from cluster.protocol.re2_syntax import TopicPatternError
from cluster.protocol.topic_pattern import TopicPattern, TopicPatternLimitError, valid_instead

ANSWERS = Path(__file__).with_name("re2j-1.8.tsv")  # of RE2/J itself: Re2jAnswers.java
NOT_FOLLOWED = ["(a{900}){900}", "(" * 200 + ")" * 200, "(((a?){100}){100}){100}"]
PARTS = st.sampled_from(
    ["a", "b", "-", ".", r"\.", r"\d", r"\W", r"\b", "^", "$", "[ab]", "[^a-c]", "(?:a|b-)", "(b|)", "(?i:A)", "2"]
)
EXPRESSIONS = st.lists(st.tuples(PARTS, st.sampled_from(["", "", "*", "+", "?", "{1,2}", "*?", "{2}"])), max_size=5)
NAMES = st.text("abA2-._c", max_size=7)


def answer(regex: str, names: list[str]) -> str:
    try:
        pattern = TopicPattern(regex)
    except TopicPatternError as refused:
        return str(refused)
    return "".join("1" if pattern.matches(name) else "0" for name in names)


def wrong(names: str, lines: list[str]) -> list[str]:
    """The lines of RE2/J's answers that differ from ours."""
    return [line for line in lines if answer(line.partition("\t")[2], names.split(" ")) != line.partition("\t")[0]]


def test_each_answer_is_that_of_re2j() -> None:
    """Its matches, what it refuses, and the words: 5,000 expressions, most of them random."""
    names, *lines = ANSWERS.read_text("utf-8").splitlines()
    assert wrong(names, lines) == []
    assert len(lines) > 4_900
    assert sum(line[0] in "01" for line in lines) > 2_000


def test_another_answer_is_noticed() -> None:
    names, *lines = ANSWERS.read_text("utf-8").splitlines()[:40]
    other = [("1" if line[0] != "1" else "0") + line[1:] for line in lines]
    assert wrong(names, other) == other


@pytest.mark.parametrize("regex", NOT_FOLLOWED, ids=lambda regex: regex[:14])
def test_what_only_flightdeck_refuses_is_an_error_of_its_own(regex: str) -> None:
    with pytest.raises(TopicPatternLimitError, match="it follows at most"):
        TopicPattern(regex)


def test_a_repeated_empty_group_is_read_at_once() -> None:
    assert TopicPattern("(((){1000}){1000}){1000}").matches("")


def test_an_expression_forgets_what_it_remembers_too_much_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REMEMBERED", 40)
    pattern = TopicPattern(".{0,20}a.{0,20}b")
    names = ["ab", "xxaxxb", "ba", "a" * 22 + "b", "a" * 43 + "b"]
    assert [pattern.matches(name) for name in names * 2] == [True, True, False, True, False] * 2
    assert sum(map(len, pattern._known.values())) <= 40


@settings(max_examples=150, deadline=None, derandomize=True)
@given(EXPRESSIONS, NAMES)
def test_it_matches_what_python_matches(parts: list[tuple[str, str]], name: str) -> None:
    regex = "|".join("".join(f"(?:{part}){times}" for part, times in half) for half in (parts[:3], parts[3:]))
    assert TopicPattern(regex).matches(name) == bool(re.fullmatch(regex, name, re.ASCII))


@pytest.mark.parametrize("regex", ["(a+)+b", "(a|a?)*b", "(.*a){12}", ".*.*.*.*.*.*.*b", "((a*)*)*b"])
def test_no_expression_takes_longer_than_its_states_times_the_name(regex: str) -> None:
    """Python's own would take years for some of these."""
    looked = 0

    def count(frame: object, event: str, _: object) -> None:
        nonlocal looked
        looked += event == "call"

    pattern = TopicPattern(regex)
    sys.setprofile(count)
    try:
        pattern.matches("a" * 200 + "c")
    finally:
        sys.setprofile(None)
    assert looked <= 2 * len(pattern._states) * 202


@pytest.mark.parametrize(
    ("regex", "meant"),
    [("*-events", ".*-events"), ("(a|b", "(a|b)"), ("a++", "a+"), ("(?!x).*", "orders|a\\.b"), ("(a{900}){900}", None)],
)
def test_a_refused_expression_comes_with_a_valid_one_that_may_be_meant(regex: str, meant: str | None) -> None:
    assert valid_instead(regex, ["orders", "a.b", "c"]) == meant

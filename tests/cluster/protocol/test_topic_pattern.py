"""Regular expressions of subscriptions: what RE2/J accepts, what it matches, and that no expression takes long."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.protocol.topic_pattern import TopicPattern, TopicPatternError, valid_instead

REFUSED = {
    "(": "missing closing )",
    ")": "unexpected )",
    "[": "missing closing ]",
    "*-events": "missing argument to repetition operator",
    "a**": "invalid nested repetition operator",
    "a++": "invalid nested repetition operator",
    "a{2000}": "invalid repeat count",
    "[z-a]": "invalid character class range",
    "a\\": "trailing backslash at end of expression",
    r"(a)\1": "invalid escape sequence",
    r"a\Z": "invalid escape sequence",
    "orders(?=-eu)": "invalid or unsupported Perl syntax",
    "(?<!x)y": "invalid or unsupported Perl syntax",
    "(?>a)": "invalid or unsupported Perl syntax",
    "(?x)a": "invalid or unsupported Perl syntax",
    "(?#c)a": "invalid or unsupported Perl syntax",
    "(a{900}){900}": "expression too large",
    "(" * 200 + ")" * 200: "expression nests too deeply",
}
PARTS = st.sampled_from(
    ["a", "b", "-", ".", r"\.", r"\d", r"\W", r"\b", "^", "$", "[ab]", "[^a-c]", "(?:a|b-)", "(b|)", "(?i:A)", "2"]
)
EXPRESSIONS = st.lists(st.tuples(PARTS, st.sampled_from(["", "", "*", "+", "?", "{1,2}", "*?", "{2}"])), max_size=5)
NAMES = st.text("abA2-._c", max_size=7)


@pytest.mark.parametrize("regex", REFUSED, ids=lambda regex: regex[:14])
def test_what_re2j_refuses_is_refused_in_its_words(regex: str) -> None:
    with pytest.raises(TopicPatternError) as refused:
        TopicPattern(regex)
    assert str(refused.value) == REFUSED[regex]


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
    [("*-events", ".*-events"), ("(a|b", "(a|b)"), ("a++", "a+"), ("(?!x).*", "orders|a\\.b"), (r"\Qa", None)],
)
def test_a_refused_expression_comes_with_a_valid_one_that_may_be_meant(regex: str, meant: str | None) -> None:
    assert valid_instead(regex, ["orders", "a.b", "c"]) == meant

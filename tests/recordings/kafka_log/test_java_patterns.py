"""Which topics a tool's expression names, and what Java makes of expressions that RE2/J reads differently."""

import time
from contextlib import suppress

import pytest

from cluster.protocol.re2_syntax import TopicPatternError
from recordings.kafka_log.java_patterns import InvalidRegexError, topic_filter

# As `Pattern.compile` of Java 17 judged them, once commas had become `|`.
REFUSED_BY_JAVA = (
    "[", "payments{1|2}", "{", "(?P<x>pay).*", "*a", "a|*", "(*a)", "a)", "(a", "\\", "[a", "a{", "a{x}", "[]", "[^]",
    "a{,2}", "a**", "a+*", "a{2}*", "[z-a]", "(?", "(?i", "a(?i)*", "(?<1>a)", "(?<n_1>a)",
)  # fmt: skip
READ_BY_BOTH = (
    r"\Qa{\E", "^*", "(?<x>a)", "()", "(|a)", r"\{", "a]", "}", "a}*", "[a||b]", "x{2}?", "[]a]", "[^]a]", "[{]",
    "[*]*",
)  # fmt: skip
READ_BY_JAVA = (
    r"\p{Lower}+", "a++", "a{2}{3}", "[a-z&&[^q]]+", "a{1001}", "{2}", "a|{2}", "(?=a)", r"(a)\1", "(?i){2}a",
    "(?:{2})a", "(?<x>{0})a", "[a&&[b]{]",
)  # fmt: skip
SHORT, TIMES = 10_000, 8


@pytest.mark.parametrize("expression", REFUSED_BY_JAVA)
def test_what_java_refuses_is_refused_in_kafkas_words(expression: str) -> None:
    with pytest.raises(InvalidRegexError, match=r"is an invalid regex\.$"):
        topic_filter(expression)


@pytest.mark.parametrize("expression", READ_BY_BOTH)
def test_what_both_read_is_read(expression: str) -> None:
    topic_filter(expression)


@pytest.mark.parametrize("expression", [*READ_BY_JAVA, "[[a]", "a{4294967296}", "(?<!" * 5000])
def test_what_only_java_reads_is_not_called_invalid(expression: str) -> None:
    """Nor are a few that it refuses."""
    with pytest.raises(TopicPatternError, match="Flightdeck does not read this expression"):
        topic_filter(expression)


def test_a_list_of_topics_may_be_long() -> None:
    names = [f"some-longer-topic.name-{number:03d}" for number in range(300)]
    wanted = topic_filter(",".join(names))
    assert all(map(wanted.matches, names))
    assert not wanted.matches("some-longer-topic")
    assert wanted.matches("some-longer-topic-name-007"), "a period stands for any character"


def processor_s(expression: str) -> float:
    """The least of three readings."""
    took = []
    for _ in range(3):
        began = time.process_time()
        with suppress(InvalidRegexError, TopicPatternError):
            topic_filter(expression)
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize("part", ["[a", "[a]", r"\p{", "(?", "{1", "a{1}"])
def test_an_expression_is_looked_at_in_linear_time(part: str) -> None:
    """Else the turn of a prompt lasts. In its square, a text `TIMES` as long would take 64 times as long."""
    assert processor_s(part * SHORT * TIMES) < 3 * TIMES * processor_s(part * SHORT)

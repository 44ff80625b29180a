"""A sentence that a user sees can be read in one breath."""

from tests.support.sentences import MOST_WORDS, of_product, of_source, too_long


def test_no_sentence_of_the_product_is_too_long() -> None:
    """Between two full stops, colons or semicolons are at most twenty words."""
    assert [f"{one.path}:{one.line}: {words} words: {one.text}" for one, words in too_long(of_product())] == []


def test_a_long_sentence_is_found() -> None:
    """Also where it is made of pieces with values in between; docstrings are no sentences of users."""
    piece = "word " * (MOST_WORDS // 2)
    source = f'def f(name):\n    "{piece * 3}"\n    return (f"{piece}{{name}} "\n        "{piece}")\n'
    assert [(one.line, words) for one, words in too_long(of_source(source, "console/a.py"))] == [(3, MOST_WORDS + 1)]
    assert not list(too_long(of_source(source.replace("{name}", ";"), "console/a.py")))

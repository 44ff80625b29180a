"""Where the cells of a drawn line lead."""

import pytest

from console.navigation.links import link_at, links_in, objects_of
from console.presenters.styled_text import PlaceLink, cut, line, linked, middle
from tests.support.console import synthetic

OBJECTS = objects_of(synthetic.view_at(20.0))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("waiting for billing-3: stalled 6.0 s", [("member", "billing-3")]),
        ("coordinator broker-2 · billing", [("broker", "broker-2"), ("group", "billing")]),
        ("orders-1 leader 2 → 3, payments.", [("partition", "orders-1"), ("topic", "payments")]),
        ("checkout-1 has not acknowledged orders", [("producer", "checkout-1"), ("topic", "orders")]),
        ("billing-33 xbilling billings", []),
        (" 00:00:14.000  ✖ stall billing-3", [("instant", "14000000"), ("member", "billing-3")]),
        ("first divergence 1:02.500", [("instant", "62500000")]),
        ("4:19 of 5:00, 6.0 s, 1:02:03 ago", []),
    ],
)
def test_names_and_instants_are_links(words: str, expected: list[tuple[str, str]]) -> None:
    assert [found.link for found in links_in(line(words), OBJECTS)] == [PlaceLink(*each) for each in expected]


def test_a_name_over_several_spans_is_one_link() -> None:
    drawn = line("  bill", ("ing-3", "warn"), " waits")
    assert link_at(drawn, 2, OBJECTS) == link_at(drawn, 10, OBJECTS) == PlaceLink("member", "billing-3")
    assert link_at(drawn, 1, OBJECTS) is link_at(drawn, 11, OBJECTS) is None


def test_a_shortened_name_leads_to_the_one_object_that_it_may_be() -> None:
    assert middle("checkout-1", 6) == "ch…t-1"
    (found,) = links_in(line(middle("checkout-1", 6)), OBJECTS)
    assert found.link == PlaceLink("producer", "checkout-1")
    assert links_in(line("b…"), OBJECTS) == [], "several names begin so"
    assert links_in(line("…"), OBJECTS) == []


def test_a_span_that_says_where_it_leads_comes_first_and_stays_when_it_is_cut() -> None:
    drawn = line((linked("billing and more", "panel", "groups"), "plain"), " billing")
    assert link_at(drawn, 0, OBJECTS) == PlaceLink("panel", "groups")
    assert link_at(drawn, 18, OBJECTS) == PlaceLink("group", "billing")
    assert link_at(cut(drawn, 5), 4, OBJECTS) == PlaceLink("panel", "groups")

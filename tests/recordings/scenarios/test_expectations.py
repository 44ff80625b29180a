"""Expectations: asked at checkpoints, counted as events come, and unjudged where a flight did not reach."""

from typing import Any

import pytest

from cluster.events import Event, FaultEnded, GroupStabilized, MemberRemoved
from cluster.spec import (
    ApplicationSpec,
    ExpectationSpec,
    GroupSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
    TransactionsSpec,
)
from recordings.scenarios.document_schema import SHAPE, KnownNames
from recordings.scenarios.expectations import Expectations
from recordings.scenarios.predicates import Answer, Predicate, PredicateError
from tests.support.zero_document import empty_document

S = 1_000_000

SPEC = ScenarioSpec(
    "t",
    topics=(TopicSpec("orders", 4),),
    producers=(ProducerSpec("checkout", ("orders",), 2, transactions=TransactionsSpec("tx-{n}")),),
    groups=(GroupSpec("billing", ("orders",), members=2), GroupSpec("my-group", ("orders",))),
)
POSSIBLE = KnownNames(SPEC)


def document(state: str = "Stable", members: int = 2, lost: int = 0) -> dict[str, Any]:
    whole = empty_document(POSSIBLE, frozenset(SHAPE))
    whole["groups"]["billing"] |= {"state": state, "members": members}
    whole["delivery"]["lost"] = lost
    return whole


def expecting(*expectations: ExpectationSpec) -> Expectations:
    return Expectations(
        ScenarioSpec("t", until_us=10 * S, topics=SPEC.topics, groups=SPEC.groups, expectations=expectations)
    )


def fly(expectation: ExpectationSpec, truth: dict[int, bool], until_us: int = 10 * S) -> dict[str, Any]:
    """Judge `delivery.lost == 0` at every checkpoint; `truth` says from which instant on it holds or not."""
    flight = expecting(expectation)
    holds = False
    for now_us in flight.checkpoints(until_us):
        holds = truth.get(now_us, holds)
        flight.judge(document(lost=0 if holds else 3), now_us)
    (result,) = flight.results(until_us, shortened=until_us < 10 * S)
    return dict(result)


THAT = "delivery.lost == 0"


# --- when ---------------------------------------------------------------------------------------------------------


def test_checkpoints_are_every_second_every_named_instant_and_the_end() -> None:
    flight = expecting(
        ExpectationSpec(that=THAT, by_us=1_500_000),
        ExpectationSpec(that=THAT, at_us=2 * S),
        ExpectationSpec(that=THAT, always=True, from_us=2_100_000, to_us=9 * S),
    )
    assert flight.checkpoints(3_200_000) == [0, S, 1_500_000, 2 * S, 2_100_000, 3 * S, 3_200_000]
    assert flight.checkpoints(0) == [0]
    walked, now_us = [], 0
    while now_us < 4 * S:
        now_us = flight.next_checkpoint_us(now_us)
        walked.append(now_us)
    assert walked == [S, 1_500_000, 2 * S, 2_100_000, 3 * S, 4 * S]


def test_by_is_true_at_some_checkpoint_not_later() -> None:
    by = ExpectationSpec(that=THAT, by_us=5 * S)
    assert fly(by, {3 * S: True, 4 * S: False}) == {"that": THAT, "ok": True, "at_s": 3.0, "found": "delivery.lost = 0"}
    assert fly(by, {5 * S: True})["ok"] is True
    assert fly(by, {6 * S: True}) == {"that": THAT, "ok": False, "at_s": 5.0, "found": "delivery.lost = 3"}


def test_at_is_asked_at_its_instant_only() -> None:
    at = ExpectationSpec(that=THAT, at_us=4_500_000)
    assert fly(at, {0: True, 4_500_000: False, 5 * S: True})["ok"] is False
    assert fly(at, {4_500_000: True, 5 * S: False}) == {
        "that": THAT,
        "ok": True,
        "at_s": 4.5,
        "found": "delivery.lost = 0",
    }


def test_always_is_false_at_the_first_checkpoint_that_breaks_it() -> None:
    always = ExpectationSpec(that=THAT, always=True)
    assert fly(always, {0: True, 7 * S: False, 8 * S: True}) == {
        "that": THAT,
        "ok": False,
        "at_s": 7.0,
        "found": "delivery.lost = 3",
    }
    assert fly(always, {0: True})["at_s"] == 10.0


def test_always_looks_only_into_its_window_both_ends_included() -> None:
    window = ExpectationSpec(that=THAT, always=True, from_us=2_500_000, to_us=4 * S)
    assert fly(window, {2_500_000: True, 5 * S: False}) == {
        "that": THAT,
        "ok": True,
        "at_s": 4.0,
        "found": "delivery.lost = 0",
    }
    assert fly(window, {0: True, 2_500_000: False})["at_s"] == 2.5
    assert fly(window, {0: True, 4 * S: False})["ok"] is False


@pytest.mark.parametrize(
    ("expectation", "truth", "ok"),
    [
        (ExpectationSpec(that=THAT, by_us=5 * S), {}, None),
        (ExpectationSpec(that=THAT, by_us=5 * S), {S: True}, True),
        (ExpectationSpec(that=THAT, by_us=3 * S), {}, False),
        (ExpectationSpec(that=THAT, at_us=5 * S), {0: True}, None),
        (ExpectationSpec(that=THAT, at_us=3 * S), {0: True}, True),
        (ExpectationSpec(that=THAT, always=True), {0: True}, True),
        (ExpectationSpec(that=THAT, always=True), {0: True, 2 * S: False}, False),
        (ExpectationSpec(that=THAT, always=True, from_us=4 * S), {0: True}, None),
    ],
)
def test_a_shortened_flight_judges_what_it_reached(
    expectation: ExpectationSpec, truth: dict[int, bool], ok: bool | None
) -> None:
    result = fly(expectation, truth, until_us=3 * S)
    assert result["ok"] is ok
    if ok is None:
        assert result["at_s"] is None
        assert result["found"].startswith("not judged: the flight ended at 3 s, before ")


def test_only_roots_that_are_still_wanted_are_asked_for() -> None:
    flight = expecting(
        ExpectationSpec(that="groups.billing.members == 2", by_us=3 * S),
        ExpectationSpec(that=THAT, at_us=5 * S),
    )
    assert flight.needs == {"groups", "delivery"}
    assert flight.needs_at(0) == {"groups"}
    flight.judge({"groups": document()["groups"]}, 0)
    assert flight.needs_at(S) == frozenset()
    assert flight.needs_at(5 * S) == {"delivery"}


# --- events -------------------------------------------------------------------------------------------------------


def removed(second: int, member: str = "billing-1") -> Event:
    return MemberRemoved(
        at_us=second * S, group="billing", member=member, member_id=f"{member}-x", reason="session expired"
    )


@pytest.mark.parametrize(
    ("fields", "seconds", "ok", "at_s"),
    [
        ({}, [], False, None),
        ({}, [3, 4], True, 3.0),
        ({"where": {"member": "billing-1"}}, [3], True, 3.0),
        ({"where": {"member": "billing-2"}}, [3], False, None),
        ({"count": 2}, [3, 4], True, 4.0),
        ({"count": 1}, [3, 4], False, 4.0),
        ({"count": 0}, [], True, None),
        ({"by_us": 3 * S}, [3], True, 3.0),
        ({"by_us": 3 * S}, [4], False, None),
        ({"from_us": 4 * S, "to_us": 5 * S, "count": 2}, [3, 4, 5, 6], True, 5.0),
    ],
)
def test_events_are_counted_with_their_fields_in_their_window(
    fields: dict[str, Any], seconds: list[int], ok: bool, at_s: float | None
) -> None:
    flight = expecting(ExpectationSpec(event="member_removed", **fields))
    assert flight.kinds == {"member_removed"}
    for second in seconds:
        flight.see(removed(second))
        flight.see(FaultEnded(at_us=second * S, fault=2))
    (result,) = flight.results(10 * S, shortened=False)
    assert (result["event"], result["ok"], result["at_s"]) == ("member_removed", ok, at_s)


def test_a_where_of_a_list_or_map_asks_for_one_of_its_elements() -> None:
    flight = expecting(ExpectationSpec(event="group_stabilized", where={"assignment": "billing-1-x"}))
    empty: dict[str, int] = {}
    assigned: dict[str, tuple[str, ...]] = {"billing-1-x": ("orders-0",)}
    event = GroupStabilized(group="billing", generation=1, assignment=assigned, session_deadlines_us=empty)
    flight.see(event)
    assert flight.results(10 * S, shortened=False)[0]["found"] == "it happened once"


@pytest.mark.parametrize(
    ("fields", "seconds", "ok"),
    [
        ({}, [], None),
        ({}, [2], True),
        ({"count": 1}, [2], None),
        ({"count": 0}, [], None),
        ({"by_us": 3 * S}, [], False),
        ({"to_us": 5 * S}, [], None),
    ],
)
def test_counts_are_not_judged_in_a_shortened_flight(
    fields: dict[str, Any], seconds: list[int], ok: bool | None
) -> None:
    flight = expecting(ExpectationSpec(event="member_removed", **fields))
    for second in seconds:
        flight.see(removed(second))
    assert flight.results(4 * S, shortened=True)[0]["ok"] is ok


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, "not judged: the flight ended at 4 s, before the scenario does; until then it did not happen"),
        ({"to_us": 65 * S}, "not judged: the flight ended at 4 s, before 1 m 5 s; until then it did not happen"),
        (
            {"count": 3},
            "not judged: the flight ended at 4 s, before the scenario does; until then it happened 0 times of 3",
        ),
    ],
)
def test_an_event_that_is_not_judged_says_why(fields: dict[str, Any], found: str) -> None:
    flight = expecting(ExpectationSpec(event="member_removed", **fields))
    assert flight.results(4 * S, shortened=True)[0] == {
        "event": "member_removed",
        "ok": None,
        "at_s": None,
        "found": found,
    }


def test_results_come_in_the_order_of_the_file() -> None:
    flight = expecting(
        ExpectationSpec(event="fault_ended"),
        ExpectationSpec(that="true", at_us=0),
        ExpectationSpec(event="fault_ended"),
    )
    flight.judge({}, 0)
    assert [result["ok"] for result in flight.results(10 * S, shortened=False)] == [False, True, False]


# --- predicates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "needs", "holds"),
    [
        ("groups.billing.state == 'Stable' && groups.billing.members == 2", {"groups"}, True),
        ('groups["billing"].members > 2 || delivery.lost == 0', {"groups", "delivery"}, True),
        ("groups['my-group'].members == 0", {"groups"}, True),
        ("groups.exists(name, groups[name].state == 'Stable')", {"groups"}, True),
        ("partitions.all(p, partitions[p].isr.size() == 0) && faults.size() == 0", {"partitions", "faults"}, True),
        ("!('orders-9' in partitions)", {"partitions"}, True),
        ("has(transactions.tx) || now_ms == 0", {"transactions", "now_ms"}, True),
        ("// a remark: groups.x\n true", set(), True),
        ("'groups.x' == r'groups.x'", set(), True),
        ("delivery.by_group.billing.lost == 1", {"delivery"}, False),
    ],
)
def test_predicates_ask_for_what_they_name(text: str, needs: set[str], holds: bool) -> None:
    predicate = Predicate(text)
    assert predicate.needs == needs
    assert predicate.holds(document()) is holds
    assert predicate.holds({root: document()[root] for root in needs}) is holds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("members['billing-9'].alive", 'members["billing-9"] is absent'),
        ("!members['billing-9'].alive", 'members["billing-9"] is absent'),
        ("members['billing-9'].alive == false && groups.billing.lag == 0", 'members["billing-9"] is absent'),
        ("transactions['tx-7'].state == 'Ongoing'", 'transactions["tx-7"] is absent'),
        ("groups.all(g, groups[g].committed['orders-7'] == 0)", "orders-7 is absent"),
        (
            "delivery.lost / delivery.acked == 1",
            "it divides by zero; delivery.lost = 0, delivery.acked = 0",
        ),
        ("groups.billing.members", "not a condition: it is a whole number"),
        ("groups.billing.state == 'x'", 'groups.billing.state = "Stable"'),
    ],
)
def test_what_is_absent_or_impossible_at_the_moment_is_false_and_said(text: str, found: str) -> None:
    assert Predicate(text).ask(document()) == Answer(holds=False, found=found)


def test_long_values_are_shown_short() -> None:
    assert len(Predicate("groups.size() == 7").ask(document()).found) < 200


@pytest.mark.parametrize(
    ("text", "reason", "suggestion"),
    [
        ("grups.billing.lag == 0", "the view document has no grups", "groups"),
        ("groups.my-group.members == 1", "my-group is a subtraction; a name with a dash", 'groups["my-group"]'),
        ("groups.billing.lagg == 0", "groups.billing has no lagg", "groups.billing.lag"),
        ("groups.billing.lag.x == 0", "groups.billing.lag is a single value: it has no x", None),
        ("groups.billing.last_rebalance.caus == ''", "has no caus", "groups.billing.last_rebalance.cause"),
        ("groups.billing.lag = 0", "column 20: '=' is unexpected here", "=="),
        ("(groups.billing.lag == 0", "column 25: missing ')'", None),
        ("", "column 1: the expression ends too early", None),
        ("groups.billing.state.sizze() == 1", "there is no function sizze", "size"),
        ("groups.billing.lag == 0 and true", "column 25: unexpected and", "&&"),
        ("(groups.billing.lag == 0 or true)", "column 26: missing ')'", "||"),
        ("not (groups.billing.lag == 0)", "there is no function not", "!"),
        ("len(groups.billing.assignment) == 2", "there is no function len", "size"),
        ("groups.billing.state == Stable", "the view document has no Stable", "'Stable'"),
        ("groups.billing.state in [Stable]", "the view document has no Stable", "'Stable'"),
        ("billing.lag == 0", "the view document has no billing", None),
    ],
)
def test_what_cannot_be_asked_is_an_error(text: str, reason: str, suggestion: str | None) -> None:
    with pytest.raises(PredicateError) as caught:
        Predicate(text)
    assert reason in caught.value.reason
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize(
    "text",
    [
        "members['billing-1'].alive",
        "members['billing-99'].alive",
        "partitions['orders-99'].leader == 1",
        "partitions['__consumer_offsets-3'].leader == 1",
        "transactions['tx-99'].state == 'Ongoing'",
        "groups.billing.assignment['billing-7'].size() == 0",
        "groups.billing.committed['orders-3'] == 4",
        "topics.orders.records == 1 && brokers['3'].up && producers['checkout-2'].sent == 0",
        "brokers['1'].coordinator_of[0] == 'billing'",
        "10 / delivery.lost == 1",
        "delivery.lost == 0.0 && groups.billing.leader != null",
    ],
)
def test_names_that_can_exist_are_no_trouble(text: str) -> None:
    assert Predicate(text).errors_in(POSSIBLE) == []


@pytest.mark.parametrize(
    ("text", "reason", "suggestion"),
    [
        ("members['biling-1'].alive", "no member is named biling-1", 'members["billing-1"]'),
        ("members['billing-0'].alive", "no member is named billing-0", 'members["billing-1"]'),
        ("members['billing-01'].alive", "no member is named billing-01", 'members["billing-1"]'),
        ("members.billing-1.alive", "no member is named billing", 'members["billing-1"]'),
        ("partitions['orders'].leader == 1", "no partition is named orders", 'partitions["orders-0"]'),
        ("partitions['order-1'].leader == 1", "no partition is named order-1", 'partitions["orders-1"]'),
        ("producers['checkout-3'].sent == 0", "no producer is named checkout-3", 'producers["checkout-1"]'),
        ("brokers['4'].up", "no broker is named 4", None),
        ("transactions['other'].state == ''", "no transaction is named other", None),
        ("delivery.by_group.audit.lost == 0", "no group is named audit", None),
        ("groups.billing.lag", "not a condition: it is a whole number", None),
        ("groups.billing.lag + 0.5 > 1.0", "incompatible types", None),
        ("groups.billing.lag != '0'", "incompatible types: int != string", None),
        ("brokers['1'].up == 1", "incompatible types: bool == int", None),
    ],
)
def test_names_that_cannot_exist_and_types_that_do_not_fit_are_trouble(
    text: str, reason: str, suggestion: str | None
) -> None:
    ((found, near),) = Predicate(text).errors_in(POSSIBLE)
    assert reason in found
    assert near == suggestion


def test_members_of_an_application_with_transactions_are_transactional_ids() -> None:
    group = GroupSpec("billing", ("orders",), members=1, application=ApplicationSpec(commit="transaction"))
    possible = KnownNames(ScenarioSpec("t", groups=(group,)))
    assert possible.known["transaction"] == ("billing-1",)
    assert possible.may_exist("transaction", "billing-9")
    assert not POSSIBLE.may_exist("transaction", "billing-1")


def test_checkpoints_go_on_after_the_last_named_instant() -> None:
    expectations = Expectations(ScenarioSpec(title="t", expectations=(ExpectationSpec(that="true", at_us=1_500_000),)))
    assert expectations.next_checkpoint_us(1_000_000) == 1_500_000
    assert expectations.next_checkpoint_us(1_500_000) == 2_000_000
    assert expectations.next_checkpoint_us(9_000_000) == 10_000_000

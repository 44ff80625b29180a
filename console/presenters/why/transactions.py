"""Why a transactional id does not go on: no coordinator, a transaction open long, markers on their way, fenced."""

from console.presenters.formatting import countdown, duration
from console.presenters.styled_text import ERROR, MOVING, OK, WARN, plain
from console.presenters.transactions import ONGOING, UNDER_WAY, coordinator, left_of_timeout_us
from console.presenters.why.answers import WhyAnswer, WhyFact, WhyFacts, in_order
from console.presenters.why.partitions import OVERDUE, held_back_by

SIGNS = {"✖": "is down", "‖": "is frozen", "↻": "has not loaded it"}
LINES = ("transaction_fenced", "transaction_state_changed", "producer_epoch_refused", "transaction_marker_refused")


def coordinator_not_available(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """No coordinator answers for the id."""
    sign, _, broker = plain(coordinator(facts.view, facts.view.transactions[name])).partition(" ")
    if sign not in SIGNS:
        return None
    verdict = f"{name} has no coordinator: "
    if broker == "no leader":
        return WhyAnswer(f"{verdict}its partition of __transaction_state has no leader", ERROR)
    found = facts.lines(broker, "fault_started", "broker_stopped", "broker_started")
    return WhyAnswer(f"{verdict}{broker} {SIGNS[sign]}", ERROR, in_order(*found))


def open_transaction(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A transaction is under way: since when, and which timeout ends it."""
    one = facts.view.transactions[name]
    if one.state not in UNDER_WAY:
        return None
    found = in_order(WhyFact(one.start_us, f"{name} began its transaction"), *facts.lines(name, *LINES))
    if one.state != ONGOING:
        return WhyAnswer(f"{name} is {one.state}: its markers are on their way", MOVING, found)
    left_us = left_of_timeout_us(one, facts.now_us)
    verdict = f"{name}'s transaction is open for {duration(facts.now_us - one.start_us)}"
    if one.fencing:
        return WhyAnswer(f"{verdict}: its coordinator aborts it", MOVING, found)
    tone = WARN if 2 * left_us <= 1_000 * one.timeout_ms else MOVING
    ends = f"its coordinator aborts it in {countdown(left_us)} (transaction.timeout.ms)"
    return WhyAnswer(verdict, tone, found, ends if left_us > 0 else OVERDUE)


def holds_readers_back(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Its transaction is stuck: readers of committed data wait."""
    return held_back_by(facts, facts.view.transactions[name].producer_id)


def requests_refused(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Requests of an old epoch were refused."""
    number = facts.view.transactions[name].fenced
    if not number:
        return None
    verb = "request was" if number == 1 else "requests were"
    return WhyAnswer(f"{number} {verb} refused for an old epoch of {name}", WARN, in_order(*facts.lines(name, *LINES)))


def none_open(facts: WhyFacts, name: str) -> WhyAnswer:
    """The facts that prove that nothing waits for the id."""
    state = facts.view.transactions[name].state or "new"
    return WhyAnswer(f"{name} is {state}: no transaction is open", OK)

"""Why a producer's records do not arrive: fenced, no process, no acknowledgement, no partition that takes them."""

from cluster.view.document import oldest_batch_us
from cluster.view.state import NEVER, ProducerView
from console.presenters.exceptions.facts import and_more
from console.presenters.formatting import countdown, duration, setting
from console.presenters.producers.table import still_us
from console.presenters.styled_text import ERROR, OK, WARN
from console.presenters.transactions import outdated_producers, transaction_of
from console.presenters.why.answers import WhyAnswer, WhyFact, WhyFacts, fault_ends, in_order
from console.presenters.why.brokers import broker_lines
from console.presenters.why.partitions import LIFE, below_minimum, held_back_by, leader_away

AWAY = {"Dead": "is Dead", "Stopped": "is Stopped", "Paused": "is frozen", "Fenced": "is fenced and sends nothing more"}


def process_away(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The producer is fenced, or its process has ended or is frozen."""
    producer = facts.view.producers[name]
    if producer.state not in AWAY:
        return None
    found = list(facts.lines(name, *LIFE))
    one = transaction_of(facts.view, producer.producer_id)
    if one is not None:
        found += facts.lines(one.transactional_id, "transaction_fenced", "producer_epoch_refused")
    member = facts.view.members.get(name)
    may = "" if member is not None else {"Dead": f"start {name}", "Stopped": f"start {name}"}.get(producer.state, "")
    may = f"resume {name}" if producer.state == "Paused" else may
    tone = ERROR if producer.state == "Fenced" else WARN
    return WhyAnswer(
        f"{name} {AWAY[producer.state]}", tone, in_order(*found), fault_ends(facts, name), (may,) if may else ()
    )


def epoch_fenced(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The producer runs, and its coordinator has fenced its epoch."""
    one = outdated_producers(facts.view).get(name)
    if one is None:
        return None
    mine = facts.view.producers[name].epoch
    found = facts.lines(one.transactional_id, "transaction_fenced")
    may = () if name in facts.view.members else (f"restart {name}",)
    verdict = f"{name}'s epoch {mine} is fenced, its transactional id has {one.epoch}: its next request is refused"
    return WhyAnswer(verdict, WARN, in_order(*found), fault_ends(facts, name), may)


def stands_still(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Nothing was acknowledged for five seconds although batches wait."""
    producer = facts.view.producers[name]
    us = still_us(producer, facts.now_us, facts.limits(producer))
    if not us:
        return None
    found = [WhyFact(producer.waits_since_us, f"{name} began to wait for an acknowledgement")]
    opened_us = oldest_batch_us(producer)
    found.append(WhyFact(opened_us, f"{name}'s oldest batch was opened"))
    oldest = min(producer.in_flight.values(), key=lambda one: one.sent_us, default=None)
    if oldest is not None:
        found.append(WhyFact(oldest.sent_us, f"{name}'s oldest request in flight went to broker-{oldest.broker}"))
        found += broker_lines(facts, oldest.broker)[:2]
    error = f", last error {producer.last_error}" if producer.last_error else ""
    verdict = f"{name} makes no progress: no acknowledgement for {duration(us)}{error}"
    return WhyAnswer(verdict, WARN, in_order(*found), _expires(facts, producer))


def partitions_refuse(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A partition with batches of the producer has no live leader, or too few replicas in sync."""
    for partition in facts.view.producers[name].open_batches:
        answer = leader_away(facts, partition) or below_minimum(facts, partition)
        if answer is not None:
            return answer._replace(verdict=f"batches of {name} wait: {answer.verdict}")
    return None


def holds_readers_back(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Its transaction is stuck, unless another process has the producer id at a higher epoch."""
    producer = facts.view.producers[name]
    one = transaction_of(facts.view, producer.producer_id)
    if producer.producer_id < 0 or (one is not None and producer.epoch < one.epoch and not one.fencing):
        return None
    return held_back_by(facts, producer.producer_id)


def records_failed(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Records that were given up, by error."""
    failures = facts.view.producers[name].failures
    if not failures:
        return None
    total = sum(failures.values())
    most = sorted(failures, key=lambda error: -failures[error])
    noun = "record" if total == 1 else "records"
    return WhyAnswer(f"{total} {noun} of {name} failed: {and_more(most, 'errors')}", WARN)


def producer_goes_on(facts: WhyFacts, name: str) -> WhyAnswer:
    """The facts that prove that the producer sends."""
    producer = facts.view.producers[name]
    return WhyAnswer(f"{name} is {producer.state}: {producer.acked} records acknowledged, none failed", OK)


def _expires(facts: WhyFacts, producer: ProducerView) -> str:
    limits, opened_us = facts.limits(producer), oldest_batch_us(producer)
    if limits is None or opened_us == NEVER:
        return ""
    left_us = opened_us + limits.delivery_us - facts.now_us
    limit = setting(limits.delivery_us // 1_000)
    return f"its oldest batch expires in {countdown(left_us)} (delivery.timeout.ms, {limit})" if left_us > 0 else ""

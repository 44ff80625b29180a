"""What is known of a producer: its state, what became of its records, its identity, its transactional id."""

from cluster.view.lives.lives import ProducerLife
from cluster.view.state import NEVER, ClusterView, ProducerView
from cluster.view.transactions import TransactionView
from console.presenters import states
from console.presenters.active_faults import fault_words
from console.presenters.formatting import duration, rate
from console.presenters.processes.facts import LabelledFact, ago, for_so_long
from console.presenters.producers.limits import ProducerConfigs, limits_of
from console.presenters.producers.table import acked_rates, still_us
from console.presenters.styled_text import ERROR, FAINT, MUTED, WARN, Line, PlaceLink, line
from console.presenters.transactions import shown_state, times_out


def producer_facts(
    view: ClusterView, producer: ProducerView, now_us: int, configs: ProducerConfigs
) -> list[LabelledFact]:
    """The facts of a producer, the most urgent first."""
    life = life_of(view, producer)
    faults = fault_words(view, [producer.producer], now_us)
    facts = [
        LabelledFact("state", _state(view, producer, life, now_us, configs)),
        *([LabelledFact("faults", faults)] if faults else []),
        LabelledFact("records", _records(producer, now_us)),
        LabelledFact("last error", _error(producer, life, now_us)),
        LabelledFact("identity", _identity(producer)),
    ]
    if life.transactional_id:
        words = _transactional(view.transactions.get(life.transactional_id), producer, now_us)
        facts.append(
            LabelledFact(
                "transaction", [line(life.transactional_id), *words], PlaceLink("transaction", life.transactional_id)
            )
        )
    member = view.members.get(producer.producer)
    if member is not None:
        words = [line(member.member), line(("its application writes with this producer", MUTED))]
        facts.append(LabelledFact("member", words, PlaceLink("member", member.member)))
    facts.append(LabelledFact("writes to", _topics(producer)))
    return facts


def life_of(view: ClusterView, producer: ProducerView) -> ProducerLife:
    """Its life; an empty one before it is declared."""
    return view.lives.producers.get(producer.producer, ProducerLife())


def _state(
    view: ClusterView, producer: ProducerView, life: ProducerLife, now_us: int, configs: ProducerConfigs
) -> list[Line]:
    state = states.producer(producer.state)
    parts = [line((f"{state.glyph} {producer.state}{for_so_long(life.since_us, now_us)}", state.tone))]
    if producer.reason:
        parts.append(line((producer.reason, MUTED)))
    limits = limits_of(view, configs, producer) if producer.waits_since_us != NEVER else None
    waited_us = still_us(producer, now_us, limits)
    if waited_us:
        parts.append(line((f"makes no progress: no acknowledgement for {duration(waited_us)}", WARN)))
    return parts


def _records(producer: ProducerView, now_us: int) -> list[Line]:
    rates = acked_rates(producer, now_us)
    noun = "batch" if producer.retries == 1 else "batches"
    return [
        line(f"{rate(rates[-1])} acknowledged") if rates else line(("no rate yet", MUTED)),
        line(f"{producer.sent} sent"),
        line(f"{producer.acked} acknowledged"),
        line((f"{producer.failed} failed", ERROR if producer.failed else FAINT)),
        line((f"{producer.retries} {noun} retried", WARN if producer.retries else FAINT)),
    ]


def _error(producer: ProducerView, life: ProducerLife, now_us: int) -> list[Line]:
    if not producer.last_error:
        return [line(("none", FAINT))]
    return [line((producer.last_error, WARN)), line(ago(life.last_error_us, now_us))]


def _identity(producer: ProducerView) -> list[Line]:
    named = line(f"client id {producer.producer}")
    if producer.producer_id < 0:
        return [named, line(("no producer id", MUTED))]
    return [named, line(f"producer id {producer.producer_id}"), line(f"epoch {producer.epoch}")]


def _transactional(one: TransactionView | None, producer: ProducerView, now_us: int) -> list[Line]:
    """The state of its transactional id, and whether the id has another producer id or epoch by now."""
    if one is None or not one.state:
        return [line(("its coordinator does not know it yet", MUTED))]
    name = shown_state(one)
    state = states.transaction(name)
    parts = [line((f"{state.glyph} {name}", state.tone))]
    if one.start_us != NEVER:
        parts.append(line(f"open for {duration(now_us - one.start_us)}"))
        (words, tone), *_ = times_out(one, now_us)
        if words != "–":
            parts.append(line((f"times out {words}", tone)))
    mine = (producer.producer_id, producer.epoch)
    if producer.producer_id >= 0 and mine != (one.producer_id, one.epoch):
        parts.append(line((f"the id now has epoch {one.epoch} (producer id {one.producer_id})", WARN)))
    return parts


def _topics(producer: ProducerView) -> list[Line]:
    names = line(", ".join(producer.topics)) if producer.topics else line(("no topic of its own", MUTED))
    asked = producer.rate_per_second
    return [names, line((f"{asked:g} records/s configured", MUTED))] if asked else [names]

"""The verdict in words: what an engineer says who has looked at everything and has half a minute.

First whether acknowledged records are lost, to a group or from the log, then what failed at producers and brokers,
which group was furthest behind and which faults explain it, what rebalances cost, and what is still open. Each sentence
comes from the numbers of the report and from nothing else.
"""

from collections import Counter
from collections.abc import Iterator

from recordings.spark.formatting import SECOND_US, clock, count, duration, listed, many, partition_time
from recordings.spark.lag_causes import Behind, still_behind, worst_behind
from recordings.spark.report_model import Availability, Flight, Group, Incident, Producer, Rebalance, Verdict

CALM, EVENTFUL, HARM = "calm", "eventful", "harm"
UNJUDGED = Verdict(level=CALM, headline="", sentences=[])
COMPLETED = ("Stable", "Empty")
SHOWN = 3  # of a list: the rest is counted
SHORT_S = 10

CAUSES = {
    "member joined": "{} joined",
    "member left": "{} left",
    "session expired": "the session of {} expired",
    "poll interval exceeded": "{} did not call poll() in time",
    "subscription changed": "{} changed its subscription",
    "metadata changed": "{} saw that its topics had changed",
    "leader rejoined": "the leader, {}, rejoined",
    "static member replaced": "{} came back under its group.instance.id",
    "sync timed out": "{} did not send SyncGroup in time",
    "coordinator moved": "the coordinator moved",
    "partitions revoked": "{} revoked partitions for their next owner",
}


def verdict(flight: Flight) -> Verdict:
    """Judge a flight; its own `verdict` is not looked at."""
    behind = worst_behind(flight)
    level = HARM if list(_harms(flight)) else CALM if _is_calm(flight, behind) else EVENTFUL
    return Verdict(level=level, headline=_headline(flight, level, behind), sentences=list(_sentences(flight, behind)))


def _is_calm(flight: Flight, behind: Behind | None) -> bool:
    rebalanced = any(group.rebalances for group in flight.groups) or flight.storms
    suffered = flight.outages or flight.availability or any(each.failed or each.fenced for each in flight.producers)
    return not (behind or rebalanced or suffered or flight.totals.duplicated or _unowned(flight) or _away(flight))


def cause_in_words(rebalance: Rebalance) -> str:
    """Why a rebalance began: `the session of billing-2 expired`."""
    words = CAUSES.get(rebalance.cause)
    if words is None or ("{}" in words and not rebalance.trigger):
        return rebalance.cause
    return words.format(rebalance.trigger)


def _headline(flight: Flight, level: str, behind: Behind | None) -> str:
    if level == CALM:
        return "Calm: no acknowledged record is lost, every group keeps up, and no group rebalances."
    facts = list(_facts(flight, behind))
    if level == EVENTFUL:
        return "; ".join(["No acknowledged record is lost", *facts]) + "."
    kind = "Data loss" if loses_records(flight) else "Order broken"
    return "; ".join([f"{kind}: {listed(list(_harms(flight)))}", *facts[:2]]) + "."


def lost_from_logs(flight: Flight) -> int:
    """Acknowledged records that no replica's log holds any more, processed before or not."""
    return sum(each.records for each in flight.log_losses)


def loses_records(flight: Flight) -> bool:
    """Whether acknowledged records are lost: to a group that never gets them, or from the log."""
    return flight.totals.lost > 0 or lost_from_logs(flight) > 0


def _harms(flight: Flight) -> Iterator[str]:
    """The two losses differ: a log may lose what every group has read, a group what every log still has."""
    totals, from_logs = flight.totals, lost_from_logs(flight)
    if from_logs:
        yield f"{many(from_logs, 'acknowledged record')} lost from the log"
    losing = [group for group in flight.groups if group.lost]
    several = f" by {len(losing)} groups in all" if len(losing) > 1 else ""  # perhaps the same ones
    if totals.lost and from_logs:
        yield f"{count(totals.lost)} lost{several or f' by {losing[0].group}'}"
    elif totals.lost:
        yield f"{many(totals.lost, 'acknowledged record')} lost{several}"
    if totals.out_of_order_keys:
        yield f"{many(totals.out_of_order_keys, 'key')} processed out of order"


def _facts(flight: Flight, behind: Behind | None) -> Iterator[str]:
    """What a headline says beside loss, the gravest first."""
    failed = sum(each.failed for each in flight.producers)
    if failed:
        yield f"{many(failed, 'record')} failed to send"
    fenced = [each.producer for each in flight.producers if each.fenced]
    if fenced:
        yield f"{_some(fenced)} fenced"
    without = [each for each in flight.availability if each.without_leader]
    if without:
        partitions = sum(each.without_leader for each in without)
        longest_us = max(each.longest_without_leader_us for each in without)
        yield f"{many(partitions, 'partition')} without a live leader for up to {duration(longest_us)}"
    below = [each for each in flight.availability if each.below_min_isr]
    if below:
        yield f"{many(sum(each.below_min_isr for each in below), 'partition')} below min.insync.replicas"
    if behind is not None:
        yield f"{behind.group.group} up to {duration(behind.group.lag.time_lag_peak_us)} behind"
    rebalancing = [group for group in flight.groups if group.rebalances]
    if rebalancing:
        groups = rebalancing[0].group if len(rebalancing) == 1 else f"{len(rebalancing)} groups"
        yield f"{groups} rebalanced {_times(sum(group.rebalances for group in rebalancing))}"
    yield from _away(flight)[:1]
    if flight.totals.duplicated:
        yield f"{many(flight.totals.duplicated, 'record')} processed again"
    if flight.outages and not without:
        yield f"{_some([f'broker-{each.broker}' for each in flight.outages])} down"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _some(names: list[str]) -> str:
    """The first few of several names, each once, and how many more."""
    names = list(dict.fromkeys(names))
    more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return listed([*names[:SHOWN], *more])


def _sentences(flight: Flight, behind: Behind | None) -> Iterator[str]:
    yield from _damage(flight)
    yield _records(flight)
    yield from _lost(flight)
    yield from _producers(flight)
    yield from _brokers(flight)
    if behind is not None:
        yield from _furthest_behind(behind)
    for group in still_behind(flight):
        if behind is None or group.group != behind.group.group or behind.caught_up_us is not None:
            yield f"{group.group} is {many(group.lag.lag_end, 'record')} behind when the flight ends."
    for group in flight.groups:
        if group.rebalances:
            yield _rebalances(flight, group)
    yield from (f"{stretch}: a static member was away." for stretch in _away(flight))
    yield from _costliest(flight)
    for storm in flight.storms:
        lasted = duration(storm.until_us - storm.from_us)
        number = storm.rebalances
        yield f"Rebalance storm in {storm.group} from {clock(storm.from_us)}: {number} rebalances in {lasted}."
    yield from _unowned(flight)


def _damage(flight: Flight) -> Iterator[str]:
    if not flight.complete:
        yield f"The recording stops early: everything here holds up to {clock(flight.virtual_us)}."
    if not flight.reconciliation.equal:
        missing = flight.reconciliation.missing_events
        yield f"The tables lack {many(missing, 'recorded event')}: trust no number here."


def _records(flight: Flight) -> str:
    totals = flight.totals
    made = f"{many(totals.produced, 'record')} produced, {count(totals.acked)} acknowledged"
    again = f"; {many(totals.duplicated, 'record')} processed more than once" if totals.duplicated else ""
    return f"{made[0].upper()}{made[1:]}{_fate(flight)}{again}."


def _fate(flight: Flight) -> str:
    """Of the acknowledged records; nothing where `_lost` has a sentence for each group that loses some."""
    if from_logs := lost_from_logs(flight):
        return f", {count(from_logs)} of them lost from the log"
    losing = [group for group in flight.groups if group.lost]
    if not losing:
        return ", none of them lost"
    return f", {losing[0].group} lost {count(losing[0].lost)} of them" if len(losing) == 1 else ""


def _lost(flight: Flight) -> Iterator[str]:
    """Which topics lost what they had acknowledged, which groups never get records, and which had them before."""
    for topic in flight.log_losses:
        records, them = many(topic.records, "acknowledged record"), "it" if topic.records == 1 else "them"
        yield f"Topic {topic.topic} lost {records}: no replica's log holds {them} any more."
    losing = [group for group in flight.groups if group.lost]
    if flight.log_losses or len(losing) > 1:
        for group in losing:
            yield f"{group.group} lost {many(group.lost, 'acknowledged record')} that it never processed."
    for group in flight.groups:
        if flight.log_losses and group.delivered_then_lost:
            records = many(group.delivered_then_lost, "acknowledged record")
            yield f"{group.group} processed {records} that no replica's log holds any more."


def _producers(flight: Flight) -> Iterator[str]:
    """What was refused or failed, producer by producer, the worst first."""
    suffering = [each for each in flight.producers if each.failed or each.fenced]
    suffering.sort(key=lambda each: -each.failed)
    for each in suffering[:SHOWN]:
        yield _producer(each)
    if len(suffering) > SHOWN:
        rest = suffering[SHOWN:]
        failed = many(sum(each.failed for each in rest), "failed record")
        yield f"{many(len(rest), 'more producer')} with {failed}."
    retried: Counter[str] = Counter()
    for each in flight.producers:
        retried.update(each.retried)
    if retried:
        worst = sorted(retried.items(), key=lambda each: (-each[1], each[0]))
        errors = [f"{error} {_times(times)}" for error, times in worst[:SHOWN]]
        yield f"Producers retried {many(sum(retried.values()), 'batch', 'batches')}: {listed(errors)}."


def _producer(producer: Producer) -> str:
    happened = []
    if producer.failed:
        errors = listed(sorted(producer.failures, key=lambda error: (-producer.failures[error], error)))
        happened.append(f"{many(producer.failed, 'record')} failed to send ({errors})")
    if producer.fenced:
        happened.append("was fenced" if producer.fenced == 1 else f"was fenced {_times(producer.fenced)}")
    return f"{producer.producer}: {listed(happened)}."


def _brokers(flight: Flight) -> Iterator[str]:
    down: dict[int, list[int]] = {}
    for outage in flight.outages:
        down.setdefault(outage.broker, []).append(outage.until_us - outage.from_us)
    if down:
        parts = [f"broker-{broker} for {duration(sum(times))}" for broker, times in sorted(down.items())]
        yield f"Down or frozen: {_some(parts)}."
    for topic in flight.availability:
        yield from _topic(topic)


def _topic(topic: Availability) -> Iterator[str]:
    if topic.without_leader:
        stretch = partition_time(topic.without_leader, topic.without_leader_us)
        yield f"{topic.topic} had no live leader: {stretch}, at worst {duration(topic.longest_without_leader_us)}."
    if topic.below_min_isr:
        stretch = partition_time(topic.below_min_isr, topic.below_min_isr_us)
        yield f"{topic.topic} was below min.insync.replicas: {stretch}; leaders refuse acks=all meanwhile."


def _furthest_behind(behind: Behind) -> Iterator[str]:
    name, lag = behind.group.group, behind.group.lag
    yield (
        f"{name} was furthest behind at {clock(behind.peak_us)}: its oldest uncommitted record was"
        f" {duration(lag.time_lag_peak_us)} old; its lag peaked at {many(lag.lag_peak, 'record')}."
    )
    yield _explained(behind)
    if behind.caught_up_us is None:
        yield f"{name} did not catch up: {many(lag.lag_end, 'record')} behind when the flight ends."
    else:
        yield f"{name} had caught up by {clock(behind.caught_up_us)}."


def _explained(behind: Behind) -> str:
    name = behind.group.group
    if behind.faults:
        return f"Faults in force meanwhile: {_commands(behind.faults)}."
    if behind.started_us is not None:
        return f"{name} had no members until {clock(behind.started_us)}; the records were older."
    if behind.changes:
        return f"No fault was in force; commands then: {_commands(behind.changes)}."
    return "No fault was in force, and no command explains it."


def _commands(incidents: list[Incident]) -> str:
    return _some([f"“{each.text}” at {clock(each.at_us)}" for each in incidents])


def _rebalances(flight: Flight, group: Group) -> str:
    mine = [each for each in flight.rebalances if each.group == group.group]
    over = [each for each in mine if each.ends in COMPLETED and not (each.initial and each.rebalance == 1)]
    causes = Counter(each.cause for each in over)
    why = listed([f"{cause} {_times(times)}" if times > 1 else cause for cause, times in causes.most_common()])
    unowned_us = group.stopped_partition_us + group.orphaned_partition_us
    stopped = partition_time(group.partitions, unowned_us)
    cost = [f"{stopped} unowned in all"] if unowned_us else ["no partition unowned"]
    if group.reread:
        cost.append(f"{many(group.reread, 'record')} re-read")
    return f"{group.group} rebalanced {_times(group.rebalances)} after its start ({why}): {listed(cost)}."


def _away(flight: Flight) -> list[str]:
    """Partitions that waited for their owner although no rebalance was under way."""
    found = [each for each in flight.rebalances if each.after_partition_us >= SECOND_US]
    stretches = [partition_time(each.after_partitions, each.after_partition_us) for each in found]
    return [
        f"{each.group} left {stretch} unowned without a rebalance"
        for each, stretch in zip(found, stretches, strict=True)
    ]


def _costliest(flight: Flight) -> Iterator[str]:
    def cost(rebalance: Rebalance) -> int:
        return rebalance.stopped_partition_us + rebalance.orphaned_partition_us

    worst = max(flight.rebalances, key=cost, default=None)
    if worst is None or cost(worst) < SECOND_US:
        return
    yield f"The costliest rebalance began at {clock(worst.started_us)}, because {cause_in_words(worst)}."
    if worst.orphaned_partition_us > worst.stopped_partition_us:
        stretch = partition_time(worst.orphaned_partitions, worst.orphaned_partition_us)
        yield f"Before it began, {stretch} had no owner."
    else:
        stretch = partition_time(worst.stopped_partitions, worst.stopped_partition_us)
        yield f"From its start until the new assignment, {stretch} had no owner."
    if worst.waited_for and not worst.initial and worst.waited_us >= SECOND_US:
        yield f"Its join barrier waited longest for {worst.waited_for} ({duration(worst.waited_us)})."


def _partition_seconds(total_us: int) -> str:
    """A sum over partitions whose number is not known."""
    seconds = total_us / SECOND_US
    return f"{seconds:,.0f} partition-seconds" if seconds >= SHORT_S else f"{seconds:.1f} partition-seconds"


def _unowned(flight: Flight) -> list[str]:
    open_ends = {group.group: group.unowned_at_end_us for group in flight.groups if group.unowned_at_end_us}
    return [
        f"Partitions of {name} have no owner when the flight ends: {_partition_seconds(us)}."
        for name, us in open_ends.items()
    ]

"""The verdict in words: what a person says who has looked at everything and has half a minute.

First whether records came to harm, then how far anybody fell behind and why, what rebalances cost, and what is still
open. Each sentence comes from the numbers of the report and from nothing else.
"""

from collections import Counter
from collections.abc import Iterator

from recordings.spark.figures import SECOND_US, clock, count, duration, listed, many
from recordings.spark.report_data import Effect, Flight, Group, Incident, Rebalance, Verdict

CALM, EVENTFUL, HARM = "calm", "eventful", "harm"
UNJUDGED = Verdict(level=CALM, headline="", sentences=[])

NOTABLE_FACTOR = 1.5  # of the lag before: less is the breath of a group that commits now and then
NOTABLE_RECORDS = 10

CAUSES = {
    "member joined": "{} joined",
    "member left": "{} left",
    "session expired": "the session of {} expired",
    "poll interval exceeded": "{} did not call poll() in time",
    "subscription changed": "{} changed its subscription",
    "metadata changed": "{} saw that its topics had changed",
    "leader rejoined": "the leader, {}, rejoined",
    "static member replaced": "{} came back under its instance id",
    "sync timed out": "{} did not sync in time",
    "coordinator moved": "the coordinator moved",
    "partitions revoked": "{} had given up what others were to get",
}


def verdict(flight: Flight) -> Verdict:
    """Judge a flight; its own `verdict` is not looked at."""
    totals = flight.totals
    behind = worst_group(flight)
    harm = totals.lost > 0 or totals.out_of_order_keys > 0
    quiet = not (behind or totals.duplicated or any(group.rebalances for group in flight.groups) or flight.storms)
    level = HARM if harm else CALM if quiet and not _unowned(flight) else EVENTFUL
    return Verdict(level=level, headline=_headline(flight, level, behind), sentences=list(_sentences(flight, behind)))


def notable(effect: Effect) -> bool:
    """Whether an incident's lag is more than the usual up and down."""
    higher = effect.peak - effect.baseline >= NOTABLE_RECORDS
    return higher and effect.peak >= NOTABLE_FACTOR * effect.baseline


def cause_in_words(rebalance: Rebalance) -> str:
    """Why a rebalance began: `the session of billing-2 expired`."""
    words = CAUSES.get(rebalance.cause)
    if words is None or ("{}" in words and not rebalance.trigger):
        return rebalance.cause
    return words.format(rebalance.trigger)


def worst_group(flight: Flight) -> Group | None:
    """The group that was furthest behind in time, if any fell behind at all."""
    behind = [group for group in flight.groups if _fell_behind(group)]
    return max(behind, key=lambda group: group.lag.time_lag_peak_us, default=None)


def _fell_behind(group: Group) -> bool:
    lag = group.lag
    return lag.lag_peak >= NOTABLE_FACTOR * lag.lag_p95 and lag.lag_peak - lag.lag_p95 >= NOTABLE_RECORDS


def _headline(flight: Flight, level: str, behind: Group | None) -> str:
    totals = flight.totals
    if level == HARM:
        harms = [f"{many(totals.lost, 'acknowledged record')} lost"] if totals.lost else []
        if totals.out_of_order_keys:
            harms.append(f"{many(totals.out_of_order_keys, 'key')} processed out of order")
        return f"Records came to harm: {listed(harms)}."
    if level == CALM:
        return "A calm flight: nothing was lost, nobody fell behind, and no group had to rebalance."
    fates: dict[str, list[str]] = {}
    if behind is not None:
        fates[behind.group] = [f"fell {duration(behind.lag.time_lag_peak_us)} behind"]
    rebalancing = [group for group in flight.groups if group.rebalances]
    if rebalancing:
        who = rebalancing[0].group if len(rebalancing) == 1 else f"{len(rebalancing)} groups"
        total = sum(group.rebalances for group in rebalancing)
        fates.setdefault(who, []).append(f"rebalanced {_times(total)}")
    parts = [f"{who} {listed(what)}" for who, what in fates.items()]
    if totals.duplicated:
        parts.append(f"{many(totals.duplicated, 'record')} had to be processed again")
    return f"Nothing was lost, but {', and '.join(parts) or 'not all is well'}."


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _sentences(flight: Flight, behind: Group | None) -> Iterator[str]:
    yield from _damage(flight)
    yield _records(flight)
    if behind is not None:
        yield _furthest_behind(flight, behind)
    for group in flight.groups:
        if group.rebalances:
            yield _rebalances(flight, group)
    yield from _costliest(flight)
    for storm in flight.storms:
        lasted = duration(storm.until_us - storm.from_us)
        yield f"From {clock(storm.from_us)} on {storm.group} was in a storm: {storm.rebalances} rebalances in {lasted}."
    yield from _unowned(flight)


def _damage(flight: Flight) -> Iterator[str]:
    if not flight.complete:
        yield f"The flight did not come to its end: what follows holds up to {clock(flight.virtual_us)}."
    if not flight.reconciliation.equal:
        missing = flight.reconciliation.missing_events
        yield f"The tables do not hold what was recorded ({many(missing, 'event')} missing): trust no number here."


def _records(flight: Flight) -> str:
    totals = flight.totals
    made = f"{many(totals.produced, 'record')} produced, {count(totals.acked)} acknowledged"
    losing = [f"{group.group} lost {count(group.lost)}" for group in flight.groups if group.lost]
    fate = f"{listed(losing)} of them" if losing else "none of them was lost"
    again = f"; {many(totals.duplicated, 'record')} processed more than once" if totals.duplicated else ""
    return f"{made[0].upper()}{made[1:]}, {fate}{again}."


def _furthest_behind(flight: Flight, group: Group) -> str:
    lag = group.lag
    peak_us = lag.time_lag_peak_second * SECOND_US
    told = (
        f"{group.group} was furthest behind at {clock(peak_us)}: the oldest record it had not committed was"
        f" {duration(lag.time_lag_peak_us)} old (its lag peaked at {many(lag.lag_peak, 'record')})"
    )
    blamed = _blamed(flight, group, lag.time_lag_peak_second)
    if blamed is None:
        return f"{told}."
    incident, effect = blamed
    told += f", after “{incident.text}” at {clock(incident.at_us)}"
    if effect.recovered_us is None:
        return f"{told}; it did not catch up again."
    return f"{told}; it had caught up {duration(effect.recovered_us)} after that."


def _blamed(flight: Flight, group: Group, second: int) -> tuple[Incident, Effect] | None:
    """The last incident before a second that was followed by more lag of the group than usual."""
    for incident in reversed(flight.incidents):
        for effect in incident.effects:
            if effect.group == group.group and incident.at_us < second * SECOND_US and notable(effect):
                return incident, effect
    return None


def _rebalances(flight: Flight, group: Group) -> str:
    mine = [each for each in flight.rebalances if each.group == group.group]
    causes = Counter(each.cause for each in mine if not (each.initial and each.rebalance == 1))
    why = listed([f"{cause} {_times(times)}" if times > 1 else cause for cause, times in causes.most_common()])
    return (
        f"{group.group} rebalanced {_times(group.rebalances)} after its start ({why});"
        f" its partitions stood still for {duration(group.stopped_partition_us + group.orphaned_partition_us)} in all,"
        f" and {many(group.reread, 'record')} had to be read again."
    )


def _costliest(flight: Flight) -> Iterator[str]:
    def cost(rebalance: Rebalance) -> int:
        return rebalance.stopped_partition_us + rebalance.orphaned_partition_us

    worst = max(flight.rebalances, key=cost, default=None)
    if worst is None or cost(worst) < SECOND_US:
        return
    told = f"The costliest rebalance began at {clock(worst.started_us)}, because {cause_in_words(worst)}: "
    if worst.orphaned_partition_us > worst.stopped_partition_us:
        told += f"before it even began, partitions had waited {duration(worst.orphaned_partition_us)} without an owner"
    else:
        told += f"until all had an owner again, partitions had stood still for {duration(worst.stopped_partition_us)}"
    if worst.waited_for and worst.waited_us >= SECOND_US:
        told += f"; it waited longest for {worst.waited_for} ({duration(worst.waited_us)})"
    yield f"{told}."


def _unowned(flight: Flight) -> list[str]:
    return [
        f"At the end partitions of {group.group} had had no owner for {duration(group.unowned_at_end_us)} in all."
        for group in flight.groups
        if group.unowned_at_end_us
    ]

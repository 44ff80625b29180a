"""The group that was furthest behind for longest, and the faults in force that explain it.

A group is behind in a second when the oldest record that it has not committed is older than `BEHIND_US`: auto-commit
alone leaves records uncommitted for `auto.commit.interval.ms` (5 s). The search covers the stretch in which the oldest
record of the worst second waited: faults in force, rolling restarts under way, commands just before. It leaves out the
command that ended a fault, and faults of other groups' members.
"""

import msgspec

from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.spark.formatting import SECOND_US
from recordings.spark.report_cluster_model import LastingTransaction
from recordings.spark.report_model import Effect, FlightReport, Group, Incident

BEHIND_US = 15 * SECOND_US  # three times Kafka's auto.commit.interval.ms
SIGNIFICANT_FACTOR = 1.5  # of the lag before: less is the saw-tooth of a group that commits now and then
SIGNIFICANT_RECORDS = 10
OLDER_RECORDS = frozenset({"seek", "subscribe", "reset_offsets", "reset_to_plan", "delete_group", "delete_offsets"})
"""Kinds of commands that may give a group older records to read."""
AUTOSCALER = "autoscaler"  # the source of commands
SHORTLY_US = 5 * SECOND_US  # a change may take until the next commit to show


class Behind(msgspec.Struct, frozen=True, kw_only=True):
    """A group's worst stretch: at `peak_us` its oldest uncommitted record had waited since `since_us`.

    `faults`: in force during it, the one that covers most of it first; `changes`: other commands that took effect in
    it, its seeks, subscriptions and its autoscaler's work at any time of it; `transactions`: open ones for which it
    waited; `started_us`: when its first rebalance began, if that was within the stretch; `caught_up_us`: when it had
    caught up; None: it had not when the flight ended.
    """

    group: Group
    peak_us: int
    since_us: int
    faults: list[Incident]
    changes: list[Incident]
    transactions: list[LastingTransaction]
    started_us: int | None
    caught_up_us: int | None

    @property
    def is_explained(self) -> bool:
        """Whether a fault, a command, an open transaction or the group's own start is behind it."""
        return bool(self.faults or self.changes or self.transactions or self.started_us is not None)


def is_significant(effect: Effect) -> bool:
    """Whether an incident raised the lag beyond its usual variation."""
    higher = effect.peak - effect.baseline >= SIGNIFICANT_RECORDS
    return higher and effect.peak >= SIGNIFICANT_FACTOR * effect.baseline


def worst_behind(flight: FlightReport) -> Behind | None:
    """The group that was furthest behind for longest (the area of its time lag), if any fell behind at all."""
    behind = [group for group in flight.groups if _fell_behind(flight, group)]
    if not behind:
        return None
    worst = max(behind, key=lambda group: (_area(group), group.lag.time_lag_peak_us))
    return _stretch(flight, worst, worst.lag.time_lag_peak_second * SECOND_US, worst.lag.time_lag_peak_us)


def other_peak(flight: FlightReport, behind: Behind) -> Behind | None:
    """The stretch in which the group's lag in records is highest, if that is at another time than its worst one."""
    group = behind.group
    at_us = group.lag.lag_peak_second * SECOND_US
    until_us = flight.virtual_us if behind.caught_up_us is None else behind.caught_up_us
    if behind.since_us <= at_us <= until_us:
        return None
    point = group.lag.lag_peak_second // group.series.seconds_per_point
    return _stretch(flight, group, at_us, group.series.time_lag_us[point])


def still_behind(flight: FlightReport) -> list[Group]:
    """The groups whose oldest uncommitted record is older than `BEHIND_US` when the flight ends."""
    return [group for group in flight.groups if group.series.time_lag_us and group.series.time_lag_us[-1] > BEHIND_US]


def _fell_behind(flight: FlightReport, group: Group) -> bool:
    lag = group.lag
    peaked = lag.lag_peak >= SIGNIFICANT_FACTOR * lag.lag_p95 and lag.lag_peak - lag.lag_p95 >= SIGNIFICANT_RECORDS
    # records that waited for the first join and the first commit are no lag of the group
    started_us = _first_join(flight, group) or 0
    return lag.time_lag_peak_us > BEHIND_US or (peaked and lag.lag_peak_second * SECOND_US > started_us + BEHIND_US)


def _first_join(flight: FlightReport, group: Group) -> int | None:
    joins = [each.started_us for each in flight.rebalances if each.group == group.group and each.initial]
    return min(joins, default=None)


def _area(group: Group) -> int:
    """The area of its time lag above `BEHIND_US`, in µs × seconds."""
    series = group.series
    return sum(max(0, age - BEHIND_US) for age in series.time_lag_us) * series.seconds_per_point


def _stretch(flight: FlightReport, group: Group, at_us: int, age_us: int) -> Behind:
    """What explains that a group's oldest uncommitted record is of this age at this instant."""
    peak_us = min(at_us, flight.virtual_us)
    since_us = max(0, peak_us - age_us)
    first = _first_join(flight, group)
    done = [each for each in flight.incidents if not each.refused and not each.repairs]
    done = [each for each in done if not _of_another_group(each, flight, group)]
    faults = [each for each in done if each.fault and _overlap(each, since_us, peak_us) > 0]
    changes = [each for each in done if not each.fault and each.at_us < peak_us]
    resized = _resized_by_autoscaler(flight, group, changes, since_us, peak_us)
    changes = [
        each
        for each in changes
        if each in resized
        or (_over_us(each) >= since_us and (each.at_us <= since_us + SHORTLY_US or each.kind in OLDER_RECORDS))
    ]
    waiting = [each for each in flight.lasting_transactions if each.group == group.group and each.from_us < peak_us]
    return Behind(
        group=group,
        peak_us=peak_us,
        since_us=since_us,
        faults=sorted(faults, key=lambda each: (-_overlap(each, since_us, peak_us), each.at_us)),
        changes=changes,
        transactions=[each for each in waiting if each.until_us is None or each.until_us > since_us],
        started_us=first if first is not None and since_us < first else None,
        caught_up_us=_caught_up(group, peak_us),
    )


def _caught_up(group: Group, peak_us: int) -> int | None:
    """The first point of the series after the peak at which the group is no longer behind."""
    series = group.series
    width_us = series.seconds_per_point * SECOND_US
    by_age = group.lag.time_lag_peak_us > BEHIND_US
    for point, age in enumerate(series.time_lag_us):
        at_us = point * width_us
        caught_up = age <= BEHIND_US if by_age else series.lag[point] <= group.lag.lag_p95
        if at_us > peak_us and caught_up:
            return at_us
    return None


def _overlap(incident: Incident, since_us: int, until_us: int) -> int:
    ended_us = until_us if incident.cleared_us is None else min(incident.cleared_us, until_us)
    return ended_us - max(incident.at_us, since_us)


def _of_another_group(incident: Incident, flight: FlightReport, group: Group) -> bool:
    """Whether a command names other groups or members of them, and neither this group nor a member of it."""
    named = {each.group for each in flight.groups if any(_is_of(target, each.group) for target in incident.targets)}
    return bool(named) and group.group not in named


def _resized_by_autoscaler(
    flight: FlightReport, group: Group, changes: list[Incident], since_us: int, peak_us: int
) -> list[Incident]:
    """The autoscaler's commands in a stretch, and those whose members came or went in a rebalance in it.

    A member may need long to start up: its rebalance is then much later than the command.
    """
    own = [each for each in changes if each.source == AUTOSCALER and group.group in each.targets]
    found = [each for each in own if each.at_us >= since_us]
    for rebalance in flight.rebalances:
        resized = rebalance.cause in (RebalanceCause.MEMBER_JOINED, RebalanceCause.MEMBER_LEFT)
        if rebalance.group == group.group and resized and since_us <= rebalance.started_us < peak_us:
            found += [each for each in own if each.at_us <= rebalance.started_us][-1:]
    return found


def _is_of(target: str, group: str) -> bool:
    """Whether a target of a command is a group or one of its members (`billing`, `billing-2`)."""
    name, _, number = target.rpartition("-")
    return target == group or (name == group and number.isdigit())


def _over_us(incident: Incident) -> int:
    """The end of a command that starts no fault: a rolling restart's last member, shortly after any other."""
    return incident.at_us + (incident.lasts_us or SHORTLY_US)

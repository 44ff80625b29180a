"""The phase bar: a group's phase, its awaited members with the reason, and the timer that ends the wait."""

from cluster.view.rebalances import OpenRebalance
from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters import rebalance_causes, states
from console.presenters.active_faults import faults_on
from console.presenters.awaited_members import (
    Awaited,
    awaited_joins,
    awaited_syncs,
    members_of,
    poll_age_us,
    silent_ids,
)
from console.presenters.consumer_groups import phase as consumer_phase
from console.presenters.consumer_groups.reconciliation import awaited_of
from console.presenters.coordinator_status import (
    DOWN,
    FROZEN,
    LOADING,
    NO_LEADER,
    RESTARTED,
    UP,
    coordinator_status,
    is_up,
    outage_of,
)
from console.presenters.exceptions.group_lag import lag_line, splits
from console.presenters.formatting import countdown, duration
from console.presenters.list_view import Listing
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MOVING,
    MUTED,
    OK,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    cut,
    gauge,
    joined,
    length,
    line,
    wrapped,
)

ROWS = 3
DOT: Span = (" · ", FAINT)
OUT_OF_GROUP = {"Fenced", "Left", "FATAL"}
STOPPING_COMMANDS = {"kill", "stop", "crash", "restart"}
SIGNS = {DOWN: ("✖", ERROR), FROZEN: ("‖", WARN), RESTARTED: ("↻", WARN), LOADING: ("↻", MOVING)}


class PhaseListing(Listing):
    """Three lines on one group. `session_us` is broker.session.timeout.ms in µs, if known."""

    def __init__(
        self, view: ClusterView, group: GroupView, now_us: int, width: int, session_us: int | None = None
    ) -> None:
        super().__init__(width)
        self.title = group.group
        self._note = group_facts(view, group, width)
        self.opens = next((member for member, _ in awaited_of(view, group, now_us)), "")
        self._lines = phase_lines(view, group, now_us, width, session_us)

    def note(self) -> Line:
        """The kind of the group, its generation or epochs, its coordinator and its leader."""
        return self._note

    def row_keys(self) -> list[str]:
        """One key for each line; lines cannot be selected."""
        return [f"#{number}" for number in range(len(self._lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (self._lines[int(key[1:])],)


def coordinator_of(view: ClusterView, group: GroupView) -> int:
    """The broker that leads a group's partition of __consumer_offsets; -1 while it has no leader."""
    return coordinator_status(view, group).broker


def group_facts(view: ClusterView, group: GroupView, width: int) -> Line:
    """The facts beside the group's name; a narrow panel drops the least important first."""
    broker, state = coordinator_status(view, group)
    generation = str(group.generation)
    if group.open_rebalance is not None and group.open_rebalance.completed_us == NEVER and state == UP:
        generation += f" → {group.generation + 1}"
    where: Line = line((f"coordinator broker-{broker}", MUTED))
    if state == NO_LEADER:
        where = line(("no coordinator", ERROR))
    elif state in SIGNS:
        glyph, tone = SIGNS[state]
        where = line((f"coordinator broker-{broker}", MUTED), (f" {glyph} {state}", tone))
    consumer = group.consumer
    parts = [line((f"generation {generation}", PLAIN))] if consumer is None else consumer_phase.epoch_parts(consumer)
    parts.append(where)
    kind = ("classic" if consumer is None else "consumer") + (f" · {group.assignor}" if group.assignor else "")
    if any(member.instance_id for member in members_of(view, group.group)):
        kind += " · static"
    parts.insert(0, line((kind, MUTED)))
    if group.leader:
        parts.append(line((f"leader {group.leader}", MUTED)))
    while len(parts) > 1 and length(joined(parts, DOT)) > width - len(group.group) - 10:
        drop_kind = len(parts) > 3 if consumer is not None else len(parts) <= 2
        parts.pop(0 if drop_kind else -1)
    return joined(parts, DOT)


def phase_lines(
    view: ClusterView, group: GroupView, now_us: int, width: int, session_us: int | None = None
) -> list[Line]:
    """The state and its meaning; the progress and the awaited members; the timer that ends the wait; the split lag."""
    state, answers = states.group(group.state, consumer=group.consumer is not None), is_up(view, group)
    head = line((f"  {state.glyph} {group.state}", state.tone), "  ")
    meaning = state.meaning if answers else "the last state that its coordinator reported"
    glosses = _summaries(view, group, now_us) if answers else []
    choices = [line(*head, *words) for words in glosses] or [line(*head, (meaning, MUTED))]
    first = next((one for one in choices if length(one) < width), choices[-1])
    if not answers:
        second, third = _without_coordinator(view, group, now_us, session_us)
    elif group.state == "PreparingRebalance" and group.open_rebalance is not None:
        second, third = _preparing(view, group, group.open_rebalance, now_us, width)
    elif group.state == "CompletingRebalance" and group.open_rebalance is not None:
        second, third = _completing(view, group, group.open_rebalance, now_us)
    elif group.state in {"Assigning", "Reconciling"}:
        second, third = consumer_phase.progress(view, group, now_us, width)
    elif group.state == "Stable":
        second, third = _stable(view, group, now_us)
    else:
        second, third = _empty(view, group)
    rows = [cut(first, width - 1), *wrapped(second, width - 1, indent=4), *wrapped(third, width - 1, indent=4)]
    return [*rows, *wrapped(lag_line(view, group, now_us), width - 1, indent=4)] if splits(view, group) else rows


def _summaries(view: ClusterView, group: GroupView, now_us: int) -> list[Line]:
    """The cause of the current rebalance and the request to its members, or a vote that members block.

    Longest form first; empty without either.
    """
    if group.consumer is not None:
        return consumer_phase.summaries(group, now_us)
    barrier = group.open_rebalance
    if group.state == "Stable" and group.vote is not None and group.vote.blocked:
        blocked = rebalance_causes.blocked_words(group.vote)
        return [line((f"elected {group.vote.assignor}: ", PLAIN), (blocked, WARN)), line((blocked, WARN))]
    if barrier is None or group.state not in {"PreparingRebalance", "CompletingRebalance"}:
        return []
    cause: Span = (f"{barrier.cause} ({barrier.trigger})" if barrier.trigger else barrier.cause, STRONG)
    asked = _asked(view, group) if group.state == "PreparingRebalance" else "members wait for the leader's SyncGroup"
    brief = rebalance_causes.cooperation(view, group)
    return [
        line(cause, (f" {duration(now_us - barrier.started_us)} ago", PLAIN), (f": {asked}", MUTED)),
        line(cause, (f": {asked}", MUTED)),
        line(cause, (f": {brief}", MUTED)),
    ]


def _asked(view: ClusterView, group: GroupView) -> str:
    """The reaction of members, each by the rebalance protocol that all of its assignors support."""
    if group.open_rebalance is not None and group.open_rebalance.initial:
        return "no partition is assigned yet"
    return {
        "eager": "members rejoin with nothing assigned (eager)",
        "cooperative": "members rejoin and keep consuming (cooperative)",
        "mixed": "cooperative members keep consuming, the others rejoin with nothing assigned (mixed)",
    }[rebalance_causes.cooperation(view, group)]


def _without_coordinator(view: ClusterView, group: GroupView, now_us: int, session_us: int | None) -> tuple[Line, Line]:
    """No coordinator answers: no rebalance ends, and the group waits for no member."""
    glyph, tone = SIGNS.get(coordinator_status(view, group).state, ("✖", ERROR))
    outage = outage_of(view, group, now_us, session_us)
    explanation = f": {outage.explanation}" if outage.explanation else ""
    within = f", within {outage.within}" if outage.within else ""
    second = line((f"  {glyph} ", tone), (outage.reason + explanation, tone), (within, PLAIN))
    return second, line(("    members cannot join, heartbeat or commit until it answers", MUTED))


def _preparing(
    view: ClusterView, group: GroupView, barrier: OpenRebalance, now_us: int, width: int
) -> tuple[Line, Line]:
    left = countdown(barrier.closes_at_us - now_us)
    if barrier.initial:
        whole_us = max(1, barrier.closes_at_us - barrier.started_us)
        filled = gauge((now_us - barrier.started_us) / whole_us, MOVING)
        second = line(*filled, ("initial rebalance delay: ", STRONG), f"barrier closes in {left}")
        key = line((" (group.initial.rebalance.delay.ms)", MUTED))
        third = line((f"    {members_words(len(barrier.joined))} at the barrier", PLAIN))
        rest = line(("; another new member extends it by the same delay", MUTED))
        fits = length(second) + length(key) < width
        return (*second, *key) if fits else second, (*third, *rest)
    missing = awaited_joins(view, group, now_us)
    expected = len(group.members) + len(group.pending)
    filled = gauge(len(barrier.joined) / max(1, expected), MOVING)
    second = line(*filled, (f"joined {len(barrier.joined)} of {expected}", STRONG), *_waiting(missing))
    last = "when it joins" if len(missing) == 1 else "when all have joined"
    absent = "the missing member" if len(missing) == 1 else "missing members"
    third = line((f"    barrier closes {last}, or in {left}", PLAIN), (" (max.poll.interval.ms)", MUTED))
    rest = line((f", without {absent}", MUTED))
    if barrier.extensions:
        rest = line((f"; {rebalance_causes.extension_words(barrier.extensions, barrier.extended)}", MUTED))
    return second, (*third, *rest) if length(third) + length(rest) < width else third


def _waiting(missing: list[Awaited]) -> tuple[Span, ...]:
    if not missing:
        return ((" · no member is missing", MUTED),)
    if len(missing) == 1:
        one = missing[0]
        return (DOT, ("waiting for ", PLAIN), (one.member, WARN), (f": {one.reason}", PLAIN))
    worst = missing[0]
    return (
        DOT,
        (f"waiting for {len(missing)}: ", PLAIN),
        (worst.member, WARN),
        (f" {worst.reason}", PLAIN),
        ("; " + ", ".join(one.member for one in missing[1:5]) + ("…" if len(missing) > 5 else ""), MUTED),
    )


def _completing(view: ClusterView, group: GroupView, barrier: OpenRebalance, now_us: int) -> tuple[Line, Line]:
    members, synced = len(group.members), len(barrier.synced)
    missing = awaited_syncs(view, group, now_us)
    since = duration(now_us - barrier.completed_us) if barrier.completed_us != NEVER else ""
    second = line(
        *gauge(synced / max(1, members), MOVING), (f"synced {synced} of {members}", STRONG), *_waiting(missing)
    )
    keep = "members keep consuming what they own until then"
    eager = "members that joined own nothing until then"
    mixed = "cooperative members keep consuming until then, the others own nothing"
    reads = {"eager": eager, "cooperative": keep, "mixed": mixed}[rebalance_causes.cooperation(view, group)]
    words = f"    generation {group.generation} began {since} ago, not assigned yet; {reads}"
    return second, line((words, MUTED))


def _stable(view: ClusterView, group: GroupView, now_us: int) -> tuple[Line, Line]:
    total = sum(len(view.partitions_by_topic.get(topic, ())) for topic in group.topics)
    owned = len(group.owners)
    tone = OK if owned == total else WARN
    filled = gauge(owned / max(1, total), tone)
    second = line(*filled, (_owning(view, group, owned, total), STRONG), *_missing(view, group))
    return second, _away(view, group, now_us) or _nearest_limit(view, group, now_us) or _last(group)


def _owning(view: ClusterView, group: GroupView, owned: int, total: int) -> str:
    """`4 members own 12 of 12 partitions`; with the assigned number when members or owners are missing."""
    members, silent = len(group.members), len(silent_ids(view, group))
    assigned = sum(len(partitions) for partitions in group.assignment.values())
    of = partitions_words(total)
    if not silent:
        verb = "owns" if members == 1 else "own"
        also = f", {assigned} assigned" if assigned != owned else ""
        return f"{members_words(members)} {verb} {owned} of {of}{also}"
    return f"{members - silent} of {members_words(members)} answer; {owned} of {of} owned, {assigned} assigned"


def _last(group: GroupView) -> Line:
    """The last rebalance in a sentence, when no timer is near its end."""
    if not group.rebalances:
        return line(("    no rebalance yet, and no timer near its end", MUTED))
    one = group.rebalances[-1]
    return line((f"    {rebalance_causes.number_words(one)}: ", MUTED), (rebalance_causes.summary(one), PLAIN))


def _missing(view: ClusterView, group: GroupView) -> tuple[Span, ...]:
    """Members of the group whose processes have ended."""
    gone = [name for name in group.members.values() if name in view.members and not view.members[name].alive]
    static = [name for name in gone if view.members[name].instance_id]
    if static:
        verb = "is" if len(static) == 1 else "are"
        kept = "no LeaveGroup" if group.consumer is None else "it keeps its partitions"
        return (DOT, (_named(static), WARN), (f" {verb} away (static: {kept})", PLAIN))
    if not gone:
        return ()
    without = "LeaveGroup" if group.consumer is None else "a last heartbeat"
    return (DOT, (_named(gone), WARN), (f" died without {without}", PLAIN))


def _named(names: list[str]) -> str:
    """Up to three names, and the number of further ones."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _away(view: ClusterView, group: GroupView, now_us: int) -> Line:
    """An absent static member: the end of its session, and the instant of its restart if known."""
    for member_id, name in group.members.items():
        member = view.members.get(name)
        if member is None or member.alive or not member.instance_id:
            continue
        waiting = sum(1 for held in group.assignment.get(member_id, ()) if held not in group.owners)
        back_us = _back_us(view, name)
        back = f", restarts in {countdown(back_us - now_us)}" if back_us != NEVER else ""
        left_us = group.session_deadlines_us.get(member_id, NEVER) - now_us
        return line(
            ("    ", PLAIN),
            (name, ACCENT),
            (f" keeps its place for {countdown(left_us)}", WARN),
            (f" ({session_key(group)})", MUTED),
            (f"{back}; {partitions_words(waiting)} without an owner until then", PLAIN),
        )
    return ()


def _back_us(view: ClusterView, name: str) -> int:
    """When a fault restarts a stopped process by itself; NEVER without such a fault."""
    ends = (fault.ends_at_us for fault in faults_on(view, name) if fault.kind in STOPPING_COMMANDS)
    return min((at_us for at_us in ends if at_us != NEVER), default=NEVER)


def _nearest_limit(view: ClusterView, group: GroupView, now_us: int) -> Line:
    """The timer with the largest used share of its limit, if that share is a quarter or more."""
    worst, words = 0.25, None
    for member_id, name in group.members.items():
        deadline_us, member = group.session_deadlines_us.get(member_id, NEVER), view.members.get(name)
        if deadline_us != NEVER and member is not None and member.session_timeout_ms:
            used = 1 - (deadline_us - now_us) / (member.session_timeout_ms * 1_000)
            if used > worst:
                worst, words = used, (name, "session ends in", deadline_us - now_us, session_key(group))
    belonging = {*group.members.values()}  # the limit of a former member is over
    for member in members_of(view, group.group):
        limit_us, age_us = member.max_poll_interval_ms * 1_000, poll_age_us(member, now_us)
        if member.member in belonging and member.alive and limit_us and age_us / limit_us > worst:
            worst = age_us / limit_us
            words = (member.member, "poll() is due within", limit_us - age_us, "max.poll.interval.ms")
    if words is None:
        return ()
    name, what, left_us, key = words
    tone = ERROR if worst > 0.75 else WARN
    return line(
        ("    nearest limit: ", MUTED),
        (name, ACCENT),
        (f" {what} ", PLAIN),
        (countdown(left_us), tone),
        (f" ({key})", MUTED),
    )


def _empty(view: ClusterView, group: GroupView) -> tuple[Line, Line]:
    known = members_of(view, group.group)
    starting = [member for member in known if member.alive and member.state not in OUT_OF_GROUP]
    if group.pending:
        name = next(iter(group.pending.values()))
        return line(("  ", PLAIN), (name, ACCENT), " has its member id and joins with it next"), ()
    if starting:
        member = next((one for one in starting if not one.paused), starting[0])
        joins = "sends JoinGroup" if group.consumer is None else "joins with its next heartbeat"
        what = joins if member.coordinator >= 0 else "looks up the coordinator (FindCoordinator)"
        return line(("  ", PLAIN), (member.member, ACCENT), f" {'is frozen' if member.paused else what}"), ()
    if any(member.alive for member in known):
        return line(("  no running member can join the group", MUTED)), ()
    hint = f":start {known[0].member}" if known else f":scale {group.group} to 1"
    return line(("  no member runs; start one with ", MUTED), (hint, ACCENT)), ()


def session_key(group: GroupView) -> str:
    """The setting of a session's length: the client's, or the coordinator's for a group of the new protocol."""
    return "session.timeout.ms" if group.consumer is None else "group.consumer.session.timeout.ms"


def members_words(number: int) -> str:
    """`1 member`, `4 members`."""
    return "1 member" if number == 1 else f"{number} members"


def partitions_words(number: int) -> str:
    """`1 partition`, `4 partitions`."""
    return "1 partition" if number == 1 else f"{number} partitions"

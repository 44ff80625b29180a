"""Why the group epoch of a group of the new protocol rises, in sentences, and what each member had to do for it."""

from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.rebalances import MemberReconciliation, RebalanceView
from cluster.view.state import NEVER
from console.presenters.formatting import duration, ranges
from console.presenters.styled_text import MUTED, PLAIN, WARN, Line, line, wrapped

CAUSES: dict[str, str] = {
    RebalanceCause.MEMBER_JOINED: (
        "{who} sends its first heartbeat, with member epoch 0. The coordinator raises the group epoch and computes a "
        "new target assignment. Only members that lose partitions have to give something up."
    ),
    RebalanceCause.MEMBER_LEFT: (
        "{who} closes its consumer, and its last heartbeat has member epoch -1. The coordinator removes the member at "
        "once. Other members get its partitions with their next heartbeats."
    ),
    RebalanceCause.SESSION_EXPIRED: (
        "{static}No heartbeat of {who} reaches the coordinator for group.consumer.session.timeout.ms{session}, so its "
        "session expires.{before}"
    ),
    RebalanceCause.POLL_INTERVAL_EXCEEDED: (
        "{who} does not call poll() for max.poll.interval.ms{interval}, so its background thread leaves with member "
        "epoch -1; or it keeps partitions that it must revoke for so long, and is fenced. Other members get its "
        "partitions while {who} still processes its records. The coordinator refuses its next commit."
    ),
    RebalanceCause.SUBSCRIPTION_CHANGED: (
        "a heartbeat of {who} brings another subscription than before{topics}. The coordinator raises the group epoch "
        "and computes a new target assignment."
    ),
    RebalanceCause.METADATA_CHANGED: (
        "the coordinator finds other partitions of the subscribed topics. It raises the group epoch and computes a new "
        "target assignment. No member has to notice first."
    ),
    RebalanceCause.STATIC_MEMBER_REPLACED: (
        "a process joins with {who}'s group.instance.id and another subscription. It takes over the place and the "
        "partitions of the old member id."
    ),
}
"""As `rebalance_causes.CAUSES`, for the new protocol (KIP-848)."""
FIRST_JOIN = (
    "{who} is the first to join an empty group. The coordinator computes a target assignment at once, without an "
    "initial delay. Each further member raises the group epoch again."
)


def epoch_words(one: RebalanceView) -> str:
    """The group epochs before and after, the assignor, and the coordinator that ran it."""
    if not one.members:
        return f"group epoch {one.generation}: no member is left; the group is Empty and its offsets are kept"
    parts = [f"group epoch {one.before} → {one.generation}"]
    if one.assignor:
        parts.append(f"assignor {one.assignor}")
    if one.coordinator != NEVER:
        parts.append(f"coordinator broker-{one.coordinator} computed the target assignment")
    return ", ".join(parts)


def revocation_words(one: RebalanceView) -> str:
    """`billing-1 12 s`: the member that took longest to revoke partitions; "" without one."""
    reconciliation = one.reconciliation
    if reconciliation is None or not reconciliation.slowest:
        return ""
    slowest = reconciliation.revocations[reconciliation.slowest]
    left = " (removed)" if slowest.removed_for else ""
    return f"{reconciliation.slowest} {duration(slowest.done_us - slowest.asked_us)}{left}"


def reconciliation_rows(one: RebalanceView, reconciliation: MemberReconciliation, width: int) -> list[Line]:
    """What each member had to revoke, in the order of the requests, and who reached its target when."""
    rows: list[Line] = []
    for name, given in reconciliation.revocations.items():
        what = ranges(list(given.partitions))
        took = duration(given.done_us - given.asked_us)
        said = f" revoked {what} within {took}"
        if given.removed_for:
            said = f" had to revoke {what}, and was removed after {took}: {given.removed_for}"
        rows += wrapped(line("  ", (name, WARN), (said, PLAIN)), width, indent=4)
    if not rows:
        rows.append(line(("  no member had to revoke a partition", PLAIN)))
    if len(reconciliation.reached_us) > 1:
        came = [
            f"{name} +{duration(max(0, at_us - one.started_us))}" for name, at_us in reconciliation.reached_us.items()
        ]
        rows += wrapped(line(("  had their targets in this order: ", MUTED), ", ".join(came)), width, indent=4)
    return rows

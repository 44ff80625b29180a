"""Reach: counts how often flights take rare branches of rules, as proof of what a swarm tries.

A probe is one line, `reached("…")`, in a branch of a rule. It counts within `counting()`, else it costs
a comparison. It neither draws, emits nor writes: probes do not change a flight. A test holds that
each entry of `PROBES` is in the code once; a fleet of 10,000 seeds must hit all but `NOT_ASKED`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PROBES: dict[str, str] = {
    # members of groups
    "join: the group is full": "JoinGroup is refused with GROUP_MAX_SIZE_REACHED",
    "join: unknown member id": "JoinGroup is refused with UNKNOWN_MEMBER_ID by a group that does not know the member",
    "join: no such group": "JoinGroup brings a member id to a coordinator without the group",
    "join: protocols differ": "JoinGroup is refused with INCONSISTENT_GROUP_PROTOCOL",
    "join: answered again": "a member whose response was lost gets the current generation again",
    "static: replaced, the group goes on": "a static member comes back and the Stable group does not rebalance",
    "static: replaced, it rebalances": "a static member comes back and the group rebalances",
    "static: a parked JoinGroup is fenced": "a static member comes back while its old JoinGroup waits",
    "static: a parked SyncGroup is fenced": "a static member comes back while its old SyncGroup waits",
    "static: not written": "the new member id of a static member cannot be written, and the coordinator reverts it",
    "static: fenced": "a request of a replaced static member is refused with FENCED_INSTANCE_ID",
    "barrier: no member rejoined": "no member joins before the join barrier is due, which waits once more",
    "barrier: more newcomers": "the initial join barrier is open for one more window",
    "barrier: a member is dropped": "a member that did not rejoin in time is removed",
    "sync: a member is dropped": "a member that never sent its SyncGroup is removed",
    "sync: old generation": "SyncGroup is refused with ILLEGAL_GENERATION",
    "sync: the group rebalances": "SyncGroup is refused with REBALANCE_IN_PROGRESS",
    "sync: the assignment is not written": "the leader's assignment cannot be written",
    "heartbeat: old generation": "Heartbeat is refused with ILLEGAL_GENERATION",
    "heartbeat: at the barrier": "Heartbeat is answered REBALANCE_IN_PROGRESS",
    "heartbeat: unknown member": "Heartbeat is refused with UNKNOWN_MEMBER_ID",
    # groups of the new protocol
    "consumer group: a regular expression matches other topics": "a refresh of a regular expression finds other topics",
    "consumer group: topics changed": "the group epoch rises because the subscribed topics have other partitions",
    "consumer group: the next target has to wait": "a target is computed later (group.consumer.assignment.interval.ms)",
    "consumer group: static member leaves for a while": "a static member leaves with epoch -2",
    "consumer group: session expired": "a member is removed because its session has expired",
    "consumer group: rebalance timeout": "a member is removed because it did not revoke partitions in time",
    "migration: no upgrade": "policy, protocol type or size keep a classic group from being upgraded",
    "migration: the classic group has no generation yet": "a classic group has no generation to upgrade yet",
    "migration: upgrade at the join barrier": "a classic group is upgraded while its join barrier is open",
    "migration: upgrade before the assignment": "a classic group is upgraded before its leader has assigned",
    "migration: upgrade of a stable group": "a stable classic group is upgraded",
    "migration: the upgrade is not written": "the log refuses the records of an upgrade",
    "migration: no downgrade": "policy or size keep a consumer group of classic members from being downgraded",
    "migration: downgrade": "the last member of the new protocol leaves, and the group becomes classic",
    "migration: downgrade for a static member": "a classic member replaces the last static one of the new protocol",
    "migration: a member speaks the other protocol": "a member of a consumer group comes back with the other protocol",
    "migration: a classic member may not join": "the policy disabled refuses a classic member",
    "migration: classic protocols differ": "a classic member has no protocol that all classic members support",
    "migration: a classic member moves towards its target": "a JoinGroup moves a classic member of a consumer group",
    "migration: a classic member syncs too late": "a SyncGroup comes after the next target was computed",
    "migration: a classic member has to rejoin": "a heartbeat of a classic member is answered REBALANCE_IN_PROGRESS",
    "migration: a classic member of another generation": "a classic member is refused with ILLEGAL_GENERATION",
    "migration: a classic member did not join": "a classic member is removed because it did not join in time",
    "migration: it did not sync": "a classic member is removed because it did not sync in time",
    "consumer group: takes the place of an empty classic group": "an empty classic group becomes a new one",
    "consumer group: full": "a member is refused with GROUP_MAX_SIZE_REACHED",
    "consumer group: instance id not released": "a static member is refused with UNRELEASED_INSTANCE_ID",
    "consumer group: static member is back": "a static member takes the place that it left",
    "consumer group: instance id fenced": "a static member is refused with FENCED_INSTANCE_ID",
    "consumer group: member epoch fenced": "a member is refused with FENCED_MEMBER_EPOCH",
    "consumer group: unknown member": "a member is refused with UNKNOWN_MEMBER_ID",
    "consumer group: the answer was lost": "a member that missed a response continues with its previous epoch",
    "reconciliation: revocation not confirmed": "a member has not yet revoked what it must",
    "reconciliation: topic unsubscribed": "a member revokes the partitions of a topic that it no longer subscribes to",
    "reconciliation: partitions unreleased": "another member still owns a partition of a member's target",
    "commit: unknown member of a consumer group": "OffsetCommit is refused with UNKNOWN_MEMBER_ID by the new protocol",
    "commit: stale member epoch": "OffsetCommit is refused with STALE_MEMBER_EPOCH",
    "commit: an older epoch will do": "OffsetCommit has an older epoch, with which the partition was assigned",
    "offsets: fetched with a stale epoch": "OffsetFetch is refused with STALE_MEMBER_EPOCH",
    # offsets of groups
    "commit: old generation": "OffsetCommit is refused with ILLEGAL_GENERATION",
    "commit: the group rebalances": "OffsetCommit is refused with REBALANCE_IN_PROGRESS",
    "commit: in a transaction, fenced": "TxnOffsetCommit is refused because its member is none of this generation",
    "commit: timed out and safe after all": "an OffsetCommit is replicated after its answer said that it had timed out",
    "commit: not written": "the records of an OffsetCommit are not appended",
    "offsets: the fetch is parked": "OffsetFetch waits for a commit that is under way",
    "offsets: unstable": "OffsetFetch is answered UNSTABLE_OFFSET_COMMIT",
    "offsets: expired": "an offset is deleted for its age",
    "offsets: the group expired": "an empty group without offsets is deleted",
    "offsets: a transaction's are older": "a plain commit came after a transaction's, and stays",
    # assignors
    "sticky: topics differ": "a sticky assignor assigns to members that subscribe to different topics",
    "sticky: a partition moves": "the balance loop of the general path moves a partition",
    "cooperative: withheld": "a partition that moves has no owner for one generation",
    # replication
    "follower: the epoch is unknown": "a leader knows no epoch of its follower, which cuts at its high watermark",
    "follower: asks again": "a leader names an epoch that its follower never saw (KIP-279)",
    "follower: beyond the leader's end": "a follower fetches an offset beyond its leader's log",
    "follower: begins inside a batch": "a leader's log starts inside a batch",
    "follower: starts over": "a leader's log starts behind the end of its follower's",
    "follower: another epoch": "a follower's fetch names another leader epoch than its leader's",
    "leader: waits for a joining follower": "the high watermark waits for a follower that is about to join the ISR",
    "fetch: no replica in the rack": "a leader finds no replica in the consumer's rack that has the offset",
    # producers
    "append: old producer epoch": "a batch is refused with INVALID_PRODUCER_EPOCH",
    "append: offsets of an old epoch": "a commit in a transaction is refused with INVALID_PRODUCER_EPOCH by the log",
    "append: out of order": "a batch is refused with OUT_OF_ORDER_SEQUENCE_NUMBER",
    "append: duplicate": "a batch is already in the log and is acknowledged again",
    "append: not in its transaction": "a batch is refused with INVALID_TXN_STATE",
    "append: overtakes a verification": "a batch comes before one whose transaction is being verified",
    "append: an unknown producer of version 2": "its sequence is not 0: refused with OUT_OF_ORDER_SEQUENCE_NUMBER",
    "append: too large": "a batch is refused with MESSAGE_TOO_LARGE",
    "append: no key in a compacted topic": "a batch is refused with INVALID_RECORD",
    "producer: splits a batch": "a producer splits a refused batch and retries",
    "producer: compresses": "a producer closes a compressed batch",
    # transactions
    "marker: old producer epoch": "a marker is refused with INVALID_PRODUCER_EPOCH",
    "marker: the next transaction is being verified": "a marker comes while the next transaction is verified",
    "marker: coordinator fenced": "a marker is refused with TRANSACTION_COORDINATOR_FENCED",
    "end: repeated": "EndTxn repeats the end that is complete",
    "end: aborts nothing": "EndTxn aborts a transaction to which nothing was added",
    "end: the epochs are used up": "an end goes over to a new producer id because the epochs are used up",
    "end: fenced": "EndTxn is refused with PRODUCER_FENCED",
    "end: too early": "EndTxn is refused with CONCURRENT_TRANSACTIONS",
    "init: aborts what is open": "InitProducerId fences a transaction that is open",
    "init: too early": "InitProducerId is refused with CONCURRENT_TRANSACTIONS",
    "init: fenced": "InitProducerId is refused with PRODUCER_FENCED",
    "init: the epochs are used up": "InitProducerId gives a new producer id because the epochs are used up",
    "transaction: timed out": "a coordinator aborts a transaction for its age",
    "transaction: the id expired": "a transactional id expires (transactional.id.expiration.ms)",
    "transaction: verified too late": "a verification finds no transaction with the partition",
    "transaction: completed by a successor": "a new coordinator finds a prepared transaction and completes it",
}
"""Each branch by its name, and what happens there, in Kafka's words."""

_AFTER_ITS_SUCCESSOR: Final = (
    "a replaced coordinator's marker would have to come after its successor's next transaction began"
)

NOT_ASKED: dict[str, str] = {
    "migration: classic protocols differ": "as join: protocols differ",
    "consumer group: full": "a crashed member of the new protocol would not come back, so none is refused",
    "join: protocols differ": "all members of a group in a scenario have one list of assignors",
    "offsets: expired": "offsets.retention.minutes is at least one, and a flight of the swarm lasts a minute",
    "offsets: the group expired": "as offsets: expired",
    "offsets: a transaction's are older": "a group of the swarm commits in transactions or without, never both ways",
    "offsets: the fetch is parked": "the new owner's SyncGroup is answered behind every earlier commit",
    "commit: the group rebalances": "a consumer commits only in Stable, and no other client of the swarm commits",
    "sync: old generation": "a SyncGroup follows its JoinGroup's answer on one connection: a late one ends with it",
    "follower: beyond the leader's end": "only a host that crashed leads with less than its followers have",
    "append: old producer epoch": "its leader refuses it before, unless a marker overtakes the coordinator's answer",
    "append: overtakes a verification": "only under version 1, behind the first batch of a producer on its leader",
    "append: not in its transaction": "a producer writes all of its records in transactions or none",
    "marker: old producer epoch": _AFTER_ITS_SUCCESSOR,
    "marker: coordinator fenced": "a replaced coordinator's marker would have to come after its successor's",
    "init: fenced": "each producer of the swarm has a transactional.id of its own: hit once in 20,000 seeds",
    "init: the epochs are used up": "a producer must start anew in the very last epoch: hit 3 times in 3,500 seeds",
    "append: offsets of an old epoch": "verification finds it first, unless that is switched off",
    "transaction: verified too late": "only under version 1, for a batch that is later than its transaction's end",
}
"""Branches that no fleet must hit, with the reason; they are counted and listed all the same."""

_counts: dict[str, int] | None = None


def reached(branch: str) -> None:
    """This branch is taken now."""
    if _counts is not None:
        _counts[branch] = _counts.get(branch, 0) + 1


@contextmanager
def counting() -> Iterator[dict[str, int]]:
    """Count what is reached while this lasts; what is counted already goes on being counted there afterwards."""
    global _counts  # noqa: PLW0603 - one process flies one flight at a time
    before, found = _counts, dict.fromkeys(PROBES, 0)
    _counts = found
    try:
        yield found
    finally:
        _counts = before

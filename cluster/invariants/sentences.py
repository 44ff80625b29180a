"""The catalogue of invariants: an id, a name, a sentence. The ids are those of the reliability list (R, L, P, T, G)."""

from typing import NamedTuple, NoReturn

import msgspec

from cluster.events import Event


class Sentence(NamedTuple):
    """An invariant in words; `needs`: the kind of object that a scenario must declare for it ("" for none)."""

    name: str
    words: str
    needs: str = ""


SENTENCES: dict[str, Sentence] = {
    "R1": Sentence("SingleLeaderPerEpoch", "a partition has one leader in each leader epoch"),
    "R2": Sentence("MonotonicLeaderEpoch", "a partition's leader epoch only grows"),
    "R3": Sentence("LeaderInIsr", "the ISR is of the replicas, holds the leader, and holds no fenced broker"),
    "R4": Sentence(
        "MonotonicHighWatermark", "within a leader epoch, and on one broker, the high watermark never falls"
    ),
    "R5": Sentence("LeaderCompleteness", "a new leader has every record that was committed"),
    "R6": Sentence("MaximalIsr", "every in-sync replica has every committed record"),
    "R8": Sentence("LogMatching", "in-sync replicas hold the same batches below the high watermark"),
    "R9": Sentence(
        "NoTruncationBelowHighWatermark", "no replica truncates a record that was committed while it had it"
    ),
    "R10": Sentence("NoAckedLoss", "a record acknowledged with acks=all is in some log", "acks=all"),
    "R11": Sentence("ConsistentRead", "no reader passes the high watermark, and no committed offset is given again"),
    "R13": Sentence("MinIsrHolds", "with fewer in-sync replicas than min.insync.replicas nothing is committed"),
    "A1": Sentence("AckedIsCommitted", "acks=all is answered when the records are committed", "acks=all"),
    "L1": Sentence("LogShape", "offsets have no holes, log start ≤ high watermark ≤ log end"),
    "L2": Sentence(
        "LogCompaction",
        "a cleaning leaves the last record of each key at its offset, and tombstones for their time",
        "compacted topic",
    ),
    "P1": Sentence("IdempotentOrder", "an idempotent producer's sequences have no holes and no repetition", "pid"),
    "P2": Sentence("ZombieFenced", "a partition accepts no batch of an older producer epoch", "pid"),
    "T1": Sentence("LastStableOffset", "the last stable offset is at most the high watermark and never falls", "txn"),
    "T2": Sentence("TxnAtomic", "all partitions of a transaction get the decision as their marker", "txn"),
    "T3": Sentence("NoAbortedRead", "readers of committed data get neither aborted nor undecided records", "reader"),
    "T5": Sentence("OffsetsAtomic", "offsets of a transaction take effect only with its COMMIT marker", "txn"),
    "T4": Sentence(
        "TxnMarkerEpoch", "a marker ends no transaction under way, and each end raises the epoch (KIP-890)", "txn2"
    ),
    "G1": Sentence("SingleOwner", "an assignment gives each partition to one member of its generation", "group"),
    "G2": Sentence("NoDoubleOwner", "no two current members of a group hold one partition", "group"),
    "G3": Sentence("GenerationMonotonic", "each join barrier makes the next generation", "group"),
    "G6": Sentence("CommitFence", "in a Stable group only members of its generation commit", "group"),
    "G7": Sentence("CommittedOffsetExists", "a committed offset is at most the high watermark", "group"),
    "G9": Sentence("SessionLasts", "no session ends before session.timeout.ms after an answered heartbeat", "group"),
    "G10": Sentence("CommitsSurvive", "a new coordinator has every committed offset", "group"),
    "G11": Sentence(
        "EveryPartitionDealt", "an assignment gives every subscribed partition to a member that subscribes", "group"
    ),
    "G12": Sentence(
        "CooperativeStep", "an owned partition goes to another member only in the next generation", "group"
    ),
    "G13": Sentence("ReplacedIsFenced", "a replaced static member neither joins, heartbeats nor commits", "group"),
    "G16": Sentence("PausedIsQuiet", "poll() returns no record of a partition between pause() and resume()", "group"),
    "G17": Sentence(
        "RevokedIsCommitted", "what commitSync stores in onPartitionsRevoked is where the next owner begins", "group"
    ),
    "G15": Sentence(
        "AssignedIsNoMember", "a consumer that calls assign() joins no group and reads what it named", "group"
    ),
    "G14": Sentence("CommitsMoveOn", "a committed offset moves back only by a seek, a reset or a loss", "group"),
    "E1": Sentence("EpochsRise", "a group epoch rises with each bump, a member epoch never falls", "consumer group"),
    "E2": Sentence(
        "OneOwnerAtATime", "a partition goes to another member only after its owner has revoked it", "consumer group"
    ),
    "E3": Sentence(
        "OthersReadOn", "a member revokes only partitions that are no longer assigned to it", "consumer group"
    ),
    "E4": Sentence(
        "RevocationFirst", "a member gets partitions of its target after it has revoked the others", "consumer group"
    ),
    "E5": Sentence(
        "TimeToConfirm", "no member is removed before its session or rebalance timeout ends", "consumer group"
    ),
    "S1": Sentence("SessionTimeout", "a session lasts session.timeout.ms from the last sign of life", "group"),
    "S2": Sentence("RebalanceTimeout", "members have max.poll.interval.ms to rejoin, and to sync", "group"),
    "S3": Sentence("InitialDelay", "a first barrier is open for group.initial.rebalance.delay.ms", "group"),
    "S4": Sentence("HeartbeatInterval", "an undisturbed member heartbeats every heartbeat.interval.ms", "group"),
    "S5": Sentence("TransactionTimeout", "no transaction is aborted before transaction.timeout.ms", "txn"),
    "S6": Sentence("BrokerSession", "a silent broker is fenced after broker.session.timeout.ms, and no other"),
    "S7": Sentence("DeliveryTimeout", "a batch is acknowledged within delivery.timeout.ms, or expires then"),
    "K1": Sentence(
        "RolloutAvailability", "a rollout stops no ready member if more than max unavailable would be missing", "group"
    ),
    "K2": Sentence("RolloutSurge", "a rollout starts no pod beyond the replicas and max surge", "group"),
    "K3": Sentence("IsrGate", "behind the ISR gate no broker is stopped while a replica is out of sync"),
    "K4": Sentence("AutoscalerBounds", "an autoscaler stays between its min and max, and the partitions", "autoscaler"),
    "J1": Sentence("NoPollSkip", "a consumer skips no record that it should read", "group"),
    "J2": Sentence("MonotonicPoll", "a consumer's position goes back only by a seek, a reset or a rebalance", "group"),
    "J3": Sentence("MonotonicSend", "an idempotent producer's records are appended in the order of send()", "pid"),
}
"""Jepsen's and Kafka's own checkers have the same sentences; A1 is what acks=all promises."""

NEED_LOGS = ("R6", "R8", "J1", "L2")
"""The invariants that need the replicas' logs: judged by `run`, `rerun` and `check` only."""


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A broken invariant: its id, name and sentence, the instant and the event, and the observation."""

    invariant: str
    name: str
    sentence: str
    at_s: float
    seq: int
    found: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.invariant} {self.name} at {self.at_s:g} s (event {self.seq}): {self.found}; {self.sentence}"


class InvariantViolated(Exception):  # noqa: N818 - named for the finding
    """A flight ends: its events break a promise of Kafka's."""

    def __init__(self, violation: Violation) -> None:
        self.violation = violation
        super().__init__(str(violation))


def broken(invariant: str, event: Event, found: str) -> NoReturn:
    """Report that an invariant does not hold at this event. Raises InvariantViolated."""
    name, words, _ = SENTENCES[invariant]
    raise InvariantViolated(
        Violation(
            invariant=invariant, name=name, sentence=words, at_s=event.at_us / 1_000_000, seq=event.seq, found=found
        )
    )

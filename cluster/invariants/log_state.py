"""The history of one partition that invariants need: the view has only its present state."""


class ReplicaHistory:
    """What one broker went through with a partition.

    `held_at_shrink`: the committed end that it had when it left the ISR. `led`: the last high watermark that it emitted
    as leader. `crashed_end`: the log end that its host's crash left, until the broker rejoins the ISR or leads.
    `reloaded`: the offset below which it may have read its producers from a snapshot. `forgets`: the log start below
    which a producer's records all lie if the broker has dropped that producer. `fork`: the offset from which its
    records may differ from the leader's.
    """

    __slots__ = ("crashed_end", "forgets", "fork", "held_at_shrink", "led", "reloaded")

    def __init__(self) -> None:
        self.held_at_shrink: int | None = None
        self.crashed_end: int | None = None
        self.reloaded: int | None = None
        self.fork: int | None = None
        self.led = self.forgets = 0


_UNEVENTFUL = ReplicaHistory()


class LogState:
    """A partition's history by its events so far.

    `committed`: the highest watermark of a leader in office; `highest_watermark`: of any leader, so that every record
    read or acknowledged is below. `end`: the log end of the current leader. `lossy`: a broker without committed records
    has led since, or an election was unclean: committed records may legally be gone. `replicas`: the history of each
    broker that has one. `shrunk_us`: since when the ISR is below min ISR, else -1. `stable`: the highest last stable
    offset that a leader may return; `watermark`, `unstable`: of `epoch` only.

    Events describe one log at a time. `forked_at`: the offset at which the current leader's log left its predecessor's;
    behind it may be records that no event of this log described. `unobserved`: that has happened, and the state of
    transactions is no longer certain.
    `first_offsets`: producer id → its first record's offset, while the log must know that id. `repeats`: producer ids
    whose next epoch may begin with earlier records. Either a log that did not know the id took a later record first, or
    a log read from a snapshot refused records that it has as out of order. `sent`: idempotent producer → the serial
    number and the offset behind its last record.
    """

    __slots__ = (
        "committed", "elected", "end", "epoch", "first_offsets", "forked_at", "highest_watermark", "isr", "leaders",
        "lossy", "open", "producers", "repeats", "replicas", "sent", "shrunk_us", "stable", "taken", "transactional",
        "unobserved", "unstable", "watermark",
    )  # fmt: skip

    def __init__(self) -> None:
        self.elected = self.taken = self.epoch = -1
        self.committed = self.highest_watermark = self.end = self.forked_at = 0
        self.watermark = self.stable = self.unstable = 0
        self.lossy = self.transactional = self.unobserved = False
        self.isr: tuple[int, ...] = ()
        self.leaders: dict[int, int] = {}
        self.replicas: dict[int, ReplicaHistory] = {}
        self.shrunk_us = -1
        self.producers: dict[int, tuple[int, int, int]] = {}  # id → epoch, next sequence (-1: any), last base offset
        self.first_offsets: dict[int, int] = {}
        self.repeats: dict[int, None] = {}
        self.sent: dict[str, tuple[int, int]] = {}
        self.open: dict[int, None] = {}  # producer ids with an open transaction here

    @property
    def lacking(self) -> bool:
        """Whether a host's crash took committed records of a broker; other replicas may still have them."""
        ends = [replica.crashed_end for replica in self.replicas.values() if replica.crashed_end is not None]
        return bool(ends) and min(ends) < self.committed

    @property
    def reloaded(self) -> bool:
        """Whether a broker may have read its producers from a snapshot."""
        return any(replica.reloaded is not None for replica in self.replicas.values())

    def replica(self, broker: int) -> ReplicaHistory:
        """The history of a broker, to be read only: those that have none share one."""
        return self.replicas.get(broker, _UNEVENTFUL)

    def note(self, broker: int) -> ReplicaHistory:
        """The history of a broker, to be changed."""
        return self.replicas.setdefault(broker, ReplicaHistory())

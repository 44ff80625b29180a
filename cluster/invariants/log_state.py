"""The history of one partition that invariants need: the view has only its present state."""


class LogState:
    """A partition's history by its events so far.

    `committed`: the highest watermark of a leader in office; `highest_watermark`: of any leader, so that every record
    read or acknowledged is below. `end`: the log end of the current leader. `held_at_shrink`: broker → the committed
    end that it had when it left the ISR. `led`: broker → the last high watermark that it emitted as leader.
    `crashed_ends`: broker → the log end that its host's crash left, until the broker rejoins the ISR or leads.
    `lossy`: a broker without committed records has led since, or an election was unclean: committed records may
    legally be gone. `reloaded`: broker → offset below which it may have read its producers from a snapshot.
    `forgets`: broker → log start below which a producer's records all lie if the broker has dropped that producer.
    `shrunk_us`: since when the ISR is below min ISR, else -1. `stable`: the highest last stable offset that a leader
    may return; `watermark`, `unstable`: of `epoch` only.

    Events describe one log at a time. `forks`: broker → offset from which its records may differ from the leader's.
    `forked_at`: the offset at which the current leader's log left its predecessor's; behind it may be records that no
    event of this log described. `unobserved`: that has happened, and the state of transactions is no longer certain.
    `first_offsets`: producer id → its first record's offset, while the log must know that id. `repeats`: producer ids
    whose next epoch may begin with earlier records. Either a log that did not know the id took a later record first, or
    a log read from a snapshot refused records that it has as out of order. `sent`: idempotent producer → the serial
    number and the offset behind its last record.
    """

    __slots__ = (
        "committed", "crashed_ends", "elected", "end", "epoch", "first_offsets", "forgets", "forked_at", "forks",
        "held_at_shrink", "highest_watermark", "isr", "leaders", "led", "lossy", "open", "producers", "reloaded",
        "repeats", "sent", "shrunk_us", "stable", "taken", "transactional", "unobserved", "unstable", "watermark",
    )  # fmt: skip

    def __init__(self) -> None:
        self.elected = self.taken = self.epoch = -1
        self.committed = self.highest_watermark = self.end = self.forked_at = 0
        self.watermark = self.stable = self.unstable = 0
        self.lossy = self.transactional = self.unobserved = False
        self.isr: tuple[int, ...] = ()
        self.leaders: dict[int, int] = {}
        self.held_at_shrink: dict[int, int] = {}
        self.led: dict[int, int] = {}
        self.crashed_ends: dict[int, int] = {}
        self.reloaded: dict[int, int] = {}
        self.forgets: dict[int, int] = {}
        self.forks: dict[int, int] = {}
        self.shrunk_us = -1
        self.producers: dict[int, tuple[int, int, int]] = {}  # id → epoch, next sequence (-1: any), last base offset
        self.first_offsets: dict[int, int] = {}
        self.repeats: dict[int, None] = {}
        self.sent: dict[str, tuple[int, int]] = {}
        self.open: dict[int, None] = {}  # producer ids with an open transaction here

    @property
    def lacking(self) -> bool:
        """Whether a host's crash took committed records of a broker; other replicas may still have them."""
        return any(end < self.committed for end in self.crashed_ends.values())

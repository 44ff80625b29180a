"""What the invariants remember of one partition, because the view knows only what is now."""


class LogState:
    """A partition as told so far.

    `committed`: the highest watermark of a leader in office, `told` of any leader: what was read or acknowledged is
    below. `end`: of the log that counts. `had`: what a broker held for sure when it left the ISR. `led`: the high
    watermark that a broker itself has told. `short`: brokers whose host took the end of their logs, and where these
    end since, until they come in again or lead; `lossy`: one that lacked what was committed has led since, or an
    election was unclean, so that committed records may legally be gone. `reloaded`: below which offset a broker may
    have read its producers from a snapshot; `forgets`: below which log start all of a producer's records must be for it
    to have forgotten that producer. `shrunk_us`: since when the ISR is below min ISR, -1 while it is not. `stable`: the
    highest last stable offset that a leader may give; `watermark`, `unstable`: of `epoch` only.

    Events tell one log at a time. `forks`: brokers that may have other records than the leader, and from which offset
    on. `parted`: where the present leader's log left the one before: it may go on behind that with records that no
    event told of this log; `untold`: one has done so, and nothing that is known of transactions is sure any more.
    `begun`: where a producer id's first record stands, while the log must know that id; `repeats`: ids whose next epoch
    may begin with earlier records: a log that knew nothing of them took a later one first, or one that was read from a
    snapshot refused as out of order what it has already.
    """

    __slots__ = (
        "begun", "committed", "elected", "end", "epoch", "forgets", "forks", "had", "isr", "leaders", "led", "lossy",
        "open", "parted", "producers", "reloaded", "repeats", "short", "shrunk_us", "stable", "taken", "told",
        "transactional", "unstable", "untold", "watermark",
    )  # fmt: skip

    def __init__(self) -> None:
        self.elected = self.taken = self.epoch = -1
        self.committed = self.told = self.end = self.watermark = self.stable = self.unstable = self.parted = 0
        self.lossy = self.transactional = self.untold = False
        self.isr: tuple[int, ...] = ()
        self.leaders: dict[int, int] = {}
        self.had: dict[int, int] = {}
        self.led: dict[int, int] = {}
        self.short: dict[int, int] = {}
        self.reloaded: dict[int, int] = {}
        self.forgets: dict[int, int] = {}
        self.forks: dict[int, int] = {}
        self.shrunk_us = -1
        self.producers: dict[int, tuple[int, int, int]] = {}  # id → epoch, next sequence (-1: any), last base offset
        self.begun: dict[int, int] = {}
        self.repeats: dict[int, None] = {}
        self.open: dict[int, None] = {}  # producer ids with a transaction under way here

    @property
    def lacking(self) -> bool:
        """Whether a broker's host took committed records, which others may still have."""
        return any(end < self.committed for end in self.short.values())

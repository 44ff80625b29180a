"""What the invariants remember of one partition, because the view knows only what is now."""


class LogState:
    """A partition as told so far.

    `committed`: the highest watermark of a leader in office, `told` of any leader: what was read or acknowledged is
    below. `end`: of the log that counts. `had`: what a broker held for sure when it left the ISR. `lossy`: committed
    records may legally be gone. `stable`: the highest last stable offset; `watermark`, `unstable`: of `epoch` only.
    """

    __slots__ = (
        "committed", "elected", "end", "epoch", "had", "isr", "leaders", "lossy", "open", "producers", "stable",
        "taken", "told", "transactional", "unstable", "watermark",
    )  # fmt: skip

    def __init__(self) -> None:
        self.elected = self.taken = self.epoch = -1
        self.committed = self.told = self.end = self.watermark = self.stable = self.unstable = 0
        self.lossy = self.transactional = False
        self.isr: tuple[int, ...] = ()
        self.leaders: dict[int, int] = {}
        self.had: dict[int, int] = {}
        self.producers: dict[int, tuple[int, int, int]] = {}  # id → epoch, next sequence (-1: any), last base offset
        self.open: dict[int, None] = {}  # producer ids with a transaction under way here

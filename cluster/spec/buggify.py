"""Buggify: what Kafka may do at any time and seldom does, done often (after FoundationDB's `BUGGIFY`).

A site is a place in a broker where something legal but rare is chosen: a slow load of a coordinator, a fetch that
returns one batch, an append that times out early. In a flight a site is active with probability 1/4, and an active one
fires with probability 1/4 each time it is passed; each has a random stream of its own. Most unreached branches are
short windows, and this holds them open. Only a scenario that says `buggify = true` has any of it: the swarm draws it.
"""

from random import Random

from cluster.random_streams import random_stream

ACTIVE, FIRES = 0.25, 0.25
SLOW_LOAD_US = 2_000_000
EARLY_TIMEOUT_US = 3_000
NEARLY_USED_UP = 32_763  # epochs that are given away before the last few


class Buggify:
    """The sites of one flight; off, all of them are as if they were not there."""

    def __init__(self, seed: int, *, on: bool) -> None:
        self._seed, self.on = seed, on
        self._sites: dict[str, Random | None] = {}

    def _fires(self, site: str) -> bool:
        if not self.on:
            return False
        if site not in self._sites:
            luck = random_stream(self._seed, f"buggify/{site}")
            self._sites[site] = luck if luck.random() < ACTIVE else None
        stream = self._sites[site]
        return stream is not None and stream.random() < FIRES

    def load_us(self, usual_us: int) -> int:
        """How long a new coordinator loads: COORDINATOR_LOAD_IN_PROGRESS for longer."""
        return usual_us + SLOW_LOAD_US if self._fires("slow load") else usual_us

    def append_timeout_us(self, usual_us: int) -> int:
        """How long a coordinator waits for its records to be committed: it gives up early."""
        return min(usual_us, EARLY_TIMEOUT_US) if self._fires("early append timeout") else usual_us

    def refuses_append(self) -> bool:
        """Whether a coordinator's append fails with NOT_ENOUGH_REPLICAS."""
        return self._fires("no append")

    def fetch_bytes(self, usual: int) -> int:
        """How much a Fetch may return: one batch of one partition."""
        return 1 if self._fires("one batch fetched") else usual

    def answers_early(self) -> bool:
        """Whether a Fetch for which there is nothing is answered at once, as if `fetch.max.wait.ms` were over."""
        return self._fires("early fetch answer")

    def push_bytes(self, usual: int) -> int:
        """How much a follower's fetch returns: one batch."""
        return 1 if self._fires("one batch replicated") else usual

    def first_epoch(self, usual: int) -> int:
        """The epoch before the first one of a transactional id: few are left."""
        return NEARLY_USED_UP if self._fires("epochs nearly used up") else usual

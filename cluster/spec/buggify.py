"""Buggify: rare but legal behaviour of brokers, made frequent (after FoundationDB's `BUGGIFY`).

A site is a place in a broker that chooses legal but rare behaviour: a slow load of a coordinator, a fetch that
returns one batch, an append that times out early. In a flight a site is active with probability 1/4, and an active one
fires with probability 1/4 each time it is passed; each site has a random stream of its own. Most unreached
branches need an event in a short window, and a site makes the window longer. Only a scenario with `buggify = true` has
active sites; the swarm draws it.
"""

from random import Random
from typing import Final

from cluster.random_streams import random_stream

ACTIVE, FIRES = 0.25, 0.25
SLOW_LOAD_US: Final = 2_000_000
EARLY_TIMEOUT_US: Final = 3_000
NEARLY_USED_UP: Final = 32_763  # epochs that are given away before the last few


class Buggify:
    """The sites of one flight; with `on` False no site fires or draws."""

    def __init__(self, seed: int, *, on: bool) -> None:
        self._seed, self.on = seed, on
        self._sites: dict[str, Random | None] = {}

    def _fires(self, site: str) -> bool:
        if not self.on:
            return False
        if site not in self._sites:
            drawn = random_stream(self._seed, f"buggify/{site}")
            self._sites[site] = drawn if drawn.random() < ACTIVE else None
        stream = self._sites[site]
        return stream is not None and stream.random() < FIRES

    def load_us(self, usual_us: int) -> int:
        """The load time of a new coordinator in µs, longer if the site fires (COORDINATOR_LOAD_IN_PROGRESS)."""
        return usual_us + SLOW_LOAD_US if self._fires("slow load") else usual_us

    def append_timeout_us(self, usual_us: int) -> int:
        """The timeout of a coordinator's append in µs, a few ms if the site fires."""
        return min(usual_us, EARLY_TIMEOUT_US) if self._fires("early append timeout") else usual_us

    def refuses_append(self) -> bool:
        """Whether a coordinator's append fails with NOT_ENOUGH_REPLICAS."""
        return self._fires("no append")

    def fetch_bytes(self, usual: int) -> int:
        """The byte limit of a Fetch response: one batch of one partition if the site fires."""
        return 1 if self._fires("one batch fetched") else usual

    def answers_early(self) -> bool:
        """Whether an empty Fetch is answered at once, as if `fetch.max.wait.ms` were over."""
        return self._fires("early fetch answer")

    def push_bytes(self, usual: int) -> int:
        """The byte limit of a follower's fetch: one batch if the site fires."""
        return 1 if self._fires("one batch replicated") else usual

    def first_epoch(self, usual: int) -> int:
        """The epoch before the first one of a transactional id: near the maximum if the site fires."""
        return NEARLY_USED_UP if self._fires("epochs nearly used up") else usual

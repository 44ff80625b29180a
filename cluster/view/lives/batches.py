"""A producer's batches and requests without an outcome; what a consumer holds of its fetches."""

from typing import Final

import msgspec

UNSENT: Final = -1  # of a batch: no request has carried it; RETRIES: it waits for the next one
RETRIES: Final = 0


class OpenBatch(msgspec.Struct, gc=False):
    """A batch without an outcome: neither acknowledged nor failed.

    `request`: the number of the request in flight that carries it; UNSENT before the first one, RETRIES between two.
    `records`: their number, from the first request on. `bytes`: what it holds of `buffer.memory`; 0 for a piece of a
    batch that was split.
    """

    opened_us: int
    request: int = UNSENT
    records: int = 0
    bytes: int = 0


class RequestInFlight(msgspec.Struct, gc=False):
    """A Produce request without a response; `batches`: how many of its batches have no outcome.

    A request is forgotten with its last batch: of one whose batches have all expired no event says when it ends.
    """

    broker: int
    sent_us: int
    batches: int


class FetchedView(msgspec.Struct, frozen=True, gc=False):
    """What a consumer holds of a partition since `at_us`: fetched at `position`, read at `next_offset`."""

    at_us: int
    broker: int
    position: int
    next_offset: int
    records: int
    bytes: int

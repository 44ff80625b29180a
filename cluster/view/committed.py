"""Committed offsets that move back: by which commit, after what, and how much was read again because of it.

A commit tells the position of its member. It is lower than the last one after a seek, a reset or a truncation of the
log, and with assign(), where each consumer commits its own position with the group's name. An administrator resets
the offsets of an inactive group. Without these it is an older commit that was served late, or a coordinator's log lost
the newer one.
"""

from typing import Final

import msgspec

from cluster.protocol.names import ADMIN_CLIENT

LATE, LOADED, ASSIGNED, RESET = "late", "loaded", "assign", "reset"
NO_OFFSET: Final = -1
STEPS_KEPT: Final = 500


class CommittedStepBack(msgspec.Struct, gc=False):
    """A committed offset went back from `before` to `after` (NO_OFFSET: it is gone).

    `member` and `generation` are the commit's: "" for a transaction, and for a coordinator that loaded the group.
    `cause`: how the position had been set since the last commit (`seek`, `earliest`, `latest`, `by_duration`,
    `truncated`), else LATE, LOADED, ASSIGNED or RESET. `read_again`: records below `before` that members finished
    since, until a commit reached `before` again.
    """

    at_us: int
    partition: str
    before: int
    after: int
    member: str
    generation: int
    cause: str
    read_again: int = 0


CAUSES: dict[str, str] = {
    "seek": "after a seek",
    "earliest": "after auto.offset.reset = earliest",
    "latest": "after auto.offset.reset = latest",
    "by_duration": "after auto.offset.reset = by_duration",
    "truncated": "after its log was truncated",
    LATE: "an older commit that was served late",
    ASSIGNED: "at its own position, as it calls assign()",
    RESET: "its offsets were reset",
    LOADED: "as its coordinator loaded the group",
}
"""What is said of each cause."""


def cause_of(member: str, generation: int, moved_by: str) -> str:
    """Why a commit is lower than the last one; `moved_by`: how its member's position was set since that one."""
    if member == ADMIN_CLIENT:
        return RESET
    return moved_by or (ASSIGNED if generation < 0 and member else LATE)


def step_words(steps: list[CommittedStepBack]) -> str:
    """The steps of one commit, or of one loaded group, in a clause: the first partition, and how many more."""
    first = steps[0]
    to = "nothing" if first.after == NO_OFFSET else f"{first.after}"
    more = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
    by = ""
    if first.cause == RESET:
        by = " by an administrator"
    elif first.cause != LOADED:
        by = f" by {first.member} of generation {first.generation}" if first.member else " by a transaction"
    return f"committed offset of {first.partition} went back {first.before} → {to}{more}{by}: {CAUSES[first.cause]}"

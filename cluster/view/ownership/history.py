"""Ownership over time, as runs: a partition's state from an instant until its next run.

A group keeps a bounded number of runs. Beyond it, older time is divided into cells, and each cell keeps the worst state
that a partition had in it: unowned, moving, owned by several members, owned by one. What is unowned is never lost.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

NEVER: Final = -1
OWNED, SEVERAL, MOVING, UNOWNED = range(4)
"""A partition's state, from harmless to worst. MOVING: its owner still reads it, and the coordinator takes it away."""

LEAST_RUNS: Final = 16_384  # of a group, whatever its partitions
RUNS_EACH: Final = 32
STEPS_KEPT: Final = 1_024
RECENT_US: Final = 300_000_000  # is coarsened only where this alone has too many runs
CELLS: Final = 1_024
SHORTEST_US: Final = 125_000


class Barrier(msgspec.Struct, gc=False):
    """A rebalance: PreparingRebalance until Stable, or from the epoch's bump until all members are reconciled.

    `to_us`: NEVER while it is open. `generation`: at its end.
    """

    from_us: int
    to_us: int = NEVER
    generation: int = NEVER


class OwnershipHistory(msgspec.Struct, gc=False):
    """Flat lists, because 2,000 partitions have many runs.

    `runs`: partition → instant, code, instant, code …; a code is 4 × the place in `owners` of its owner (if it is
    unowned, of its last owner) + its state. `generations`: instant, generation … `unowned`: instant, number of
    partitions without an owner since their first one, and their time without an owner (µs) up to this instant …
    Before `exact_from_us` time is in cells of `cell_us` at most. `changes` grows with each change.
    """

    owners: list[str] = []
    runs: dict[str, list[int]] = {}
    length: int = 0
    generations: list[int] = []
    unowned: list[int] = []
    barriers: list[Barrier] = []
    cell_us: int = SHORTEST_US
    exact_from_us: int = 0
    changes: int = 0

    # --- the fold writes --------------------------------------------------------------------------------------------

    def place_of(self, owner: str) -> int:
        """The place of an owner in `owners`; a new one is added."""
        if owner not in self.owners:
            self.owners.append(owner)
        return self.owners.index(owner)

    def note(self, partition: str, at_us: int, code: int) -> None:
        """Begin a run, unless the partition has this code already."""
        runs = self.runs.setdefault(partition, [])
        if runs and runs[-1] == code:
            return
        self.changes += 1
        before = len(runs)
        _add(runs, at_us, code)
        self.length += (len(runs) - before) // 2
        if self.length > max(LEAST_RUNS, RUNS_EACH * len(self.runs)):
            self._coarsen(at_us)

    def count(self, at_us: int, number: int) -> None:
        """Note how many partitions have no owner from now on."""
        if self.unowned and self.unowned[-2] == number:
            return
        total_us = self.unowned_us(at_us)
        if self.unowned and self.unowned[-3] == at_us:
            self.unowned[-2] = number
        else:
            self.unowned += (at_us, number, total_us)
            self.unowned = thinned(self.unowned, 3, at_us)

    def enter(self, at_us: int, generation: int) -> None:
        """Note the group's generation, or group epoch, if it has changed."""
        if (self.generations[-1] if self.generations else 0) != generation:
            self.generations += (at_us, generation)
            self.generations = thinned(self.generations, 2, at_us)

    def open_or_close(self, at_us: int, generation: int, *, is_open: bool) -> None:
        """Begin a barrier, or end the open one."""
        last = self.barriers[-1] if self.barriers else None
        if is_open and (last is None or last.to_us != NEVER):
            self.barriers.append(Barrier(at_us))
            if len(self.barriers) > STEPS_KEPT:
                self.barriers = merged(self.barriers, at_us)
        elif not is_open and last is not None and last.to_us == NEVER:
            last.to_us, last.generation = at_us, generation
        else:
            return
        self.changes += 1

    def _coarsen(self, now_us: int) -> None:
        """Divide older time into longer cells, until a quarter of the room is free."""
        most, kept_us = max(LEAST_RUNS, RUNS_EACH * len(self.runs)) * 3 // 4, RECENT_US
        while self.cell_us * CELLS < now_us:
            self.cell_us *= 2
        while True:
            until_us = max(0, now_us - kept_us) // self.cell_us * self.cell_us
            self.runs = {name: coarsened(runs, self.cell_us, until_us) for name, runs in self.runs.items()}
            self.length = sum(len(runs) for runs in self.runs.values()) // 2
            self.exact_from_us = max(self.exact_from_us, until_us)
            if self.length <= most:
                return
            if kept_us and self.cell_us * CELLS // 8 > now_us:
                kept_us = kept_us // 4 if kept_us > self.cell_us else 0
            else:
                self.cell_us *= 2

    # --- readers ----------------------------------------------------------------------------------------------------

    def unowned_us(self, at_us: int) -> int:
        """The time (µs) without an owner up to an instant, summed over partitions since their first owner."""
        steps = self.unowned
        low, high = 0, len(steps) // 3
        while low < high:
            middle = (low + high) // 2
            if steps[3 * middle] <= at_us:
                low = middle + 1
            else:
                high = middle
        if not low:
            return 0
        since_us, number, total_us = steps[3 * low - 3 : 3 * low]
        return total_us + number * (at_us - since_us)

    def generation_at(self, at_us: int) -> int:
        """The generation, or group epoch, at an instant."""
        found = 0
        for place in range(0, len(self.generations), 2):
            if self.generations[place] > at_us:
                break
            found = self.generations[place + 1]
        return found

    def runs_of(self, partition: str, from_us: int, to_us: int) -> Iterator[tuple[int, int, int]]:
        """The runs that touch a span of time, cut to it: from, to, code."""
        runs = self.runs.get(partition, [])
        for place in range(0, len(runs), 2):
            start = runs[place]
            if start >= to_us:
                return
            end = runs[place + 2] if place + 2 < len(runs) else to_us
            if end > from_us:
                yield max(start, from_us), min(end, to_us), runs[place + 1]


def worse(one: int, other: int) -> int:
    """The worse of two codes in one cell of time; two owners in turn are several."""
    if one & 3 != other & 3:
        return max(one, other, key=lambda code: code & 3)
    return other if one == other or one & 3 != OWNED else other | SEVERAL


def coarsened(runs: list[int], cell_us: int, until_us: int) -> list[int]:
    """Runs with one state for each cell before `until_us`, a multiple of `cell_us`."""
    result: list[int] = []
    cell, worst, rest = -1, 0, len(runs)
    for place in range(0, len(runs), 2):
        at_us, code = runs[place], runs[place + 1]
        if at_us >= until_us:
            rest = place
            break
        end_us = min(until_us, runs[place + 2]) if place + 2 < len(runs) else until_us
        low, high = at_us // cell_us, (end_us - 1) // cell_us
        if low == cell:
            worst = worse(worst, code)
            if high == low:
                continue
            low += 1
        if cell >= 0:
            _add(result, cell * cell_us, worst)
        if low < high:
            _add(result, low * cell_us, code)
        cell, worst = high, code
    if cell >= 0:
        _add(result, cell * cell_us, worst)
        _add(result, until_us, runs[rest - 1])
    for place in range(rest, len(runs), 2):
        _add(result, runs[place], runs[place + 1])
    return result


def _add(runs: list[int], at_us: int, code: int) -> None:
    """Begin a run. What lasted no time is left out, and the run before it goes on where the state is the same."""
    if runs and runs[-2] == at_us:
        del runs[-2:]
    if not runs or runs[-1] != code:
        runs += (at_us, code)


def thinned(steps: list[int], width: int, now_us: int) -> list[int]:
    """Steps of `width` numbers, an instant first: with too many of them only the last one of each cell of time."""
    if len(steps) <= STEPS_KEPT * width:
        return steps
    result = steps
    for until_us in (now_us - RECENT_US, now_us):
        cell_us = max(1, (until_us - steps[0]) // (STEPS_KEPT // 2))
        result = []
        for place in range(0, len(steps), width):
            following = steps[place + width] if place + width < len(steps) else now_us + cell_us
            if following > until_us or steps[place] // cell_us != following // cell_us:
                result += steps[place : place + width]
        if len(result) <= STEPS_KEPT * width * 3 // 4:
            break
    return result


def merged(barriers: list[Barrier], now_us: int) -> list[Barrier]:
    """Barriers of one cell of time as one, from the first one's begin to the last one's end."""
    cell_us = max(1, now_us // (STEPS_KEPT // 2))
    result: list[Barrier] = []
    for one in barriers:
        if result and one.to_us != NEVER and result[-1].from_us // cell_us == one.from_us // cell_us:
            result[-1].to_us, result[-1].generation = one.to_us, one.generation
        else:
            result.append(one)
    return result

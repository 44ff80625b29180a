"""Rasters with one false statement each; the judge finds every one."""

from collections.abc import Callable

import pytest

from cluster.view.ownership import history
from cluster.view.ownership.history import Barrier, OwnershipHistory
from cluster.view.state import ClusterView, GroupView
from console.presenters.formatting import LEVELS
from console.presenters.members import identity
from console.presenters.raster import comparison, grid, listing
from console.presenters.raster.axis import TimeAxis, bracket_row, edges
from console.presenters.styled_text import MUTED, Line, Span

Patch = pytest.MonkeyPatch


def a_gap_belongs_to_the_last_owner(patch: Patch) -> None:
    """What is unowned is drawn as owned."""
    patch.setattr(grid, "sign_of", lambda code: grid.owner_sign(code >> 2))


def a_cell_shows_what_was_last_in_it(patch: Patch) -> None:
    """A short gap disappears behind the owner that follows it."""
    patch.setattr(grid, "_worse", lambda one, other: other)
    patch.setattr(grid, "_merged", grid._merged.__wrapped__)


def a_shared_row_shows_its_first_partition(patch: Patch) -> None:
    """Of partitions that share a row only the first one is looked at."""
    patch.setattr(grid, "merged_cells", lambda rows: next(iter(rows)))


def owners_have_other_letters(patch: Patch) -> None:
    """The order of taking partitions gives the letters, not the table of members."""

    def signs(view: ClusterView, group: GroupView) -> dict[int, Span]:
        return {number: identity(number) for number, _ in enumerate(group.history.owners)}

    patch.setattr(listing, "owner_signs", signs)


def barriers_close_when_they_open(patch: Patch) -> None:
    """A rule at the beginning of each barrier only."""

    def begun(barriers: list[Barrier]) -> list[Barrier]:
        return [Barrier(one.from_us, one.from_us, one.generation) for one in barriers]

    patch.setattr(listing, "edges", lambda axis, barriers: edges(axis, begun(barriers)))
    patch.setattr(listing, "bracket_row", lambda axis, barriers: bracket_row(axis, begun(barriers)))


def every_cell_is_of_this_generation(patch: Patch) -> None:
    """The generation of now stands beside an old cell."""
    patch.setattr(OwnershipHistory, "generation_at", lambda self, at_us: self.generations[-1])


def a_revoking_owner_just_owns(patch: Patch) -> None:
    """What moves is drawn as owned."""
    states = {history.SEVERAL: grid.SEVERAL, history.UNOWNED: grid.UNOWNED}
    patch.setattr(grid, "_STATES", states)


def cost_does_not_add_up(patch: Patch) -> None:
    """The cost of a cell is shown instead of the sum up to it."""

    def cost(axis: TimeAxis, kept: OwnershipHistory, most_us: int = 0) -> Line:
        del most_us
        total_us = kept.unowned_us(axis.now_us) or 1
        parts = [
            kept.unowned_us(axis.start_of(column + 1)) - kept.unowned_us(axis.start_of(column))
            for column in range(axis.known)
        ]
        return (("".join(LEVELS[min(7, part * 8 // total_us)] for part in parts), MUTED),)

    patch.setattr(listing, "cost_row", cost)


def gaps_before_the_first_owner_cost(patch: Patch) -> None:
    """The sum begins with the flight, and not with the first owner."""

    def unowned_us(self: OwnershipHistory, at_us: int) -> int:
        first_us = min((runs[0] for runs in self.runs.values()), default=0)
        return original(self, at_us) + min(first_us, at_us) * len(self.runs)

    original = OwnershipHistory.unowned_us
    patch.setattr(OwnershipHistory, "unowned_us", unowned_us)


def two_groups_part_when_the_second_costs(patch: Patch) -> None:
    """The first unowned partition of the second group counts: what the first one has cost until then is ignored."""

    def found(one: OwnershipHistory, other: OwnershipHistory) -> comparison.Difference | None:
        steps = zip(other.unowned[::3], other.unowned[1::3], strict=True)
        return next((comparison.Difference(at_us, 0, number) for at_us, number in steps if number), None)

    patch.setattr(comparison, "first_difference", found)


FALSE_RASTERS: dict[Callable[[Patch], None], tuple[str, int]] = {
    a_gap_belongs_to_the_last_owner: ("first-flight", 40),
    a_cell_shows_what_was_last_in_it: ("first-flight", 40),
    a_shared_row_shows_its_first_partition: ("first-flight", 40),
    owners_have_other_letters: ("first-flight", 40),
    barriers_close_when_they_open: ("first-flight", 40),
    every_cell_is_of_this_generation: ("first-flight", 40),
    a_revoking_owner_just_owns: ("eager-cooperative-consumer", 115),
    cost_does_not_add_up: ("first-flight", 40),
    two_groups_part_when_the_second_costs: ("eager-vs-cooperative", 45),
    gaps_before_the_first_owner_cost: ("static-restart", 60),
}
"""Each false raster with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""

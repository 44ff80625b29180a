"""Debriefs with one false statement each."""

import pytest

from cluster.commands import Command
from console.game.symptoms import Symptom
from console.presenters.game.debrief import DebriefListing, ScoreListing, SymptomsListing, TruthListing
from console.presenters.styled_text import Line
from recordings.game import score
from recordings.game.referee import HiddenFault, Referee

Patch = pytest.MonkeyPatch


def a_wrong_accusation_is_cheap(patch: Patch) -> None:
    """It costs 50 points."""
    patch.setattr(score, "WRONG", 50)


def a_late_diagnosis_is_as_good(patch: Patch) -> None:
    """All points, whenever it comes."""
    patch.setattr(score, "points_for", lambda full, took_us, limit_us: full)


def an_unread_second_counts_twice(patch: Patch) -> None:
    """Two points for each partition-second."""
    first, *others = score.DAMAGE_RULES
    patch.setattr(score, "DAMAGE_RULES", (first._replace(points=2), *others))


def the_sum_leaves_the_damage_out(patch: Patch) -> None:
    """The score is what the diagnoses earned."""
    total = property(lambda played: sum(term.points for term in played.terms if term.points > 0))
    patch.setattr(score.PlayedGame, "score", total)


def no_accusation_was_wrong(patch: Patch) -> None:
    """The verdict counts no wrong accusation."""
    verdict = DebriefListing._verdict

    def words(listing: DebriefListing) -> Line:
        played = listing.played
        listing.played = played._replace(wrong=())
        said = verdict(listing)
        listing.played = played
        return said

    patch.setattr(DebriefListing, "_verdict", words)


def the_strip_marks_the_diagnosis_as_the_fault(patch: Patch) -> None:
    """The truth stands where it was found."""
    cell = DebriefListing._cell

    def later(listing: DebriefListing, at_us: int, inner: int) -> int:
        given = {fault.at_us: fault.found_us or fault.at_us for fault in listing.played.faults}
        return cell(listing, given.get(at_us, at_us), inner)

    patch.setattr(DebriefListing, "_cell", later)


def a_fault_is_dated_by_its_diagnosis(patch: Patch) -> None:
    """The column `given` has the instant of the diagnosis."""
    rows = TruthListing.rows

    def dated(listing: TruthListing, key: str) -> tuple[Line]:
        played = listing.played
        faults = tuple(HiddenFault(one.found_us or one.at_us + 1_000, one.truth, one.found_us) for one in played.faults)
        listing.played = played._replace(faults=faults)
        said = rows(listing, key)
        listing.played = played
        return said

    patch.setattr(TruthListing, "rows", dated)


def the_last_symptom_is_the_first(patch: Patch) -> None:
    """`first seen` has the newest symptom."""
    begin = TruthListing.__init__

    def reversed_symptoms(listing: TruthListing, played: score.PlayedGame, symptoms: list[Symptom], width: int) -> None:
        begin(listing, played, [one._replace(at_us=one.at_us + 1_000_000) for one in symptoms], width)

    patch.setattr(TruthListing, "__init__", reversed_symptoms)


def symptoms_are_of_the_end(patch: Patch) -> None:
    """Every symptom is dated by the end of the game and a second."""
    begin = SymptomsListing.__init__

    def late(listing: SymptomsListing, played: score.PlayedGame, symptoms: list[Symptom], width: int) -> None:
        at_us = (played.over_us // 1_000_000 + 2) * 1_000_000
        begin(listing, played, [one._replace(at_us=at_us) for one in symptoms], width)

    patch.setattr(SymptomsListing, "__init__", late)


def no_damage_is_shown(patch: Patch) -> None:
    """The score has no rows of damage."""
    keys = ScoreListing.row_keys
    patch.setattr(ScoreListing, "row_keys", lambda listing: [keys(listing)[0], "#sum"])


def a_wrong_accusation_is_called_right(patch: Patch) -> None:
    """The answer to each diagnosis is friendly."""
    take = Referee.take

    def friendly(referee: Referee, command: Command, source: str, at_us: int) -> str:
        return take(referee, command, source, at_us).replace("wrong:", "right:")

    patch.setattr(Referee, "take", friendly)


FALSE_DEBRIEFS = (
    a_wrong_accusation_is_called_right,
    a_wrong_accusation_is_cheap,
    a_late_diagnosis_is_as_good,
    an_unread_second_counts_twice,
    the_sum_leaves_the_damage_out,
    no_accusation_was_wrong,
    the_strip_marks_the_diagnosis_as_the_fault,
    a_fault_is_dated_by_its_diagnosis,
    the_last_symptom_is_the_first,
    symptoms_are_of_the_end,
    no_damage_is_shown,
)

"""Places of a member with one false statement each."""

import pytest

from cluster.view.lives.lives import LastCommit, MemberLife
from cluster.view.rebalances import ConsumerGroupView
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from console.presenters.coordinator_status import UP, CoordinatorStatus, coordinator_status
from console.presenters.processes import member_facts, member_tables
from console.presenters.processes.member_tables import GenerationsListing, OwnedListing
from console.presenters.styled_text import Line, line

Patch = pytest.MonkeyPatch


def a_state_is_as_old_as_its_process(patch: Patch) -> None:
    """A member is in its state since its process started."""
    true = member_facts._state

    def state(member: MemberView, life: MemberLife, now_us: int) -> list[Line]:
        return true(member, MemberLife(life.state, life.started_us), now_us)

    patch.setattr(member_facts, "_state", state)


def a_refused_commit_is_stored(patch: Patch) -> None:
    """Every commit reached the log."""
    true = member_facts._commit

    def commit(life: MemberLife, now_us: int) -> list[Line]:
        last = life.commit
        stored = LastCommit(last.at_us, last.partitions, "NONE") if last is not None else None
        return true(MemberLife(commit=stored), now_us)

    patch.setattr(member_facts, "_commit", commit)


def all_that_was_polled_is_finished(patch: Patch) -> None:
    """The application has finished the records of its last poll()."""
    true = member_facts._poll

    def poll(member: MemberView, life: MemberLife, now_us: int) -> list[Line]:
        known = MemberLife(polled=life.polled, finished=life.polled, finished_to=life.finished_to)
        known.finished_in = life.finished_in
        return true(member, known, now_us)

    patch.setattr(member_facts, "_poll", poll)


def every_heartbeat_succeeds(patch: Patch) -> None:
    """The error of the last heartbeat is NONE."""
    patch.setattr(member_facts, "_heartbeat", lambda member, now_us: [line("NONE")])


def the_coordinator_is_always_up(patch: Patch) -> None:
    """A dead coordinator coordinates."""

    def status(view: ClusterView, group: GroupView) -> CoordinatorStatus:
        return CoordinatorStatus(coordinator_status(view, group).broker, UP)

    patch.setattr(member_facts, "coordinator_status", status)


def a_removed_member_is_in_the_group(patch: Patch) -> None:
    """A member without its id in the group is still shown as one of it."""
    true = member_facts._group
    patch.setattr(member_facts, "_group", lambda *of: true(*of)[:3])


def a_stall_is_not_told(patch: Patch) -> None:
    """An application that calls no poll() is not mentioned."""
    true = member_facts._state

    def state(member: MemberView, life: MemberLife, now_us: int) -> list[Line]:
        return [part for part in true(member, life, now_us) if "calls no poll()" not in str(part)]

    patch.setattr(member_facts, "_state", state)


def a_position_is_the_committed_offset(patch: Patch) -> None:
    """What was read and not committed is not shown."""
    true = OwnedListing.__init__

    def made(self: OwnedListing, view: ClusterView, group: GroupView, member: MemberView, *rest: int) -> None:
        true(self, view, group, member, *rest)
        committed = {name: group.readers[name].committed for name in member.owned if name in group.readers}
        self.member = MemberView(member.member, member.group, "", (), 0, 0, 0, owned=member.owned, positions=committed)

    patch.setattr(OwnedListing, "__init__", made)


def a_member_owns_what_is_assigned_to_it(patch: Patch) -> None:
    """Its partitions are the coordinator's, also while it has not taken them over."""

    def keys(self: OwnedListing) -> list[str]:
        group = self.group
        given = [name for one, names in group.assignment.items() if group.members.get(one) == self.member.member
                 for name in names if name in self.member.owned]  # fmt: skip
        return given[1:]

    patch.setattr(OwnedListing, "row_keys", keys)


def a_generation_never_ends(patch: Patch) -> None:
    """A member that left its generation is still in it."""
    true = GenerationsListing.rows

    def rows(self: GenerationsListing, key: str) -> tuple[Line]:
        for one in self.stays.values():
            one.ended_us = NEVER
        return true(self, key)

    patch.setattr(GenerationsListing, "rows", rows)


def every_join_is_the_first(patch: Patch) -> None:
    """A member that rejoins has just started."""
    true = GenerationsListing.__init__

    def made(self: GenerationsListing, view: ClusterView, group: GroupView, member: MemberView, *rest: int) -> None:
        true(self, view, group, member, *rest)
        for one in self.stays.values():
            one.why = member_tables.STARTED

    patch.setattr(GenerationsListing, "__init__", made)


def the_group_epoch_is_that_of_the_assignment(patch: Patch) -> None:
    """The group epoch is shown one behind."""
    true = member_facts._group

    def group(of: GroupView, member: MemberView, now_us: int) -> list[Line]:
        parts = true(of, member, now_us)
        known = of.consumer or ConsumerGroupView()
        return [*parts[:2], line(f"group epoch {known.group_epoch - 1}"), *parts[3:]]

    patch.setattr(member_facts, "_group", group)


def faults_of_members_are_not_named(patch: Patch) -> None:
    """The place of a stalled member names no fault."""
    patch.setattr(member_facts, "fault_words", lambda view, names, now_us: [])


def what_was_polled_is_still_buffered(patch: Patch) -> None:
    """The records of the last Fetch count as held until all of them are returned."""

    def buffered(self: OwnedListing, key: str, _position: int) -> Line:
        one = self.member.buffered.get(key)
        return line(str(one.records)) if one is not None else line("–")

    patch.setattr(OwnedListing, "_buffered", buffered)


def a_dropped_buffer_is_empty(patch: Patch) -> None:
    """A member holds nothing while its application works."""
    true = member_facts._buffer
    patch.setattr(member_facts, "_buffer", lambda of, now_us: [line("empty")] if of.buffered else true(of, now_us))


FALSE_MEMBERS = {
    what_was_polled_is_still_buffered: ("poll-too-slow", 60),
    a_dropped_buffer_is_empty: ("poll-too-slow", 60),
    faults_of_members_are_not_named: ("first-flight", 40),
    a_state_is_as_old_as_its_process: ("first-flight", 60),
    a_refused_commit_is_stored: ("committed-offset-moves-back", 90),
    all_that_was_polled_is_finished: ("poll-too-slow", 60),
    every_heartbeat_succeeds: ("first-flight", 60),
    the_coordinator_is_always_up: ("coordinator-failover", 125),
    a_removed_member_is_in_the_group: ("random 49", 60),
    a_stall_is_not_told: ("first-flight", 60),
    a_position_is_the_committed_offset: ("first-flight", 60),
    a_member_owns_what_is_assigned_to_it: ("first-flight", 60),
    a_generation_never_ends: ("eager-vs-cooperative", 45),
    every_join_is_the_first: ("eager-vs-cooperative", 45),
    the_group_epoch_is_that_of_the_assignment: ("eager-cooperative-consumer", 45),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""

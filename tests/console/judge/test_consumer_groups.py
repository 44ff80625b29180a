"""The judge on groups of the new protocol: nothing false is said of them, and each false presenter is found."""

from collections.abc import Callable

import pytest

from cluster.events import Event
from cluster.view import fold, fold_clients
from cluster.view.fold_cluster import note_of
from cluster.view.rebalances import ConsumerGroupMemberView, ConsumerGroupView, MemberReconciliation
from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters import formatting, members, overview, rebalance_causes, rebalance_phase
from console.presenters.consumer_groups import causes, members_table, phase, reconciliation
from console.presenters.consumer_groups import overview as consumer_overview
from recordings.scenarios.loader import load, parse_scenario
from tests.console.judge.bench import false_claims, flown, is_found_false
from tests.support.console import synthetic_consumer_groups

FLIGHT = """
title = "A member that polls late, static members, and a coordinator that dies"
seed = 3
until = "80s"
[[topic]]
name = "orders"
partitions = 6
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest" }
[[group]]
name = "audit"
topics = ["orders"]
members = 2
static = true
config = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest" }
[[at]]
time = "15s"
do = "stall billing-1 for 15s"
[[at]]
time = "17s"
do = "scale billing to 3"
[[at]]
time = "33s"
do = "kill billing-2"
[[at]]
time = "40s"
do = "restart audit-1"
[[at]]
time = "48s"
do = "kill broker-1"
"""
Patch = pytest.MonkeyPatch
USERS = (phase, members_table, consumer_overview, members, reconciliation)


def everywhere(patch: Patch, name: str, function: Callable[..., object]) -> None:
    """Replace a function where it is used."""
    for module in USERS:
        if hasattr(module, name):
            patch.setattr(module, name, function)


def a_waiting_member_is_awaited(patch: Patch) -> None:
    """A member that only waits for partitions of others counts as one that the group waits for."""
    patch.setattr(reconciliation, "_only_waits", lambda group, member_id, member: False)


def nothing_is_given_up_before_the_member_knows(patch: Patch) -> None:
    """What a member must revoke is what its coordinator has asked for already."""
    patch.setattr(reconciliation, "still_to_give_up", lambda consumer, member: member.pending_revocation)


def the_taker_is_the_next_member(patch: Patch) -> None:
    """The partitions are revoked for the first other member."""
    everywhere(
        patch,
        "wanted_by",
        lambda group, member_id, names: tuple(list(group.members.values())[-2:-1]) if names else (),
    )


def the_limit_is_the_session(patch: Patch) -> None:
    """A member is fenced when its session ends."""
    original = reconciliation._awaited

    def awaited(
        view: ClusterView, group: GroupView, consumer: ConsumerGroupView, member_id: str, now_us: int
    ) -> reconciliation.AwaitedMember:
        one = original(view, group, consumer, member_id, now_us)
        return one._replace(fenced_at_us=group.session_deadlines_us.get(member_id, NEVER))

    patch.setattr(reconciliation, "_awaited", awaited)


def an_old_epoch_is_a_reached_target(patch: Patch) -> None:
    """Every member that is STABLE has its target."""

    def reconciled(consumer: ConsumerGroupView, member: ConsumerGroupMemberView) -> bool:
        return member.state == "STABLE"

    everywhere(patch, "is_reconciled", reconciled)


def all_members_keep_consuming(patch: Patch) -> None:
    """Members that must revoke partitions are counted with the others."""
    patch.setattr(phase, "unconcerned_members", lambda view, group: list(group.members))


def no_member_waits(patch: Patch) -> None:
    """No member waits for partitions of others."""
    patch.setattr(phase, "waiting_members", lambda group: [])


def epochs_are_the_same(patch: Patch) -> None:
    """A member's epoch is the group's."""
    patch.setattr(
        members_table.ReconciliationListing, "_epoch", lambda self, member: ((str(self.consumer.group_epoch), "plain"),)
    )


def the_awaited_member_is_last(patch: Patch) -> None:
    """The rows are in the reverse order."""
    original = members_table.ReconciliationListing.row_keys
    patch.setattr(members_table.ReconciliationListing, "row_keys", lambda self: original(self)[::-1])


def the_fastest_revocation_is_the_slowest(patch: Patch) -> None:
    """The sentence names another member than the one that took longest."""

    def fastest(one: MemberReconciliation) -> str:
        took = {name: each.done_us - each.asked_us for name, each in one.revocations.items()}
        return min(took, key=lambda name: took[name], default="")

    patch.setattr(MemberReconciliation, "slowest", property(fastest))


def revocations_end_when_the_group_is_stable(patch: Patch) -> None:
    """The case file counts a revocation until the end of the rebalance."""
    original = formatting.duration
    patch.setattr(causes, "duration", lambda us: original(us + 1_500_000))


def the_group_epoch_is_a_generation(patch: Patch) -> None:
    """`generation 3` of a group that has none."""
    patch.setattr(rebalance_causes, "number_words", lambda one: f"generation {one.generation}")


def the_session_is_the_clients(patch: Patch) -> None:
    """The session's length is said to be the client's setting."""
    patch.setattr(rebalance_phase, "session_key", lambda group: "session.timeout.ms")


def the_target_is_older_than_it_is(patch: Patch) -> None:
    """The assignment epoch is one behind."""
    original = phase.epoch_parts

    def parts(consumer: ConsumerGroupView) -> list[tuple[tuple[str, str], ...]]:
        return [original(consumer)[0], ((f"assignment epoch {consumer.assignment_epoch - 1}", "plain"),)]

    patch.setattr(phase, "epoch_parts", parts)


def progress_counts_all_members(patch: Patch) -> None:
    """The overview says that all members have their targets."""
    patch.setattr(overview, "reconciled", lambda consumer: f"{len(consumer.members)}/{len(consumer.members)}")


def what_comes_back_is_part_of_the_rebalance(patch: Patch) -> None:
    """A static member's return makes the last rebalance longer."""
    patch.setattr(ConsumerGroupView, "taken", lambda _, __, partitions: partitions)


FALSE = (
    a_waiting_member_is_awaited,
    nothing_is_given_up_before_the_member_knows,
    the_taker_is_the_next_member,
    the_limit_is_the_session,
    an_old_epoch_is_a_reached_target,
    all_members_keep_consuming,
    no_member_waits,
    epochs_are_the_same,
    the_awaited_member_is_last,
    the_fastest_revocation_is_the_slowest,
    revocations_end_when_the_group_is_stable,
    the_group_epoch_is_a_generation,
    the_session_is_the_clients,
    the_target_is_older_than_it_is,
    progress_counts_all_members,
)


@pytest.mark.slow
def test_nothing_false_is_said_of_a_group_of_the_new_protocol() -> None:
    said = false_claims(synthetic_consumer_groups.all_events(), load("first-flight").spec, 60)
    assert "\n".join(said[:20]) == ""


@pytest.mark.parametrize("false_presenter", FALSE, ids=lambda one: one.__name__)
def test_a_false_presenter_of_the_new_protocol_is_found(
    false_presenter: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    false_presenter(monkeypatch)
    assert is_found_false(synthetic_consumer_groups.all_events(), load("first-flight").spec, 16)


@pytest.mark.slow
def test_members_of_both_protocols_in_one_group_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load("migration-rolling").spec
    events = flown(spec, spec.seed, 100_000_000)
    assert false_claims(events, spec, 10) == []
    monkeypatch.setattr(members_table, "protocol_of", lambda member: "consumer")
    assert is_found_false(events, spec, 10, "speaks 'consumer', not 'classic'")


@pytest.mark.slow
def test_nothing_false_is_said_of_a_flight_with_groups_of_the_new_protocol() -> None:
    spec = parse_scenario(FLIGHT, "consumer-groups.toml").spec
    events = flown(spec, spec.seed, spec.until_us)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))  # each event is emitted once
    assert "\n".join(false_claims(events, spec, 14)[:20]) == ""
    with pytest.MonkeyPatch.context() as patch:
        what_comes_back_is_part_of_the_rebalance(patch)
        assert is_found_false(events, spec, 14)


FENCED = """
title = "A process stands still until its session is over"
seed = 1
until = "30s"
[cluster]
config = { "group.consumer.session.timeout.ms" = 6000, "group.consumer.min.session.timeout.ms" = 6000 }
[[topic]]
name = "orders"
partitions = 4
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "group.protocol" = "consumer" }
[[at]]
time = "15s"
do = "pause billing-1 for 9s"
"""


def test_the_log_of_events_says_when_a_member_is_fenced_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse_scenario(FENCED, "fenced.toml").spec
    events = flown(spec, spec.seed, spec.until_us)
    view = ClusterView()
    for event in events:
        fold(view, event)
    lines = [line.text for line in view.log_entries if line.at_us >= 24_000_000]
    assert "billing-1 is FENCED: its coordinator answered UNKNOWN_MEMBER_ID" in lines
    assert "\n".join(false_claims(events, spec, 9)) == ""

    def another_error(view: ClusterView, event: Event, kind: str, subject: str, predicate: str) -> None:
        note_of(view, event, kind, subject, predicate.replace("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"))

    monkeypatch.setattr(fold_clients, "note_of", another_error)
    assert is_found_false(events, spec, 9, "FENCED")

"""Every cause of a rebalance is explained in words: what set it off, what stopped, who was waited for, what it cost."""

import msgspec
import pytest

from cluster import events as e
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view import ClusterView, fold
from console.presenters import rebalance_causes
from console.presenters.rebalance_details import details_lines
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.styled_text import plain
from tests.support.console import synthetic
from tests.support.console.synthetic import Flight, us

GROUP = "billing"
TOPICS = {"orders": 6}
SHARES: dict[str, tuple[str, ...]] = {
    "billing-1": ("orders-0", "orders-1", "orders-2"),
    "billing-2": ("orders-3", "orders-4", "orders-5"),
}
MEMBERS = ("billing-1", "billing-2", "billing-3")

SAID = {
    "member joined": "billing-3 sends JoinGroup and is new in the group",
    "member left": "billing-3 closes its consumer, which commits and sends LeaveGroup",
    "session expired": "No heartbeat of billing-3 reaches the coordinator for session.timeout.ms (45 s)",
    "poll interval exceeded": "billing-3 does not call poll() for max.poll.interval.ms (5:00)",
    "subscription changed": "billing-3 sends JoinGroup with another subscription than before (orders)",
    "metadata changed": "billing-3 leads the group and finds another number of partitions",
    "leader rejoined": "billing-3, the group's leader, sends JoinGroup again",
    "static member replaced": "a process joins with billing-3's group.instance.id",
    "sync timed out": "billing-3 joins but sends no SyncGroup",
    "coordinator moved": "the group's coordinator, now broker-2, moves while members join",
    "partitions revoked": "the second round of a cooperative rebalance. In the first, billing-3 has to revoke",
}


def declared(assignor: str = "range", *, static: bool = False) -> Flight:
    """Three members of one group on six partitions; two of them own all."""
    flight = Flight()
    synthetic.declare(flight, TOPICS, {GROUP: ()})
    place = next(at for at, (_, _, event) in enumerate(flight.noted) if isinstance(event, e.GroupDeclared))
    at_us, number, event = flight.noted[place]
    flight.noted[place] = (at_us, number, msgspec.structs.replace(event, assignors=(assignor,)))
    for member in MEMBERS:
        one = synthetic.declared(GROUP, member, ("orders",))
        flight.emit(0, msgspec.structs.replace(one, instance_id=member if static else ""))
    synthetic.start_rebalance(flight, 1.0, GROUP, 0, "member joined", "billing-1", 4.0)
    for member in SHARES:
        synthetic.join(flight, 1.0, GROUP, member, newcomer=True)
    stabilise(flight, 4.0, 1, SHARES, assignor, taken=SHARES)
    return flight


def stabilise(  # noqa: PLR0917
    flight: Flight,
    at_s: float,
    generation: int,
    shares: dict[str, tuple[str, ...]],
    assignor: str,
    taken: dict[str, tuple[str, ...]],
    last: str = "",
) -> None:
    """The barrier closes, the assignment is stored, and members take what is new to them."""
    members = {synthetic.member_id(member): member for member in shares}
    deadlines = dict.fromkeys(members, us(at_s + 45))
    closed = e.JoinBarrierCompleted(
        group=GROUP,
        generation=generation,
        protocol=assignor,
        leader=next(iter(shares)),
        members=members,
        session_deadlines_us=deadlines,
        last_joined=last or list(shares)[-1],
        waited_us=us(2.0),
    )
    flight.emit(at_s, closed)
    assignment = {synthetic.member_id(member): partitions for member, partitions in shares.items()}
    stable = e.GroupStabilized(
        group=GROUP, generation=generation, assignment=assignment, session_deadlines_us=deadlines
    )
    flight.emit(at_s + 0.1, stable)
    for member, partitions in taken.items():
        flight.emit(at_s + 0.2, synthetic.client(GROUP, member, "Stable", generation))
        flight.emit(
            at_s + 0.2,
            e.PartitionsAssigned(group=GROUP, member=member, generation=generation, partitions=partitions),
        )


def eager(cause: str = "member joined") -> Flight:
    """billing-3 is the cause; all revoke everything, and share out anew."""
    flight = declared()
    synthetic.start_rebalance(flight, 10.0, GROUP, 1, cause, "billing-3", 310.0)
    synthetic.join(flight, 10.0, GROUP, "billing-3", newcomer=True)
    for at_s, (member, partitions) in zip((11.0, 12.0), SHARES.items(), strict=True):
        synthetic.revoke(flight, at_s, GROUP, member, partitions)
        synthetic.join(flight, at_s, GROUP, member, newcomer=False)
    after = {"billing-1": ("orders-0", "orders-1"), "billing-2": ("orders-2", "orders-3"), "billing-3": ("orders-4",)}
    after["billing-3"] += ("orders-5",)
    stabilise(flight, 12.0, 2, after, "range", taken=after, last="billing-2")
    return flight


def cooperative() -> Flight:
    """billing-3 joins; the others keep all until the coordinator tells them what to revoke, then revoke only that."""
    assignor = rebalance_causes.COOPERATIVE
    flight = declared(assignor)
    synthetic.start_rebalance(flight, 10.0, GROUP, 1, "member joined", "billing-3", 310.0)
    for member in ("billing-3", "billing-1", "billing-2"):
        synthetic.join(flight, 10.5, GROUP, member, newcomer=member == "billing-3")
    kept = {"billing-1": ("orders-0", "orders-1"), "billing-2": ("orders-3", "orders-4"), "billing-3": ()}
    stabilise(flight, 11.0, 2, kept, assignor, taken={})
    for member, partition in (("billing-1", "orders-2"), ("billing-2", "orders-5")):
        synthetic.revoke(flight, 11.5, GROUP, member, (partition,))
    synthetic.start_rebalance(flight, 12.0, GROUP, 2, "partitions revoked", "billing-1", 312.0)
    for member in MEMBERS:
        synthetic.join(flight, 12.2, GROUP, member, newcomer=False)
    stabilise(flight, 12.5, 3, kept | {"billing-3": ("orders-2", "orders-5")}, assignor, {"billing-3": ("orders-2",)})
    taken = e.PartitionsAssigned(group=GROUP, member="billing-3", generation=3, partitions=("orders-5",))
    flight.emit(12.7, taken)
    return flight


def given_everything(flight: Flight, at_s: float) -> None:
    """billing-1 alone comes to the barrier."""
    synthetic.revoke(flight, at_s, GROUP, "billing-1", SHARES["billing-1"])
    synthetic.join(flight, at_s, GROUP, "billing-1", newcomer=False)
    everything = {"billing-1": SHARES["billing-1"] + SHARES["billing-2"]}
    stabilise(flight, at_s + 0.1, 2, everything, "range", taken=everything)


def view_of(flight: Flight, until_s: float = 1_000.0) -> ClusterView:
    view = ClusterView()
    for event in flight.in_order():
        if event.at_us <= us(until_s):
            fold(view, event)
    return view


def details(view: ClusterView, place: int = -1) -> str:
    group = view.groups[GROUP]
    rows = details_lines(view, group, str(group.rebalances[place].started_us), 100)
    return " ".join(" ".join(plain(row) for row in rows).split())


def phase(view: ClusterView, seconds: float) -> str:
    listing = PhaseListing(view, view.groups[GROUP], us(seconds), 120)
    rows = [plain(row) for key in listing.row_keys() for row in listing.rows(key)]
    return "  ".join([*(row.strip() for row in rows), plain(listing.note())])


def test_every_cause_has_its_words() -> None:
    assert set(RebalanceCause) == set(SAID) == set(rebalance_causes.CAUSES)


@pytest.mark.parametrize("cause", RebalanceCause)
def test_details_explain_the_cause(cause: str) -> None:
    said = details(view_of(eager(cause)))
    assert said.startswith(f"{cause} (billing-3) generation 2 ")
    assert SAID[cause] in said
    assert "helped" not in said  # a remedy that was not measured would be a guess


@pytest.mark.parametrize("cause", RebalanceCause)
def test_the_group_screen_names_the_cause_while_it_lasts(cause: str) -> None:
    said = phase(view_of(eager(cause), 11.5), 11.5)
    assert f"PreparingRebalance  {cause} (billing-3) 1.5 s ago: members rejoin with nothing assigned (eager)" in said


@pytest.mark.parametrize("cause", RebalanceCause)
def test_on_a_narrow_terminal_the_cause_is_never_cut(cause: str) -> None:
    view = view_of(eager(cause), 11.5)
    listing = PhaseListing(view, view.groups[GROUP], us(11.5), 80)
    first = plain(listing.rows("#0")[0])
    assert f"{cause} (billing-3): " in first
    assert "…" not in first


def test_eager_stops_everything() -> None:
    said = details(view_of(eager()))
    assert "stop-the-world: all 6 partitions paused (eager: a member revokes everything before it rejoins)" in said
    assert "4.2 partition-seconds unowned" in said
    assert "3 partitions changed owners: billing-2 got orders 2 from billing-1 billing-3 got orders 4-5 from" in said
    assert "joined in this order: billing-3 +0 s, billing-1 +1.0 s, billing-2 +2.0 s" in said
    assert "generation 1 → 2, assignor range, leader billing-1 computed the assignment, coordinator broker-2" in said


def test_cooperative_stops_only_what_moves() -> None:
    view = view_of(cooperative())
    first, second = details(view, -2), details(view, -1)
    assert "no pause: all 6 stayed owned (cooperative: a member revokes only what moves)" in first
    assert "no partition changed its owner" in first
    assert "2 partitions paused, 4 stayed owned (cooperative: a member revokes only what moves)" in second
    assert "billing-3 got orders 2 from billing-1 billing-3 got orders 5 from billing-2" in second
    assert "plus 1.0 partition-seconds before the rebalance began" in second


def test_under_cooperative_rebalancing_members_read_on() -> None:
    assert "members rejoin and keep consuming (cooperative)" in phase(view_of(cooperative(), 10.2), 10.2)
    assert "members keep consuming what they own until then" in phase(view_of(cooperative(), 11.05), 11.05)


def test_the_last_rebalance_stays_on_the_group_screen_in_a_sentence() -> None:
    flight = eager()
    synthetic.beats(flight, GROUP, "billing-1", 12.3, 12.4, (0, 0))
    said = phase(view_of(flight), 12.5)
    assert (
        "generation 2: member joined (billing-3): 2.2 s, waited 2.0 s for billing-2; 3 moved, 6 paused, 0 kept" in said
    )


def test_a_static_member_that_is_away_keeps_its_place() -> None:
    flight = declared(static=True)
    flight.emit(20.0, synthetic.fault_started(1, "stop billing-2 for 30s", us(50.0)))
    flight.emit(20.0, e.MemberStopped(group=GROUP, member="billing-2", how="stop"))
    said = phase(view_of(flight), 25.0)
    assert "billing-2 is away (static: no LeaveGroup)" in said
    assert "billing-2 keeps its place for 24 s (session.timeout.ms), restarts in 25 s" in said
    assert "3 partitions without an owner" in said
    assert "classic · range · static" in said


def test_what_a_static_member_left_alone_is_not_charged_to_the_rebalance_before() -> None:
    flight = declared(static=True)
    flight.emit(20.0, e.MemberStopped(group=GROUP, member="billing-2", how="stop"))
    flight.emit(
        30.0, e.PartitionsAssigned(group=GROUP, member="billing-2", generation=1, partitions=SHARES["billing-2"])
    )
    group = view_of(flight).groups[GROUP]
    assert group.stopped_partition_us == us(30.0)
    assert [one.stopped_partition_us for one in group.rebalances] == [0]


def test_a_member_that_does_not_poll_keeps_what_others_were_given() -> None:
    flight = declared()
    synthetic.start_rebalance(flight, 10.0, GROUP, 1, "poll interval exceeded", "billing-2", 310.0)
    given_everything(flight, 11.0)
    said = details(view_of(flight))
    assert "3 partitions paused; 3 stayed with a member that did not take part" in said
    assert "nothing re-read · 1 member" in said


def test_a_static_member_that_did_not_return_is_named_as_one() -> None:
    flight = declared(static=True)
    flight.emit(20.0, e.MemberStopped(group=GROUP, member="billing-2", how="kill"))
    synthetic.start_rebalance(flight, 49.0, GROUP, 1, "session expired", "billing-2", 349.0)
    given_everything(flight, 50.0)
    said = details(view_of(flight))
    assert "Static member: it sends no LeaveGroup and does not return within its session." in said
    assert "Its partitions were unowned for 87 partition-seconds until then." in said


def test_what_was_refused_meanwhile_is_in_the_chain() -> None:
    flight = eager()
    flight.emit(
        11.2,
        e.ConsumerFenced(
            group=GROUP, member="billing-2", member_id="old", instance_id="billing-2", reason="FENCED_INSTANCE_ID"
        ),
    )
    flight.emit(11.3, e.OffsetCommitRefused(group=GROUP, member="billing-1", generation=1, error="ILLEGAL_GENERATION"))
    said = details(view_of(flight))
    assert "billing-2 is fenced: another process joined as billing-2" in said
    assert "billing-1: commit refused, ILLEGAL_GENERATION" in said


def test_a_rebalance_that_had_to_begin_again_says_so() -> None:
    flight = eager()
    flight.emit(11.6, e.JoinBarrierExtended(group=GROUP, closes_at_us=us(400), reason="nobody rejoined"))
    synthetic.start_rebalance(flight, 11.5, GROUP, 1, "session expired", "billing-2", 311.0)
    flight.emit(
        11.4, e.MemberRemoved(group=GROUP, member="billing-2", member_id="billing-2-0001", reason="session expired")
    )
    said = details(view_of(flight))
    assert said.startswith("member joined (billing-3)")  # the first cause stays the cause
    assert "restarted once: something changed before it was Stable" in said
    assert "billing-2 was removed during the rebalance: session expired" in said
    assert "extended once: no member had rejoined" in said


def test_the_coordinators_own_reason_is_quoted() -> None:
    flight = declared()
    flight.emit(
        10.0,
        e.RebalanceStarted(
            group=GROUP,
            generation=1,
            cause="member left",
            trigger="billing-2",
            initial=False,
            closes_at_us=us(310.0),
            broker=2,
            detail="explicit `LeaveGroup` request for (billing-2-0001) members.",
        ),
    )
    stabilise(flight, 11.0, 2, {"billing-1": SHARES["billing-1"]}, "range", taken={})
    said = details(view_of(flight))
    assert "in the coordinator's log" in said
    assert "explicit `LeaveGroup` request for (billing-2-0001) members." in said


def test_an_emptied_group_says_so() -> None:
    flight = declared()
    synthetic.start_rebalance(flight, 10.0, GROUP, 1, "member left", "billing-2", 310.0)
    closed = e.JoinBarrierCompleted(
        group=GROUP,
        generation=2,
        protocol="",
        leader="",
        members={},
        session_deadlines_us={},
        last_joined="",
        waited_us=0,
    )
    flight.emit(11.0, closed)
    said = details(view_of(flight))
    assert "generation 2: no member is left; the group is Empty and its offsets are kept" in said
    assert "for no member" in said

"""Votes for an assignor: what the details say, and which restarts `impact` calls a dead end."""

from cluster import events as e
from cluster.commands import catalogue as c
from cluster.view import ClusterView
from cluster.view.fold import fold
from cluster.view.votes import AssignorVote
from console.presenters.impact import impact_of
from console.presenters.rebalance_causes import blocked_words, cooperation
from console.presenters.rebalance_details import _vote, details_lines
from console.presenters.styled_text import plain
from recordings.scenarios.loader import load
from tests.support.completed_flight import flown
from tests.support.scenario_builders import group_of

VOTE = AssignorVote(
    "range",
    {"g-1": ("cooperative-sticky", "range"), "g-2": ("range",), "g-3": ("range",), "g-4": ("sticky", "range")},
    {"g-1": "range", "g-2": "range", "g-3": "range", "g-4": "range"},
)


def test_the_members_that_block_an_assignor_are_named() -> None:
    assert VOTE.blocked == {"cooperative-sticky": ["g-2", "g-3", "g-4"], "sticky": ["g-1", "g-2", "g-3"]}
    assert blocked_words(VOTE).startswith("cooperative-sticky is blocked by g-2, g-3, g-4; sticky is")
    assert [plain(row) for row in _vote(VOTE, 100)] == [
        "  g-1 offers cooperative-sticky, range: votes for range",
        "  g-2, g-3 offer range: vote for range",
        "  g-4 offers sticky, range: votes for range",
        "  elected: range by 4 of 4 votes",
        "  blocked: cooperative-sticky: g-2, g-3, g-4 do not offer it",
        "  blocked: sticky: g-1, g-2, g-3 do not offer it",
    ]


def test_many_members_are_counted() -> None:
    names = [f"g-{number}" for number in range(1, 41)]
    vote = AssignorVote(
        "range",
        {name: ("range",) if name != "g-40" else ("sticky", "range") for name in names},
        dict.fromkeys(names, "range"),
    )
    assert blocked_words(vote) == "sticky is blocked by g-1, g-2, g-3 and 36 more"
    assert plain(_vote(vote, 100)[0]) == "  g-1, g-2, g-3, g-4, g-5, g-6 and 33 more offer range: vote for range"


def test_like_offers_are_no_news() -> None:
    flight = flown(group_of((15, "restart g-1"), members=3, until_s=30, assignors=("range", "sticky")))
    assert not flight.all(e.ProtocolElected)
    assert not flight.all(e.MemberAssignorsDeclared)
    group = flight.simulation.view.groups["g"]
    assert group.vote is None
    assert cooperation(flight.simulation.view, group) == "eager"


def test_the_details_of_a_rebalance_show_the_vote_and_a_later_one_without_it_does_not() -> None:
    flight = flown(
        group_of(
            (15, "set g assignors cooperative-sticky,range"),
            (16, "restart g-1"),
            (30, "restart g-2"),
            members=2,
            until_s=45,
            assignors=("range",),
        )
    )
    view = flight.simulation.view
    group = view.groups["g"]
    votes = {one.generation: one.vote for one in group.rebalances}
    elected = {event.generation for event in flight.all(e.ProtocolElected)}
    assert {number for number, vote in votes.items() if vote is not None} == elected
    assert elected
    for one in group.rebalances:
        told = [plain(row) for row in details_lines(view, group, str(one.started_us), 100)]
        assert ("vote for the assignor" in told) == (one.generation in elected)
    assert group.vote is None, "all offer the same again"


def test_a_group_of_both_kinds_is_mixed() -> None:
    steps = (15, "set g assignors cooperative-sticky"), (16, "set g assignors cooperative-sticky"), (17, "restart g-1")
    flight = flown(group_of(*steps, members=2, until_s=25, assignors=("cooperative-sticky", "range")))
    assert cooperation(flight.simulation.view, flight.simulation.view.groups["g"]) == "mixed"


def test_impact_foresees_every_member_that_cannot_come_back() -> None:
    """Before each restart of the lesson: refused are exactly the members whose application then fails."""
    spec = load("assignor-upgrade").spec
    flight = flown(spec)
    gives = c.Restart | c.Start | c.RollingRestart
    steps = sorted((step.at_us, step.command) for step in spec.steps if isinstance(step.command, gives))
    failed = [(event.at_us, event.member) for event in flight.all(e.ApplicationFailed)]
    told, view, at = flight.all(e.Event), ClusterView(), 0
    foreseen: list[str] = []
    for at_us, command in steps:
        while told[at].at_us < at_us:
            fold(view, told[at])
            at += 1
        refused = impact_of(view, command, at_us).incompatible
        scope = command.group if isinstance(command, c.RollingRestart) else command.target
        soon = [name for when, name in failed if at_us <= when < at_us + 5_000_000 and name.startswith(scope)]
        assert list(refused) == soon, (at_us, command)
        foreseen += refused
    assert foreseen == ["hasty-1", "hasty-2", "hasty-1"]


def test_a_rolling_restart_and_a_scaling_name_all_that_are_refused() -> None:
    made = group_of(
        (14, "stop g-3"), (15, "set g assignors sticky"), members=3, until_s=16, static=True, assignors=("range",)
    )
    view = flown(made).simulation.view
    rolling = impact_of(view, c.RollingRestart("g", 1_000_000, 0), 16_000_000)
    assert rolling.incompatible == ("g-1", "g-2"), "a static member's own former offer counts until it is back"
    assert impact_of(view, c.Scale("g", 3), 16_000_000).incompatible == ("g-3",)

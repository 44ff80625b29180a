"""What a reset of offsets would hit, as `impact` says it, is what the administrator's commit stores."""

import msgspec
import pytest

from cluster import events as e
from cluster.commands import parse
from cluster.config import Value
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.presenters.impact import impact_of, sentences
from console.presenters.impacts import cluster
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import SECOND_US, spec

AT_S = 14.0
RESETS = (
    "to offsets 3,999999 in orders-1,orders-0",
    "to earliest", "to latest", "to current", "to offset 3", "to offset 99999", "by -5 in orders-0", "by +4000",
    "to latest in orders-1",
)  # fmt: skip


def scenario(text: str) -> ScenarioSpec:
    """A group that stops; then orders-1 loses records that it has not read: its committed offset is below the log."""
    steps = (
        (10.0, "scale g to 0"),
        (13.0, "delete records orders-1 before 80"),
        (AT_S, text),
    )
    made = spec(*steps, until_s=AT_S + 1, commit="after-each-poll")
    (group,) = made.groups
    config: dict[str, Value] = {"auto.offset.reset": "earliest", **group.config}
    return msgspec.structs.replace(made, groups=(msgspec.structs.replace(group, config=config),))


def said_before(flight: Flown, text: str) -> list[str]:
    """The sentences of impact, of the view just before the command."""
    view = ClusterView()
    for event in flight.all(e.Event):
        if event.at_us >= AT_S * SECOND_US:
            break
        fold(view, event)
    return [words for _, words in sentences(impact_of(view, parse(text), int(AT_S * SECOND_US)))]


def wrong(text: str) -> list[str]:
    """The sentences that are not what the log of events has."""
    flight = flown(scenario(text))
    before: dict[str, int] = {}
    for commit in flight.all(e.OffsetsCommitted):
        if commit.member != "adminclient":
            before |= commit.offsets
    (reset,) = flight.all(e.OffsetsCommitted, member="adminclient")
    expected = set()
    for name, after in reset.offsets.items():
        moved = after - before[name]
        how = f"{abs(moved):,} offsets are {'skipped' if moved > 0 else 'read again'}"
        expected.add(f"{name} {before[name]:,} → {after:,}: {how}" if moved else f"{name} stays at {after:,}")
    return sorted(expected ^ set(said_before(flight, text)))


@pytest.mark.parametrize("to", RESETS)
def test_the_offsets_that_impact_names_are_committed(to: str) -> None:
    assert wrong(f"reset offsets of g {to}") == []


def test_an_offset_that_impact_moves_into_its_log_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool leaves the committed offset as it is, also where its records are deleted."""
    monkeypatch.setattr(
        cluster, "reset_offset", lambda _where, _amount, start, end, before: min(max(before, start), end)
    )
    assert wrong("reset offsets of g to current") == [
        "orders-1 68 → 80: 12 offsets are skipped",
        "orders-1 stays at 68",
    ]


@pytest.mark.parametrize("text", ["delete group g", "delete offsets of g in orders", "delete offsets of g in orders-1"])
def test_as_many_offsets_are_deleted_as_impact_says(text: str) -> None:
    flight = flown(scenario(text))
    (deleted,) = flight.all(e.OffsetsDeleted)
    (said,) = said_before(flight, text)
    assert said.startswith(f"{len(deleted.partitions)} committed offsets ")

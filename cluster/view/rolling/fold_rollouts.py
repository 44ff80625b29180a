"""The fold of pods' events: their start-up, their readiness, and the rollouts that replace them."""

from typing import Final

from cluster import events as e
from cluster.config.units import format_duration
from cluster.view.fold_cluster import note, note_of
from cluster.view.fold_table import FoldTable
from cluster.view.rolling.state import RollingRestartView, RolloutView
from cluster.view.state import ClusterView

FOLD = FoldTable()

NAMES_SHOWN: Final = 3
KINDS: Final = {"deployment": "Deployment", "statefulset": "StatefulSet", "brokers": "rolling restart"}
ENDS: Final = {
    "complete": "is complete",
    "ended": "is ended by a command",
    "superseded": "is superseded by another one",
}


@FOLD.handles(e.MemberStartingUp)
def member_starting_up(view: ClusterView, event: e.MemberStartingUp) -> None:
    view.members[event.member].starting_until_us = event.until_us


@FOLD.handles(e.MemberReady)
def member_ready(view: ClusterView, event: e.MemberReady) -> None:
    note_of(view, event, "member", event.member, " is ready")


@FOLD.handles(e.RollingRestartStarted)
def rolling_restart_started(view: ClusterView, event: e.RollingRestartStarted) -> None:
    going_on = [one for one in view.rolling_restarts if one.ends_us > event.at_us]
    begun = RollingRestartView(event.group, len(event.members), event.at_us, event.every_us, event.down_us)
    view.rolling_restarts = [*going_on, begun]
    pace = f"one every {format_duration(event.every_us)}, each down for {format_duration(event.down_us)}"
    noun = "member" if len(event.members) == 1 else "members"
    note_of(view, event, "member", event.group, f" rolling restart begins: {len(event.members)} {noun}, {pace}")


@FOLD.handles(e.RolloutStarted)
def rollout_started(view: ClusterView, event: e.RolloutStarted) -> None:
    view.rollouts[event.target] = RolloutView(event.target, event.workload, event.at_us, len(event.replaced))
    group = view.groups.get(event.target)
    if group is not None and event.workload == "deployment" and event.names:
        group.first_number = int(event.names[0].rpartition("-")[2])
    limits = f"max unavailable {event.max_unavailable}, max surge {event.max_surge}"
    words = f" rollout begins ({KINDS[event.workload]}): {len(event.replaced)} processes, {limits}"
    note_of(view, event, "member", event.target, words)


@FOLD.handles(e.RolloutAdvanced)
def rollout_advanced(view: ClusterView, event: e.RolloutAdvanced) -> None:
    rollout = view.rollouts.get(event.target)
    if rollout is not None:
        rollout.stopped |= dict.fromkeys(event.stops)
    both = tuple(name for name in event.stops if name in event.starts)
    parts = (
        ("restarts", both),
        ("stops", tuple(name for name in event.stops if name not in both)),
        ("starts", tuple(name for name in event.starts if name not in both)),
    )
    words = " and ".join(f"{verb} {_listed(names)}" for verb, names in parts if names)
    targets = tuple(dict.fromkeys((*event.stops, *event.starts)))
    note(view, event, "member", event.target, f"{event.target} rollout {words}", f" rollout {words}", targets)


@FOLD.handles(e.RolloutEnded)
def rollout_ended(view: ClusterView, event: e.RolloutEnded) -> None:
    view.rollouts.pop(event.target, None)
    note_of(view, event, "member", event.target, f" rollout {ENDS[event.how]} ({KINDS[event.workload]})")


@FOLD.handles(e.GroupAutoscaled)
def group_autoscaled(view: ClusterView, event: e.GroupAutoscaled) -> None:
    words = f" is autoscaled from {event.members} to {event.to}: its lag is {event.lag}"
    note_of(view, event, "member", event.group, words)


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")

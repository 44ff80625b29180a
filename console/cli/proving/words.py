"""The readable output of `flightdeck prove`, and the object that `prove --json` prints."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from recordings.flights.runner import Plan
    from recordings.proving.prover import Flown, Proof
    from recordings.proving.worst import Written

SECOND_US = 1_000_000
FEW = 500  # crash points


def output_of(plan: "Plan", proof: "Proof", written: "list[Written]", exceeded: list[str]) -> str:
    """What was flown, the bounds, the worst schedules, and the bounds that are exceeded."""
    return "\n".join([*_words(plan, proof), *_files(written), *(f"✖ {each}" for each in exceeded)])


def exceeded_bounds(proof: "Proof", max_lost: int | None, max_duplicated: int | None) -> list[str]:
    """A sentence for each bound of the command line that is exceeded."""
    bounds = (("lost", max_lost), ("duplicated", max_duplicated))
    return [
        f"{proof.most(what):,} {what}, more than --max-{what} {bound}"
        for what, bound in bounds
        if bound is not None and proof.most(what) > bound
    ]


def _words(plan: "Plan", proof: "Proof") -> list[str]:
    from recordings.proving.crash_points import VICTIMS_IN_WORDS

    question = proof.question
    steps = len(plan.spec.steps)
    victims = list(dict.fromkeys(each.point.victim for each in proof.flown))
    own = [f"given: the scenario's own {steps} step{'s' if steps > 1 else ''}"] if steps else []
    events = f"{proof.events:,} events at {proof.instants:,} instants"
    return [
        f"{plan.scenario}  seed {proof.seed}  group {question.group}",
        f"killed: {VICTIMS_IN_WORDS[question.kill]} ({', '.join(victims) or 'none was alive'})",
        *own,
        f"each flight: back after {_seconds(question.down_us)}, load ends 2 s later, groups read to the end",
        f"window: {_seconds(proof.from_us)} to {_seconds(proof.until_us)}, {events}",
        *(
            [f"after {proof.without_victim:,} of these events no process to kill was alive"]
            * bool(proof.without_victim)
        ),
        f"without a crash: {_count(proof.uncrashed.counts.get(question.group))}",
        "",
        _verdict(proof),
        *_few_in_words(proof),
        *_worst_in_words(proof),
        *(
            f"  {group}: {_bounds(proof, group)}"
            for group in proof.groups
            if proof.complete and group != question.group
        ),
    ]


def _bounds(proof: "Proof", group: str) -> str:
    return f"at most {proof.most('lost', group):,} lost, at most {proof.most('duplicated', group):,} duplicated"


def _verdict(proof: "Proof") -> str:
    lost, duplicated, flown = proof.most("lost"), proof.most("duplicated"), len(proof.flown)
    if proof.complete:
        bounds = _bounds(proof, proof.question.group)
        return f"{bounds}: proved for this scenario and seed, over {flown:,} crash points"
    if proof.interrupted:
        reason = f"interrupted after {flown:,} crash points"
    elif proof.failures:
        first = proof.failures[0]
        reason = f"{len(proof.failures):,} flights failed; {_place(first)}: {first.outcome.failure}"
    elif proof.stuck:
        reason = f"{len(proof.stuck):,} flights left records unread after 5 min; the first: {_place(proof.stuck[0])}"
    else:
        reason = "no process to kill was alive in the window"
    return f"not proved: {reason} (so far {lost:,} lost, {duplicated:,} duplicated)"


def _few_in_words(proof: "Proof") -> list[str]:
    if not proof.complete or len(proof.flown) >= FEW:
        return []
    more = "a longer window (--from, --until), more load or shorter polls bring more"
    return [f"  fewer than {FEW} crash points: {more}"]


def _worst_in_words(proof: "Proof") -> list[str]:
    found = ((what, proof.worst(what)) for what in ("lost", "duplicated"))
    return [f"  {what}: {_place(worst)}" for what, worst in found if worst is not None]


def _place(flown: "Flown") -> str:
    point = flown.point
    when = "before" if point.seq is None else f"after event {point.seq:,},"
    return f"{point.victim} killed at {_seconds(point.at_us)}, right {when} {point.kind}"


def _count(count: Any) -> str:  # noqa: ANN401 - a Count, or None
    return "not flown" if count is None else f"{count.lost:,} lost, {count.duplicated:,} duplicated"


def _seconds(us: int) -> str:
    return f"{us / SECOND_US:.6f}".rstrip("0").rstrip(".") + " s"


def _files(written: "list[Written]") -> list[str]:
    return [
        line
        for each in written
        for line in (
            f"  most {each.what}: {each.scenario} (`flightdeck run {each.scenario}` flies it again)",
            f"    recorded in {each.recording}",
        )
    ]


def report_of(plan: "Plan", proof: "Proof", written: "list[Written]", exceeded: list[str]) -> dict[str, Any]:
    """The object that `prove --json` prints."""
    question = proof.question
    worst = {what: proof.worst(what) for what in ("lost", "duplicated")}
    return {
        "scenario": plan.scenario,
        "seed": proof.seed,
        "group": question.group,
        "kill": question.kill,
        "victims": list(dict.fromkeys(each.point.victim for each in proof.flown)),
        "from_s": proof.from_us / SECOND_US,
        "until_s": proof.until_us / SECOND_US,
        "down_s": question.down_us / SECOND_US,
        "events": proof.events,
        "instants": proof.instants,
        "events_without_victim": proof.without_victim,
        "crash_points": len(proof.flown),
        "proved": proof.complete,
        "interrupted": proof.interrupted,
        "failed": len(proof.failures),
        "stuck": len(proof.stuck),
        "lost": proof.most("lost"),
        "duplicated": proof.most("duplicated"),
        "by_group": {
            group: {"lost": proof.most("lost", group), "duplicated": proof.most("duplicated", group)}
            for group in proof.groups
        },
        "uncrashed": msgspec.to_builtins(proof.uncrashed.counts),
        "worst": {what: None if each is None else _worst(each) for what, each in worst.items()},
        "written": msgspec.to_builtins(written),
        "exceeded": exceeded,
        "verdict": _verdict(proof),
    }


def _worst(flown: "Flown") -> dict[str, Any]:
    point, outcome = flown.point, flown.outcome
    return {
        "victim": point.victim,
        "at_s": point.at_us / SECOND_US,
        "after_event": point.seq,
        "kind": point.kind,
        "counts": msgspec.to_builtins(outcome.counts),
    }

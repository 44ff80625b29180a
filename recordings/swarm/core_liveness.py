"""Claims on a healed core while the rest is broken: partitions are led and in sync, groups and producers progress.

A group or producer is judged if every partition that it needs has enough replicas in the core (`min.insync.replicas`,
or one): its own topics' partitions, those that it writes, its coordinator's. It must also learn early enough which
brokers are broken. `left_out` lists what is not judged, each with the reason, by placement or configuration.

Placement does not tell which replicas were in sync when the rest broke. A partition whose last in-sync replica is
broken has no leader, and must not have one (a clean election). Each claim excepts this case, by the ISR at the end, for
the partitions that it names.
"""

from collections.abc import Iterable, Iterator

import msgspec

from cluster.commands import Crash
from cluster.config import resolve
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec
from recordings.swarm.consumer_protocol import topics_read
from recordings.swarm.convergence import (
    commits_all,
    is_restless,
    is_steady,
    may_be_cut,
    repeats_commits,
    settles,
)
from recordings.swarm.core import FRESH_RATE, Core, is_fresh
from recordings.swarm.parts import commands_of, is_transactional
from recordings.swarm.placement import TRANSACTIONS, Placement

PATIENCE_MS = 5_000  # a rejoin takes several requests, and the flight ends 38 s after the healing
# Of the records of five seconds: a producer whose first metadata came late has sent this many.
FRESH_ACKED = int(FRESH_RATE * 2)


class Claim(msgspec.Struct, frozen=True):
    """A claim on one group, producer or partition. `needs`: the partitions without which it does not apply."""

    kind: str
    name: str
    needs: tuple[str, ...]
    said: tuple[str, ...]


class CoreJudgement(msgspec.Struct, frozen=True):
    """The claims on a core, and what is left out, each with the reason."""

    claims: tuple[Claim, ...]
    left_out: tuple[str, ...]
    outside: tuple[int, ...]

    def expressions(self) -> list[str]:
        """Each claim as an expression that holds at the end of the flight."""
        return [f"{self.lost(claim)} || ({said})" for claim in self.claims for said in claim.said]

    def lost(self, claim: Claim) -> str:
        """Whether the last in-sync replica of one of these partitions is broken."""
        return f"{_texts(claim.needs)}.exists(p, p in partitions && partitions[p].isr.all(b, b in {[*self.outside]}))"


def judged(spec: ScenarioSpec, core: Core) -> CoreJudgement:
    """The claims on the core of this scenario; `spec` has the steps of the faults, and the fresh producers."""
    placement = Placement(spec, core.brokers)
    claims = list(_partitions(placement))
    left_out: list[str] = []
    for group in spec.groups:
        needs = [*_needed_by(spec, placement, group)]
        reason = _impatient(group) or placement.lacks(needs)
        if not settles(spec, group):
            reason = "its members may be refused, or crash again and again"
        if reason:
            left_out.append(f"{group.name}: {reason}")
        else:
            claims.append(Claim("group", group.name, tuple(needs), tuple(_of_group(spec, core, group))))
    for producer in spec.producers:
        for number, name in enumerate(producer.instances(), 1):
            reason, needs = "", [*_written_by(placement, producer, number)]
            if name not in core.producers and not is_fresh(producer):
                reason = "it is not in the core"
            reason = reason or placement.lacks(needs)
            if reason:
                left_out.append(f"{name}: {reason}")
            else:
                claims.append(Claim("producer", name, tuple(needs), tuple(_of_producer(producer, name))))
    outside = tuple(broker.id for broker in spec.brokers if broker.id not in core.brokers)
    return CoreJudgement(tuple(claims), tuple(left_out), outside)


def _impatient(group: GroupSpec) -> str:
    """Why it may still wait for a broken broker when the flight ends; "" if it found another one long before.

    A client that sent a request to a paused or cut-off broker notices by its own timeout alone. An application's
    producer has a timeout of its own, whatever its group's consumers have.
    """
    application, member = group.application, group.instances()[0]
    writes = application.has_producer
    config = resolve("producer", application.producer) if writes else group.consumer_config(member)
    waits_ms = int(str(config["request.timeout.ms"]))
    return f"its requests wait {waits_ms} ms (request.timeout.ms) for a broken broker" if waits_ms > PATIENCE_MS else ""


def _partitions(placement: Placement) -> Iterator[Claim]:
    """The core leads and follows there, also where too few replicas are in sync to commit anything."""
    for name, inside in placement.inside.items():
        if inside:
            said = f"!({_quoted(name)} in partitions) || (partitions[{_quoted(name)}].leader in {[*inside]}"
            yield Claim("partition", name, (name,), (f"{said} && partitions[{_quoted(name)}].isr == {[*inside]})",))


def _needed_by(spec: ScenarioSpec, placement: Placement, group: GroupSpec) -> Iterator[str]:
    """The partitions that a group needs: of its topics, its output, its coordinator and that of its transactions."""
    topics = dict.fromkeys(topics_read(spec, group))
    for name in group.instances():
        topics |= dict.fromkeys(group.topics_of(name))
    topics |= dict.fromkeys(group.application.topics_written)
    for topic in topics:
        yield from placement.of_topic[topic]
    yield placement.coordinators(group=group.name)
    if is_transactional(spec, group) or group.application.commit == "transaction":
        yield from placement.of_topic[TRANSACTIONS]


def _of_group(spec: ScenarioSpec, core: Core, group: GroupSpec) -> Iterator[str]:
    where, inside = f'groups["{group.name}"]', core.members_of(group)
    yield f'{where}.state == "Stable" && {where}.members == {len(inside)}'
    hangs = is_transactional(spec, group) and bool(commands_of(spec, Crash) or may_be_cut(spec, group))
    reads = not (hangs or is_restless(spec, group) or _is_written_late(spec, group))
    for name in inside:
        yield is_steady(spec, group, name)
        if reads:
            yield f'members["{name}"].lag == 0'
    committed = commits_all(spec, group) and repeats_commits(spec, group, undisturbed=False)  # the rest breaks
    if reads and committed and not is_transactional(spec, group):
        yield f"{where}.lag == 0"


def _is_written_late(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether an application that still waits for a broken broker may write to its topics as the flight ends."""
    return any(
        set(writer.application.topics_written) & {*topics_read(spec, group)} and _impatient(writer)
        for writer in spec.groups
    )


def _written_by(placement: Placement, producer: ProducerSpec, number: int) -> Iterator[str]:
    for topic in producer.topics:
        yield from placement.of_topic[topic]
    if producer.transactions is not None:
        yield placement.coordinators(transactional_id=producer.transactions.id_of(number))


def _of_producer(producer: ProducerSpec, name: str) -> Iterator[str]:
    """The producer has nothing left to send; one that began after the healing has acknowledged records."""
    yield f'producers["{name}"].buffered_bytes == 0'
    if is_fresh(producer):
        yield f'producers["{name}"].acked >= {FRESH_ACKED}'


def _quoted(name: str) -> str:
    return f'"{name}"'


def _texts(names: Iterable[str]) -> str:
    return f"[{', '.join(_quoted(name) for name in names)}]"

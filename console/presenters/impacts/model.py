"""The state from which a command's impact is predicted, by Kafka's rules of elections and sessions."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from cluster.protocol.names import coordinator_partition
from cluster.spec import ScenarioSpec
from cluster.view.state import NEVER, ClusterView, MemberView, PartitionView, ProducerView

MS = 1_000
NO_BROKER = -1
TRANSACTION_TOPIC = "__transaction_state"
OPEN = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


class MemberRemoval(msgspec.Struct, frozen=True):
    """A member that the coordinator removes: after µs, the reason as the coordinator names it, its partitions."""

    after_us: int
    reason: str
    holds: tuple[str, ...]


class Impact(msgspec.Struct, kw_only=True):
    """What a command would change; `refused`: why the command would do nothing.

    `led`: partitions that the affected broker leads. `leaders`: partitions that change their leader, and the next one
    (-1: none); `after_us`: when the controller notices. `unwritable`: partitions with enough in-sync replicas for
    acks=all that would have fewer than min.insync.replicas. `groups` and `transactions` lose their coordinator;
    `open_transactions` stay open. `controller`: the next controller (-1: none), None without a change. `members` leave
    their groups, `rebalances` are the groups that rebalance, `emptied` the groups that keep no member. `incompatible`:
    members that start and cannot join, since all others offer none of their assignors. `notes`: further sentences.
    """

    command: str
    refused: str = ""
    led: tuple[str, ...] = ()
    leaders: dict[str, int] = {}
    after_us: int = 0
    unwritable: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactions: tuple[str, ...] = ()
    open_transactions: tuple[str, ...] = ()
    controller: int | None = None
    members: dict[str, MemberRemoval] = {}
    rebalances: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    incompatible: tuple[str, ...] = ()
    notes: list[str] = []

    @property
    def offline(self) -> tuple[str, ...]:
        """Partitions that would have no leader."""
        return tuple(name for name, leader in self.leaders.items() if leader == NO_BROKER)


class ImpactModel:
    """The view, the instant and the impact found so far; its methods apply Kafka's rules and add to the impact.

    `spec`: what the scenario declares; None where it is not known.
    """

    def __init__(
        self, view: ClusterView, now_us: int, session_us: int, impact: Impact, spec: ScenarioSpec | None = None
    ) -> None:
        self.view, self.now_us, self.session_us, self.impact, self.spec = view, now_us, session_us, impact, spec

    def lasts(self, for_us: int | None, at_least_us: int) -> bool:
        """Whether a fault with this `for` (None: without end) lasts at least so long."""
        return for_us is None or for_us >= at_least_us

    # --- brokers ------------------------------------------------------------------------------------------------------

    def can_lead(self, broker: int) -> bool:
        """Whether a broker can lead, by the events: it serves and is not fenced, frozen, stopping or isolated."""
        known = self.view.brokers[broker]
        out = known.paused or known.fenced or known.stopping or broker in self.isolated_brokers()
        return known.up and not out

    def isolated_brokers(self) -> list[int]:
        """Brokers with an `isolate` in force."""
        return self.targets_of("isolate")

    def targets_of(self, kind: str) -> list[int]:
        """The brokers that active faults of a kind name."""
        return [number_of(name) for fault in self.view.faults.values() if fault.kind == kind for name in fault.targets]

    def any_unresponsive(self, besides: int) -> bool:
        """Whether another broker is frozen, isolated or crashed: it answers nothing, and no connection to it breaks."""
        silent = (*self.targets_of("crash"), *self.isolated_brokers())
        brokers = self.view.brokers.values()
        return any(one.paused or one.broker in silent for one in brokers if one.broker != besides)

    def running_brokers(self, besides: int) -> list[int]:
        """Brokers that serve and are not frozen, without one of them."""
        return [one.broker for one in self.view.brokers.values() if one.up and not one.paused and one.broker != besides]

    def controller_lost(self, broker: int, *, at_once: bool) -> None:
        """Choose the next controller when this one ends or freezes (`at_once`), or loses the majority."""
        if self.view.controller != broker:
            return
        others = self.running_brokers(broker)
        first = min(others, default=NO_BROKER) if at_once else broker
        if at_once and first not in self.isolated_brokers():
            self.impact.controller = first
        else:  # a controller without the majority is replaced, too
            connected = [one for one in others if one not in self.isolated_brokers()]
            self.impact.controller = min(connected or others, key=lambda one: (one < first, one), default=None)

    def others_have_majority(self, broker: int) -> bool:
        """Whether the connected brokers besides this one are a majority of the running brokers."""
        connected = [one for one in self.running_brokers(broker) if one not in self.isolated_brokers()]
        return 2 * len(connected) > len(self.running_brokers(NO_BROKER))

    def isolated_controller(self, broker: int) -> None:
        """An isolated controller that no majority replaces fences all other brokers."""
        impact = self.impact
        impact.after_us = self.session_us
        self.note(f"no majority is left to replace the controller: broker-{broker} fences the others")
        for name, partition in self.view.partitions.items():
            leader = broker if broker in partition.isr else NO_BROKER
            if leader != partition.leader:
                impact.leaders[name] = leader
            least = self.view.topics[partition.topic].min_insync_replicas
            if leader != NO_BROKER and len(partition.isr) >= least > 1:
                impact.unwritable += (name,)
        self.coordinators_lost(impact.leaders)
        self.silent_failure()

    def broker_fenced(self, broker: int, after_us: int) -> None:
        """The controller fences a broker: its leaderships move to in-sync replicas, and it leaves every ISR."""
        impact = self.impact
        impact.after_us = after_us
        able = {one for one in self.view.brokers if one != broker and self.can_lead(one)}
        least = {one.topic: one.min_insync_replicas for one in self.view.topics.values()}
        led: list[str] = []
        unwritable: list[str] = []
        for name, partition in self.view.partitions.items():  # without calls: a frame may ask for thousands
            isr = partition.isr
            if partition.leader == broker:
                led.append(name)
                leader = next((one for one in partition.replicas if one in able and one in isr), NO_BROKER)
                impact.leaders[name] = leader
                if leader == NO_BROKER:
                    continue
            elif partition.leader == NO_BROKER or broker not in isr:
                continue
            if len(isr) - (broker in isr) < least[partition.topic] <= len(isr):
                unwritable.append(name)  # too few in-sync replicas remain for acks=all
        impact.led, impact.unwritable = (*impact.led, *led), (*impact.unwritable, *unwritable)
        self.coordinators_lost(impact.led)
        if self.any_unresponsive(broker):  # a member may ask one of these brokers for its new coordinator
            self.silent_failure()

    def silent_failure(self) -> None:
        """No connection to the broker breaks, so that clients notice by timeouts."""
        words = "no connection breaks: members notice by timeouts, and may lose their sessions"
        if self.impact.groups and words not in self.impact.notes:
            self.note(words)

    def coordinators_lost(self, names: Iterable[str]) -> None:
        """Note groups and transactional ids whose coordinator leads one of these partitions."""
        led = dict.fromkeys(names)
        groups = self.view.groups.values()
        self.impact.groups = tuple(group.group for group in groups if group.coordinator_partition in led)
        topic = self.view.topics.get(TRANSACTION_TOPIC)
        if topic is not None:
            ids = self.view.transactions
            self.impact.transactions = tuple(
                one for one in ids if f"{TRANSACTION_TOPIC}-{coordinator_partition(one, topic.partitions)}" in led
            )

    def partition(self, topic: str, number: int) -> PartitionView | None:
        """The partition that a command names; refuse the command when the partition does not exist yet."""
        known = self.view.partitions.get(f"{topic}-{number}")
        if known is None:
            self.refuse(f"{topic}-{number} does not exist yet")
        return known

    # --- members and producers ----------------------------------------------------------------------------------------

    def member_removed(self, member: MemberView, after_us: int, reason: str) -> None:
        """The coordinator removes a member; its group rebalances, or keeps no member."""
        group = self.view.groups[member.group]
        if member.member_id in group.members:
            self.impact.members[member.member] = MemberRemoval(after_us, reason, tuple(member.owned))
            if all(name in self.impact.members for name in group.members.values()):
                self.impact.rebalances = tuple(name for name in self.impact.rebalances if name != member.group)
                self.impact.emptied += (member.group,)
            else:
                self.group_rebalances(member.group)

    def offers_of(self, group: str, gone: str = "") -> dict[str, tuple[str, ...]]:
        """What the members at the coordinator offer, as their processes started; without the member that is gone."""
        if self.view.groups[group].consumer is not None:
            return {}  # the broker assigns: members offer nothing that must agree
        known = self.view.groups[group].members.values()
        return {name: self.view.members[name].assignors for name in known if name != gone and name in self.view.members}

    def refused_in_turn(self, members: list[MemberView]) -> tuple[str, ...]:
        """Which of these members of one group cannot come back when each is restarted after the other."""
        offers = self.offers_of(members[0].group)
        refused: tuple[str, ...] = ()
        for member in members:
            if not member.instance_id:  # a static member sends no LeaveGroup: its former offer counts until it is back
                offers.pop(member.member, None)
            if accepts(offers, member.next_assignors):
                offers[member.member] = member.next_assignors
            else:
                refused += (member.member,)
        return refused

    def group_rebalances(self, group: str) -> None:
        """A group rebalances, if it has members."""
        if group not in self.impact.rebalances and self.view.groups[group].members:
            self.impact.rebalances += (group,)

    def session_left_us(self, member: MemberView) -> int:
        """The rest of a member's session without another heartbeat, in µs."""
        whole = member.session_timeout_ms * MS
        group = self.view.groups[member.group]
        deadline_us = group.session_deadlines_us.get(member.member_id, NEVER)
        return min(whole, max(0, deadline_us - self.now_us)) if deadline_us != NEVER else whole

    def open_transactions_of(self, producer: ProducerView | None) -> None:
        """Note the transactions that a producer leaves open."""
        if producer is None or producer.producer_id == NEVER:
            return
        for name, one in self.view.transactions.items():
            if one.producer_id == producer.producer_id and one.state in OPEN:
                self.impact.open_transactions += (name,)

    def note(self, words: str) -> None:
        """Add a sentence that no field of the impact holds."""
        self.impact.notes.append(words)

    def refuse(self, reason: str) -> bool:
        """The command would do nothing, for this reason; always True."""
        self.impact.refused = reason
        return True

    def is_up(self, name: str) -> bool:
        """Whether a process runs."""
        broker = self.view.brokers.get(number_of(name)) if number_of(name) else None
        member, producer = self.view.members.get(name), self.view.producers.get(name)
        if broker is not None:
            return broker.alive
        if member is not None:
            return member.alive
        return producer is not None and producer.state not in {"Stopped", "Dead"}

    def refused_as_down(self, name: str) -> bool:
        """Refuse a command to a process that does not run."""
        return not self.is_up(name) and self.refuse(f"{name} is not running: start it first")

    def refused_as_paused(self, name: str) -> bool:
        """Refuse a command that freezes a frozen process."""
        broker = self.view.brokers.get(number_of(name)) if number_of(name) else None
        member, producer = self.view.members.get(name), self.view.producers.get(name)
        paused = broker is not None and broker.paused
        paused = paused or (member is not None and member.paused)
        paused = paused or (producer is not None and producer.state == "Paused")
        return paused and self.refuse(f"{name} is paused already")


def accepts(offers: dict[str, tuple[str, ...]], assignors: tuple[str, ...]) -> bool:
    """Whether a group of members with these offers lets a member with these assignors join.

    Source: Kafka's `ClassicGroup.supportsProtocols`: every member must support one of them.
    """
    return not offers or any(all(name in offer for offer in offers.values()) for name in assignors)


CommandT = TypeVar("CommandT")
Predictors = dict[type, Callable[[ImpactModel, Any], None]]


def predictor(
    command: type[CommandT], predict: Callable[[ImpactModel, CommandT], None]
) -> tuple[type, Callable[[ImpactModel, Any], None]]:
    """One row of a table of predictors; the type checker holds that the predictor takes this command."""
    return command, predict


def number_of(name: str) -> int:
    """A broker's id by its name; 0 for any other name."""
    number = name.removeprefix("broker-")
    return int(number) if name.startswith("broker-") and number.isdigit() else 0

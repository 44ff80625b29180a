"""A scenario with the members, joins, departures and faults that logs say: a twin of the incident, to be flown.

What no line says is guessed, and each guess is a sentence of `Twin.inferred`; what the twin cannot do again is one of
`Twin.left_out`. Members are called by Flightdeck's names, in the order in which lines name them.
"""

import json
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from cluster import events as e
from cluster.events import Event
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.logged.state import UNKNOWN
from recordings.log_reading.twin_cluster import TwinBrokers, TwinReplicas, TwinTopics
from recordings.log_reading.twin_groups import KAFKA_HEARTBEAT_US, TwinGroup, milliseconds

SECOND_US: Final = 1_000_000
LEAD_US: Final = 20_000_000
"""How long the twin's cluster runs before the first line's instant."""
TAIL_US: Final = 30_000_000
BROKER_SESSION_US, KAFKA_DELAY_US = 9_000_000, 3_000_000
MOST_MEMBERS, MOST_COMMANDS = 500, 5_000


class Twin(msgspec.Struct, frozen=True):
    """A scenario: its text, what was guessed for it, what it does not have, its groups by their names in the logs."""

    text: str
    inferred: list[str]
    left_out: list[str]
    groups: dict[str, str]


class TwinMaker:
    """Takes the events of a reading, in their order, and makes the twin."""

    def __init__(self) -> None:
        self._groups: dict[str, TwinGroup] = {}
        self._brokers, self._replicas = TwinBrokers(), TwinReplicas()
        self._commands: list[tuple[int, str]] = []
        self._left_out: dict[str, int] = {}
        self._last_us = 0
        self._opened: dict[str, e.RebalanceStarted] = {}

    def take(self, event: Event) -> None:
        """Take one event."""
        self._last_us = event.at_us
        self._brokers.take(event)
        name: str = getattr(event, "group", "")
        if name and name not in self._groups:
            self._groups[name] = TwinGroup(name)
        if name:
            self._take_of(self._groups[name], event)
            return
        match event:
            case e.BrokerFenced(reason="session expired"):
                self._commands.append((event.at_us - BROKER_SESSION_US, f"kill broker-{event.broker}"))
            case e.BrokerFenced():
                self._commands.append((event.at_us, f"stop broker-{event.broker}"))
            case e.BrokerUnfenced():
                self._commands.append((event.at_us, f"start broker-{event.broker}"))
            case e.LeaderElected():
                self._replicas.take(event)
            case _:
                pass

    def _take_of(self, group: TwinGroup, event: Event) -> None:
        match event:
            case e.MemberIdAssigned():
                group.has_id(event.member, event.member_id, event.at_us)
            case e.JoinReceived():
                group.joins(event.member, event.member_id, event.at_us)
            case e.ConsumerMemberSubscribed():
                group.protocol, group.static = "consumer", group.static or bool(event.instance_id)
                group.joins(event.member, event.member_id, event.at_us)
            case e.JoinBarrierCompleted():
                named = [one for one in event.members.values() if one != UNKNOWN]
                named += group.adopt(len(event.members) - len(named))
                group.there(named or [f"{UNKNOWN} {place}" for place, _ in enumerate(event.members)], event.at_us)
            case e.MemberRemoved():
                group.removed(event.member, event.member_id, event.reason, event.at_us)
            case e.StaticMemberReplaced():
                group.back(event.member, event.at_us)
            case e.StaticMemberLeft():
                group.left_for_a_time(event.member, event.at_us)
            case e.PartitionsAssigned():
                group.partitions.update(event.partitions)
            case e.AssignmentMade():
                group.partitions.update(one for held in event.assignments.values() for one in held)
            case _:
                self._take_round(group, event)

    def _take_round(self, group: TwinGroup, event: Event) -> None:
        """Take an event of a group's rebalances, or of its coordinator."""
        match event:
            case e.RebalanceStarted():
                self._opened.setdefault(event.group, event)
                group.cooperative = group.cooperative or event.cause == RebalanceCause.PARTITIONS_REVOKED
                if event.cause in {RebalanceCause.METADATA_CHANGED, RebalanceCause.SUBSCRIPTION_CHANGED}:
                    self._leave_out(f"{event.cause} in {event.group}")
            case e.GroupStabilized():
                opened = self._opened.pop(event.group, None)
                for known in group.members.values():
                    known.seen_us = event.at_us if known.runs else known.seen_us
                if opened is not None and opened.initial:
                    group.initial.append((opened.at_us, event.at_us))
                elif opened is not None:
                    group.took_us.append(event.at_us - opened.at_us)
            case e.GroupLoaded() | e.ConsumerGroupLoaded():
                self._leave_out(f"{event.group} moved to broker-{event.broker}, if no broker died in these logs")
            case _:
                pass

    def _leave_out(self, words: str) -> None:
        self._left_out[words] = self._left_out.get(words, 0) + 1

    def made(self, title: str) -> Twin:
        """The twin of everything so far."""
        inferred = [
            "load: no line says how many records are written; add [[producer]] tables for lag",
            "heartbeat.interval.ms: Kafka's default, at most a third of the session, where no other is guessed below",
        ]
        known = {name: group for name, group in self._groups.items() if group.members}
        names = {name: _named(name, place) for place, name in enumerate(known, 1)}
        tables, topics = [], TwinTopics(frozenset(names.values()), self._replicas)
        commands = list(self._commands)
        for name, group in known.items():
            tables.append(_table(group, names[name], topics.of(group, names[name], inferred), inferred))
            commands += [
                (at_us, text.format(group=names[name])) for at_us, text in group.timed(self._last_us + TAIL_US)
            ]
        tables = [self._head(title, known.values(), inferred), *topics.tables(self._leave_out), *tables]
        if len(commands) > MOST_COMMANDS:
            self._leave_out(f"what happened after {MOST_COMMANDS:,} commands ({len(commands):,} in all)")
            commands = sorted(commands)[:MOST_COMMANDS]
        for at_us, text in sorted(commands, key=lambda command: command[0]):
            tables.append(f"[[at]]\ntime = {_quoted(milliseconds(max(0, at_us + LEAD_US)))}\ndo = {_quoted(text)}\n")
        left = [f"{words} ({count} times)" if count > 1 else words for words, count in self._left_out.items()]
        comments = [f"# guessed: {words}" for words in inferred] + [f"# not in the twin: {words}" for words in left]
        text = "\n".join(["\n".join(comments) + "\n", *tables])
        return Twin(text, inferred, left, names)

    def _head(self, title: str, groups: Iterable[TwinGroup], inferred: list[str]) -> str:
        delays = [stable - began for group in groups for began, stable in group.initial]
        config: dict[str, int] = {}
        if delays and min(delays) < KAFKA_DELAY_US * 0.9:
            config["group.initial.rebalance.delay.ms"] = min(delays) // 1000
            inferred.append(f"group.initial.rebalance.delay.ms: {min(delays) // 1000}, as the shortest first join took")
        sessions = [
            group.session_us // 1000 for group in groups if group.protocol == "consumer" and group.session_known
        ]
        if sessions:
            config["group.consumer.min.session.timeout.ms"] = min(sessions)
            config["group.consumer.session.timeout.ms"] = min(sessions)
            inferred.append(f"group.consumer.session.timeout.ms: {min(sessions)}, the longest that fits the lines")
        internal = self._replicas.internal(config, self._leave_out)
        pairs = ", ".join(f"{_quoted(key)} = {value}" for key, value in config.items())
        brokers = self._brokers.written(inferred)
        until = milliseconds(self._last_us + LEAD_US + TAIL_US)
        return (
            f"title = {_quoted(f'Read from {title}')}\n"
            f'lesson = "A twin of what the logs say; its first lines say what was guessed."\n'
            f"until = {_quoted(until)}\n\n[cluster]\nbrokers = {brokers}\n"
            + (f"config = {{ {pairs} }}\n" if pairs else "")
            + (f"replica_assignment = {internal}\n" if internal else "")
        )


def _table(group: TwinGroup, name: str, topics: list[str], inferred: list[str]) -> str:
    """The table of a group."""
    config: dict[str, object] = {}
    if group.protocol == "consumer":
        config["group.protocol"] = "consumer"
    elif group.session_known:
        config["session.timeout.ms"] = group.session_us // 1000
        config["heartbeat.interval.ms"] = min(KAFKA_HEARTBEAT_US, group.session_us // 3) // 1000
        inferred.append(f"{name}: session.timeout.ms {group.session_us // 1000}, the longest that fits the lines")
    if group.protocol != "consumer" and group.heartbeat_us is not None:
        config["heartbeat.interval.ms"] = group.heartbeat_us // 1000
        inferred.append(f"{name}: heartbeat.interval.ms {group.heartbeat_us // 1000}, as its longest rebalance says")
    if group.adopted:
        inferred.append(f"{name}: {group.adopted} members join when they have their ids: their joins are in no line")
    if group.successors:
        inferred.append(f"{name}: {group.successors} members with new names take the places of members that are gone")
    if group.too_slow:
        config["max.poll.interval.ms"] = group.poll_us // 1000
        inferred.append(f"{name}: max.poll.interval.ms {group.poll_us // 1000}, the longest that fits the lines")
    if group.cooperative:
        config["partition.assignment.strategy"] = "cooperative-sticky"
        inferred.append(f"{name}: the assignor cooperative-sticky, because members join again to revoke partitions")
    pairs = ", ".join(f"{_quoted(key)} = {json.dumps(value)}" for key, value in config.items())
    rows = ["[[group]]", f"name = {_quoted(name)}", f"topics = [{', '.join(map(_quoted, topics))}]"]
    rows += [f"members = {group.first}"] + (["static = true"] if group.static else [])
    return "\n".join([*rows, f"config = {{ {pairs} }}\n" if pairs else ""])


def _named(name: str, place: int) -> str:
    """A group's name in the twin: its own, where a scenario may have it."""
    return name if re.fullmatch(r"[A-Za-z][\w.-]{0,80}", name) else f"group-{place}"


def _quoted(text: str) -> str:
    return json.dumps(text)

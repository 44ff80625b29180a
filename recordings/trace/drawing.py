"""What a flight looks like on tracks: one pass of the fold, which updates tracks after each event.

A track of states has one slice at a time: its state as the view has it. A new slice begins when the state is another
one, so the trace has no rules of its own about which event changes what.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from cluster import events as e
from cluster.view import ClusterView, fold
from cluster.view.document import group_lag
from cluster.view.rebalances import OpenRebalance
from cluster.view.state import MemberView
from recordings.trace.trace_file import Span, TraceFile, Track

CLUSTER: Final = "cluster"
COORDINATOR: Final = "coordinator"
TRANSACTIONS: Final = "transactions"
OPEN: Final = {"open_at_the_end": True}

QUIET: Final = frozenset({
    *(e.RecordsAppended, e.HighWatermarkAdvanced, e.PollReturned, e.PollStarted, e.RecordsProcessed, e.BatchOpened),
    *(e.HeartbeatAnswered, e.SessionRenewed, e.OffsetsCommitted, e.KeyOrderBroken, e.PositionsReset),
})  # fmt: skip
"""Events that change no state which a track shows: most of a flight's."""

MOMENTS: Final[dict[type[e.Event], Callable[[Any], tuple[str, str, str]]]] = {
    e.BrokerStopped: lambda event: (f"broker-{event.broker}", "state", f"broker stopped: {event.how}"),
    e.BrokerFenced: lambda event: (f"broker-{event.broker}", "state", "broker fenced"),
    e.LeaderElected: lambda event: (CLUSTER, "elections", f"{event.partition}: {_leader(event.leader)}"),
    e.MemberStopped: lambda event: (f"group {event.group}", event.member, f"member stopped: {event.how}"),
    e.ConsumerFenced: lambda event: (f"group {event.group}", event.member, "member fenced"),
    e.MemberRemoved: lambda event: (f"group {event.group}", COORDINATOR, f"{event.member} removed: {event.reason}"),
    e.TransactionFenced: lambda event: (TRANSACTIONS, event.transactional_id, f"transaction fenced: {event.reason}"),
    e.ProducerEpochRefused: lambda event: (TRANSACTIONS, event.transactional_id, "epoch refused"),
    e.CommandRefused: lambda event: (CLUSTER, "commands", f"refused: {event.text}"),
}
"""What is a moment: the process and the track that it belongs to, and its name."""


def _leader(broker: int) -> str:
    return f"broker-{broker} leads" if broker >= 0 else "no leader"


class _State(NamedTuple):
    """The open slice of a track of states; `key` is what makes another state of it."""

    key: object
    name: str
    since_us: int
    args: dict[str, Any]


class _Rebalance(NamedTuple):
    open: OpenRebalance
    span: Span


class Drawing:
    """The tracks of one flight, on the way into a file; `view` is the cluster after the events so far."""

    def __init__(self, file: TraceFile) -> None:
        self.view = ClusterView()
        self._file = file
        file.process(CLUSTER)  # the first of a viewer's list
        self._states: dict[Track, _State] = {}
        self._rebalances: dict[str, _Rebalance] = {}
        self._transactions: dict[str, Span] = {}
        self._requests: dict[str, dict[int, Span]] = {}
        self._faults: dict[int, Span] = {}
        self._lags: dict[str, int] = {}
        self._next_sample_us = 0
        self._handlers: dict[type[e.Event], Callable[[Any], None]] = {
            e.ProduceSent: self._request_sent,
            e.BatchAcknowledged: lambda event: self._answered(event, "acknowledged"),
            e.BatchRetried: lambda event: self._answered(event, event.error),
            e.BatchSplit: lambda event: self._answered(event, event.error),
            e.BatchFailed: lambda event: self._answered(event, event.error),
            e.ProducerStateChanged: self._producer_state,
            e.TransactionStateChanged: self._transaction_state,
            e.FaultStarted: self._fault_started,
            e.FaultEnded: self._fault_ended,
            **dict.fromkeys(MOMENTS, self._moment),
        }

    def take(self, event: e.Event) -> None:
        """The next event."""
        view, kind = self.view, type(event)
        fold(view, event)
        if view.next_sample_us != self._next_sample_us:
            self._next_sample_us = view.next_sample_us
            for name, each in view.groups.items():
                if each.lag_series.values:
                    self._lag(name, each.lag_series.values[-1], view.next_sample_us - 1_000_000)
        if kind in QUIET:
            return
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(event)
        group, member, broker = (getattr(event, field, None) for field in ("group", "member", "broker"))
        if isinstance(broker, int):
            self._broker(broker)
        if isinstance(group, str) and group in view.groups:
            self._group(group)
        if isinstance(member, str) and member in view.members:
            self._member(view.members[member])

    def command(self, at_us: int, text: str, source: str) -> None:
        """A command that was given, as a remark (`mark`) is one."""
        self._file.instant(self._file.track(CLUSTER, "commands"), text, at_us, {"source": source})

    def end(self, at_us: int) -> None:
        """The flight has ended: end what is open, and say so."""
        for name, group in self.view.groups.items():
            self._lag(name, group_lag(self.view, group), at_us)
        for track in self._states:
            self._end_state(track, at_us, OPEN)
        self._states.clear()
        for span in self._open_spans():
            self._file.end(span, at_us, OPEN)

    def _open_spans(self) -> Iterator[Span]:
        for each in self._rebalances.values():
            yield each.span
        yield from self._transactions.values()
        for requests in self._requests.values():
            yield from requests.values()
        yield from self._faults.values()

    # --- tracks of states

    def _state(self, track: Track, key: object, name: str, args: dict[str, Any]) -> None:
        """A track is in this state now; without a name, in none."""
        before = self._states.get(track)
        if before is not None:
            if before.key == key:
                return
            self._end_state(track, self.view.at_us, {})
            del self._states[track]
        if name:
            self._states[track] = _State(key, name, self.view.at_us, args)

    def _end_state(self, track: Track, at_us: int, args: dict[str, Any]) -> None:
        state = self._states[track]
        self._file.slice(track, state.name, state.since_us, at_us, state.args | args)

    def _broker(self, number: int) -> None:
        broker = self.view.brokers.get(number)
        if broker is not None:
            name = "" if not broker.alive else "frozen" if broker.paused else broker.state
            self._state(self._file.track(f"broker-{number}", "state"), name, name, {})

    def _group(self, name: str) -> None:
        group, process = self.view.groups[name], f"group {name}"
        track = self._file.track(process, COORDINATOR)
        self._state(track, (group.state, group.generation), group.state, {"generation": group.generation})
        before, now = self._rebalances.get(name), group.under_way
        if before is not None and before.open is not now:
            self._file.end(before.span, self.view.at_us, {"generation": group.generation, "state": group.state})
            del self._rebalances[name]
            before = None
        if before is None and now is not None:
            args = {"cause": now.cause, "trigger": now.trigger, "initial": now.initial}
            span = self._file.begin(self._file.process(process), "rebalance", "rebalance", self.view.at_us, args)
            self._rebalances[name] = _Rebalance(now, span)

    def _member(self, member: MemberView) -> None:
        process = f"group {member.group}"
        state = member.state
        if not member.alive:
            state = ""
        elif member.paused:
            state = "frozen"
        elif member.starting_until_us > self.view.at_us:
            state = "starting up"
        args = {"generation": member.generation, "reason": member.reason}
        key = (state, member.member_id, member.generation)
        self._state(self._file.track(process, member.member), key, state, args)
        owned = sorted(member.owned)
        name = f"{len(owned)} partition{'s' if len(owned) > 1 else ''}" if owned else ""
        track = self._file.track(process, f"{member.member} owns")
        self._state(track, owned, name, {"partitions": owned, "generation": member.generation})

    # --- spans, which may overlap

    def _request_sent(self, event: e.ProduceSent) -> None:
        self._requests_of(event.producer, event.at_us, "")
        number = self.view.producers[event.producer].requests
        if number in self.view.producers[event.producer].in_flight:
            args = {"broker": event.broker, "records": event.records, "retried": event.retried, "bytes": event.bytes}
            pid = self._file.process(f"producer {event.producer}")
            span = self._file.begin(pid, "request", "Produce", event.at_us, args)
            self._requests.setdefault(event.producer, {})[number] = span

    def _answered(self, event: e.BatchAcknowledged | e.BatchRetried | e.BatchSplit | e.BatchFailed, how: str) -> None:
        self._requests_of(event.producer, event.at_us, how)

    def _requests_of(self, producer: str, at_us: int, how: str) -> None:
        """End the spans of requests that are in flight no more; `how` their last batch came to its outcome."""
        spans, in_flight = self._requests.get(producer, {}), self.view.producers[producer].in_flight
        for number in [number for number in spans if number not in in_flight]:
            self._file.end(spans.pop(number), at_us, {"outcome": how})

    def _producer_state(self, event: e.ProducerStateChanged) -> None:
        self._requests_of(event.producer, event.at_us, f"producer {event.state}")
        track = self._file.track(f"producer {event.producer}", "state")
        gone = event.state in {"Stopped", "Dead"}
        self._state(track, event.state, "" if gone else event.state, {"reason": event.reason})
        if event.state in {"Dead", "Fenced"}:
            self._file.instant(track, f"producer {event.state}", event.at_us, {"reason": event.reason})

    def _transaction_state(self, event: e.TransactionStateChanged) -> None:
        name = event.transactional_id
        track, state = self._file.track(TRANSACTIONS, name), event.state
        shown = "" if state in {"Empty", "CompleteCommit", "CompleteAbort", "Dead"} else state
        args = {"producer_id": event.producer_id, "epoch": event.epoch, "partitions": event.partitions}
        self._state(track, (state, event.producer_id, event.epoch, event.partitions), shown, args)
        if shown and name not in self._transactions:
            args = {"producer_id": event.producer_id, "epoch": event.epoch, "timeout_ms": event.timeout_ms}
            pid = self._file.process(TRANSACTIONS)
            self._transactions[name] = self._file.begin(pid, "transaction", name, event.at_us, args)
        elif not shown and name in self._transactions:
            self._file.end(self._transactions.pop(name), event.at_us, {"state": state})

    def _fault_started(self, event: e.FaultStarted) -> None:
        args = {"kind": event.fault_kind, "targets": event.targets}
        span = self._file.begin(self._file.process(CLUSTER), "fault", event.text, event.at_us, args)
        self._faults[event.fault] = span

    def _fault_ended(self, event: e.FaultEnded) -> None:
        if event.fault in self._faults:
            self._file.end(self._faults.pop(event.fault), event.at_us, {})

    # --- moments and counters

    def _moment(self, event: Any) -> None:  # noqa: ANN401 - any event of MOMENTS
        process, track, name = MOMENTS[type(event)](event)
        where = self._file.track(process, track)
        self._file.instant(where, name, event.at_us, {"reason": getattr(event, "reason", "")})

    def _lag(self, group: str, records: int, at_us: int) -> None:
        if self._lags.get(group) != records:
            self._lags[group] = records
            self._file.counter(self._file.process(f"group {group}"), "lag", at_us, {"records": records})

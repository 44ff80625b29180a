"""A judge of traces: reads a trace by its format and a recording's lines as JSON, and compares what both tell.

It shares nothing with the exporter: it uses no fold, no event classes and no view.
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Event = dict[str, Any]
Facts = dict[str, Counter[tuple[Any, ...]]]

PHASES = {"M", "X", "i", "C", "b", "e"}
LIFE = {
    *("Ready", "Joining", "Syncing", "Stable", "Revoking", "Fenced", "Left", "Dead"),
    *("UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE", "FENCED", "STALE", "FATAL"),
    *("PREPARE_LEAVING", "LEAVING"),
}
"""The states of a member's client, of either protocol."""
SETTLED = {"Stable", "Empty"}
SECOND_US = 1_000_000


def malformed(events: Sequence[Event]) -> list[str]:
    """What is wrong with a trace by its format: names, phases, nesting and time."""
    wrong: list[str] = []
    names = {
        (event["name"], event["pid"], event["tid"])
        for event in events
        if event["ph"] == "M" and event["args"].get("name")
    }
    slices: dict[tuple[int, int], list[tuple[int, int, str]]] = defaultdict(list)
    for event in events:
        phase, pid, tid = event["ph"], event["pid"], event.get("tid", 0)
        if phase not in PHASES:
            wrong.append(f"unknown phase {phase}")
        if phase == "M":
            continue
        if ("process_name", pid, 0) not in names:
            wrong.append(f"process {pid} has no name")
        if phase in {"X", "i"} and ("thread_name", pid, tid) not in names:
            wrong.append(f"track {pid}/{tid} has no name")
        if not isinstance(event["ts"], int) or event["ts"] < 0:
            wrong.append(f"no instant: {event['ts']}")
        if phase == "X":
            slices[pid, tid].append((event["ts"], event["dur"], event["name"]))
    wrong += _unbalanced(events)
    return wrong + [line for track, found in slices.items() for line in _overlaps(track, found)]


def _unbalanced(events: Iterable[Event]) -> Iterator[str]:
    opened: dict[tuple[str, int], Event] = {}
    for event in events:
        if event["ph"] not in {"b", "e"}:
            continue
        key = (event["cat"], event["id"])
        begun = opened.pop(key, None)
        if (begun is None) is (event["ph"] == "e"):
            yield f"span {key} begins twice, or ends and has not begun"
        if event["ph"] == "b":
            opened[key] = event
        elif begun and (
            begun["ts"] > event["ts"] or any(begun[each] != event[each] for each in ("name", "pid", "tid"))
        ):
            yield f"span {key} ends before it begins, or as another one"
    yield from (f"span {key} has no end" for key in opened)


def _overlaps(track: tuple[int, int], slices: list[tuple[int, int, str]]) -> Iterator[str]:
    end = 0
    for ts, dur, name in sorted(slices):
        if dur < 0 or ts < end:
            yield f"slice {name} of track {track} overlaps another one, or ends before it begins"
        end = max(end, ts + dur)


def told_by_trace(events: Iterable[Event]) -> Facts:
    """What a trace shows: spans with their instants, time in each state of a member, moments, lag by second."""
    facts: Facts = defaultdict(Counter)
    processes: dict[int, str] = {}
    tracks: dict[tuple[int, int], str] = {}
    begun: dict[tuple[str, int], Event] = {}
    for event in events:
        pid, phase = event["pid"], event["ph"]
        if phase == "M":
            if event["name"] == "process_name":
                processes[pid] = event["args"]["name"]
            if event["name"] == "thread_name":
                tracks[pid, event["tid"]] = event["args"]["name"]
        elif phase == "b":
            begun[event["cat"], event["id"]] = event
        elif phase == "e":
            begin = begun.pop((event["cat"], event["id"]))
            whose = event["name"] if event["cat"] in {"transaction", "fault"} else processes[pid].split(" ", 1)[1]
            how = event["args"].get("state", "") if event["cat"] == "transaction" else ""
            over = "open_at_the_end" not in event["args"]
            facts[event["cat"]][whose, begin["ts"], event["ts"] if over else "", how] += 1
        elif phase == "X" and processes[pid].startswith("group ") and event["name"] in LIFE:
            track = tracks[pid, event["tid"]]
            if track != "coordinator" and event["dur"]:
                facts["state"][track, event["name"]] += event["dur"]
        elif phase == "C":
            facts["lag"][processes[pid].split(" ", 1)[1], event["ts"]] = event["args"]["records"]
        elif phase == "i" and ("stopped: " in event["name"] or "fenced" in event["name"]):
            facts["moment"][event["name"], event["ts"]] += 1
    return facts


def told_by_log(lines: Iterable[bytes], end_us: int) -> Facts:
    """The same from the lines of a recording, of groups that keep their protocol."""
    facts: Facts = defaultdict(Counter)
    readers = (_rebalances(facts), _transactions(facts), _requests(facts), _states(facts, end_us), _moments(facts))
    for reader in readers:
        next(reader)
    for batch in lines:
        for line in batch.splitlines():
            event = json.loads(line)
            for reader in readers:
                reader.send(event)
    for reader in readers:
        reader.close()
    return facts


Reader = Iterator[None]


def _rebalances(facts: Facts) -> Any:  # noqa: ANN401 - a generator that is sent events
    opened: dict[str, int] = {}
    try:
        while True:
            event = yield
            match event["kind"]:
                case "rebalance_started" | "consumer_group_epoch_bumped":
                    opened.setdefault(event["group"], event["at_us"])
                case "group_stabilized" if event["group"] in opened:
                    facts["rebalance"][event["group"], opened.pop(event["group"]), event["at_us"], ""] += 1
                case "consumer_group_state_changed" if (
                    event["state"] in {"Stable", "Empty"} and event["group"] in opened
                ):
                    facts["rebalance"][event["group"], opened.pop(event["group"]), event["at_us"], ""] += 1
                case "join_barrier_completed" if not event["members"]:
                    facts["rebalance"][event["group"], opened.pop(event["group"]), event["at_us"], ""] += 1
    finally:
        for group, since_us in opened.items():
            facts["rebalance"][group, since_us, "", ""] += 1


def _transactions(facts: Facts) -> Any:  # noqa: ANN401
    opened: dict[str, int] = {}
    try:
        while True:
            event = yield
            if event["kind"] == "transaction_state_changed":
                name, state = event["transactional_id"], event["state"]
                if state in {"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"}:
                    opened.setdefault(name, event["at_us"])
                elif name in opened:
                    facts["transaction"][name, opened.pop(name), event["at_us"], state] += 1
    finally:
        for name, since_us in opened.items():
            facts["transaction"][name, since_us, "", ""] += 1


def _requests(facts: Facts) -> Any:  # noqa: ANN401
    """A request ends with its last partition's outcome; the outcomes of one partition come in the order of requests."""
    waiting: dict[tuple[str, str], deque[list[Any]]] = defaultdict(deque)
    try:
        while True:
            event = yield
            kind, at_us = event["kind"], event["at_us"]
            if kind == "produce_sent":
                request = [event["producer"], at_us, {*event["records"], *event["retried"]}]
                for partition in request[2]:
                    waiting[event["producer"], partition].append(request)
            elif kind == "producer_state_changed" and event["state"] in {"Dead", "Stopped"}:
                gone = [key for key in waiting if key[0] == event["producer"]]
                ended = {id(request): request for key in gone for request in waiting.pop(key)}
                for name, since_us, _ in ended.values():
                    facts["request"][name, since_us, at_us, ""] += 1
            elif kind in {"batch_acknowledged", "batch_retried", "batch_split", "batch_failed"}:
                requests = waiting[event["producer"], event["partition"]]
                if requests:
                    request = requests.popleft()
                    request[2].discard(event["partition"])
                    if not request[2]:
                        facts["request"][request[0], request[1], at_us, ""] += 1
    finally:
        left = {id(request): request for requests in waiting.values() for request in requests}
        for name, since_us, _ in left.values():
            facts["request"][name, since_us, "", ""] += 1


def _states(facts: Facts, end_us: int) -> Any:  # noqa: ANN401
    state: dict[str, str] = {}
    since: dict[str, int] = {}
    frozen: set[str] = set()

    def until(member: str, at_us: int) -> None:
        if member in since and member not in frozen and state[member] in LIFE:
            facts["state"][member, state[member]] += at_us - since[member]
        since[member] = at_us

    try:
        while True:
            event = yield
            member, kind = event.get("member", ""), event["kind"]
            if kind in {"member_started", "member_state_changed", "member_paused", "member_resumed", "member_stopped"}:
                until(member, event["at_us"])
            match kind:
                case "member_started":
                    state[member] = "Joining"
                case "member_state_changed" if member in since:
                    state[member] = event["state"]
                case "member_paused":
                    frozen.add(member)
                case "member_resumed":
                    frozen.discard(member)
                case "member_stopped":
                    frozen.discard(member)
                    del since[member]
    finally:
        for member in list(since):
            until(member, end_us)
        for key in [key for key, us in facts["state"].items() if not us]:
            del facts["state"][key]


def _moments(facts: Facts) -> Any:  # noqa: ANN401
    faults: dict[int, Event] = {}
    try:
        while True:
            event = yield
            at_us, how = event["at_us"], event.get("how")
            match event["kind"]:
                case "broker_stopped":
                    facts["moment"][f"broker stopped: {how}", at_us] += 1
                case "member_stopped":
                    facts["moment"][f"member stopped: {how}", at_us] += 1
                case "broker_fenced":
                    facts["moment"]["broker fenced", at_us] += 1
                case "consumer_fenced":
                    facts["moment"]["member fenced", at_us] += 1
                case "transaction_fenced":
                    facts["moment"][f"transaction fenced: {event['reason']}", at_us] += 1
                case "fault_started":
                    faults[event["fault"]] = event
                case "fault_ended":
                    began = faults.pop(event["fault"])
                    facts["fault"][began["text"], began["at_us"], at_us, ""] += 1
    finally:
        for began in faults.values():
            facts["fault"][began["text"], began["at_us"], "", ""] += 1


def lags_by_log(lines: Iterable[bytes]) -> dict[tuple[str, int], int]:
    """(group, second) → high watermarks less committed offsets, once the group has committed, of all its partitions.

    A group with auto.offset.reset=earliest counts from 0 where it has committed nothing.
    """
    marks: dict[str, tuple[int, int]] = {}
    committed: dict[str, dict[str, int]] = {}
    topics: dict[str, list[str]] = {}
    earliest: set[str] = set()
    found: dict[tuple[str, int], int] = {}
    second = -1
    for event in (json.loads(line) for batch in lines for line in batch.splitlines()):
        kind, now = event["kind"], event["at_us"] // SECOND_US
        if now > second:
            for group, offsets in committed.items():
                mine = {name for name in marks if name.rpartition("-")[0] in topics[group]}
                if offsets and (mine <= offsets.keys() or group in earliest):
                    found[group, now] = sum(max(0, marks[name][1] - offsets.get(name, 0)) for name in mine)
            second = now
        if kind == "group_declared":
            topics[event["group"]], committed[event["group"]] = event["topics"], {}
            if event["offset_reset"] == "earliest":
                earliest.add(event["group"])
        elif kind in {"leadership_taken", "high_watermark_advanced"}:
            name, epoch = event["partition"], event["leader_epoch"]
            if epoch >= marks.get(name, (-1, 0))[0]:
                marks[name] = epoch, event["high_watermark" if kind == "leadership_taken" else "offset"]
        elif kind == "offsets_committed":
            committed[event["group"]] |= event["offsets"]
    return found


def different_lags(trace: Facts, log: Mapping[tuple[str, int], int]) -> list[str]:
    """Seconds in which the counter of a group has another value than the log gives."""
    steps: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (group, at_us), records in sorted(trace["lag"].items()):
        steps[group].append((at_us, records))
    return [
        f"{group} at {second} s: {shown} in the trace, {records} by the log"
        for (group, second), records in log.items()
        if (shown := [value for at_us, value in steps[group] if at_us <= second * SECOND_US][-1]) != records
    ]


def disagreements(trace: Facts, log: Facts) -> list[str]:
    """Facts that only one of the two tells, in words."""
    found = []
    for kind in ("rebalance", "transaction", "request", "fault", "state", "moment"):
        found += [f"{kind} only in the trace: {fact}" for fact in trace[kind].items() - log[kind].items()]
        found += [f"{kind} only in the log: {fact}" for fact in log[kind].items() - trace[kind].items()]
    return found

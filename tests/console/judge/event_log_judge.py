"""Judges lines of the event log: each line has an event of that instant with the same facts."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from cluster import events as e
from cluster.config.units import parse_duration
from tests.console.judge.books import Books
from tests.console.judge.grammar import Verdict

TOGETHER_MS = 1_000
ENDED = {"closed cleanly": "stop", "was killed": "kill"}
BROKER_ENDED = {
    "stopped cleanly": "stop",
    "was killed": "kill",
    "crashed with its host": "crash",
    "halted: its disk is full": "disk",
}
BROKER_BECAME = {"serves again": "Running", "is shutting down": "PendingControlledShutdown"}
WORKLOADS = {"deployment": "Deployment", "statefulset": "StatefulSet", "brokers": "rolling restart"}
Match = re.Match[str]


def _replaces(one: e.RolloutAdvanced, words: str) -> bool:
    """Whether `stops billing-3 and starts billing-41, billing-42 and 8 more` is what an event says."""
    both = [name for name in one.stops if name in one.starts]
    wanted = {
        "restarts": both,
        "stops": [name for name in one.stops if name not in both],
        "starts": [name for name in one.starts if name not in both],
    }
    parts = re.split(r" and (?=stops|starts)", words)
    told = {verb: rest for verb, _, rest in (part.partition(" ") for part in parts)}
    if set(told) != {verb for verb, names in wanted.items() if names}:
        return False
    for verb, rest in told.items():
        names, _, more = rest.partition(" and ")
        count = int(more.split()[0]) if more else 0
        listed = names.split(", ")
        if listed != wanted[verb][: len(listed)] or len(listed) + count != len(wanted[verb]):
            return False
    return True


def _rebalances(m: Match, one: e.Event) -> bool:
    return isinstance(one, e.RebalanceStarted) and (one.group, one.cause, one.trigger) == (m[1], m[2], m[3] or "")


def _went_back(m: Match, one: e.Event) -> bool:
    if isinstance(one, e.GroupLoaded | e.ConsumerGroupLoaded):
        return one.group == m[1] and one.offsets.get(m[2]) == (None if m[3] == "nothing" else int(m[3]))
    if not isinstance(one, e.OffsetsCommitted) or one.group != m[1] or m[3] == "nothing":
        return False
    if (one.member == "adminclient") != (m[6] is not None):
        return False
    member, generation = "adminclient" if m[6] else m[4] or "", int(m[5] or -1)
    return (one.member, one.generation, one.offsets.get(m[2])) == (member, generation, int(m[3]))


def _broker(m: Match) -> int:
    return int(m[1].removeprefix("broker-"))


def _reassigned(m: Match, one: e.Event) -> bool:
    if not isinstance(one, e.PartitionReassigned) or one.partition != m[1]:
        return False
    step = {"moves to": ("started", None), "has": ("completed", "complete"), "keeps": ("cancelled", "cancelled")}[m[2]]
    to = [str(broker) for broker in one.replicas if broker not in one.removing or step[0] != "started"]
    return (one.step, m[4]) == step and m[3].split(",") == to


def _leader(m: Match, one: e.Event) -> bool:
    if not isinstance(one, e.LeaderElected) or one.partition != m[1]:
        return False
    return one.reason == m[4] and (one.leader == int(m[3]) if m[3] else one.leader < 0)


Saying = tuple[str, Callable[[Match, e.Event], bool]]
SAYINGS: tuple[Saying, ...] = (
    (r"(\S+) rebalances: ([a-z ]+?)(?: \(([^)]*)\))?", _rebalances),
    (
        r"(\S+) has epoch (\d+): ([a-z ]+?)(?: \(([^)]*)\))?",
        lambda m, one: (
            isinstance(one, e.ConsumerGroupEpochBumped)
            and (one.group, one.epoch, one.cause, ", ".join(one.members)) == (m[1], int(m[2]), m[3], m[4] or "")
        ),
    ),
    (
        r"(\S+) is created with (\d+) partitions?",
        lambda m, one: isinstance(one, e.TopicCreated) and (one.topic, one.partitions) == (m[1], int(m[2])),
    ),
    (
        r"(\S+) is Stable in epoch \d+",
        lambda m, one: isinstance(one, e.ConsumerGroupStateChanged) and (one.group, one.state) == (m[1], "Stable"),
    ),
    (
        r"(\S+) must revoke (\d+) partitions? before its member epoch rises",
        lambda m, one: (
            isinstance(one, e.MemberAssignmentChanged)
            and (one.member, len(one.pending_revocation)) == (m[1], int(m[2]))
        ),
    ),
    (
        r"(\S+) left (\S+) for a while: its partitions are kept",
        lambda m, one: isinstance(one, e.StaticMemberLeft) and (one.member, one.group) == (m[1], m[2]),
    ),
    (
        r"(\S+): (\S+) matches (.+)",
        lambda m, one: (
            isinstance(one, e.TopicRegexResolved)
            and (one.group, one.regex, ", ".join(one.topics) or "no topic") == (m[1], m[2], m[3])
        ),
    ),
    (
        r"(\S+) is a (classic|consumer) group from now on",
        lambda m, one: isinstance(one, e.GroupProtocolConverted) and (one.group, one.protocol) == (m[1], m[2]),
    ),
    (
        r"(\S+) is a (classic|consumer) group from now on, with (\d+) classic members?",
        lambda m, one: (
            isinstance(one, e.ClassicGroupUpgraded if m[2] == "consumer" else e.ConsumerGroupDowngraded)
            and (one.group, len(one.members)) == (m[1], int(m[3]))
        ),
    ),
    (
        r"(\S+) is not converted: (.+)",
        lambda m, one: isinstance(one, e.GroupConversionRefused) and (one.group, one.reason) == (m[1], m[2]),
    ),
    (
        r"(\S+) elects (\S+): (\S+ is blocked by .+|\d+ of \d+ votes)",
        lambda m, one: isinstance(one, e.ProtocolElected) and (one.group, one.protocol) == (m[1], m[2]),
    ),
    (
        (
            r"(\S+): committed offset of (\S+) went back \d+ → (\d+|nothing)(?: and \d+ more)?"
            r"(?: by (?:(\S+) of generation (-?\d+)|a transaction|(an administrator)))?: .+"
        ),
        _went_back,
    ),
    (
        r"(\S+) is Stable in generation (\d+)",
        lambda m, one: isinstance(one, e.GroupStabilized) and (one.group, one.generation) == (m[1], int(m[2])),
    ),
    (
        r"(\S+) left (\S+): (.+)",
        lambda m, one: isinstance(one, e.MemberRemoved) and (one.member, one.group, one.reason) == (m[1], m[2], m[3]),
    ),
    (
        r"(broker-\d+) started",
        lambda m, one: isinstance(one, e.BrokerStarted) and one.broker == _broker(m),
    ),
    (
        r"(broker-\d+) (serves again|is shutting down)",
        lambda m, one: (
            isinstance(one, e.BrokerStateChanged) and (one.broker, one.state) == (_broker(m), BROKER_BECAME[m[2]])
        ),
    ),
    (
        r"(\S+) rolling restart begins: (\d+) members?, one every (\S+), each down for (\S+)",
        lambda m, one: (
            isinstance(one, e.RollingRestartStarted)
            and (one.group, len(one.members)) == (m[1], int(m[2]))
            and (one.every_us, one.down_us) == (parse_duration(m[3]), parse_duration(m[4]))
        ),
    ),
    (
        r"(\S+) rollout begins \((\w+|rolling restart)\): (\d+) processes, max unavailable (\d+), max surge (\d+)",
        lambda m, one: (
            isinstance(one, e.RolloutStarted)
            and (one.target, WORKLOADS[one.workload], str(len(one.replaced))) == (m[1], m[2], m[3])
            and (one.max_unavailable, one.max_surge) == (int(m[4]), int(m[5]))
        ),
    ),
    (
        r"(\S+) rollout ((?:restarts|stops|starts) .+)",
        lambda m, one: isinstance(one, e.RolloutAdvanced) and one.target == m[1] and _replaces(one, m[2]),
    ),
    (
        r"(\S+) rollout is (complete|ended by a command|superseded by another one) \((.+)\)",
        lambda m, one: (
            isinstance(one, e.RolloutEnded)
            and (one.target, one.how, WORKLOADS[one.workload]) == (m[1], m[2].split()[0], m[3])
        ),
    ),
    (
        r"(\S+) is autoscaled from (\d+) to (\d+): its lag is (\d+)",
        lambda m, one: (
            isinstance(one, e.GroupAutoscaled)
            and (one.group, one.members, one.to, one.lag) == (m[1], int(m[2]), int(m[3]), int(m[4]))
        ),
    ),
    (r"(\S+) is ready", lambda m, one: isinstance(one, e.MemberReady) and one.member == m[1]),
    (r"(\S+) started", lambda m, one: isinstance(one, e.MemberStarted) and one.member == m[1]),
    (
        r"(broker-\d+) (stopped cleanly|was killed|crashed with its host|halted: its disk is full)",
        lambda m, one: isinstance(one, e.BrokerStopped) and (one.broker, one.how) == (_broker(m), BROKER_ENDED[m[2]]),
    ),
    (
        r"(\S+) (closed cleanly|was killed)",
        lambda m, one: isinstance(one, e.MemberStopped) and (one.member, one.how) == (m[1], ENDED[m[2]]),
    ),
    (
        r"(\S+) crashed: (.+)",
        lambda m, one: isinstance(one, e.MemberStopped) and (one.member, one.how, one.reason) == (m[1], "crash", m[2]),
    ),
    (
        r"controller fenced (broker-\d+): (.+)",
        lambda m, one: isinstance(one, e.BrokerFenced) and (one.broker, one.reason) == (_broker(m), m[2]),
    ),
    (
        r"controller is now (broker--?\d+)",
        lambda m, one: isinstance(one, e.ControllerElected) and one.broker == _broker(m),
    ),
    (r"(\S+) (moves to|has|keeps) replicas ([\d,]+)(?:: its reassignment is (complete|cancelled))?", _reassigned),
    (
        r"broker-(\d+) deletes its replica of (\S+)",
        lambda m, one: isinstance(one, e.ReplicaDeleted) and (one.broker, one.partition) == (int(m[1]), m[2]),
    ),
    (r"(\S+) (?:leader (none|\d+) → (\d+)|has no leader) \((.+)\)", _leader),
    (
        r"(\S+) is coordinated by broker-(\d+)",
        lambda m, one: (
            isinstance(one, e.GroupLoaded | e.ConsumerGroupLoaded) and (one.group, one.broker) == (m[1], int(m[2]))
        ),
    ),
    (
        r"(\S+) seeks (.+)",
        lambda m, one: (
            isinstance(one, e.PositionsReset)
            and (one.member, one.reason) == (m[1], "seek")
            and m[2] == ", ".join(f"{name} to {offset}" for name, offset in one.positions.items())
        ),
    ),
    (r"ended: (.+)", lambda m, one: isinstance(one, e.FaultEnded)),
    (r"refused: (.+)", lambda m, one: isinstance(one, e.CommandRefused) and m[1] == f"{one.text}: {one.reason}"),
    (
        r"set (\S+) (\S+) (.+)",
        lambda m, one: isinstance(one, e.SettingChanged) and (one.scope, one.key, one.value) == (m[1], m[2], m[3]),
    ),
    (
        r"(\S+): commit refused, (\S+)",
        lambda m, one: isinstance(one, e.OffsetCommitRefused) and (one.member, one.error) == (m[1], m[2]),
    ),
    (
        r"(\S+) is back in (\S+) under its instance id",
        lambda m, one: isinstance(one, e.StaticMemberReplaced) and (one.member, one.group) == (m[1], m[2]),
    ),
    (
        r"(\S+) is FENCED: its coordinator answered ([A-Z_]+)",
        lambda m, one: (
            isinstance(one, e.MemberStateChanged) and (one.member, one.state, one.reason) == (m[1], "FENCED", m[2])
        ),
    ),
    (
        r"(\S+) is fenced: another process joined as (\S+)",
        lambda m, one: isinstance(one, e.ConsumerFenced) and (one.member, one.instance_id) == (m[1], m[2]),
    ),
    (
        r"(\S+) is (Dead|Fenced): (.+)",
        lambda m, one: isinstance(one, e.ProducerStateChanged) and (one.producer, one.state) == (m[1], m[2]),
    ),
    (r"(\S+) failed: (.+)", lambda m, one: isinstance(one, e.ApplicationFailed) and one.member == m[1]),
    (
        r"(\S+) subscribes to (.+)",
        lambda m, one: isinstance(one, e.SubscriptionChanged) and (one.member, ", ".join(one.topics)) == (m[1], m[2]),
    ),
    (
        r"(\S+) unsubscribes",
        lambda m, one: isinstance(one, e.SubscriptionChanged) and (one.member, one.topics) == (m[1], ()),
    ),
    (
        r"(\S+) has (\d+) partitions",
        lambda m, one: isinstance(one, e.PartitionsAdded) and (one.topic, one.partitions) == (m[1], int(m[2])),
    ),
    (
        r"broker-(\d+) truncated (\S+) from (\d+) to (\d+)",
        lambda m, one: (
            isinstance(one, e.LogTruncated)
            and (one.broker, one.partition, one.log_end, one.offset) == (int(m[1]), m[2], int(m[3]), int(m[4]))
        ),
    ),
    (
        r"(\d+) of (\S+)'s records to (\S+) are in no log, .+",
        lambda m, one: (
            isinstance(one, e.RecordsLost) and (one.records, one.producer, one.partition) == (int(m[1]), m[2], m[3])
        ),
    ),
    (
        r"(\d+) of (\S+)'s records to (\S+) were on their way to a follower: .+",
        lambda m, one: (
            isinstance(one, e.RecordsRecovered)
            and (one.records, one.producer, one.partition) == (int(m[1]), m[2], m[3])
        ),
    ),
    (
        r"(\S+) fails on (\S+) (\d+)",
        lambda m, one: isinstance(one, e.RecordFailed) and (one.member, one.offset) == (m[1], int(m[3])),
    ),
    (
        r"(\S+) runs onPartitionsRevoked for (\d+) partitions?",
        lambda m, one: (
            isinstance(one, e.RebalanceListenerCalled) and (one.member, len(one.partitions)) == (m[1], int(m[2]))
        ),
    ),
    (
        r"(\S+) cannot commit in onPartitionsRevoked, and revokes (\d+) partitions?",
        lambda m, one: (
            isinstance(one, e.RebalanceListenerReturned)
            and (one.member, len(one.partitions), one.commit) == (m[1], int(m[2]), "failed")
        ),
    ),
    (
        r"(\S+) sends (\S+) (\d+) to (\S+)",
        lambda m, one: (
            isinstance(one, e.RecordDeadLettered)
            and (one.member, one.partition, one.offset, one.topic) == (m[1], m[2], int(m[3]), m[4])
        ),
    ),
    (
        r"(\S+) skips (\S+) (\d+)",
        lambda m, one: isinstance(one, e.RecordSkipped) and (one.member, one.offset) == (m[1], int(m[3])),
    ),
    (
        r"(\S+) aborted its transaction \((.+)\) and goes back to what (\S+) has committed",
        lambda m, one: isinstance(one, e.PositionsRolledBack) and (one.member, one.reason) == (m[1], m[2]),
    ),
    (
        r"(\S+): position (\d+) of (\S+) is not in the log: (\S+) decides",
        lambda m, one: isinstance(one, e.PositionOutOfRange) and (one.member, one.position) == (m[1], int(m[2])),
    ),
    (
        r"(\S+): the log of (\S+) diverges from what it read up to (\d+), at (?:offset (\d+)|an offset .+)",
        lambda m, one: (
            isinstance(one, e.PositionTruncated)
            and (one.member, one.partition, one.position) == (m[1], m[2], int(m[3]))
            and one.diverging == int(m[4] or -1)
        ),
    ),
    (
        r"(\S+) is aborted",
        lambda m, one: (
            isinstance(one, e.TransactionStateChanged) and (one.transactional_id, one.state) == (m[1], "PrepareAbort")
        ),
    ),
    (
        r"(\S+) begins anew with epoch (\d+): every earlier epoch is fenced",
        lambda m, one: (
            isinstance(one, e.TransactionStateChanged) and (one.transactional_id, one.epoch) == (m[1], int(m[2]))
        ),
    ),
    (
        r"(\S+) begins anew as producer id (\d+): \d+ is fenced",
        lambda m, one: isinstance(one, e.TransactionStateChanged) and one.producer_id == int(m[2]),
    ),
    (
        r"(\S+) is Dead: unused for transactional.id.expiration.ms",
        lambda m, one: (
            isinstance(one, e.TransactionStateChanged) and (one.transactional_id, one.state) == (m[1], "Dead")
        ),
    ),
    (
        r"(\S+) epoch (\d+) fenced: (open for longer than transaction.timeout.ms|another producer has its .+)",
        lambda m, one: (
            isinstance(one, e.TransactionFenced)
            and (one.transactional_id, one.epoch - 1) == (m[1], int(m[2]))
            and (one.reason == "timeout") == m[3].startswith("open")
        ),
    ),
    (
        r"(\S+)'s coordinator refused offsets of (\S+): (\S+)",
        lambda m, one: isinstance(one, e.TransactionOffsetsRefused) and (one.group, one.error) == (m[1], m[3]),
    ),
    (
        r"(\S+)'s leader refused a marker (?:of \S+|for producer id \d+): (\S+)",
        lambda m, one: isinstance(one, e.TransactionMarkerRefused) and (one.partition, one.error) == (m[1], m[2]),
    ),
    (
        r"the open transaction of producer id (\d+) in (\S+) is aborted by hand",
        lambda m, one: isinstance(one, e.HangingTransactionAborted) and one.partition == m[2],
    ),
    (
        r"(?:(\S+)'s leader|its coordinator) refused (\S+) epoch (\d+): \S+",
        lambda m, one: (
            isinstance(one, e.ProducerEpochRefused)
            and (one.partition, one.transactional_id, one.epoch) == (m[1] or "", m[2], int(m[3]))
        ),
    ),
    (
        r"(\S+): offsets of (\d+) partitions expired",
        lambda m, one: isinstance(one, e.OffsetsExpired) and len(one.partitions) == int(m[2]),
    ),
    (
        r"(\S+): offsets of (\d+) partitions are deleted",
        lambda m, one: isinstance(one, e.OffsetsDeleted) and (one.group, len(one.partitions)) == (m[1], int(m[2])),
    ),
)


FOLDED = re.compile(r"(.+?) +(?:\+ enter: all (\d+)|− enter folds)")
MANY = re.compile(r"((?:\S+, )+\S+?)(?: and (\d+) more)?(:.+)")
ELECTED = re.compile(r"(\d+) (?:(internal) partitions|partitions of (?:(\d+) topics|(\S+))): new leaders \((.+)\)")


def judge_row(books: Books, at_us: int, text: str, verdict: Verdict) -> None:
    """Judge a row of a panel: its words, and the number of entries that it says it stands for."""
    folded = FOLDED.fullmatch(text)
    said = folded[1] if folded is not None else text
    judge_entry(books, at_us, said, "events", verdict)
    if folded is not None and folded[2]:
        counted = ELECTED.fullmatch(said)
        if (many := MANY.fullmatch(said)) is not None:
            truth = _times_of_many(books, at_us, many)
        else:
            truth = {int(counted[1])} if counted is not None else _times(books, at_us, said)
        verdict.claim(int(folded[2]) in truth, "events", f"{text!r} stands for {truth}")


def _elections(books: Books, at_us: int, text: str, place: str, verdict: Verdict) -> bool:
    """Judge the number of new leaders, in the same millisecond or in the second from it on."""
    match = ELECTED.fullmatch(text)
    if match is None:
        return False
    bursts: list[list[tuple[int, str]]] = [[]]  # a fenced broker's row stands between two of them
    for ms in range(at_us // 1_000, at_us // 1_000 + TOGETHER_MS + 1):
        for one in books.cluster.by_ms.get(ms, ()):
            if isinstance(one, e.BrokerFenced):
                bursts.append([])
            if not isinstance(one, e.LeaderElected) or one.reason != match[5]:
                continue
            topic = one.partition.rpartition("-")[0]
            meant = match[4] in {None, topic} and bool(match[2]) <= topic.startswith("__")
            if meant and 0 <= one.leader != books.cluster.led_before[one.seq]:
                bursts[-1].append((ms, topic))
    every = [elected for burst in bursts for elected in burst]
    ways = [*bursts, every, [elected for elected in every if elected[0] == at_us // 1_000]]
    truth = [(len(way), len({topic for _, topic in way})) for way in ways]
    right = any(int(match[1]) == partitions and match[3] in {None, str(topics)} for partitions, topics in truth)
    verdict.claim(right, place, f"{text!r}, not partitions and topics {truth}")
    return True


def judge_entry(books: Books, at_us: int, text: str, place: str, verdict: Verdict) -> None:
    """Judge a line of the log; a line with several subjects is judged for each of them."""
    if _elections(books, at_us, text, place, verdict):
        return
    parts = text.split(", ")
    if len(parts) > 1 and all(_stated(books, at_us // 1_000, at_us // 1_000 + TOGETHER_MS, part) for part in parts):
        return
    many = MANY.fullmatch(text)
    if many is None:
        verdict.claim(_stated(books, at_us // 1_000, at_us // 1_000, text), place, f"no such fact: {text!r}")
        return
    for name in many[1].split(", "):
        forms = _forms(name, many[3])
        known = any(_stated(books, at_us // 1_000, at_us // 1_000 + TOGETHER_MS, form) for form in forms)
        verdict.claim(known, place, f"no such fact of {name}: {text!r}")


def _forms(name: str, rest: str) -> tuple[str, ...]:
    """The sentences of one subject that a line of many subjects may have made its `: rest` of."""
    said = rest.removeprefix(":")
    return f"{name}{rest}", f"{name}{said}", f"{name} is{said}", f"{name} was{said}"


def _times_of_many(books: Books, at_us: int, many: re.Match[str]) -> set[int]:
    """How often the sentence is borne out of the named subjects and so many more, in a row from this instant on.

    New leaders of internal topics have rows of their own; partitions of theirs without a leader do not. The place of a
    group or topic has a log of its own, in which nothing of others stands between its rows.
    """
    named = many[1].split(", ")
    subjects = len(named) + int(many[2] or 0)
    sayings = [said for said in SAYINGS if any(re.fullmatch(said[0], form) for form in _forms("x-1", many[3]))]

    def borne_out(one: e.Event) -> list[str]:
        return [name for name in _names(one) if _bears_out(one, _forms(name, many[3]), sayings)]

    def of_users(one: e.Event) -> list[str]:
        return [name for name in borne_out(one) if not name.startswith("__")]

    def of_one_place(one: e.Event) -> list[str]:
        return [name for name in borne_out(one) if name.rpartition("-")[0] == named[0].rpartition("-")[0]]

    runs = [run for subjects_of in (borne_out, of_users, of_one_place) for run in _rows(books, at_us, subjects_of)]
    return {len(run) for run in runs if len(set(run)) == subjects and set(run).issuperset(named)}


def _rows(books: Books, at_us: int, subjects_of: Callable[[e.Event], list[str]]) -> Iterator[list[str]]:
    """What a row that begins at this instant may stand for: subjects of events within a second, one after the other.

    It begins with the first of them or behind another event, and ends before another event or where the second ends.
    """
    first_ms = at_us // 1_000
    window = range(first_ms, first_ms + TOGETHER_MS + 1)
    found = [(ms, subjects_of(one)) for ms in window for one in books.cluster.by_ms.get(ms, ())]
    for start, (ms, subjects) in enumerate(found):
        if ms != first_ms or not subjects or (start and found[start - 1][1]):
            continue
        run: list[str] = []
        for (_, here), (next_ms, behind) in pairwise([*found[start:], (window[-1], [])]):
            run += here
            if here and (not behind or next_ms == window[-1]):
                yield list(run)


def _names(one: e.Event) -> set[str]:
    """The texts of an event that may be the subject of a sentence."""
    texts = [getattr(one, field) for field in one.__struct_fields__]
    if (broker := getattr(one, "broker", None)) is not None:
        texts.append(f"broker-{broker}")
    return {text for text in texts if isinstance(text, str) and text and " " not in text}


def _bears_out(one: e.Event, forms: Sequence[str], sayings: Sequence[Saying]) -> bool:
    found = ((re.fullmatch(pattern, form), true) for pattern, true in sayings for form in forms)
    return any(match is not None and true(match, one) for match, true in found)


def _times(books: Books, at_us: int, text: str) -> set[int]:
    """How often a sentence is borne out within a second: of all events, or until another one ends the row."""
    found = [(match, true) for pattern, true in SAYINGS if (match := re.fullmatch(pattern, text)) is not None]
    return {
        len(run) for run in _rows(books, at_us, lambda one: [text] * any(true(match, one) for match, true in found))
    }


def _stated(books: Books, from_ms: int, to_ms: int, text: str) -> bool:
    near = [one for ms in range(from_ms, to_ms + 1) for one in books.cluster.by_ms.get(ms, ())]
    if any(isinstance(one, e.FaultStarted) and one.text == text for one in near):
        return True
    for pattern, bears_out in SAYINGS:
        match = re.fullmatch(pattern, text)
        if match is not None and any(bears_out(match, one) for one in near):
            return True
    ended, _, command = text.removesuffix(")").partition(" (")
    by_command = any(isinstance(one, e.FaultStarted) and one.text == command for one in near)
    return by_command and ended.split()[0] in command.split() and _stated(books, from_ms, to_ms, ended)

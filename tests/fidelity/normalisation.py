"""What a log says, in a form that a real cluster and Flightdeck share: the one module that recorder and test both use.

A row is a log line as it was written, a fact what remains of it: `[at_ms, actor, level, logger, text]`. Gone is what no
two runs have in common: member ids become `g01-1#1` (the first id of g01-1), producer ids `P:NAME`, nodes `NODE 1`,
offsets above 0 `N`. What Kafka prints in the order of a hash map is sorted; lines of one kind for several partitions
are one, and so are the lookups of a coordinator that are repeated every 100 ms.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """A log line; `writer` names the client that wrote it, for lines that do not say so themselves."""

    at_ms: float
    level: str
    logger: str
    text: str
    writer: str = ""


class Fact(NamedTuple):
    """One line of a trace. `actor`: a client, `app NAME` (its application), `GroupCoordinator GROUP` or a logger."""

    at_ms: int
    actor: str
    level: str
    logger: str
    text: str


class LoggedBatch(NamedTuple):
    """A batch of a log: its offsets, those of its records that are there, and what is said of it as a whole."""

    first: int
    last: int
    kept: Sequence[int]
    marker: str
    horizon: bool


EMPTY_MARKER = "marker"
"""Of a marker whose record is gone nothing says what it was."""

CLIENTS = frozenset(
    {
        *("ClassicKafkaConsumer", "ConsumerCoordinator", "ConsumerRebalanceListenerInvoker", "ConsumerUtils"),
        *("SubscriptionState", "FetchCollector", "AbstractStickyAssignor"),
        *("AsyncKafkaConsumer", "ConsumerMembershipManager", "ConsumerHeartbeatRequestManager"),
        *("CommitRequestManager", "CoordinatorRequestManager"),
        *("TransactionManager", "Sender", "ErrorLoggingCallback"),
    }
)
COORDINATORS = frozenset({"GroupMetadataManager", "ClassicGroup", "GroupCoordinatorShard", "TransactionCoordinator"})
SERVERS = frozenset(
    {"Partition", "ReplicationControlManager", "BrokerHeartbeatManager", "UnifiedLog", "ReplicaManager", "logger"}
)
"""`logger` is `state.change.logger`."""
COMPARED = CLIENTS | COORDINATORS | SERVERS
"""The loggers that Flightdeck writes; what others write (metadata, connections, configuration) is not compared."""

SERVER_LINES = re.compile(
    r"Fencing broker|to unfence has been granted|been granted a controlled shutdown|ISR updated to|partition change for"
    r"|Truncating to|Incremented log start offset|partition reassignment|partition assignment change"
    r"|Expected partition|\] Deleting \d+ partition"
)
READ_REPLICA = "Updating preferred read replica"
"""Kafka's only word about which replica a consumer fetches from, at level DEBUG."""
OF_A_COORDINATOR = re.compile(r" as the txn coordinator for partition|Starting up|Startup complete|Shut")
OF_THE_CLUSTER = re.compile(r"__consumer_offsets|__transaction_state|\bwarm\b|warm-")

UUID = re.compile(r"([\w.]+(?:-[\w.]+)*?)-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
MEMBER_STATE = re.compile(r"Member ([\w-]{22}) with epoch -?\d+ transitioned from ")
"""Where a member of the new protocol, which makes its own id, says it first."""
GIVEN_ID = re.compile(r"need to re-join with the given member-id: ([\w-]{22})(?![\w-])")
"""Where a classic member says the id that the coordinator of a consumer group gave it."""
ID_OF_GENERATION = re.compile(r"Generation\{generationId=\d+, memberId='([\w-]{22})'")
"""Where a static classic member of a consumer group, which gets its id with the answer to its JoinGroup, says it."""
OWN_ID = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])")
SAYS_ITS_ID = (MEMBER_STATE, GIVEN_ID, ID_OF_GENERATION)
NODE = re.compile(r"(?:127\.0\.0\.1:\d+|broker-\d+:9092) \(id: (\d+) rack: \w+(?: isFenced: (?:true|false))?\)")
CLIENT = re.compile(
    r"\[(?:Consumer|Producer)(?: instanceId=[^,\]]+,)? clientId=([^,\]]+)(?:, (?:groupId|transactionalId)=[^\]]+)?\] "
)
COORDINATOR = re.compile(r"\[(GroupCoordinator|TransactionCoordinator) id=\d+(?: topic=\S+ partition=\d+)?\] ")
ITS_GROUP = re.compile(r"(?:\[Group |\[GroupId |GroupId=|[Gg]roup )(?!metadata)([\w.]+)")
ITS_PARTITION = re.compile(r"\[Partition (\S+) broker=\d+\]")
CONTROLLER = re.compile(r"\[QuorumController id=\d+\] ")
PRODUCER_ID = re.compile(
    r"((?:transactionalId (\S+) with )?(?:producerId |producerId=|ProducerId set to |[Pp]roducer (?:id )?))(\d+)\b"
)
OFFSET = re.compile(r"(\{offset=)[1-9]\d*|((?:offset|offsets) )[1-9]\d*\b")
NUMBERS = re.compile(
    r", dir=[^\]]+(?=\])| (?:with|in) correlation id \d+| \(\d+ attempts left\)"
    r"| with topic ID [\w-]+(?=:)| at epoch \d+(?= because)|(?<=register broker record) \d+|\bversion\d+: (?=\{)"
    r"|(?<=\d), topicId=[\w-]+(?=, isr=)|(?<=leaderRecoveryState=-1), directories=(?:null|\[[^\]]*\])"
    r"| with topic id [\w-]+(?= to exist)"
    r"|, set to expire at \d+|(?:(?<=assignor)|(?<=\])) in \d+ms|(?<=metadata hash) -?[1-9]\d*"
    r"|(?<=Scanned) \d+(?= topics)|(?<=is unknown\.) in \d+ms(?=:)|(?<=approximately by) \d+(?= ms)"
    r"|, host='[^']*', port=\d+"
)
ASSIGNMENT = re.compile(r"([^\s{]+)=(Assignment\(partitions=\[[^\]]*\](?:, userDataSize=\d+)?\))")
NO_CONTEXT = "(without context) "
OWNED = re.compile(r"[^\s{]+=\[[^\]]*\]")
LISTS = (
    "Updating assignment with",
    "Notifying assignor",
    "Finished assignment",
    "The pause flag in partitions",
    "Revoking previously assigned partitions",
    "Request joining group due to: need to",
    "Request joining group due to: subscription has changed",
    NO_CONTEXT + "Final assignment of partitions",
)
ISR = re.compile(r"(?<=ISR updated to )[\d,]+")  # a set, whose order each process has for itself
BRACKETS = re.compile(r"\[([^\[\]]*)\]")

PER_PARTITION = (
    re.compile(r"(Found no committed offset for partition )(\S+)()$"),
    re.compile(r"(Resetting offset for partition )(\S+)( to position .*)$"),
    re.compile(r"(Setting offset for partition )(\S+)( to the committed offset .*)$"),
    re.compile(r"((?:Adding newly|Revoke previously|Lost previously) assigned partitions:? \[)([^\[\]]*)(\])$"),
    re.compile(r"(Expected partition )(\S+)( to exist, but it was missing\. Creating\.\.\.)$"),
)
FORMER_LIST = re.compile(r"((?:Adding newly|Revoke previously|Lost previously) assigned partitions:?) ?([^\[\]]*)$")
GATHERED_WITHIN_MS = 150
LOOKUP = re.compile(
    r"(?:Discovered (?:group|transaction) coordinator|Group coordinator|Requesting disconnect from last known)"
    r" (?:coordinator )?NODE \d+|Discovered group coordinator Coordinator\(key='[^']+', nodeId=\d+"
)
REPEATED_WITHIN_MS = 2_000
BEGUN_MS = 50
OUTCOME = "outcome"
OUTCOMES = re.compile("acknowledged records|records that were read again|log start")


class Ids:
    """Member ids by the order in which they were made (`g01-1#1`), producer ids by who had them first (`P:pay`)."""

    def __init__(self) -> None:
        self._members: dict[str, str] = {}
        self._lives: dict[str, int] = {}
        self._producers: dict[str, str] = {}

    def read(self, row: Row) -> None:
        """Name the ids that a line has for the first time."""
        UUID.sub(self._member, row.text)
        client = CLIENT.match(row.text)
        found = next(filter(None, (pattern.search(row.text) for pattern in SAYS_ITS_ID)), None)
        if client and found and found[1] not in self._members:
            self._number(client[1], found[1])

    def __call__(self, text: str, actor: str) -> str:
        """Name every id in a text that an actor wrote."""

        def producer(found: re.Match[str]) -> str:
            return found[1] + self._producers.setdefault(found[3], f"P:{found[2] or actor}")

        text = OWN_ID.sub(lambda found: self._members.get(found[0], found[0]), text)
        return PRODUCER_ID.sub(producer, UUID.sub(self._member, text))

    def _member(self, found: re.Match[str]) -> str:
        name, uuid = found[1], found[2]
        if uuid not in self._members:
            self._number(name, uuid)
        return self._members[uuid]

    def _number(self, name: str, member_id: str) -> None:
        self._lives[name] = self._lives.get(name, 0) + 1
        self._members[member_id] = f"{name}#{self._lives[name]}"


def facts(rows: Iterable[Row], told: Iterable[tuple[float, str, str]]) -> list[Fact]:
    """Everything that is compared of a run: its log rows, and what its applications were told (ms, client, text)."""
    ids = Ids()
    ordered = [row for row in sorted(rows, key=lambda row: row.at_ms) if concerns(row)]
    for row in ordered:
        ids.read(row)
    lines = [_fact(row, ids) for row in ordered]
    calls = [
        Fact(round(at_ms), f"app {client}", "", OUTCOME if OUTCOMES.match(text) else "", text)
        for at_ms, client, text in told
    ]
    return sorted([*without_repeated_lookups(_gathered(lines)), *_told_once(calls)], key=lambda fact: fact.at_ms)


def _told_once(calls: Iterable[Fact]) -> Iterator[Fact]:
    """Of failed sends one after the other, with the same error, the first: a batch fails record by record."""
    last: dict[str, str] = {}
    for call in calls:
        if not (call.text.startswith("send_failed") and last.get(call.actor) == call.text):
            yield call
        last[call.actor] = call.text


def outcome(at_ms: float, group: str, missing: int, again: int) -> Iterator[tuple[float, str, str]]:
    """How a group's reading ended: exact counts depend on milliseconds, whether there are any does not."""
    yield at_ms, group, f"acknowledged records that were not read: {'some' if missing else 'none'}"
    yield at_ms, group, f"records that were read again: {'some' if again else 'none'}"


def offsets_text(start: int, stable: int, end: int) -> str:
    """What is told of a topic's logs, all partitions together."""
    return f"log start {start}, last stable {stable}, end {end}"


def committed_text(state: str, members: int, offsets: Mapping[str, int]) -> str:
    """What is told of a group that an administrator looks at."""
    positions = ", ".join(f"{name}={offsets[name]}" for name in sorted(offsets))
    return f"{state}, members {members}, committed {positions}"


class DescribedMember(NamedTuple):
    """A member as ConsumerGroupDescribe has it: what it has, with what it must still give up, and its target."""

    client: str
    instance: str
    epoch: int
    has: Sequence[str]
    target: Sequence[str]


def description_text(state: str, epochs: tuple[int, int], assignor: str, members: Iterable[DescribedMember]) -> str:
    """What ConsumerGroupDescribe says: state, group and assignment epoch, assignor, and each member in order."""
    said = [
        f"{each.client}{f' ({each.instance})' if each.instance else ''} epoch {each.epoch}"
        f" has [{', '.join(sorted(each.has))}] target [{', '.join(sorted(each.target))}]"
        for each in sorted(members)
    ]
    return "; ".join([f"{state}, group epoch {epochs[0]}, assignment epoch {epochs[1]}, {assignor}", *said])


def positions_text(positions: Mapping[str, int], paused: Collection[str]) -> str:
    """What is told of a consumer: its position in each partition, and whether that is paused."""
    said = [f"{name}={positions[name]}{' paused' if name in paused else ''}" for name in sorted(positions)]
    return f"positions {', '.join(said)}"


def replica_name(partition: str, broker: int) -> str:
    """Whose log is told of: the first broker's has the partition's name."""
    return partition if broker == 1 else f"{partition} broker={broker}"


def log_text(batches: Iterable[LoggedBatch]) -> str:
    """What is told of a log: each batch with its offsets, and which of them compaction has left.

    `until`: the batch has a delete horizon.
    """
    return "; ".join(_batch_text(batch) for batch in batches)


def _batch_text(batch: LoggedBatch) -> str:
    words = [f"{batch.first}" if batch.first == batch.last else f"{batch.first}-{batch.last}"]
    whole = len(batch.kept) == batch.last - batch.first + 1
    words += [] if whole else [f"[{' '.join(map(str, batch.kept))}]"]
    words += [batch.marker] if batch.marker else []
    return " ".join([*words, "until"] if batch.horizon else words)


def records_text(serials: Mapping[str, Iterable[int]]) -> str:
    """Which records a group has finished: the serial numbers of each producer."""
    read = {name: sorted(set(numbers)) for name, numbers in serials.items()}
    return "; ".join(f"{name}: {' '.join(map(str, read[name]))}" for name in sorted(read) if read[name])


def concerns(row: Row) -> bool:
    """Whether a line is compared: Flightdeck writes its logger, and it is not about internal topics or warming up."""
    name = simple_name(row.logger)
    if READ_REPLICA in row.text:
        return "warm-" not in row.text
    if name not in COMPARED or row.level in ("DEBUG", "TRACE") or "warm-" in row.text:
        return False
    if name in SERVERS:
        return row.at_ms > BEGUN_MS and bool(SERVER_LINES.search(row.text)) and not OF_THE_CLUSTER.search(row.text)
    if name == "TransactionCoordinator":
        return not OF_A_COORDINATOR.search(row.text)
    return True


def simple_name(logger: str) -> str:
    """`kafka.cluster.Partition$` → `Partition`."""
    return logger.rpartition(".")[2].partition("$")[0]


def _fact(row: Row, ids: Ids) -> Fact:
    text, logger = row.text.strip(), simple_name(row.logger)
    client, coordinator = CLIENT.match(text), COORDINATOR.match(text)
    if client:
        actor, text = client[1], text[client.end() :]
    elif coordinator:
        actor, text = coordinator[1], text[coordinator.end() :]
        of = ITS_GROUP.search(text)
        actor += f" {of[1]}" if of and actor == "GroupCoordinator" else ""
    elif logger in CLIENTS:
        actor, text = row.writer or logger, NO_CONTEXT + text
    else:
        of = ITS_PARTITION.match(text)
        actor, text = f"{logger} {of[1]}" if of else logger, CONTROLLER.sub("", text)
    return Fact(round(row.at_ms), actor, row.level, logger, normal(ids(text, actor)))


def in_present_words(text: str) -> str:
    """What 4.1.0 writes otherwise than 4.3.1: partitions that come and go have no brackets there."""
    return FORMER_LIST.sub(r"\1 [\2]", text.rstrip())


def normal(text: str) -> str:
    """A text without addresses, offsets and correlation ids; lists and the members of an assignment are in order."""
    text = in_present_words(text)
    text = NODE.sub(lambda found: f"NODE {found[1]}", text)
    text = NUMBERS.sub("", OFFSET.sub(lambda found: f"{found[1] or found[2]}N", text))
    text = ISR.sub(lambda found: ",".join(sorted(found[0].split(","))), text)
    if text.startswith(LISTS):
        text = BRACKETS.sub(lambda found: f"[{', '.join(sorted(found[1].split(', ')))}]", text)
    if text.startswith("Finished assignment for group"):
        members = sorted(f"{member}={assignment}" for member, assignment in ASSIGNMENT.findall(text))
        text = f"{text[: text.index('{') + 1]}{', '.join(members)}}}"
    if text.startswith(NO_CONTEXT + "Final assignment of partitions"):
        members = sorted(found[0] for found in OWNED.finditer(text))
        text = f"{text[: text.index('{') + 1]}{', '.join(members)}}}"
    return text.strip()


def without_repeated_lookups(lines: Iterable[Fact]) -> Iterator[Fact]:
    """A client that looks for its coordinator every 100 ms writes the same lines each time: each counts once."""
    last: dict[tuple[str, str], int] = {}
    for fact in lines:
        lookup = LOOKUP.match(fact.text)
        if lookup:
            said = last.get((fact.actor, lookup[0]))
            last[fact.actor, lookup[0]] = fact.at_ms
            if said is not None and fact.at_ms - said <= REPEATED_WITHIN_MS:
                continue
        yield fact


def _gathered(lines: Iterable[Fact]) -> Iterator[Fact]:
    """Lines of one kind for several partitions, which Kafka writes in the order of a hash map, as one fact."""
    found: list[tuple[Fact, str, list[str]]] = []
    for fact in lines:
        match = next(filter(None, (pattern.search(fact.text) for pattern in PER_PARTITION)), None)
        if match is None:
            found.append((fact, "", []))
            continue
        template = f"{fact.text[: match.start()]}{match[1]}\0{match[3]}"
        names = match[2].strip().split(", ")
        for earlier, kind, so_far in reversed(found):
            if fact.at_ms - earlier.at_ms >= GATHERED_WITHIN_MS:
                found.append((fact, template, names))
                break
            if kind == template and earlier.actor == fact.actor:
                so_far.extend(names)  # an empty list has one empty name
                break
        else:
            found.append((fact, template, names))
    for fact, template, names in found:
        yield (
            fact._replace(text=template.replace("\0", ", ".join(filter(None, sorted(names)))).strip())
            if template
            else fact
        )

"""The tables of kafka-consumer-groups.sh: columns, widths and words of release 4.3.1 (`ConsumerGroupCommand`)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from recordings.kafka_tools.printed import MISSING, Printed, columns, failed, widest

_MOST_UNQUOTED: Final = 24  # characters; a longer cell is not looked at
LEAST: Final = 15
_REBALANCING: Final = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


class OffsetRow(NamedTuple):
    """A partition of a group; MISSING for what is unknown or not there. `lag` is end - committed, as Kafka has it."""

    group: str
    topic: str
    partition: str
    leader_epoch: str
    committed: str
    end: str
    lag: str
    consumer_id: str
    host: str
    client_id: str


class MemberRow(NamedTuple):
    """A member; epochs are MISSING in a classic group. `upgraded`: it speaks the new protocol, or MISSING."""

    group: str
    consumer_id: str
    instance_id: str
    host: str
    client_id: str
    partitions: int
    epoch: str
    assignment: str
    target_epoch: str
    target: str
    upgraded: str


class StateRow(NamedTuple):
    """A group at its coordinator."""

    group: str
    coordinator: str
    assignor: str
    state: str
    group_epoch: str
    assignment_epoch: str
    members: int


class BufferedRow(NamedTuple):
    """A partition that a consumer owns, and what it has fetched of it and not returned by poll(): MISSING for nothing.

    `records` and `size` (bytes) are those of the Fetch, `fetched_ms` is when it was answered by `broker`. `awaits`:
    what the partition's next records wait for.
    """

    group: str
    topic: str
    partition: str
    position: str
    buffered_to: str
    records: str
    size: str
    broker: str
    fetched_ms: str
    paused: str
    client_id: str
    awaits: str


class ResetRow(NamedTuple):
    """A partition's new committed offset."""

    group: str
    topic: str
    partition: int
    offset: int


def member_state(group: str, state: str) -> Printed:
    """What is said of a group's state before its table. Source: `shouldPrintMemberState`."""
    if state == "Dead":
        return failed(f"Consumer group '{group}' does not exist.")
    if state == "Empty":
        return Printed(err=f"\nConsumer group '{group}' has no active members.\n")
    if state in _REBALANCING:
        return Printed(err=f"\nWarning: Consumer group '{group}' is rebalancing.\n")
    return Printed()


def offsets_table(group: str, state: str, rows: Sequence[OffsetRow], *, verbose: bool = False) -> Printed:
    """`--describe`, and `--offsets`. Source: `printOffsets`."""
    said = member_state(group, state)
    if state == "Dead" or not rows:
        return said
    titles = ("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID",
              "HOST", "CLIENT-ID")  # fmt: skip
    widths = [
        *(widest(LEAST, (row.group for row in rows)), widest(LEAST, (row.topic for row in rows)), 10, *4 * (LEAST,)),
        *(widest(LEAST, (row.consumer_id for row in rows)), widest(LEAST, (row.host for row in rows)), 0),
    ]
    table: list[Sequence[str]] = [titles, *rows]
    if not verbose:
        epoch = titles.index("LEADER-EPOCH")
        del widths[epoch]
        table = [(*row[:epoch], *row[epoch + 1 :]) for row in table]
    return said + Printed("".join(f"\n{line}" for line in columns(table, widths)) + "\n")


def members_table(group: str, state: str, rows: Sequence[MemberRow], *, verbose: bool = False) -> Printed:
    """`--describe --members`: its titles are printed without members, too. Source: `printMembers`."""
    said = member_state(group, state)
    known = rows if state != "Dead" else ()
    static = any(row.instance_id for row in known)
    migrating = {row.upgraded for row in known} >= {"true", "false"}
    titles = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [
        widest(LEAST, (row.group for row in known)),
        widest(LEAST, (row.consumer_id for row in known)),
        widest(17, (row.instance_id for row in known)),
        widest(LEAST, (row.host for row in known)),
        widest(LEAST, (row.client_id for row in known)),
        LEAST,
    ]
    more = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"]
    more_widths = [
        *(LEAST, widest(20, (row.assignment for row in known))),
        *(LEAST, widest(20, (row.target for row in known)), 0),
    ]
    shown = [number for number in range(6) if static or titles[number] != "GROUP-INSTANCE-ID"]
    extra = range(5 if migrating else 4) if verbose else range(0)
    lines = []
    for row in (None, *rows):
        first = titles if row is None else [*row[:5], str(row.partitions)]
        second = more if row is None else list(row[6:])
        line = columns([[first[number] for number in shown]], [widths[number] for number in shown])[0] + " "
        lines.append(line + columns([[second[n] for n in extra]], [more_widths[n] for n in extra])[0])
    return said + Printed("\n" + "".join(f"{line}\n" for line in lines))


def state_table(row: StateRow, *, verbose: bool = False) -> Printed:
    """`--describe --state`. Source: `printStates`."""
    said = member_state(row.group, row.state)
    if row.state == "Dead":
        return said
    titles = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH",
              "#MEMBERS")  # fmt: skip
    widths = [widest(LEAST, (row.group,)), widest(25, (row.coordinator,)), 20, 20, 15, 25, 0]
    table: list[tuple[str, ...]] = [titles, (*row[:6], str(row.members))]
    if not verbose:
        table, widths = [(*cells[:4], cells[6]) for cells in table], [*widths[:4], 0]
    return said + Printed("".join(f"\n{line}" for line in columns(table, widths)) + "\n")


def list_table(rows: Sequence[tuple[str, str, str]], *, types: bool, states: bool) -> Printed:
    """`--list`: group, type and state. Source: `listGroups`, `printGroupInfo`."""
    if not types and not states:
        return Printed("".join(f"{group}\n" for group, _, _ in rows))
    titles = ("GROUP", "TYPE", "STATE")
    shown = [0, *([1] if types else []), *([2] if states else [])]
    widths = [widest(LEAST, (row[0] for row in rows)) + 10, 20, 20]
    table = [[cells[number] for number in shown] for cells in (titles, *rows)]
    return Printed("".join(f"{line}\n" for line in columns(table, [widths[number] for number in shown])))


def reset_table(groups: Sequence[str], rows: Sequence[ResetRow]) -> Printed:
    """New offsets, of a dry run or not. Source: `OffsetsUtils.printOffsetsToReset`."""
    titles = ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
    widths = [widest(LEAST, groups), widest(LEAST, (row.topic for row in rows)), 10, 0]
    table = [titles, *((row.group, row.topic, str(row.partition), str(row.offset)) for row in rows)]
    return Printed("".join(f"\n{line}" for line in columns(table, widths)) + "\n")


def exported_rows(rows: Sequence[ResetRow], *, named: bool) -> Printed:
    """New offsets as `--export` prints them and `--from-file` takes them; `named`: with their group.

    Source: `ConsumerGroupService.exportOffsetsToCsv`, Jackson's `CsvEncoder._mayNeedQuotes`.
    """
    table = [(*((row.group,) if named else ()), row.topic, str(row.partition), str(row.offset)) for row in rows]
    return Printed("".join(",".join(map(_quoted, cells)) + "\n" for cells in table) + "\n")


def _quoted(cell: str) -> str:
    plain = len(cell) <= _MOST_UNQUOTED and min(cell, default="") > "," and "\\" not in cell
    return cell if plain else '"' + cell.replace('"', '""') + '"'


def buffered_table(rows: Sequence[BufferedRow]) -> Printed:
    """`--buffered`, of this flight's own: no tool of Kafka asks a client."""
    titles = ("GROUP", "TOPIC", "PARTITION", "POSITION", "BUFFERED-TO", "FETCHED-RECORDS", "FETCHED-BYTES",
              "FETCHED-FROM", "FETCHED-AT-MS", "PAUSED", "CLIENT-ID", "AWAITS")  # fmt: skip
    widths = [
        *(widest(LEAST, (row.group for row in rows)), widest(LEAST, (row.topic for row in rows)), 10, *5 * (LEAST,)),
        *(LEAST, 7, widest(LEAST, (row.client_id for row in rows)), 0),
    ]
    return Printed("".join(f"\n{line}" for line in columns([titles, *rows], widths)) + "\n")


def assignment_text(partitions: Sequence[tuple[str, int]]) -> str:
    """A member's partitions: `orders:0,1;payments:2`, MISSING without one. Source: `getAssignmentString`."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    each = (f"{topic}:{','.join(map(str, sorted(numbers)))}" for topic, numbers in by_topic.items())
    return ";".join(sorted(each)) or MISSING

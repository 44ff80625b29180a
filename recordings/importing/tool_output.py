"""What kafka-topics.sh, kafka-consumer-groups.sh and kafka-configs.sh print with --describe, one or several in a file.

Sources: `TopicCommand.PartitionDescription`, `TopicDescription`; `ConsumerGroupCommand`; `ConfigCommand` of 4.3.1.
Releases since 2.1 differ in blanks and columns, which are read by their titles.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from cluster.config import defaults
from cluster.spec import MOST_BROKERS, MOST_PARTITIONS
from recordings.importing.draft import ClusterDraft, GroupDraft, ImportFileError, whole_number
from recordings.importing.printed_tables import PrintedTable
from recordings.scenarios.toml_tables import cut

MISSING: Final = "-"
_GROUP_OPTION: Final = re.compile(r"--group[ =]['\"]?(?P<group>[^\s'\"]+)")
_IN_FILE_NAME: Final = re.compile(r"[^\w.]+", re.ASCII)
ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
_TOPIC: Final = re.compile(
    r"Topic:\s*(?P<topic>\S+)\s+(?:TopicId:\s*\S+\s+)?PartitionCount:\s*(?P<partitions>\S+)"
    r"\s+ReplicationFactor:\s*(?P<replication>\S+)(?:\s+Configs:\s*(?P<configs>\S*))?.*"
)
_PARTITION: Final = re.compile(
    r"\s+Topic:\s*(?P<topic>\S+)\s+Partition:\s*(?P<partition>\S+)\s+Leader:\s*(?P<leader>\S+)"
    r"\s+Replicas:\s*(?P<replicas>\S+)(?:\s+Isr:[ \t]*(?P<isr>[\d,]*))?"
    r"(?:.*\sRemoving Replicas:[ \t]*(?P<removing>[\d,]*))?.*"
)
_CONFIGS: Final = re.compile(
    r"(?:(?:Dynamic|All) configs for (?P<kind>[a-z-]+) (?P<name>.+)|Default configs for brokers in the cluster)"
    r" are:\s*"
)
_ENTRY: Final = re.compile(
    r"\s+(?P<key>[\w.-]+)=(?P<value>.*?) sensitive=(?P<hidden>\w+) synonyms=\{(?P<synonyms>.*)\}\s*"
)
_OF_GROUP: Final = re.compile(
    r"(?:Warning: )?Consumer group '(?P<group>.+)' (?P<said>has no active members|is rebalancing|does not exist)\."
)
_OF_USERS: Final = re.compile(
    r"(?P<what>Quota|SCRAM credential) configs for (?P<entity>(?:the default )?(?:user-principal|client-id|ip)\b.*)"
    r" are\b.*"
)
_NOISE: Final = re.compile(
    r"(?:Note: |\$|#|>|bin/|\./|kafka-[\w-]+(?:\.sh|\.bat)?\s|SLF4J|\[\d{4}-|WARN|OpenJDK|Picked up).*"
)
_COMMAND: Final = re.compile(
    r"(?:\S.{0,400}?[\s/'\"])?kafka-[a-z-]{1,60}(?:\.sh|\.bat)?\s+--[a-z].*"
    r"|\[?[\w.-]{1,80}@[^\s$#\]]{1,80}(?: [^\s$#\]]{1,80})?\]?[$#](?:\s.*)?"
)
"""A line of a tool, also behind a prompt or a launcher (`kubectl exec … --`), and a prompt with a user and a host."""
_SET_BY: Final = ("DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG",
                  "STATIC_BROKER_CONFIG", "DYNAMIC_GROUP_CONFIG", "GROUP_CONFIG")  # fmt: skip


def read_tool_output(text: str, file: str, draft: ClusterDraft) -> None:
    """Fill the draft with what the lines say. Raises ImportFileError: the line and what is wrong with it."""
    reader = ToolOutputReader(file, draft)
    for number, line in enumerate(text.splitlines(), 1):
        reader.take(number, line)
    reader.end()


class ToolOutputReader:
    """The state between two lines: which table, or whose configurations, the next line belongs to."""

    def __init__(self, file: str, draft: ClusterDraft) -> None:
        self._file, self._draft = file, draft
        self._line = 0
        self._table: PrintedTable | None = None
        self._entity: tuple[str, str] | None = None
        self._said = 0  # lines that were understood
        self._failures: list[tuple[int, str]] = []
        self._others: list[int] = []
        self._partitions_that: dict[str, list[str]] = defaultdict(list)
        self._lags: dict[tuple[str, str, str], int] = {}
        self._members: dict[str, set[str]] = {}
        self._named = ""  # the group that a command or sentence named last
        self._nameless: set[tuple[str, ...]] = set()  # titles of tables whose group nothing names
        self._of_users = 0  # lines on quotas and credentials

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        self._line = number
        if not line.strip():
            self._table = None
            return
        if PrintedTable.begins(line):
            self._begin(PrintedTable(line))
        elif self._is_known(line):
            self._said += 1
        elif self._table is not None and not self._ends_table(self._table, line):
            self._row(self._table, line)
        elif _NOISE.match(line) is None and _COMMAND.match(line) is None:
            self._others.append(number)
        elif (named := _GROUP_OPTION.search(line)) is not None:
            self._named = named["group"]

    def _ends_table(self, table: PrintedTable, line: str) -> bool:
        """Whether a line is the next command: the tools print no blank line behind their rows."""
        if _COMMAND.match(line) is None and (_NOISE.match(line) is None or table.row(line) is not None):
            return False
        self._table = None
        return True

    def _is_known(self, line: str) -> bool:
        """Whether a line stands for itself, outside a table."""
        if (topic := _TOPIC.fullmatch(line)) is not None:
            self._topic(topic)
        elif (partition := _PARTITION.fullmatch(line)) is not None:
            self._partition(partition)
        elif (configs := _CONFIGS.fullmatch(line)) is not None:
            self._entity = (configs["kind"] or "broker", configs["name"] or "by default")
            if self._entity[0] == "broker" and (broker := whole_number(self._entity[1])) is not None:
                self._broker(broker)
        elif self._entity is not None and (entry := _ENTRY.fullmatch(line)) is not None:
            self._config(*self._entity, entry)
        elif (said := _OF_GROUP.fullmatch(line.strip())) is not None:
            self._state_of(said["group"], said["said"])
        elif (of_users := _OF_USERS.fullmatch(line.strip())) is not None:
            self._of_users += 1
            self._draft.left_out.append(f"{of_users['what']} configs of {of_users['entity']}")
        elif line.startswith(("Error", "Exception")):
            self._failures.append((self._line, line.strip()[:160]))
        else:
            return False
        return True

    def end(self) -> None:
        """Put what is known only behind the last line into the draft."""
        if not self._said:
            reason = "no line is of kafka-topics.sh, kafka-consumer-groups.sh or kafka-configs.sh with --describe"
            raise ImportFileError(self._file, self._others[0] if self._others else 0, reason)
        if self._said == self._of_users:
            raise ImportFileError(self._file, 0, "it has quotas or credentials alone, which a flight does not have")
        if self._said == len(self._failures):
            line, said = self._failures[0]
            raise ImportFileError(self._file, line, f"the tool failed: {said}")
        for line, said in self._failures:
            self._draft.left_out.append(f"{self._file}:{line} is an error of the tool: {said}")
        for group in {group for group, _, _ in self._lags}:
            self._draft.group(group).lag = sum(lag for (of, _, _), lag in self._lags.items() if of == group)
        for group, ids in self._members.items():
            self._draft.group(group).members = len(ids)
        for kind, names in self._partitions_that.items():
            self._draft.left_out.append(f"partitions {kind}: {len(names)}, such as {names[0]}")
        if self._others:
            self._draft.left_out.append(
                f"lines of {self._file} that are not understood: {len(self._others)}, first line {self._others[0]}"
            )

    def _topic(self, found: re.Match[str]) -> None:
        topic = self._draft.topic(found["topic"])
        topic.partitions = self._number(found["partitions"], "PartitionCount", MOST_PARTITIONS, least=1)
        topic.replication = self._number(found["replication"], "ReplicationFactor", MOST_BROKERS, least=1)
        key = ""
        for pair in (found["configs"] or "").split(","):
            name, equals, value = pair.partition("=")
            if equals:
                key, topic.config[name] = name, value
            elif key and pair:  # a list: cleanup.policy=compact,delete
                topic.config[key] += f",{pair}"

    def _partition(self, found: re.Match[str]) -> None:
        number = self._number(found["partition"], "Partition", MOST_PARTITIONS)
        topic = self._draft.topic(found["topic"])
        topic.seen = max(topic.seen, number)
        replicas = [self._number(one, "Replicas", 2**31 - 1) for one in found["replicas"].split(",")]
        for broker in replicas:
            self._broker(broker)
        name = f"{found['topic']}-{number}"
        if len([one for one in (found["isr"] or "").split(",") if one]) < len(replicas):
            self._partitions_that["without all in-sync replicas"].append(name)
        removing = (found["removing"] or "").split(",")
        target = tuple(broker for broker in replicas if str(broker) not in removing)
        if found["removing"] is not None:
            self._partitions_that["with a reassignment in progress, complete in the scenario"].append(name)
        topic.replicas[number] = target
        topic.replication = topic.replication or len(target)
        if found["leader"] in ("none", "-1"):
            self._partitions_that["without a leader"].append(name)
        elif target and found["leader"] != str(target[0]):
            self._partitions_that["without their preferred leader"].append(name)

    def _broker(self, broker: int) -> None:
        self._draft.brokers.add(broker)
        if len(self._draft.brokers) > MOST_BROKERS:
            raise ImportFileError(self._file, self._line, f"more than {MOST_BROKERS:,} brokers")

    def _config(self, kind: str, name: str, entry: re.Match[str]) -> None:
        """An entry of kafka-configs.sh; with --all, only values that are set."""
        if entry["synonyms"] and not entry["synonyms"].startswith(_SET_BY):
            return
        if entry["hidden"] == "true" or entry["value"] == "null":
            self._draft.left_out.append(f"{entry['key']} of {kind} {name}: its value is hidden")
        elif kind == "topic":
            self._draft.topic(name).config[entry["key"]] = entry["value"]
        elif kind == "broker":
            first = self._draft.config.setdefault(entry["key"], entry["value"])
            if first != entry["value"] and entry["key"] in defaults("broker"):
                other = f"{entry['key']} of broker {name}: {cut(entry['value'])}; all brokers have {cut(first)}"
                self._draft.left_out.append(other)
        elif kind == "group" and entry["key"] in _OF_GROUPS:
            self._draft.group(name)
            self._draft.config[_OF_GROUPS[entry["key"]]] = entry["value"]
            self._draft.guessed.append(f"{_OF_GROUPS[entry['key']]} for all groups: {entry['key']} of {name}")
        else:
            self._draft.left_out.append(f"{entry['key']} of {kind} {name}")

    def _state_of(self, group: str, said: str) -> None:
        self._named = group
        if said == "has no active members":
            self._draft.group(group).members = 0
        elif said == "is rebalancing":
            self._draft.group(group)
            self._draft.left_out.append(f"the rebalance of {group} that was under way")
        else:
            self._draft.left_out.append(f"{group}: the tool says that this group does not exist")

    def _row(self, table: PrintedTable, line: str) -> None:
        cells = table.row(line)
        if cells is None:
            titles = cut(", ".join(table.titles))
            raise ImportFileError(self._file, self._line, f"this row has not the columns of its table: {titles}")
        if "GROUP" not in table.titles:
            cells["GROUP"] = self._named or self._name_of_file()
        if not cells["GROUP"]:
            raise ImportFileError(self._file, self._line, "this row names no group")
        group = self._draft.group(cells["GROUP"])
        if "PARTITION" in table.titles:
            self._needs(table, "TOPIC")
            self._offsets(group, cells)
        elif "#PARTITIONS" in table.titles:
            self._needs(table, "CONSUMER-ID", "CLIENT-ID")
            self._member(group, cells)
        elif "#MEMBERS" in table.titles:
            self._state(group, cells)
        elif cells.get("TYPE", "").lower() == "consumer":
            group.protocol = "consumer"

    def _begin(self, table: PrintedTable) -> None:
        """Begin a table. Raises ImportFileError: it is a group's, and neither it nor what stands above names which."""
        self._table, self._entity, self._said = table, None, self._said + 1
        if "GROUP" in table.titles or self._named:
            return
        if tuple(table.titles) in self._nameless:
            reason = "a second table without its group's name; give each group a file, or keep the command above it"
            raise ImportFileError(self._file, self._line, reason)
        if not self._nameless:
            self._draft.guessed.append(f"{self._name_of_file()}: the group's name, from its file's: no column has it")
        self._nameless.add(tuple(table.titles))

    def _name_of_file(self) -> str:
        """A name for the group of a table without that column, as releases before 2.3 print it."""
        return _IN_FILE_NAME.sub("-", Path(self._file).stem).strip("-") or "group"

    def _needs(self, table: PrintedTable, *titles: str) -> None:
        """Raise ImportFileError for a table of which a column was cut away."""
        missing = [title for title in titles if title not in table.titles]
        if missing:
            raise ImportFileError(self._file, self._line, f"the table of this row has no column {missing[0]}")

    def _offsets(self, group: GroupDraft, cells: dict[str, str]) -> None:
        """A partition of a group; of a member without one, old releases print a row of `-`."""
        if cells.get("CONSUMER-ID", MISSING) != MISSING:
            group.consumer_ids.add(cells["CONSUMER-ID"])
        if cells["TOPIC"] in (MISSING, ""):
            return
        group.topics.add(cells["TOPIC"])
        topic = self._draft.topic(cells["TOPIC"])
        topic.seen = max(topic.seen, self._number(cells["PARTITION"], "PARTITION", MOST_PARTITIONS))
        lag = cells.get("LAG", MISSING)
        if lag != MISSING:
            behind = -self._number(lag[1:], "LAG") if lag[:1] == MISSING else self._number(lag, "LAG")
            self._lags[cells["GROUP"], cells["TOPIC"], cells["PARTITION"]] = max(0, behind)

    def _member(self, group: GroupDraft, cells: dict[str, str]) -> None:
        group.consumer_ids.add(cells["CONSUMER-ID"])
        self._members.setdefault(cells["GROUP"], set()).add(cells["CONSUMER-ID"])
        group.static = group.static or cells.get("GROUP-INSTANCE-ID", MISSING) not in (MISSING, "")
        if whole_number(cells.get("CURRENT-EPOCH", MISSING)) is not None:
            group.protocol = "consumer"
        if cells.get("UPGRADED") == "false":
            self._draft.left_out.append(f"{cells['GROUP']}: {cells['CLIENT-ID']} still speaks the classic protocol")
        assignment = cells.get("CURRENT-ASSIGNMENT", cells.get("ASSIGNMENT", MISSING))
        for topic, partitions in _ASSIGNED.findall(assignment):
            group.topics.add(topic)
            numbers = [self._number(one, "CURRENT-ASSIGNMENT", MOST_PARTITIONS) for one in partitions.split(",")]
            self._draft.topic(topic).seen = max(self._draft.topic(topic).seen, *numbers)

    def _state(self, group: GroupDraft, cells: dict[str, str]) -> None:
        group.members = self._number(cells["#MEMBERS"], "#MEMBERS")
        coordinator = _COORDINATOR_ID.search(cells.get("COORDINATOR", ""))
        if coordinator is not None and (broker := whole_number(coordinator[1])) is not None:
            self._broker(broker)
        strategy = cells.get("ASSIGNMENT-STRATEGY", MISSING)
        if strategy == "uniform" or whole_number(cells.get("GROUP-EPOCH", MISSING)) is not None:
            group.protocol = "consumer"
        if strategy not in (MISSING, ""):
            group.assignor = strategy

    def _number(self, text: str, name: str, most: int = 10**15, *, least: int = 0) -> int:
        """A number of a line. Raises ImportFileError."""
        number = whole_number(text)
        if number is None or not least <= number <= most:
            reason = f"{name} is {repr(text[:40]) if text else 'missing'}, not a whole number from {least} to {most:,}"
            raise ImportFileError(self._file, self._line, reason)
        return number


_ASSIGNED: Final = re.compile(r"([\w.-]+)[:(]([\d,]+)\)?")
"""`orders:0,1;payments:2` of 4.x, `orders(0,1),payments(2)` of earlier releases."""
_COORDINATOR_ID: Final = re.compile(r"\((\d+)\)\s*$")
_OF_GROUPS: Final = {
    "consumer.session.timeout.ms": "group.consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms": "group.consumer.heartbeat.interval.ms",
}
"""Settings of single groups (KIP-848), which a scenario has for all of them."""

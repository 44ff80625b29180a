"""Kafka's tools against a real cluster: each is the class that `kafka-*.sh` starts."""

import json
import re
import shlex
import signal
import subprocess
import sys

from cluster.protocol.names import TopicPartition
from tests.fidelity.recorder.cluster import RealCluster, Release

CLASSES = {
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-leader-election.sh": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-delete-records.sh": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-producer-perf-test.sh": "org.apache.kafka.tools.ProducerPerformance",
}

NOISE = re.compile(
    r"\t(at |\.\.\. |[a-z.]+ = )|\d{13} (INFO|ERROR|WARN) |java\.|joptsimple\.|org\.apache|com\.fasterxml| at \[Source"
    r"|Caused by: |WARN: No action will be performed"
)
USAGE = re.compile(r"\nOption +Description.*", re.DOTALL)


def cleaned(text: str) -> str:
    """Without logs, stack traces, the list of a tool's options, and a warning about release 5.0."""
    lines = USAGE.sub("\n", text).split("\n")
    return "\n".join(line for line in lines if not NOISE.match(line)).strip("\n") + "\n"


class Tools:
    """Runs Kafka's tools against a cluster and keeps what they print."""

    def __init__(self, release: Release, cluster: RealCluster) -> None:
        self._release, self._cluster = release, cluster
        self.kept: dict[str, dict[str, str]] = {}
        self.processes: list[subprocess.Popen[bytes]] = []

    def _command(self, line: str) -> list[str]:
        tool, *words = shlex.split(line)
        return self._release.java(128, CLASSES[tool], "--bootstrap-server", self._cluster.bootstrap, *words)

    def run(self, line: str, *, given: str = "") -> str:
        """Run a tool to its end; what it printed."""
        done = subprocess.run(self._command(line), input=given, capture_output=True, text=True, check=False, timeout=90)
        return cleaned(done.stdout + done.stderr)

    def look(self, name: str, line: str, rows: str = "") -> None:
        """Run a tool and keep what it printed. `rows` are those of `--from-file`; its line has them in its place."""
        plan = self._cluster.folder / "plan.csv"
        plan.write_text(rows.replace(" ", "\n"), "utf-8")
        file, shown = (f" --from-file {plan}", f" --from-file '{rows}'") if rows else ("", "")
        self.kept[name] = {"command": f"{line}{shown}", "printed": self.run(f"{line}{file}")}
        sys.stdout.write(f"--- {name}: {line}\n{self.kept[name]['printed']}\n")

    def reassign(self, name: str, action: str, *moves: tuple[str, tuple[int, ...]], more: str = "") -> None:
        """Run `kafka-reassign-partitions.sh` with this JSON, and keep what it printed."""
        named = [(TopicPartition.parse(place), replicas) for place, replicas in moves]
        parts = [{"topic": place.topic, "partition": place.partition, "replicas": ids} for place, ids in named]
        text = json.dumps({"version": 1, "partitions": parts}, separators=(",", ":"))
        self.look_with(name, f"kafka-reassign-partitions.sh --{action} --reassignment-json-file", text, more)

    def generate(self, name: str, topics: tuple[str, ...], more: str) -> None:
        """Run `kafka-reassign-partitions.sh --generate` for topics, and keep what it printed."""
        text = json.dumps({"topics": [{"topic": topic} for topic in topics], "version": 1}, separators=(",", ":"))
        self.look_with(name, "kafka-reassign-partitions.sh --generate --topics-to-move-json-file", text, more)

    def look_with(self, name: str, line: str, text: str, more: str = "") -> None:
        """Run a tool whose last option is a file with this text, which the kept line has in its place."""
        plan = self._cluster.folder / "plan.json"
        plan.write_text(text, "utf-8")
        printed = self.run(f"{line} {plan}{more}")
        self.kept[name] = {"command": f"{line} '{text}'{more}", "printed": printed}
        sys.stdout.write(f"--- {name}: {line}\n{printed}\n")

    def slow_down(self, topic: str, broker: int) -> None:
        """Let a broker copy what it does not yet have of a topic so slowly that it stays under way."""
        throttle = "kafka-configs.sh --alter --entity-type"
        replicas, rate = f"[0:{broker},2:{broker}]", "follower.replication.throttled.rate=1"
        key = "follower.replication.throttled.replicas"
        self.run(f"{throttle} topics --entity-name {topic} --add-config {key}={replicas}")
        self.run(f"{throttle} brokers --entity-name {broker} --add-config {rate}")

    def kill(self, broker: int) -> None:
        """`kill -9` a broker."""
        self._cluster.signal(broker, signal.SIGKILL)

    def start(self, line: str) -> subprocess.Popen[bytes]:
        """Start a client that goes on."""
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(self._command(line), stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        self.processes.append(process)
        return process

"""A real Kafka on loopback: one node that is everything, or a controller and as many brokers as a scenario has.

Jars come from Maven once a release and stay outside the project; a cluster's data is thrown away with it. Nodes are
formatted and started by Kafka's own classes, with Kafka's defaults but for what is listed here.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from cluster.commands import LoseResponses
from cluster.spec import ScenarioSpec
from tests.fidelity.recorder.agenda import CannotRecord, text_of
from tests.fidelity.recorder.proxy import Proxy

HERE = Path(__file__).parent
ID = "AAAAAAAAAAAAAAAAAAAAAQ"
CONTROLLER = 100
FOR_PROXIES, PROXIES = 200, 300  # a broker's ports beside its own, when its clients come through a proxy
ONE_NODE_MB, NODE_MB = 1_024, 512
NOT_KAFKAS = ("transaction.version",)  # a feature, not a configuration: a new cluster has the newest
STARTING_S = 120


class Release:
    """The jars and the compiled driver of a release of Kafka, fetched when they are missing."""

    def __init__(self, version: str, work: Path) -> None:
        self.version = version
        self.jars, self.driver = work / f"jars-{version}", work / f"driver-{version}"

    def prepare(self) -> None:
        """Fetch what is missing, and compile the driver, whose source may be newer."""
        if not self.jars.is_dir():
            copy = [f"-DoutputDirectory={self.jars}", "dependency:copy-dependencies"]
            _run("mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), f"-Dkafka.version={self.version}", *copy)
        shutil.rmtree(self.driver, ignore_errors=True)
        sources = sorted(str(path) for path in (HERE / "java").glob("*.java"))
        _run("javac", "-cp", f"{self.jars}/*", "-d", str(self.driver), *sources)

    def java(self, megabytes: int, *arguments: str) -> list[str]:
        """A command line that runs a class of Kafka or of the driver."""
        log = f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}"
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Duser.timezone=UTC", log]
        return ["java", f"-Xmx{megabytes}m", *options, "-cp", f"{self.jars}/*:{self.driver}", *arguments]


class RealCluster:
    """The nodes of one recording, in a folder of their own."""

    def __init__(self, release: Release, spec: ScenarioSpec, folder: Path, first_port: int) -> None:
        self.release, self.folder = release, folder
        self.ports = {broker.id: first_port + broker.id for broker in spec.brokers}
        self._controller_port = first_port + CONTROLLER
        self._alone = len(spec.brokers) == 1
        self._racks = {broker.id: broker.rack for broker in spec.brokers if broker.rack}
        self._config = {key: text_of(value) for key, value in spec.config.items() if key not in NOT_KAFKAS}
        if str(spec.config.get("transaction.version", "2")) != "2":
            raise CannotRecord("transaction.version: a new cluster has 2")
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        proxied = any(isinstance(step.command, LoseResponses) for step in spec.steps)
        self.proxies = {node: Proxy(port + PROXIES, port + FOR_PROXIES) for node, port in self.ports.items() if proxied}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    @property
    def bootstrap(self) -> str:
        """Every broker's address, or its proxy's."""
        more = PROXIES if self.proxies else 0
        return ",".join(f"127.0.0.1:{port + more}" for port in self.ports.values())

    def logs(self) -> list[Path]:
        """What the nodes have written."""
        return sorted(self.folder.glob("node-*.log"))

    def start(self) -> None:
        """Start every node and wait until each answers."""
        nodes = [*self.ports] if self._alone else [CONTROLLER, *self.ports]
        for node in nodes:
            self.start_node(node)
        for node in nodes:
            self._until_started(node)

    def start_node(self, node: int) -> None:
        """Start a node; formats it if it is new."""
        properties = self.folder / f"node-{node}.properties"
        if not properties.exists():
            properties.write_text("".join(f"{key}={value}\n" for key, value in self._properties(node)), "utf-8")
            _run(*self.release.java(128, "kafka.tools.StorageTool", "format", "-t", ID, "-c", str(properties)))
        with (self.folder / f"node-{node}.log").open("ab") as log:
            command = self.release.java(ONE_NODE_MB if self._alone else NODE_MB, "kafka.Kafka", str(properties))
            self._nodes[node] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def _properties(self, node: int) -> Iterator[tuple[str, str]]:
        """What differs from Kafka's defaults: addresses, the sizes of a small machine, internal topics' replication."""
        replicas, quorum = min(3, len(self.ports)), next(iter(self.ports)) if self._alone else CONTROLLER
        own = "broker,controller" if self._alone else "controller" if node == CONTROLLER else "broker"
        listeners = [f"PLAINTEXT://127.0.0.1:{self.ports[node]}"] if node in self.ports else []
        listeners += [f"CONTROLLER://127.0.0.1:{self._controller_port}"] if "controller" in own else []
        yield from {
            "process.roles": own,
            "node.id": str(node),
            "controller.quorum.voters": f"{quorum}@127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CLIENTS:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.folder / f"data-{node}"),
            "offsets.topic.replication.factor": str(replicas),
            "transaction.state.log.replication.factor": str(replicas),
            "transaction.state.log.min.isr": str(min(2, replicas)),
            "share.coordinator.state.topic.replication.factor": str(replicas),
            "share.coordinator.state.topic.min.isr": "1",
            "auto.create.topics.enable": "false",
            "log.cleaner.dedupe.buffer.size": "4194304",
            "num.network.threads": "2",
            "num.io.threads": "4",
        }.items()
        yield from self._config.items()
        if node in self._racks:
            yield "broker.rack", self._racks[node]
        if node in self.proxies:
            port = self.ports[node]
            yield "listeners", ",".join([*listeners, f"CLIENTS://127.0.0.1:{port + FOR_PROXIES}"])
            yield "advertised.listeners", f"{listeners[0]},CLIENTS://127.0.0.1:{port + PROXIES}"

    def _until_started(self, node: int) -> None:
        deadline = time.monotonic() + STARTING_S
        log = self.folder / f"node-{node}.log"
        while b"Kafka Server started" not in log.read_bytes():
            if self._nodes[node].poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"node {node} did not start; its log is {log}")
            time.sleep(0.2)

    def signal(self, node: int, number: signal.Signals) -> None:
        """Stop, kill, freeze or wake a node."""
        os.kill(self._nodes[node].pid, number)

    def end(self) -> None:
        """Kill what still runs."""
        for process in self._nodes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        for proxy in self.proxies.values():
            proxy.end()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")

"""One pass of a scenario over a real cluster: warm clients, do its steps, keep what everybody wrote."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster.spec import ScenarioSpec, TopicSpec
from tests.fidelity.normalisation import replica_name
from tests.fidelity.recorder.agenda import (
    Action,
    Words,
    actions,
    alone,
    clients,
    protocols,
    sources,
    text_of,
    with_settings,
)
from tests.fidelity.recorder.cluster import RealCluster, Release
from tests.fidelity.recorder.jvm import Jvm
from tests.fidelity.recorder.raw import Run
from tests.fidelity.recorder.segments import batches_of
from tests.fidelity.traces import Step

SIGNALS = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP, "resume": signal.SIGCONT, "stop": signal.SIGTERM}
WARM = "warm"
INTERNAL = {"cleanup.policy": "compact", "segment.bytes": "104857600"}


def record(release: Release, spec: ScenarioSpec, folder: Path, first_port: int) -> tuple[Run, list[Step]]:
    """Fly a scenario on a new real cluster. Raises CannotRecord, or RuntimeError when the cluster does not come up."""
    agenda = actions(spec)  # before anything is started: it may be none for a real cluster
    cluster = RealCluster(release, spec, folder, first_port)
    pass_ = _Pass(release, spec, cluster, folder)
    try:
        cluster.start()
        pass_.prepare(agenda)
        return pass_.fly(agenda)
    finally:
        pass_.end()
        cluster.end()


class _Pass:
    """The drivers of one pass; clients that are killed or frozen have one for each of their lives."""

    def __init__(self, release: Release, spec: ScenarioSpec, cluster: RealCluster, folder: Path) -> None:
        self._release, self._spec, self._cluster, self._folder = release, spec, cluster, folder
        self._clients = clients(spec)
        self._shared = self._jvm("shared")
        self._jvms = [self._shared]
        self._looks: list[dict[str, Any]] = []
        self._spare: dict[str, list[Jvm]] = {}
        self._home: dict[str, Jvm] = {}

    def _jvm(self, name: str) -> Jvm:
        return Jvm(self._release, self._cluster.bootstrap, self._folder / f"client-{name}.log")

    def prepare(self, agenda: list[Action]) -> None:
        """Create topics where Flightdeck has them, start every process that will be needed, and warm it."""
        for words in _creations(self._spec):
            self._shared.ask(words, "done", words[1])
        for name in sorted(alone(self._spec)):
            lives = sum(1 for action in agenda if action.target == name and action.verb in ("start", "restart"))
            self._spare[name] = [self._jvm(f"{name}.{life}") for life in range(1, lives + 1)]
            self._jvms += self._spare[name]
        for jvm in self._jvms:
            for protocol in sorted(protocols(self._spec)):
                jvm.ask(("warm", WARM, f"cfg.group.protocol={protocol}"), "warm")
        time.sleep(2)

    def fly(self, agenda: list[Action]) -> tuple[Run, list[Step]]:
        """Do every action at its instant; returns what was written from the first one on."""
        logs = {path: path.stat().st_size for path in self._cluster.logs()}
        begin = time.time() + 0.2
        steps: list[Step] = []
        for action in agenda:
            time.sleep(max(0.0, begin + action.at_us / 1e6 - time.time()))
            steps.append(Step(round((time.time() - begin) * 1_000), str(action)))
            self._do(action)
        time.sleep(max(0.0, begin + self._spec.until_us / 1e6 - time.time()))
        end_ms = time.time() * 1_000
        self.end()
        lines = [line for path in self._cluster.logs() for line in _from(path, logs.get(path, 0))]
        lines += [line for jvm in self._jvms for line in _from(jvm.log, 0)]
        told = [*self._looks, *(event for jvm in self._jvms for event in jvm.events)]
        events = sorted(told, key=lambda event: float(event["at_ms"]))
        return Run(begin * 1_000, end_ms, sources(self._spec), lines, events), steps

    def _do(self, action: Action) -> None:
        verb, target = action.verb, action.target
        if target.startswith("broker-"):
            node = int(target.removeprefix("broker-"))
            if verb == "start":
                self._cluster.start_node(node)
            elif verb == "lose":
                count, api, client = action.words
                self._cluster.proxies[node].lose(int(count), api, client)
            else:
                self._cluster.signal(node, SIGNALS[verb])
        elif verb == "log":
            self._looks += _logs(self._cluster.folder, target)
        elif verb == "start":
            self._start(target)
        elif verb == "restart":
            self._home[target].ask(("client", target, "verb=stop"), "closed", target)
            self._start(target)
        elif verb == "stop":
            self._home[target].order("client", target, "verb=stop")
        elif verb == "set":
            for group in self._spec.groups:
                for name in group.instances() if group.name == target else ():
                    self._clients[name] = (0, with_settings(self._clients[name][1], action.words))
        elif verb == "order":
            self._home.get(target, self._shared).order(*action.words)
        else:
            self._home[target].signal(SIGNALS[verb])

    def _start(self, name: str) -> None:
        spare = self._spare.get(name)
        self._home[name] = spare.pop(0) if spare else self._shared
        self._home[name].order(*self._clients[name][1])

    def end(self) -> None:
        """Kill what still runs."""
        for jvm in self._jvms:
            jvm.end()


def _creations(spec: ScenarioSpec) -> Iterator[Words]:
    """Orders that create every topic, internal ones too, with the replicas that Flightdeck gives them.

    The order of the topics decides (FIDELITY.md, Placement); the topic for warming comes last, after the internal ones.
    """
    brokers = [broker.id for broker in spec.brokers]
    replicas, config = min(3, len(brokers)), spec.broker_config(spec.brokers[0])
    sizes = {"__consumer_offsets": "offsets.topic.num.partitions"}
    sizes["__transaction_state"] = "transaction.state.log.num.partitions"
    internal = [TopicSpec(name, int(str(config[key])), replicas, dict(INTERNAL)) for name, key in sizes.items()]
    for place, topic in enumerate([*spec.topics, *internal, TopicSpec(WARM, 1, replicas)]):
        hosts = [
            ",".join(str(brokers[(place + number + k) % len(brokers)]) for k in range(topic.replication))
            for number in range(topic.partitions)
        ]
        settings = [f"cfg.{key}={text_of(value)}" for key, value in topic.config.items()]
        yield ("create", topic.name, f"replicas={'/'.join(hosts)}", *settings)


def _logs(folder: Path, topic: str) -> Iterator[dict[str, Any]]:
    """What stands in each broker's logs of a topic, as events."""
    for partition in sorted(folder.glob(f"data-*/{topic}-*")):
        who = replica_name(partition.name, int(partition.parent.name.removeprefix("data-")))
        yield {"at_ms": time.time() * 1_000, "kind": "log", "who": who, "batches": batches_of(partition)}


def _from(path: Path, size: int) -> Iterator[str]:
    with path.open("rb") as log:
        log.seek(size)
        for line in log:
            yield line.decode(errors="replace").rstrip("\n")

"""Judges the matrix of links and the chosen link against the faults that the raw events began and ended."""

import re
from collections.abc import Sequence

from cluster import events as e
from cluster.spec import ScenarioSpec
from tests.console.judge.books import Books
from tests.console.judge.grammar import Sentences, Verdict

CELL = re.compile(r"(?:✖ (?P<cut>cut|isolated)|‖ (?P<held>held)|▲ (?P<more>loses|slow|[\d.]+ ms))(?: (?P<way>[→←]))?")
WAY = re.compile(r"(\S+) → (\S+): (.+)")
BLOCKING = {"cut", "cut_one_way", "isolate"}


class LinkJudge:
    """The links between processes at one instant."""

    def __init__(self, books: Books, spec: ScenarioSpec, verdict: Verdict) -> None:
        self.books, self.spec, self.verdict = books, spec, verdict
        self.producers = {name for one in spec.producers for name in one.instances()}

    def _claim(self, holds: bool, words: str) -> None:
        self.verdict.claim(holds, "links", words)

    def on(self, source: str, target: str) -> list[e.FaultStarted]:
        """The faults on what one process sends to another."""
        found = []
        for fault in self.books.cluster.faults.values():
            ends = fault.targets
            covers = {
                "cut": set(ends) == {source, target},
                "hold": set(ends) == {source, target},
                "slow_link": set(ends) == {source, target},
                "cut_one_way": ends == (source, target),
                "isolate": bool(ends) and ends[0] in {source, target},
                "lose_responses": bool(ends) and ends[0] == source and (len(ends) < 2 or ends[1] == target),
            }
            if covers.get(fault.fault_kind):
                found.append(fault)
        return found

    def _worst(self, source: str, target: str) -> str:
        kinds = {fault.fault_kind for fault in self.on(source, target)}
        if kinds & BLOCKING:
            return "cut"
        return next((kind for kind in ("hold", "lose_responses", "slow_link") if kind in kinds), "")

    def _latency_ms(self, one: str, other: str) -> float:
        slow = [fault for fault in self.on(one, other) if fault.fault_kind == "slow_link"]
        if slow:
            number, unit = re.search(r" to ([\d.]+)(us|ms|s|m)\b", slow[-1].text).groups()  # type: ignore[union-attr]
            return float(number) * {"us": 0.001, "ms": 1, "s": 1_000, "m": 60_000}[unit]
        network = self.spec.network
        own = next((link.latency_us for link in network.links if set(link.between) == {one, other}), None)
        racks = self._rack(one), self._rack(other)
        apart = network.between_racks_us if all(racks) and racks[0] != racks[1] else None
        chosen = own if own is not None else apart if apart is not None else network.latency_us
        return chosen / 1_000

    def _rack(self, name: str) -> str:
        if name.startswith("broker-"):
            return self.books.cluster.brokers[int(name[7:])].rack
        group = next((one for one in self.spec.groups if name.startswith(f"{one.name}-")), None)
        if group is None or name in self.producers:
            return ""
        return str(group.consumer_config(name).get("client.rack") or "")

    def listed(self, names: Sequence[str]) -> None:
        """Every process has a row."""
        producers = [name for name in self.books.cluster.producers if name not in self.books.members]
        known = [*(f"broker-{number}" for number in self.books.cluster.brokers), *self.books.members, *producers]
        self._claim(sorted(names) == sorted(known), f"rows {sorted(set(names) ^ set(known))}")

    def cell(self, row: str, broker: str, text: str) -> None:
        """One cell."""
        where = f"{row} – {broker}: {text!r}"
        if row == broker:
            self._claim(text == "–", where)
            return
        there, back = self._worst(row, broker), self._worst(broker, row)
        order = ("cut", "hold", "lose_responses", "slow_link")
        worst = next((kind for kind in order if kind in {there, back}), "")
        if not worst:
            self._claim(text.endswith(" ms") and float(text[:-3]) == self._latency_ms(row, broker), where)
            return
        match = CELL.fullmatch(text)
        if match is None:
            self._claim(False, f"unknown claim: {where}")
            return
        said = {"cut": match["cut"], "hold": match["held"], "lose_responses": match["more"] == "loses"}
        kind = next((one for one, holds in said.items() if holds), "slow_link")
        way = None if there == back else "→" if there == worst else "←"
        right = (kind, match["way"]) == (worst, way)
        if kind == "slow_link" and match["more"] != "slow":
            right = right and float(match["more"][:-3]) == self._latency_ms(row, broker)
        if match["cut"]:
            kinds = {fault.fault_kind for fault in (*self.on(row, broker), *self.on(broker, row))}
            right = right and bool(kinds & ({"isolate"} if match["cut"] == "isolated" else {"cut", "cut_one_way"}))
        self._claim(right, f"{where}, not {there} and {back}")

    def process(self, name: str, faults: Sequence[str]) -> None:
        """The faults on all links of a process."""
        kinds = {*BLOCKING, "hold", "slow_link", "lose_responses"}
        started = self.books.cluster.faults.values()
        truth = {str(one.fault) for one in started if one.fault_kind in kinds and name in one.targets}
        self._claim(set(faults) == truth, f"faults {sorted(faults)} on links of {name}, not {sorted(truth)}")

    def link(self, one: str, other: str, ways: Sequence[str], faults: Sequence[str]) -> None:
        """The chosen link: its directions in words, and the faults on it."""
        truth = {str(fault.fault) for pair in ((one, other), (other, one)) for fault in self.on(*pair)}
        self._claim(set(faults) == truth, f"faults {sorted(faults)} on {one} – {other}, not {sorted(truth)}")
        for text in ways:
            match = WAY.fullmatch(text)
            self._claim(match is not None and {match[1], match[2]} == {one, other}, text)
            if match is not None:
                self.verdict.read("link", match[3], self._outcomes(match[1], match[2]))

    def _outcomes(self, source: str, target: str) -> Sentences:
        kind, latency = self._worst(source, target), self._latency_ms(source, target)
        isolated = {fault.targets[0] for fault in self.on(source, target) if fault.fault_kind == "isolate"}
        return (
            (r"delivers after ([\d.]+) ms", lambda m: kind in {"", "slow_link"} and float(m[1]) == latency),
            (r"✖ delivers nothing: (\S+) is isolated", lambda m: m[1] in isolated),
            ("✖ delivers nothing: cut", lambda _: kind == "cut"),
            ("‖ delivers nothing yet: held", lambda _: kind == "hold"),
            ("▲ loses responses", lambda _: kind == "lose_responses"),
        )

"""A player of the game that reads the screens' text and nothing else: no event, no view, no command, no journal.

It looks every few seconds. What is wrong for longer than any noise lasts is accused, once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

LOOK_S = 4.0
PATIENCE_S = {"pause": 8.0, "isolate": 12.0, "slow": 20.0, "slow dependency of": 20.0}
STALLED_S, OPEN_S, OPEN_BESIDE_BROKERS_S = 10.0, 16.0, 45.0
GREW = 25  # records of lag that a member does not gain while it reads

_PRODUCER = re.compile(r"^. (?P<name>\S+)\s+(?P<sign>\S) (?P<state>\w+)\s+(?P<rate>\S+)\s+(?P<flying>\S+)\s")


class MemberRow(NamedTuple):
    """What a member's line says: its lag, whether it processes records now, whether partitions are paused."""

    member: str
    lag: int
    processes: bool
    paused: bool


def seconds(text: str) -> float:
    """`7.3 s`, `1:40` as seconds."""
    minutes, _, rest = text.rpartition(":")
    return 60 * float(minutes or 0) + float(rest.removesuffix(" s").removesuffix(" ms"))


class ScriptedPlayer:
    """Accuses what the screens say. `said` is what it has accused so far."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._since: dict[str, float] = {}
        self._lags: dict[str, list[int]] = {}

    def look(self, now_s: float, screens: Mapping[str, str]) -> list[str]:
        """Look at every screen; returns what to accuse now."""
        suspected = set(self._suspects(screens))
        self._since = {text: since for text, since in self._since.items() if text in suspected}
        found = []
        for text in sorted(suspected):
            since = self._since.setdefault(text, now_s)
            words = max((each for each in PATIENCE_S if text.startswith(f"{each} ")), key=len, default="")
            if now_s - since >= PATIENCE_S.get(words, 0.0) and text not in self.said:
                self.said.append(text)
                found.append(text)
        return found

    def _suspects(self, screens: Mapping[str, str]) -> Iterator[str]:
        for place, text in screens.items():
            if place.startswith("why "):
                yield from self._of_answer(place.removeprefix("why "), text, screens)
        yield from self._transactions(screens["producers"], all_up=not re.search("[✖‖↻]", screens["brokers"]))
        for place, text in screens.items():
            if place.startswith("members "):
                yield from self._readers(place.removeprefix("members "), text, screens)

    # --- answers of `w` -----------------------------------------------------------------------------------------------

    @staticmethod
    def _of_answer(name: str, text: str, screens: Mapping[str, str]) -> Iterator[str]:
        away = " process is not running" in text or " is not a member of " in text or f"{name} is Dead" in text
        if f"{name} crashed: its dependency answers with an error" in text and away:
            yield f"fail dependency of {_group_of(name, screens)}"
        elif f"{name} was killed" in text or f"{name} is Dead: killed" in text:
            if away or f"{name} is down" in text:
                yield f"kill {name}"
        elif f"{name} halted: its disk is full" in text and f"{name} is down" in text:
            yield f"fill disk of {name}"
        elif f"{name}'s process is frozen" in text or f"{name} is frozen" in text:
            yield f"pause {name}"
        elif f"{name}'s heartbeat thread is paused" in text:
            yield f"pause heartbeats of {name}"
        elif (
            f"{name} runs, and the controller has fenced it" in text
            and f"controller fenced {name}: session expired" in text
        ):
            yield f"isolate {name}"
        stalled = re.search(rf"{re.escape(name)} has not polled for (\S+(?: s)?): stalled", text)
        if stalled is not None and seconds(stalled[1]) >= STALLED_S:
            yield f"stall {name}"

    # --- the table of producers ---------------------------------------------------------------------------------------

    @staticmethod
    def _transactions(text: str, *, all_up: bool) -> Iterator[str]:
        """A running producer without requests whose transaction is open for long; longer where a broker is away."""
        for row in text.splitlines():
            found = _PRODUCER.match(row)
            age = re.search(r"▶ Ongoing (\S+(?: s)?)", row)
            if found is None or age is None or " ms" in row[age.start() :]:
                continue
            idle = found["state"] == "Running" and found["rate"] == "0/s" and found["flying"].startswith("0/")
            if idle and seconds(age[1]) >= (OPEN_S if all_up else OPEN_BESIDE_BROKERS_S):
                yield f"abandon transaction of {found['name']}"

    # --- the members of a group ---------------------------------------------------------------------------------------

    def _readers(self, group: str, text: str, screens: Mapping[str, str]) -> Iterator[str]:
        """Members that paused their partitions, and slow ones: they process without end, and their lag grows."""
        rows = [row for row in map(_member_row, text.splitlines()) if row is not None]
        yield from (f"pause partitions of {row.member}" for row in rows if row.paused)
        slow = [row.member for row in rows if self._grows(row) and row.processes]
        if "● Stable" not in screens[f"phase {group}"]:
            return
        if slow and len(slow) == len(rows):
            yield f"slow dependency of {group}"
        elif len(slow) == 1:
            yield f"slow {slow[0]}"

    def _grows(self, row: MemberRow) -> bool:
        """Whether a member has never caught up over the last looks."""
        lags = self._lags.setdefault(row.member, [])
        lags.append(row.lag)
        del lags[:-3]
        return len(lags) == 3 and lags[0] < lags[2] and lags[2] >= GREW


def _member_row(text: str) -> MemberRow | None:
    """`B ● billing-2  ━━▓▓▓▓▓  in 1.1 s  █████▊ 43 s  ▏  2.7 s  108  orders 2-3 · paused orders 2-3`."""
    found = re.match(r"^..\S+ ● (\S+-\d+)\s+(\S.*?)  (?:in |▲|‖|–|off|suspended|during)", text)
    lag = re.search(r"\s\s(\d[\d.]*)(k?)(?: \(\+\S+ held\))?\s\s[a-z_]", text)
    if found is None or lag is None:
        return None
    records = round(float(lag[1]) * (1_000 if lag[2] else 1))
    return MemberRow(found[1], records, found[2].endswith("▓"), " · paused " in text)


def _group_of(member: str, screens: Mapping[str, str]) -> str:
    """The group whose screen has the member."""
    places: Sequence[str] = [
        place for place, text in screens.items() if place.startswith("members ") and member in text
    ]
    return places[0].removeprefix("members ")

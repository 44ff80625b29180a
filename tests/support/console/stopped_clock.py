"""A source of events that stands still: the synthetic flight up to an instant, for pictures and key tests."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from cluster.commands import Command, Names, text_of
from cluster.events import Event
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.flight import Source, Stepped
from console.flight_clock import FlightClock
from console.game.game import Game
from console.presenters.conversations.newest_events import NewestEvents
from console.presenters.producers.limits import ProducerConfigs
from console.refused_commands import RefusedCommands
from recordings.flights.beside import FlownSoFar
from tests.support.console import synthetic

NAMES = Names(
    brokers=tuple(f"broker-{broker}" for broker in synthetic.BROKERS),
    groups={"audit": synthetic.AUDIT, "billing": synthetic.BILLING},
    producers={"checkout": ("checkout-1", "checkout-2"), "ledger": ("ledger-1",)},
    topics=dict(synthetic.TOPICS),
)


@lru_cache(maxsize=8)
def _events(seconds: float) -> tuple[Event, ...]:
    return tuple(synthetic.events(seconds))


class StillFlight:
    """Implements `console.flight.Source`; notes what it was asked for in `asked`."""

    def __init__(
        self,
        seconds: float = 20.0,
        *,
        phase: str = "live",
        speed: float = 1.0,
        failure: str = "",
        events: tuple[Event, ...] = (),
    ) -> None:
        self.title = "first-flight · seed 7"
        self.names = NAMES
        self.broker_session_us: int | None = None
        self.spec: ScenarioSpec | None = None
        self.producer_configs: ProducerConfigs = {}
        self.clock = FlightClock(synthetic.us(seconds), speed, speed, phase, synthetic.us(300))
        self.recording = ""
        self.stopped = True
        self.stepped: Stepped | None = None
        self.failure = failure
        self.notice = self.warning = self.input_error = ""
        self.last_events: Sequence[Event] = ()
        self.asked: list[str] = []
        self.refusal = ""
        self.noted = NewestEvents()
        self._waiting = list(events or _events(seconds))

    def newest(self) -> NewestEvents:
        return self.noted

    def origin(self) -> Path | FlownSoFar | None:
        return None

    def undone(self) -> tuple[Source | None, str]:
        return None, "nothing was given"

    def successor(self) -> Source | None:
        return None

    def game(self) -> Game | None:
        return None

    def start(self, wake: Callable[[], None]) -> None:
        self.asked.append("start")
        wake()

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        for event in self._waiting:
            fold(view, event)
            refused_commands.observe(event)
            self.noted.observe(event)
        self._waiting = []
        return False

    def request_clock(self) -> None:
        pass

    def give_way(self) -> None:
        pass

    def _note(self, text: str) -> str:
        self.asked.append(text)
        return self.refusal

    def submit(self, command: Command) -> str:
        return self._note(text_of(command))

    def set_speed(self, speed: float) -> str:
        self.clock = self.clock._replace(speed=speed)
        return self._note(f"speed {speed:g}")

    def pause(self, paused: bool) -> str:
        self.clock = self.clock._replace(phase="paused" if paused else "live")
        return self._note("pause" if paused else "resume")

    def step(self, kind: str | None) -> str:
        return self._note(f"step {kind}")

    def run_until(self, expression: str) -> str:
        return self._note(f"until {expression}")

    def record(self, path: str) -> str:
        return self._note(f"record {path}")

    def stop(self) -> None:
        self.asked.append("stop")

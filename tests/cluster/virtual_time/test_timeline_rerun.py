"""Commands from outside: journaled with their turn and instant, and reproduced exactly by a rerun."""

import itertools
import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import trio

from cluster.random_streams import random_stream
from cluster.virtual_time import TIMED_OUT, DeadlockError, RerunDivergedError, Timeline, Waiter
from tests.support.scheduler_instruments import OneActorAtATime, run_flight

Command = tuple[int, int, object]
UNTIL_US = 400_000


def ignore(_command: object) -> None:
    pass


def note(journal: list[Command]) -> Callable[[int, int, object], None]:
    return lambda turn, at_us, command: journal.append((turn, at_us, command))


# --- journaled --------------------------------------------------------------------------------------------------------


def test_a_command_is_a_turn_and_journaled_before_it_is_executed() -> None:
    order: list[object] = []
    timeline = Timeline(lambda command: order.append(("executed", timeline.turn, timeline.now_us, command)))
    timeline.on_command = lambda turn, at_us, command: order.append(("journaled", turn, at_us, command))

    def act() -> None:
        assert timeline.submit("kill")
        assert timeline.submit("restart")
        timeline.call_later(0, order.append, "due at the same instant")

    timeline.call_at(10, act)

    async def main() -> None:
        await timeline.fly(20)

    run_flight(timeline, main)
    assert order == [
        ("journaled", 1, 10, "kill"),
        ("executed", 2, 10, "kill"),
        ("journaled", 2, 10, "restart"),
        ("executed", 3, 10, "restart"),
        "due at the same instant",
    ]


def test_kills_come_before_commands_and_commands_before_the_heap() -> None:
    order: list[object] = []
    timeline = Timeline(order.append)

    async def actor() -> None:
        with trio.CancelScope() as scope:
            timeline.call_at(10, act, scope)
            timeline.call_at(10, order.append, "due")
            await timeline.sleep(100)
        order.append("killed")

    def act(scope: trio.CancelScope) -> None:
        timeline.submit("command")
        scope.cancel()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(20)

    run_flight(timeline, main)
    assert order == ["killed", "command", "due"]


def test_a_command_between_two_flights_waits_for_the_next() -> None:
    journal: list[Command] = []
    timeline = Timeline(ignore)
    timeline.on_command = note(journal)

    async def main() -> None:
        await timeline.fly(10)
        timeline.submit("kill")
        await trio.lowlevel.checkpoint()
        assert journal == []
        await timeline.fly(20)

    run_flight(timeline, main)
    assert journal == [(0, 10, "kill")]


# --- from another thread ----------------------------------------------------------------------------------------------


def test_a_flight_that_is_flat_out_looks_at_the_outside_world_all_the_time() -> None:
    """An endless flight of plain actions is ended by a command of another thread, without a task running between."""
    timeline = Timeline(lambda command: scope.cancel())
    scope = trio.CancelScope()
    asked: list[int] = []

    class Looks(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            asked.append(timeline.turn)

    def spin(period_us: int) -> None:
        timeline.post(timeline.now_us + period_us, spin, period_us)

    async def main() -> None:
        token = trio.lowlevel.current_trio_token()
        threading.Thread(target=token.run_sync_soon, args=(timeline.submit, "stop")).start()
        with scope:
            timeline.post(0, spin, 3)
            await timeline.fly()
            pytest.fail("this flight has no end")

    trio.run(main, clock=timeline, instruments=[Looks()])
    assert timeline.closed
    assert max(after - before for before, after in itertools.pairwise(asked)) <= 250


@pytest.mark.parametrize("state", ["live, nothing to do", "paused", "held", "waiting for a distant action"])
def test_a_command_of_another_thread_reaches_a_flight_that_waits(state: str) -> None:
    journal: list[Command] = []
    timeline = Timeline(lambda _: scope.cancel(), 1, live=True)
    timeline.on_command = note(journal)
    scope = trio.CancelScope()

    async def main() -> None:
        token = trio.lowlevel.current_trio_token()
        timer = threading.Timer(0.02, token.run_sync_soon, (timeline.submit, "stop"))
        timer.start()
        if state == "paused":
            timeline.pause()
        elif state == "held":
            timeline.hold = lambda: True
        elif state.startswith("waiting"):
            timeline.call_at(3_600_000_000, pytest.fail)
        with scope:
            await timeline.fly()
        timer.join()

    trio.run(main, clock=timeline)
    ((turn, at_us, command),) = journal
    assert (turn, command) == (0, "stop")
    assert (at_us > 0) == (state != "paused")


def test_a_new_speed_from_another_thread_ends_the_wait_under_way() -> None:
    timeline = Timeline(ignore, 0.01)
    timeline.call_at(3_600_000_000, lambda: None)

    async def main() -> None:
        token = trio.lowlevel.current_trio_token()
        timer = threading.Timer(0.02, token.run_sync_soon, (timeline.set_speed, math.inf))
        timer.start()
        await timeline.fly(3_600_000_000)
        timer.join()

    trio.run(main, clock=timeline)
    assert timeline.now_us == 3_600_000_000


def test_a_command_is_never_later_than_what_comes_next() -> None:
    """At a speed the wall clock says when a command came; but not past the next action, nor past the end."""
    journal: list[Command] = []
    wall = [0.0]
    timeline = Timeline(ignore, 1_000_000, wall=lambda: wall[0])
    timeline.on_command = note(journal)

    def stall() -> None:
        wall[0] += 0.2
        timeline.submit("after the stall")

    timeline.call_at(0, stall)
    timeline.call_at(50, stall)

    async def main() -> None:
        wall[0] += 0.0001
        await timeline.fly(70)

    run_flight(timeline, main)
    assert journal == [(1, 50, "after the stall"), (3, 70, "after the stall")]


# --- exact reruns -----------------------------------------------------------------------------------------------------


def test_a_recorded_command_is_executed_at_its_turn_and_sets_the_time() -> None:
    seen: list[tuple[int, int, object]] = []
    timeline = Timeline(lambda command: seen.append((timeline.turn, timeline.now_us, command)))
    for at_us in (10, 20, 30):
        timeline.call_at(at_us, lambda: seen.append((timeline.turn, timeline.now_us, "due")))
    timeline.replay = [(1, 10, "a"), (3, 25, "b"), (4, 25, "c")]
    journal: list[Command] = []
    timeline.on_command = note(journal)

    async def main() -> None:
        await timeline.fly(40)

    run_flight(timeline, main)
    assert seen == [(1, 10, "due"), (2, 10, "a"), (3, 20, "due"), (4, 25, "b"), (5, 25, "c"), (6, 30, "due")]
    assert journal == [(1, 10, "a"), (3, 25, "b"), (4, 25, "c")]
    assert timeline.replay == []


def test_a_recorded_command_later_than_the_end_waits_for_the_next_flight() -> None:
    journal: list[Command] = []
    timeline = Timeline(ignore)
    timeline.on_command = note(journal)
    timeline.replay = [(0, 25, "a")]
    timeline.call_at(30, lambda: None)

    async def main() -> None:
        for until_us, executed in ((10, 0), (24, 0), (25, 1), (30, 1)):
            await timeline.fly(until_us)
            assert len(journal) == executed
            assert timeline.now_us == until_us

    run_flight(timeline, main)


def test_submitted_commands_wait_for_the_recorded_ones() -> None:
    journal: list[Command] = []
    timeline = Timeline(ignore)
    timeline.on_command = note(journal)
    timeline.replay = [(1, 15, "recorded")]
    timeline.submit("submitted")
    timeline.call_at(10, lambda: None)
    timeline.call_at(20, lambda: None)

    async def main() -> None:
        await timeline.fly(30)

    run_flight(timeline, main)
    assert journal == [(1, 15, "recorded"), (2, 15, "submitted")]


@pytest.mark.parametrize(
    ("replay", "complaint"),
    [
        ([(1, 5, "kill")], "recorded at turn 1, 5 us; the rerun is at turn 1, 10 us"),
        ([(1, 25, "kill")], "recorded at turn 1, 25 us; the rerun is at turn 1, 10 us"),
        ([(2, 20, "a"), (1, 20, "kill")], "recorded at turn 1, 20 us; the rerun is at turn 3"),
        ([(7, 90, "kill")], "nothing left after turn 2"),
    ],
)
def test_a_rerun_that_diverges_says_where(replay: list[Command], complaint: str) -> None:
    timeline = Timeline(ignore)
    timeline.replay = replay
    timeline.call_at(10, lambda: None)
    timeline.call_at(20, lambda: None)

    async def main() -> None:
        with pytest.raises(RerunDivergedError, match=complaint):
            await timeline.fly()

    run_flight(timeline, main)
    assert timeline.closed


def test_a_paced_rerun_waits_for_recorded_commands_too() -> None:
    wall = [0.0]
    journal: list[float] = []

    class Jumping(Timeline):
        def deadline_to_sleep_time(self, deadline: float) -> float:
            wait = super().deadline_to_sleep_time(deadline)
            wall[0] += wait if wait != math.inf else 0
            return wait if wait == math.inf else 0

    timeline = Jumping(ignore, 1, wall=lambda: wall[0])
    timeline.on_command = lambda turn, at_us, command: journal.append(wall[0])
    timeline.replay = [(0, 1_000_000, "exact")]
    timeline.replay_by_time = [(3_000_000, "by time")]

    async def main() -> None:
        await timeline.fly(4_000_000)

    run_flight(timeline, main)
    assert journal == pytest.approx([1, 3])
    assert wall[0] == pytest.approx(4)


def test_in_a_what_if_commands_come_at_their_instant_before_its_actions() -> None:
    seen: list[tuple[int, object]] = []
    timeline = Timeline(lambda command: seen.append((timeline.now_us, command)))
    for at_us in (10, 10, 20):
        timeline.call_at(at_us, lambda: seen.append((timeline.now_us, "due")))
    timeline.replay_by_time = [(10, "a"), (10, "b"), (15, "c"), (30, "d"), (50, "e")]

    async def main() -> None:
        await timeline.fly(40)
        assert len(timeline.replay_by_time) == 1
        with pytest.raises(DeadlockError):
            await timeline.fly()

    run_flight(timeline, main)
    assert seen == [
        *[(10, "a"), (10, "b"), (10, "due"), (10, "due"), (15, "c"), (20, "due"), (30, "d")],
        (50, "e"),
    ]


# --- live, and the same again -----------------------------------------------------------------------------------------


@dataclass
class World:
    """A cluster of nothing in particular: members that poll, a mailbox each, a link, and an operator's commands."""

    seed: int
    speed: float = math.inf
    live: bool = False
    emitted: list[object] = field(default_factory=list)
    journal: list[Command] = field(default_factory=list)
    mailboxes: dict[int, Waiter] = field(default_factory=dict)
    scopes: dict[int, trio.CancelScope] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.execute, self.speed, live=self.live)
        self.timeline.on_command = note(self.journal)
        self.link = random_stream(self.seed, "link")
        self.nursery: trio.Nursery | None = None

    def emit(self, *what: object) -> None:
        self.emitted.append((self.timeline.now_us, self.timeline.turn, *what))

    def execute(self, command: object) -> None:
        self.emit("command", command)
        match command:
            case ("kill", int(number)) if number in self.scopes:
                self.scopes[number].cancel()
            case ("start", int(number)) if number not in self.scopes and self.nursery is not None:
                self.begin(self.nursery, number)
            case ("shout",):
                for number, waiter in self.mailboxes.items():
                    self.emit("shouted", number, waiter.wake("shout"))

    def begin(self, nursery: trio.Nursery, number: int) -> None:
        self.scopes[number] = trio.CancelScope()
        self.timeline.start(nursery, self.member, number)

    async def member(self, number: int) -> None:
        draws = random_stream(self.seed, f"member-{number}")
        try:
            with self.scopes[number]:
                async with trio.open_nursery() as nursery:
                    self.timeline.start(nursery, self.heartbeat, number)
                    for _ in range(draws.randint(5, 60)):
                        await self.poll(number, draws)
                    nursery.cancel_scope.cancel()
        finally:
            del self.scopes[number]
            self.emit("gone", number, self.mailboxes.pop(number, None) is None)

    async def poll(self, number: int, draws: random.Random) -> None:
        timeline = self.timeline
        self.mailboxes[number] = waiter = timeline.waiter()
        timeline.post(timeline.now_us + self.link.randint(500, 12_000), self.answer, (number, waiter))
        got = await timeline.park_until(waiter, timeline.now_us + 9_000)
        self.emit("polled", number, "nothing" if got is TIMED_OUT else got)
        await timeline.sleep(draws.randint(0, 3_000))

    def answer(self, request: tuple[int, Waiter]) -> None:
        number, waiter = request
        if not waiter.wake("records"):
            self.emit("too late for", number)

    async def heartbeat(self, number: int) -> None:
        try:
            while True:
                await self.timeline.sleep(3_000)
                others = sorted(self.mailboxes)
                self.emit("beat", number)
                self.mailboxes[others[number % len(others)]].wake(f"nudged by {number}") if others else None
        finally:
            self.emit("no more beats", number)

    async def main(self, checkpoints: list[int]) -> None:
        async with trio.open_nursery() as self.nursery:
            for number in range(6):
                self.begin(self.nursery, number)
            for until_us in checkpoints:
                await self.timeline.fly(until_us)
            self.emit("the end")
            self.timeline.close()
            emitted, self.emitted = self.emitted, []
            self.nursery.cancel_scope.cancel()
        self.emitted = emitted


def fly_live(seed: int) -> World:
    """Fly with the wall clock, under the fire of an operator on a thread of its own."""
    world = World(seed, speed=10, live=True)
    instrument = OneActorAtATime(world.timeline)
    over = threading.Event()
    timeline = world.timeline
    backlog = [0]

    def operate(token: trio.lowlevel.TrioToken) -> None:
        draws = random.Random(seed)
        steering: list[Callable[[], object]] = [
            *[lambda speed=speed: timeline.set_speed(speed) for speed in (3, 10, 30)],
            *[timeline.pause, timeline.step, timeline.step, timeline.resume, timeline.resume],
            lambda: timeline.step_until(lambda: len(world.emitted) % 7 == 0),
            lambda: timeline.run_until(lambda: len(world.emitted) % 5 == 0),
            lambda: backlog.__setitem__(0, draws.randint(0, 3)),
        ]
        while not over.is_set():
            time.sleep(draws.uniform(0, 0.002))
            command: tuple[object, ...] = draws.choice(
                [("kill", draws.randrange(9)), ("start", draws.randrange(9)), ("shout",), ("look",)]
            )
            try:
                token.run_sync_soon(draws.choice(steering))
                token.run_sync_soon(timeline.submit, command)
                token.run_sync_soon(timeline.resume)
            except trio.RunFinishedError:
                return

    def hold() -> bool:
        backlog[0] -= backlog[0] > 0
        return backlog[0] > 0

    async def main() -> None:
        timeline.hold = hold
        operator = threading.Thread(target=operate, args=(trio.lowlevel.current_trio_token(),))
        operator.start()
        await world.main([UNTIL_US])
        over.set()
        operator.join()

    trio.run(main, clock=timeline, instruments=[instrument])
    instrument.check()
    return world


def fly_again(live: World, checkpoints: list[int]) -> World:
    world = World(live.seed)
    world.timeline.replay = list(live.journal)

    async def main() -> None:
        await world.main(checkpoints)

    run_flight(world.timeline, main)
    assert world.timeline.replay == []
    return world


@pytest.mark.slow
def test_live_flights_are_reproduced_exactly_by_headless_reruns() -> None:
    commands = 0
    for seed in range(20):
        live = fly_live(seed)
        commands += len(live.journal)
        again = fly_again(live, [UNTIL_US])
        assert again.emitted == live.emitted
        assert again.journal == live.journal
        assert fly_again(live, list(range(0, UNTIL_US + 1, UNTIL_US // 10))).emitted == live.emitted
    assert commands > 20, "this has tested little"


def test_a_flight_without_commands_is_the_same_each_time_and_another_for_another_seed() -> None:
    emitted = [fly_again(World(seed), [UNTIL_US]).emitted for seed in (1, 1, 1, 2)]
    assert emitted[0] == emitted[1] == emitted[2] != emitted[3]

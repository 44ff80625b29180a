"""What an operator does to time: speed, pause, steps, predicates; and the reader who holds it. No test waits."""

import math
from collections.abc import Callable

import pytest
import trio

from cluster.virtual_time import Pace, Timeline
from tests.support.scheduler_instruments import run_flight


class Wall:
    """A wall clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Rehearsal(Timeline):
    """A Timeline whose waits take no time: the wall clock jumps, and at an endless wait the next outsider is called."""

    def __init__(self, speed: float = math.inf) -> None:
        self.wall = Wall()
        super().__init__(self.see, speed, wall=self.wall)
        self.waits: list[float] = []
        self.outside: list[Callable[[], object]] = []
        self.interruptions: dict[int, Callable[[], object]] = {}  # by the number of waits before
        self.seen: list[tuple[int, object]] = []

    def see(self, what: object = None) -> None:
        self.seen.append((self.now_us, what))

    def deadline_to_sleep_time(self, deadline: float) -> float:
        wait = super().deadline_to_sleep_time(deadline)
        if wait == 0 or self._main is None:
            return wait
        self.waits.append(wait)
        interruption = self.interruptions.pop(len(self.waits), None)
        if interruption is not None:
            self.wall.now += min(wait, 1.0) / 2
            interruption()
        elif wait == math.inf:
            if self.outside:
                self.outside.pop(0)()
            else:
                self._finish_for_lack_of_outsiders()
        else:
            self.wall.now += wait
        return 0.0

    def _finish_for_lack_of_outsiders(self) -> None:
        self.call_at(self.now_us, lambda: pytest.fail("it waits for ever"))
        self.hold = lambda: False
        self.resume()

    def fly_to(self, until_us: float) -> None:
        async def main() -> None:
            await self.fly(until_us)

        run_flight(self, main)


def busy(timeline: Rehearsal, count: int, every_us: int = 1_000_000) -> None:
    """Something to happen at each of `count` seconds."""
    for number in range(1, count + 1):
        timeline.call_at(number * every_us, timeline.see, number)


# --- speed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.01, 1, 20, 10_000])
def test_at_a_speed_time_passes_with_the_wall_clock(speed: float) -> None:
    timeline = Rehearsal(speed=speed)
    busy(timeline, 3)
    timeline.fly_to(4_000_000)
    assert timeline.waits == pytest.approx([1 / speed] * 4)
    assert timeline.wall.now == pytest.approx(1_000 + 4 / speed)
    assert [at_us for at_us, _ in timeline.seen] == [1_000_000, 2_000_000, 3_000_000]


def test_as_fast_as_possible_there_is_no_waiting() -> None:
    timeline = Rehearsal()
    busy(timeline, 3)
    timeline.fly_to(4_000_000)
    assert timeline.waits == []


@pytest.mark.parametrize("speed", [0, -1, math.nan])
def test_a_speed_is_above_zero(speed: float) -> None:
    with pytest.raises(ValueError, match="above zero"):
        Timeline(lambda _: None, speed)
    timeline = Timeline(lambda _: None)
    with pytest.raises(ValueError, match="above zero"):
        timeline.set_speed(speed)
    assert timeline.speed == math.inf


def test_a_new_speed_counts_from_where_the_flight_is() -> None:
    timeline = Rehearsal(speed=1)
    timeline.call_at(4_000_000, timeline.see)
    timeline.interruptions[1] = lambda: timeline.set_speed(2)  # after half a second: 3.5 s are left
    timeline.fly_to(4_000_000)
    assert timeline.waits == pytest.approx([4.0, 1.75])
    assert timeline.speed == 2


def test_a_wait_under_way_ends_when_there_is_no_limit_any_more() -> None:
    timeline = Rehearsal(speed=0.01)
    busy(timeline, 5)
    timeline.interruptions[1] = lambda: timeline.set_speed(math.inf)
    timeline.fly_to(5_000_000)
    assert len(timeline.waits) == 1


def test_speed_changes_nothing_that_happens() -> None:
    def tell(speed: float) -> list[tuple[int, object]]:
        timeline = Rehearsal(speed=speed)

        async def actor(name: str, period_us: int) -> None:
            while True:
                await timeline.sleep(period_us)
                timeline.see((name, timeline.turn))

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                timeline.start(nursery, actor, "a", 300)
                timeline.start(nursery, actor, "b", 700)
                await timeline.fly(10_000)
                timeline.close()
                nursery.cancel_scope.cancel()

        run_flight(timeline, main)
        return timeline.seen

    assert tell(math.inf) == tell(1) == tell(10_000)


def test_pace_slips_and_never_catches_up_in_a_burst() -> None:
    timeline = Rehearsal(speed=1)
    busy(timeline, 10)

    def stall() -> None:
        timeline.wall.now += 5.0

    timeline.call_at(3_000_000, stall)
    timeline.fly_to(10_000_000)
    # The five seconds are lost: the next action is due at once, the ones after it a second apart again.
    assert timeline.waits == pytest.approx([1.0] * 3 + [1.0] * 6)
    assert timeline.wall.now == pytest.approx(1_000 + 9 + 5)


def test_less_than_a_quarter_of_a_second_is_caught_up() -> None:
    timeline = Rehearsal(speed=1)
    busy(timeline, 10, every_us=100_000)

    def stall() -> None:
        timeline.wall.now += 0.24

    timeline.call_at(300_000, stall)
    timeline.fly_to(1_000_000)
    assert timeline.wall.now == pytest.approx(1_001)


def test_the_flight_counts_wall_time_from_its_beginning() -> None:
    timeline = Rehearsal(speed=1)
    timeline.wall.now += 0.2  # building the cluster
    timeline.fly_to(1_000_000)
    assert timeline.waits == pytest.approx([1.0])


def test_the_actual_speed_is_what_was_reached() -> None:
    wall = Wall()
    pace = Pace(wall, 20)
    assert pace.actual_speed(0) == 0
    wall.now += 0.1
    assert pace.actual_speed(2_000_000) == pytest.approx(20)
    wall.now += 0.9
    assert pace.actual_speed(3_100_000) == pytest.approx(3.1)
    wall.now += 0.1
    assert pace.actual_speed(9_000_000) == pytest.approx(3.1), "not measured over less than half a second"
    wall.now += 0.9
    assert pace.actual_speed(23_100_000) == pytest.approx(20)
    pace.set_paused(True, 23_100_000)
    assert pace.actual_speed(23_100_000) == 0


def test_the_actual_speed_shows_a_simulation_that_cannot_keep_up() -> None:
    timeline = Rehearsal(speed=20)
    measured: list[float] = []

    def stall() -> None:
        timeline.wall.now += 0.5
        measured.append(timeline.actual_speed)

    for number in range(1, 20):
        timeline.call_at(number * 1_000_000, stall)
    timeline.fly_to(20_000_000)
    assert measured[-1] == pytest.approx(2, rel=0.1)
    assert timeline.speed == 20


# --- pause, step ------------------------------------------------------------------------------------------------------


def test_a_pause_stops_the_flight_and_freezes_the_wall_clock_with_it() -> None:
    timeline = Rehearsal(speed=1)
    busy(timeline, 2)
    timeline.interruptions[1] = timeline.pause  # at 0.5 s

    def resume_after_lunch() -> None:
        assert timeline.paused
        assert timeline.actual_speed == 0
        assert timeline.position_us == 500_000
        timeline.wall.now += 3_600
        assert timeline.position_us == 500_000
        timeline.resume()

    timeline.outside = [resume_after_lunch]
    timeline.fly_to(2_000_000)
    assert timeline.waits == pytest.approx([1.0, math.inf, 0.5, 1.0])
    assert not timeline.paused


def test_a_pause_flat_out_stops_before_the_next_action() -> None:
    timeline = Rehearsal()
    busy(timeline, 3)
    timeline.call_at(2_000_000, timeline.pause)
    timeline.call_at(2_000_000, timeline.see, "after the pause")
    timeline.outside = [lambda: timeline.see("paused"), timeline.resume]
    timeline.fly_to(3_000_000)
    assert [what for _, what in timeline.seen] == [1, 2, "paused", "after the pause", 3]


def test_an_action_that_steers_changes_no_wake() -> None:
    """What happens must not depend on how the flight is steered: a rerun is not steered."""

    def tell(steer: Callable[[Rehearsal], object]) -> list[tuple[int, object]]:
        timeline = Rehearsal()
        waiter = timeline.waiter()

        async def actor() -> None:
            await timeline.park(waiter)
            timeline.see(timeline.turn)

        def act() -> None:
            steer(timeline)
            waiter.wake()

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                timeline.start(nursery, actor)
                timeline.call_at(10, act)
                timeline.outside = [timeline.resume]
                await timeline.fly(20)

        run_flight(timeline, main)
        return timeline.seen

    assert tell(Rehearsal.pause) == tell(Rehearsal.step) == tell(lambda timeline: timeline.set_speed(5))
    assert tell(Rehearsal.pause) == tell(lambda timeline: None) == [(10, 2)]


def test_a_step_is_one_turn_without_waiting() -> None:
    timeline = Rehearsal(speed=0.01)
    busy(timeline, 5)
    seen: list[tuple[int, int]] = []

    def step() -> None:
        seen.append((timeline.turn, timeline.now_us))
        timeline.step()

    def step_twice() -> None:
        step()
        step()

    timeline.pause()
    timeline.outside = [
        step,
        step,
        step_twice,
        step,
        lambda: timeline.set_speed(math.inf),
        timeline.resume,
    ]
    timeline.fly_to(6_000_000)
    assert seen == [(0, 0), (1, 1_000_000), (2, 2_000_000), (2, 2_000_000), (4, 4_000_000)]
    assert set(timeline.waits) == {math.inf}


def test_a_step_of_a_running_flight_stops_it_after_one_turn() -> None:
    timeline = Rehearsal(speed=1)
    busy(timeline, 3)
    timeline.interruptions[2] = timeline.step
    timeline.outside = [lambda: timeline.see("paused"), timeline.resume]
    timeline.fly_to(3_000_000)
    assert timeline.seen == [(1_000_000, 1), (2_000_000, 2), (2_000_000, "paused"), (3_000_000, 3)]
    assert timeline.waits == pytest.approx([1, 1, math.inf, math.inf, 1])


def test_a_step_goes_on_in_the_next_flight_when_this_one_ends_before() -> None:
    timeline = Rehearsal()
    busy(timeline, 3)
    timeline.pause()
    timeline.outside = [timeline.step, lambda: timeline.see("paused"), timeline.resume]

    async def main() -> None:
        await timeline.fly(500_000)
        assert timeline.turn == 0
        await timeline.fly(3_000_000)

    run_flight(timeline, main)
    assert [what for _, what in timeline.seen] == [1, "paused", 2, 3]


def test_the_actor_woken_by_a_step_runs() -> None:
    timeline = Rehearsal()

    async def actor() -> None:
        while True:
            await timeline.sleep(10)
            timeline.see()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            timeline.pause()
            timeline.outside = [timeline.step, timeline.step, lambda: seen.extend(timeline.seen), timeline.resume]
            await timeline.fly(100)
            timeline.close()
            nursery.cancel_scope.cancel()

    seen: list[tuple[int, object]] = []
    run_flight(timeline, main)
    assert seen == [(10, None)]


def test_commands_are_executed_while_paused() -> None:
    timeline = Rehearsal(speed=1)
    busy(timeline, 1)
    timeline.interruptions[1] = timeline.pause
    timeline.outside = [lambda: timeline.submit("kill"), lambda: timeline.submit("restart"), timeline.resume]
    timeline.fly_to(1_000_000)
    assert timeline.seen == [(500_000, "kill"), (500_000, "restart"), (1_000_000, 1)]


# --- until ------------------------------------------------------------------------------------------------------------


def test_a_step_to_an_event_of_a_kind_waits_for_nothing_and_stands_still_after_it() -> None:
    timeline = Rehearsal(speed=0.01)
    busy(timeline, 10)
    timeline.pause()
    timeline.outside = [
        lambda: timeline.step_until(lambda: timeline.seen[-1][1] == 4),
        lambda: timeline.see("paused"),
        lambda: timeline.step_until(lambda: len(timeline.seen) >= 7),
        lambda: timeline.see("paused"),
        lambda: timeline.set_speed(math.inf),
        timeline.resume,
    ]
    timeline.fly_to(10_000_000)
    assert [what for _, what in timeline.seen] == [1, 2, 3, 4, "paused", 5, 6, "paused", 7, 8, 9, 10]
    assert set(timeline.waits) == {math.inf}


def test_running_until_an_expression_holds_keeps_the_speed() -> None:
    timeline = Rehearsal(speed=2)
    busy(timeline, 4)
    timeline.run_until(lambda: timeline.now_us >= 3_000_000)
    timeline.outside = [lambda: timeline.see("paused"), timeline.resume]
    timeline.fly_to(4_000_000)
    assert [what for _, what in timeline.seen] == [1, 2, 3, "paused", 4]
    assert timeline.waits == pytest.approx([0.5, 0.5, 0.5, math.inf, math.inf, 0.5])


@pytest.mark.parametrize("way", ["run_until", "step_until"])
def test_the_predicate_is_asked_when_everybody_is_blocked_again_after_a_turn(way: str) -> None:
    timeline = Rehearsal()
    asked: list[tuple[int, int]] = []

    async def actor() -> None:
        while True:
            await timeline.sleep(10)
            timeline.see()

    def predicate() -> bool:
        asked.append((timeline.turn, len(timeline.seen)))
        return len(timeline.seen) == 3

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            timeline.call_at(15, lambda: None)
            getattr(timeline, way)(predicate)
            timeline.outside = [timeline.resume]
            await timeline.fly(100)
            timeline.close()
            nursery.cancel_scope.cancel()

    run_flight(timeline, main)
    assert asked == [(1, 0), (2, 1), (3, 1), (4, 2), (5, 3)]


def test_the_last_turn_before_the_end_is_asked_about_too() -> None:
    timeline = Rehearsal()
    busy(timeline, 1)
    timeline.run_until(lambda: bool(timeline.seen))
    timeline.outside = [lambda: timeline.see("paused"), timeline.resume]
    timeline.fly_to(1_000_000)
    assert [what for _, what in timeline.seen] == [1, "paused"]


def test_a_predicate_is_dropped_by_a_pause_and_kept_by_a_new_speed() -> None:
    timeline = Rehearsal(speed=1)
    busy(timeline, 6)
    timeline.run_until(lambda: timeline.seen[-1][1] == 2)
    timeline.interruptions[2] = lambda: timeline.set_speed(10)

    def pause_and_resume() -> None:
        timeline.see("again")
        timeline.pause()
        timeline.resume()

    timeline.outside = [
        lambda: timeline.run_until(lambda: timeline.seen[-1][1] == 4),
        pause_and_resume,
    ]
    timeline.fly_to(6_000_000)
    assert [what for _, what in timeline.seen] == [1, 2, 3, 4, "again", 5, 6]


def test_an_error_of_a_predicate_ends_the_flight() -> None:
    timeline = Rehearsal()
    busy(timeline, 2)
    timeline.run_until(lambda: 1 // 0 == 1)

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await timeline.fly(2_000_000)

    run_flight(timeline, main)
    assert timeline.turn == 1


# --- hold -------------------------------------------------------------------------------------------------------------


def test_a_reader_who_is_behind_holds_the_flight_but_neither_commands_nor_kills() -> None:
    timeline = Rehearsal()
    backlog: list[int] = []

    def act() -> None:
        backlog.append(1)
        timeline.call_later(10, act)

    async def actor(scope: trio.CancelScope) -> None:
        with scope:
            await timeline.sleep(1_000_000)
        timeline.see("killed")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()
            timeline.start(nursery, actor, scope)
            timeline.call_at(10, act)
            timeline.hold = lambda: len(backlog) > 100
            timeline.outside = [lambda: timeline.submit("kill"), scope.cancel, backlog.clear, backlog.clear]
            await timeline.fly(3_000)
            timeline.close()

    run_flight(timeline, main)
    assert [what for _, what in timeline.seen] == ["kill", "killed"]
    assert timeline.waits == [math.inf] * 4
    assert timeline.now_us == 3_000


def test_a_held_flight_does_not_run_far_ahead() -> None:
    timeline = Rehearsal()
    backlog: list[int] = []
    held: list[int] = []
    for at_us in range(10_000):
        timeline.call_at(at_us, backlog.append, at_us)
    timeline.hold = lambda: len(backlog) > 100

    def drain() -> None:
        held.append(len(backlog))
        backlog.clear()

    timeline.outside = [drain] * 100
    timeline.fly_to(10_000)
    assert max(held) <= 200

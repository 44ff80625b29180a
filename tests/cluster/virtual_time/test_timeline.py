"""Virtual time: what happens, in which order, up to where, and how a flight ends."""

import math
import signal
from collections.abc import Awaitable, Callable

import pytest
import trio

from cluster.virtual_time import TIMED_OUT, DeadlockError, LivelockError, Timeline, Waiter
from cluster.virtual_time import timeline as timeline_module
from tests.support.scheduler_instruments import run_flight


def ignore(_command: object) -> None:
    pass


def fly(timeline: Timeline, until_us: float = math.inf) -> None:
    """One flight without actors."""

    async def main() -> None:
        await timeline.fly(until_us)

    run_flight(timeline, main)


def test_actions_happen_at_their_instant_in_the_order_asked_for() -> None:
    timeline = Timeline(ignore)
    seen: list[tuple[int, str]] = []

    def see(name: str) -> None:
        seen.append((timeline.now_us, name))

    timeline.call_at(20, see, "late")
    timeline.call_at(10, see, "first at ten")
    timeline.post(10, see, "second at ten")
    timeline.call_later(10, see, "third at ten")
    fly(timeline, 100)
    assert seen == [(10, "first at ten"), (10, "second at ten"), (10, "third at ten"), (20, "late")]
    assert (timeline.now_us, timeline.turn) == (100, 4)


def test_an_action_may_be_given_several_arguments_or_none() -> None:
    timeline = Timeline(ignore)
    seen: list[tuple[object, ...]] = []
    timeline.call_at(1, lambda *args: seen.append(args))
    timeline.call_at(2, lambda *args: seen.append(args), 1, "two")
    fly(timeline, 2)
    assert seen == [(), (1, "two")]


def test_what_is_asked_for_too_late_happens_now() -> None:
    timeline = Timeline(ignore)
    seen: list[int] = []

    def act() -> None:
        assert timeline.call_at(3, lambda: seen.append(timeline.now_us)).at_us == 10
        timeline.post(3, lambda _: seen.append(timeline.now_us), None)

    timeline.call_at(10, act)
    fly(timeline, 20)
    assert seen == [10, 10]


def test_a_cancelled_timer_moves_neither_time_nor_turn() -> None:
    timeline = Timeline(ignore)
    seen: list[tuple[int, int]] = []
    early, late = timeline.call_at(5, pytest.fail), timeline.call_at(50, pytest.fail)
    timeline.call_at(10, lambda: seen.append((timeline.now_us, timeline.turn)))
    early.cancel()
    early.cancel()
    late.cancel()
    assert not early.pending

    async def main() -> None:
        with pytest.raises(DeadlockError):
            await timeline.fly()

    run_flight(timeline, main)
    assert seen == [(10, 1)]
    assert (timeline.now_us, timeline.turn) == (10, 1)


def test_a_timer_that_has_run_is_cancelled_without_effect() -> None:
    timeline = Timeline(ignore)
    timer = timeline.call_at(5, lambda: None)
    fly(timeline, 5)
    timer.cancel()
    assert timeline._cancelled_entries == 0


@pytest.mark.parametrize("keep", [0, 1, 100])
def test_the_heap_is_compacted_when_more_than_half_of_it_is_dead(keep: int) -> None:
    timeline = Timeline(ignore)
    seen: list[int] = []
    for at_us in range(keep):
        timeline.call_at(10 * at_us, seen.append, at_us)
    for at_us in range(5_000):
        timeline.call_at(at_us, pytest.fail).cancel()
        assert len(timeline._heap) <= 2 * keep + timeline_module.CANCELLED_WORTH_COMPACTING + 1
    fly(timeline, 10_000)
    assert seen == list(range(keep))
    assert not timeline._heap
    assert timeline._cancelled_entries == 0


def test_the_heap_is_compacted_while_it_is_worked_on() -> None:
    timeline = Timeline(ignore)
    seen: list[int] = []
    doomed = [timeline.call_at(50 + at_us, pytest.fail) for at_us in range(200)]

    def act() -> None:
        for timer in doomed:
            timer.cancel()

    timeline.call_at(10, act)
    timeline.call_at(100, seen.append, 100)
    fly(timeline, 1_000)
    assert seen == [100]
    assert timeline.turn == 2


def test_timeouts_of_ended_waits_are_compacted_too() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        for _ in range(1_000):
            waiter = timeline.waiter()
            timeline.post(timeline.now_us + 1, waiter.wake, "in time")
            assert await timeline.park_until(waiter, 1_000_000) == "in time"
            assert len(timeline._heap) <= 2 * timeline_module.CANCELLED_WORTH_COMPACTING

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(2_000_000)

    run_flight(timeline, main)
    assert timeline.turn == 1_001


# --- the end ----------------------------------------------------------------------------------------------------------


def test_a_flight_ends_at_exactly_its_end_all_of_that_instant_included() -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    def act() -> None:
        seen.append("at the end")
        timeline.call_later(0, seen.append, "and still at the end")
        timeline.call_later(1, pytest.fail)

    timeline.call_at(1_000, act)
    fly(timeline, 1_000)
    assert seen == ["at the end", "and still at the end"]
    assert timeline.now_us == 1_000


def test_a_flight_without_events_still_comes_to_its_end() -> None:
    timeline = Timeline(ignore)
    fly(timeline, 77)
    assert (timeline.now_us, timeline.turn) == (77, 0)


def test_flying_from_checkpoint_to_checkpoint_changes_nothing() -> None:
    def tell(checkpoints: list[int]) -> list[tuple[int, int]]:
        timeline = Timeline(ignore)
        seen: list[tuple[int, int]] = []

        async def actor(period_us: int) -> None:
            while True:
                await timeline.sleep(period_us)
                seen.append((timeline.now_us, timeline.turn))

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                for period_us in (3, 7, 10):
                    timeline.start(nursery, actor, period_us)
                for until_us in checkpoints:
                    await timeline.fly(until_us)
                    assert timeline.now_us == until_us
                timeline.close()
                nursery.cancel_scope.cancel()

        run_flight(timeline, main)
        return seen

    assert tell([100]) == tell(list(range(101))) == tell([0, 0, 5, 10, 10, 10, 99, 100])


def test_between_flights_main_may_act() -> None:
    timeline = Timeline(ignore)
    seen: list[object] = []

    async def actor(waiter_name: str) -> None:
        waiters[waiter_name] = timeline.waiter()
        seen.append((waiter_name, await timeline.park(waiters[waiter_name]), timeline.now_us))

    waiters: dict[str, Waiter] = {}

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor, "a")
            timeline.start(nursery, actor, "b")
            await timeline.fly(10)
            waiters["b"].wake(1)
            waiters["a"].wake(2)
            await timeline.fly(20)
            timeline.close()

    run_flight(timeline, main)
    assert seen == [("b", 1, 10), ("a", 2, 10)]


def test_after_close_nothing_happens_and_teardown_tells_nothing() -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    async def actor() -> None:
        try:
            await timeline.sleep(1_000)
        finally:
            seen.append("cleaned up")
            timeline.call_later(0, pytest.fail)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            timeline.start(nursery, actor)
            await timeline.fly(10)
            timeline.close()
            nursery.cancel_scope.cancel()
        assert not timeline.submit("too late")
        with pytest.raises(RuntimeError, match="over"):
            await timeline.fly(20)

    run_flight(timeline, main)
    assert seen == ["cleaned up"] * 2
    assert (timeline.now_us, timeline.turn, timeline.closed) == (10, 2, True)


def test_cancelling_main_in_flight_ends_it_all() -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    async def actor() -> None:
        try:
            await timeline.sleep(1_000_000)
        finally:
            seen.append("cleaned up")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            timeline.call_at(10, nursery.cancel_scope.cancel)
            await timeline.fly()
            pytest.fail("this flight has no end")

    run_flight(timeline, main)
    assert seen == ["cleaned up"]
    assert timeline.closed


def test_an_interrupt_in_the_middle_of_a_flight_is_raised_in_main() -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    async def actor() -> None:
        try:
            while True:
                await timeline.sleep(1)
        finally:
            seen.append("cleaned up")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            timeline.call_at(10, signal.raise_signal, signal.SIGINT)
            try:
                await timeline.fly()
            except KeyboardInterrupt:
                seen.append("interrupted")
                nursery.cancel_scope.cancel()

    trio.run(main, clock=timeline)
    assert seen == ["interrupted", "cleaned up"]


def test_an_end_in_the_past_is_refused() -> None:
    timeline = Timeline(ignore)

    async def main() -> None:
        await timeline.fly(10)
        with pytest.raises(ValueError, match="past"):
            await timeline.fly(9)

    run_flight(timeline, main)


def test_two_flights_at_once_are_refused() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        with pytest.raises(RuntimeError, match="under way"):
            await timeline.fly(10)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(10)

    run_flight(timeline, main)


# --- what goes wrong --------------------------------------------------------------------------------------------------


def error_of(timeline: Timeline, prepare: Callable[[trio.Nursery], object]) -> BaseException:
    """What a flight without end raises in main."""

    async def main() -> BaseException:
        async with trio.open_nursery() as nursery:
            prepare(nursery)
            try:
                await timeline.fly()
            except Exception as error:  # noqa: BLE001 - it is what the test asked for
                nursery.cancel_scope.cancel()
                return error
        pytest.fail("a flight without end has ended")

    return run_flight(timeline, main)


def test_an_action_that_raises_ends_the_flight_in_main() -> None:
    timeline = Timeline(ignore)
    timeline.call_at(10, lambda: 1 // 0)
    timeline.call_at(10, pytest.fail, "nothing more is run")
    error = error_of(timeline, lambda nursery: timeline.start(nursery, timeline.sleep, 1_000))
    assert isinstance(error, ZeroDivisionError)
    assert (timeline.now_us, timeline.turn, timeline.closed) == (10, 2, True)


def test_an_actor_that_raises_ends_the_flight_in_main() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        await timeline.sleep(10)
        raise KeyError("a bug")

    timeline.call_at(11, pytest.fail, "nothing more is run")
    error = error_of(timeline, lambda nursery: timeline.start(nursery, actor))
    assert isinstance(error, KeyError)


def test_an_error_while_cleaning_up_after_the_flight_is_not_swallowed() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        try:
            await timeline.sleep(100)
        finally:
            raise KeyError("a bug")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(10)
            timeline.close()
            nursery.cancel_scope.cancel()

    with pytest.raises(ExceptionGroup) as raised:
        run_flight(timeline, main)
    assert raised.group_contains(KeyError)


def test_a_command_that_raises_ends_the_flight_in_main() -> None:
    def execute(command: object) -> None:
        raise ValueError(command)

    timeline = Timeline(execute)
    timeline.submit("nonsense")
    assert str(error_of(timeline, lambda _: None)) == "nonsense"


def test_when_nothing_is_left_each_parked_actor_is_named_with_what_it_waits_for() -> None:
    timeline = Timeline(ignore)

    async def member(label: str) -> None:
        await timeline.park(timeline.waiter(label))

    async def parent() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, member, "", name="heartbeat")

    def prepare(nursery: trio.Nursery) -> None:
        timeline.start(nursery, member, "the join", name="consumer-1")
        timeline.start(nursery, parent, name="consumer-2")
        timeline.start(nursery, member, "a fetch")

    error = error_of(timeline, prepare)
    assert isinstance(error, DeadlockError)
    title, *lines = str(error).splitlines()
    assert title == "nothing can happen any more after turn 4, 0 us; parked actors: 4"
    assert [line.split(".")[-1].strip() for line in lines] == [
        "consumer-1 (actor 1) waits for the join",
        "consumer-2 (actor 2) waits for actors of its own",
        "member (actor 3) waits for a fetch",
        "heartbeat (actor 4) waits for something without a label",
    ]


def test_nothing_left_before_a_set_end_is_no_error() -> None:
    timeline = Timeline(ignore)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, timeline.park, timeline.waiter())
            await timeline.fly(10)
            timeline.close()
            nursery.cancel_scope.cancel()

    run_flight(timeline, main)
    assert timeline.now_us == 10


def test_time_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "TURNS_AT_ONE_INSTANT", 1_000)

    def spin(timeline: Timeline) -> None:
        timeline.post(timeline.now_us, spin, timeline)

    timeline = Timeline(ignore)
    timeline.call_at(10, lambda: None)
    timeline.call_at(20, spin, timeline)
    assert isinstance(error_of(timeline, lambda _: None), LivelockError)
    assert (timeline.now_us, timeline.turn) == (20, 1_001)


def test_an_actor_can_make_time_stand_still_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "TURNS_AT_ONE_INSTANT", 1_000)
    timeline = Timeline(ignore)

    async def actor() -> None:
        while True:
            await timeline.sleep(0)

    assert isinstance(error_of(timeline, lambda nursery: timeline.start(nursery, actor)), LivelockError)
    assert (timeline.now_us, timeline.turn) == (0, 1_000)


def test_many_turns_at_many_instants_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "TURNS_AT_ONE_INSTANT", 10)
    timeline = Timeline(ignore)
    for at_us in range(1_000):
        timeline.call_at(at_us // 10, lambda: None)
    fly(timeline, 100)
    assert timeline.turn == 1_000


def test_a_trio_deadline_in_the_simulation_ends_the_flight() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        with trio.move_on_after(1):
            await timeline.sleep(10)

    error = error_of(timeline, lambda nursery: timeline.start(nursery, actor))
    assert "trio deadline" in str(error)


def test_main_that_waits_outside_a_flight_is_told() -> None:
    timeline = Timeline(ignore)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                timeline.start(nursery, timeline.sleep, 10)

    with pytest.raises(ExceptionGroup) as raised:
        trio.run(main, clock=timeline)
    assert raised.group_contains(RuntimeError, match="not in fly", depth=1)


# --- timeouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wake_at_us", "result", "ended_us"), [(40, "woken", 40), (60, TIMED_OUT, 50)])
def test_a_wait_with_a_timeout_ends_with_whatever_comes_first(wake_at_us: int, result: object, ended_us: int) -> None:
    timeline = Timeline(ignore)
    seen: list[object] = []

    async def actor() -> None:
        waiter = timeline.waiter()
        timeline.call_at(wake_at_us, waiter.wake, "woken")
        seen.append((await timeline.park_until(waiter, 50), timeline.now_us))

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(100)

    run_flight(timeline, main)
    assert seen == [(result, ended_us)]
    assert timeline.turn == 2 + (result is TIMED_OUT)  # the start, the end of the wait, and a wake that came too late


def test_a_timeout_in_the_past_ends_the_wait_at_this_instant() -> None:
    timeline = Timeline(ignore)
    seen: list[object] = []

    async def actor() -> None:
        await timeline.sleep(10)
        seen.append(await timeline.park_until(timeline.waiter(), 3))
        await timeline.sleep(-5)
        seen.append(timeline.now_us)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(100)

    run_flight(timeline, main)
    assert seen == [TIMED_OUT, 10]


def test_an_actor_is_any_awaitable() -> None:
    timeline = Timeline(ignore)
    seen: list[int] = []

    def actor() -> Awaitable[None]:
        seen.append(timeline.now_us)
        return timeline.sleep(5)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(10)

    run_flight(timeline, main)
    assert seen == [0]

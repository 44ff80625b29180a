"""Actors: one at a time, started, woken and killed in an order that no random choice decides."""

from collections.abc import Callable

import pytest
import trio

from cluster.virtual_time import TIMED_OUT, Timeline, Waiter
from tests.support.scheduler_instruments import OneActorAtATime, run_flight


def ignore(_command: object) -> None:
    pass


def fly(timeline: Timeline, prepare: Callable[[trio.Nursery], object], until_us: int = 1_000) -> None:
    """Fly to `until_us` with what `prepare` starts; then end it all."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            prepare(nursery)
            await timeline.fly(until_us)
            timeline.close()
            nursery.cancel_scope.cancel()

    run_flight(timeline, main)


def test_actors_begin_in_the_order_in_which_they_were_started() -> None:
    timeline = Timeline(ignore)
    seen: list[tuple[int, int, int]] = []

    async def actor(number: int) -> None:
        seen.append((number, timeline.now_us, timeline.turn))

    def prepare(nursery: trio.Nursery) -> None:
        for number in range(20):
            timeline.start(nursery, actor, number)
        timeline.call_at(10, timeline.start, nursery, actor, 20)

    fly(timeline, prepare)
    assert seen == [*((number, 0, number + 1) for number in range(20)), (20, 10, 22)]


def test_a_nursery_waits_for_actors_that_have_not_begun_yet() -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    async def child(name: str) -> None:
        await timeline.sleep(10)
        seen.append(name)

    async def parent() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, child, "heartbeat")
            timeline.start(nursery, child, "fetcher")
        seen.append("parent")

    fly(timeline, lambda nursery: timeline.start(nursery, parent))
    assert seen == ["heartbeat", "fetcher", "parent"]


def test_an_actor_killed_before_it_begins_never_begins() -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    async def parent() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, timeline.sleep, 10)
            timeline.start(nursery, pytest.fail)
            nursery.cancel_scope.cancel()
        seen.append("killed them")

    fly(timeline, lambda nursery: timeline.start(nursery, parent))
    assert seen == ["killed them"]
    assert timeline.turn == 3


def test_actors_of_one_instant_take_turns_in_the_order_they_asked() -> None:
    timeline = Timeline(ignore)
    seen: list[int] = []

    async def actor(number: int) -> None:
        while True:
            await timeline.sleep(10)
            seen.append(number)

    def prepare(nursery: trio.Nursery) -> None:
        for number in range(10):
            timeline.start(nursery, actor, number)

    fly(timeline, prepare, 200)
    assert seen == list(range(10)) * 20


# --- waiters ----------------------------------------------------------------------------------------------------------


def test_a_waiter_works_once() -> None:
    timeline = Timeline(ignore)
    waiter = timeline.waiter()
    seen: list[object] = []

    async def actor() -> None:
        seen.append(await timeline.park(waiter))

    def prepare(nursery: trio.Nursery) -> None:
        timeline.start(nursery, actor)
        for number in range(3):
            timeline.call_at(10, lambda number=number: seen.append(("wake", number, waiter.wake(number))))

    fly(timeline, prepare)
    assert seen == [("wake", 0, True), 0, ("wake", 1, False), ("wake", 2, False)]


def test_a_wake_may_come_before_the_wait() -> None:
    timeline = Timeline(ignore)
    seen: list[object] = []

    async def actor() -> None:
        for park in (timeline.park, lambda waiter: timeline.park_until(waiter, 10)):
            waiter = timeline.waiter()
            assert waiter.wake("early")
            assert not waiter.wake("late")
            seen.append((await park(waiter), timeline.turn))

    fly(timeline, lambda nursery: timeline.start(nursery, actor))
    assert seen == [("early", 1), ("early", 1)]
    assert timeline.turn == 1


def test_parking_twice_in_a_waiter_is_an_error() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        waiter = timeline.waiter("the answer")
        waiter.wake()
        await timeline.park(waiter)
        with pytest.raises(RuntimeError, match=r"works once.*the answer"):
            await timeline.park(waiter)

    fly(timeline, lambda nursery: timeline.start(nursery, actor))


def test_waking_an_actor_that_is_gone_does_nothing() -> None:
    timeline = Timeline(ignore)
    waiters: list[Waiter] = [timeline.waiter(), timeline.waiter()]
    seen: list[bool] = []

    async def actor() -> None:
        with trio.CancelScope() as scope:
            timeline.call_at(10, scope.cancel)
            await timeline.park_until(waiters[0], 50)

    def prepare(nursery: trio.Nursery) -> None:
        timeline.start(nursery, actor)
        timeline.call_at(20, lambda: seen.append(waiters[0].wake()))

    fly(timeline, prepare)
    assert seen == [False]
    assert timeline.turn == 4  # the start, the cancelling, the kill, the late wake; no timeout


def test_only_actors_park() -> None:
    timeline = Timeline(ignore)

    async def main() -> None:
        with pytest.raises(KeyError):
            await timeline.park(timeline.waiter())

    run_flight(timeline, main)


def test_each_actor_woken_in_one_turn_gets_a_turn_of_its_own() -> None:
    """Two that could run at once would run in an order that trio throws dice for."""

    def tell() -> list[tuple[int, int]]:
        timeline = Timeline(ignore)
        waiters = [timeline.waiter() for _ in range(6)]
        seen: list[tuple[int, int]] = []

        async def actor(number: int) -> None:
            await timeline.park(waiters[number])
            seen.append((number, timeline.turn))

        async def waking_actor() -> None:
            await timeline.sleep(20)
            for waiter in waiters[5:2:-1]:
                waiter.wake()

        def wake() -> None:
            for waiter in waiters[2::-1]:
                waiter.wake()

        def prepare(nursery: trio.Nursery) -> None:
            for number in range(6):
                timeline.start(nursery, actor, number)
            timeline.start(nursery, waking_actor)
            timeline.call_at(10, wake)

        fly(timeline, prepare)
        return seen

    assert {tuple(tell()) for _ in range(10)} == {((2, 8), (1, 9), (0, 10), (5, 12), (4, 13), (3, 14))}


def test_an_actor_killed_after_its_wake_but_before_its_turn_does_not_run() -> None:
    timeline = Timeline(ignore)
    waiters = [timeline.waiter(), timeline.waiter()]
    seen: list[object] = []

    async def actor(number: int) -> None:
        with trio.CancelScope() as scope:
            scopes.append(scope)
            seen.append((number, await timeline.park(waiters[number])))

    scopes: list[trio.CancelScope] = []

    def act() -> None:
        assert waiters[0].wake("zero")
        assert waiters[1].wake("one")
        scopes[1].cancel()

    def prepare(nursery: trio.Nursery) -> None:
        timeline.start(nursery, actor, 0)
        timeline.start(nursery, actor, 1)
        timeline.call_at(10, act)

    fly(timeline, prepare)
    assert seen == [(0, "zero")]


# --- kills ------------------------------------------------------------------------------------------------------------


def test_kills_are_turns_in_the_order_of_the_actors() -> None:
    def tell() -> list[object]:
        timeline = Timeline(ignore)
        seen: list[object] = []

        async def actor(number: int) -> None:
            try:
                if number % 3 == 0:
                    await timeline.park(timeline.waiter())
                elif number % 3 == 1:
                    await timeline.sleep(1_000_000)
                else:
                    async with trio.open_nursery() as nursery:
                        timeline.start(nursery, actor, 100 + 3 * number)
            finally:
                seen.append((number, timeline.turn))

        async def group() -> None:
            with trio.CancelScope() as scope:
                timeline.call_at(10, scope.cancel)
                async with trio.open_nursery() as nursery:
                    for number in range(9):
                        timeline.start(nursery, actor, number)
            seen.append(("group", timeline.now_us, timeline.turn))

        fly(timeline, lambda nursery: timeline.start(nursery, group))
        return seen

    first = tell()
    # 1 + 9 + 3 starts and the cancelling are 14 turns; who waits for actors of its own ends with the last of them
    order = [0, 1, 3, 4, 6, 7]
    assert first[:6] == [(number, 15 + place) for place, number in enumerate(order)]
    assert first[6:] == [(106, 21), (2, 21), (115, 22), (5, 22), (124, 23), (8, 23), ("group", 10, 23)]
    assert all(tell() == first for _ in range(5))


def test_a_kill_comes_before_what_is_due() -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    async def actor() -> None:
        with trio.CancelScope() as scope:
            timeline.call_at(10, scope.cancel)
            timeline.call_at(10, seen.append, "due at the same instant")
            await timeline.sleep(10)
        seen.append("killed")

    fly(timeline, lambda nursery: timeline.start(nursery, actor))
    assert seen == ["killed", "due at the same instant"]


def test_an_actor_that_kills_itself_dies_where_it_next_waits() -> None:
    timeline = Timeline(ignore)
    seen: list[object] = []

    async def actor() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            seen.append("still running")
            await timeline.sleep(10)
            seen.append("never")
        seen.append(timeline.turn)

    fly(timeline, lambda nursery: timeline.start(nursery, actor))
    assert seen == ["still running", 2]


def test_a_kill_between_two_flights_is_delivered_in_order() -> None:
    timeline = Timeline(ignore)
    seen: list[int] = []

    async def actor(number: int) -> None:
        try:
            await timeline.sleep(1_000)
        finally:
            seen.append(number)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(10):
                timeline.start(nursery, actor, number)
            await timeline.fly(10)
            nursery.cancel_scope.cancel()

    run_flight(timeline, main)
    assert seen == list(range(10))


# --- what an actor owns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["returns", "is killed"])
def test_an_ending_actor_cancels_the_timers_it_owns(how: str) -> None:
    timeline = Timeline(ignore)
    seen: list[str] = []

    async def actor() -> None:
        with trio.CancelScope() as scope:
            timeline.own(timeline.call_at(5, seen.append, "in its lifetime"))
            timer = timeline.own(timeline.call_at(50, pytest.fail))
            assert timer.pending
            timeline.call_at(50, seen.append, "not owned")
            timeline.call_at(10, scope.cancel) if how == "is killed" else None
            await timeline.sleep(100 if how == "is killed" else 10)

    fly(timeline, lambda nursery: timeline.start(nursery, actor))
    assert seen == ["in its lifetime", "not owned"]


def test_an_actor_does_not_hoard_timers_that_have_run() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        for _ in range(500):
            timeline.own(timeline.call_later(1, lambda: None))
            await timeline.sleep(1)
        (record,) = timeline._actors.values()
        assert len(record.owned) < 20

    fly(timeline, lambda nursery: timeline.start(nursery, actor))


def test_a_killed_wait_leaves_no_timeout_behind() -> None:
    timeline = Timeline(ignore)

    async def actor() -> None:
        with trio.CancelScope() as scope:
            timeline.call_at(10, scope.cancel)
            assert await timeline.park_until(timeline.waiter(), 50) is not TIMED_OUT

    fly(timeline, lambda nursery: timeline.start(nursery, actor))
    assert timeline.turn == 3


# --- the instrument ---------------------------------------------------------------------------------------------------


def test_the_instrument_sees_two_actors_that_nobody_ordered() -> None:
    timeline = Timeline(ignore)
    instrument = OneActorAtATime(timeline)

    async def actor() -> None:
        pass

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(actor)
            nursery.start_soon(actor)

    trio.run(main, clock=timeline, instruments=[instrument])
    with pytest.raises(AssertionError, match="can run at once"):
        instrument.check()


def test_the_instrument_sees_an_actor_waking_another_past_the_timeline() -> None:
    timeline = Timeline(ignore)
    instrument = OneActorAtATime(timeline)
    event = trio.Event()

    async def actor() -> None:
        await event.wait()

    async def setting_actor() -> None:
        event.set()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            timeline.start(nursery, setting_actor)
            await timeline.fly(10)

    trio.run(main, clock=timeline, instruments=[instrument])
    assert len(instrument.violations) == 1
    assert "actor can run while" in instrument.violations[0]


def test_the_instrument_lets_a_killed_actor_leave_a_nursery_without_children() -> None:
    timeline = Timeline(ignore)
    instrument = OneActorAtATime(timeline)
    scope = trio.CancelScope()
    left: list[int] = []

    async def actor() -> None:
        with scope:
            async with trio.open_nursery():
                await timeline.sleep(100)
        left.append(timeline.now_us)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            timeline.call_at(5, scope.cancel)
            await timeline.fly(10)

    trio.run(main, clock=timeline, instruments=[instrument])
    assert left == [5]
    instrument.check()

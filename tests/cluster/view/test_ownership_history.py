"""The history of ownership is bounded, and forgets nothing that was unowned: judged against runs never coarsened."""

from random import Random

import pytest

from cluster.view.ownership import history as kept
from cluster.view.ownership.history import NEVER, OWNED, SEVERAL, UNOWNED, OwnershipHistory

SECOND_US = 1_000_000
DAY_S = 86_400


def random_runs(random: Random, until_us: int) -> list[int]:
    """A partition that changes hands now and then, and is unowned for moments."""
    at_us, runs = random.randrange(SECOND_US), []
    code = OWNED
    while at_us < until_us:
        runs += [at_us, code]
        at_us += random.choice((1, 700, 90_000, 2 * SECOND_US, 60 * SECOND_US))
        code = random.choice([other for other in (0, 1, 2, 3, 4, 7, 8, 11) if other != code])
    return runs


def worst_in(runs: list[int], from_us: int, to_us: int) -> tuple[int, set[int]]:
    """The worst state of a span of time and its owners, -1 before the first run; by looking at each run."""
    ends = [*runs[2::2], to_us]
    codes = [
        code for at_us, end, code in zip(runs[::2], ends, runs[1::2], strict=True) if at_us < to_us and end > from_us
    ]
    worst = max((code % 4 for code in codes), default=-1)
    owners = {code // 4 for code in codes if code % 4 == worst}
    return (SEVERAL if worst == OWNED and len(owners) > 1 else worst), owners


@pytest.mark.parametrize("seed", range(20))
def test_each_cell_keeps_the_worst_that_was_in_it(seed: int) -> None:
    random = Random(seed)
    until_us, cell_us = 300 * SECOND_US, random.choice((125_000, SECOND_US, 16 * SECOND_US))
    runs = random_runs(random, until_us)
    coarse_until_us = until_us // 2 // cell_us * cell_us
    found = kept.coarsened(runs, cell_us, coarse_until_us)
    assert list(found[::2]) == sorted(set(found[::2]))
    for start_us in range(0, coarse_until_us, cell_us):
        state, owners = worst_in(runs, start_us, start_us + cell_us)
        assert worst_in(found, start_us, start_us + cell_us)[0] == state, start_us
        if state == OWNED:
            assert worst_in(found, start_us, start_us + cell_us)[1] == owners
    exact = [at_us for at_us in runs[::2] if at_us > coarse_until_us]
    assert [at_us for at_us in found[::2] if at_us > coarse_until_us] == exact
    longer_us = 2 * cell_us
    again = kept.coarsened(found, longer_us, coarse_until_us // longer_us * longer_us)
    for start_us in range(0, coarse_until_us - longer_us, longer_us):
        end_us = start_us + longer_us
        assert worst_in(again, start_us, end_us)[0] == worst_in(runs, start_us, end_us)[0]


def test_a_coarsening_that_keeps_the_last_state_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "worse", lambda one, other: other)
    found = 0
    for seed in range(20):
        try:
            test_each_cell_keeps_the_worst_that_was_in_it(seed)
        except AssertionError:
            found += 1
    assert found > 10


def a_day(partitions: int, every_s: int) -> tuple[OwnershipHistory, list[int], dict[str, list[int]]]:
    """One simulated day of eager rebalances: the history, its length after each, and every run."""
    history, lengths = OwnershipHistory(), []
    names = [f"orders-{number}" for number in range(partitions)]
    everything: dict[str, list[int]] = {name: [] for name in names[:3]}
    for turn, second in enumerate(range(0, DAY_S, every_s)):
        at_us = second * SECOND_US
        history.open_or_close(at_us, turn, is_open=True)
        for number, name in enumerate(names):
            place = history.place_of(f"billing-{(number + turn) % 4}")
            if turn:
                history.note(name, at_us, history.runs[name][-1] | UNOWNED)
            history.note(name, at_us + 400_000, 4 * place)
            if name in everything:
                everything[name] += ([at_us, everything[name][-1] | UNOWNED] if turn else []) + [
                    at_us + 400_000,
                    4 * place,
                ]
        history.count(at_us, partitions if turn else 0)
        history.count(at_us + 400_000, 0)
        history.enter(at_us + 400_000, turn + 1)
        history.open_or_close(at_us + 400_000, turn + 1, is_open=False)
        lengths.append(history.length)
    return history, lengths, everything


def test_a_day_of_rebalances_takes_bounded_memory_and_keeps_every_gap() -> None:
    history, lengths, everything = a_day(12, 20)
    assert max(lengths) <= kept.LEAST_RUNS
    assert len(history.unowned) <= 3 * kept.STEPS_KEPT + 3
    assert len(history.generations) <= 2 * kept.STEPS_KEPT + 2
    assert len(history.barriers) <= kept.STEPS_KEPT + 1
    cell_us = history.cell_us
    assert cell_us * 200 < DAY_S * SECOND_US, "a picture of the whole day has at least two hundred cells"
    for name, runs in everything.items():
        found = history.runs[name]
        for at_us, code in zip(runs[::2], runs[1::2], strict=True):
            if code & 3 == UNOWNED:
                assert worst_in(found, at_us, at_us + 1)[0] == UNOWNED
        last = [at_us for at_us in runs[::2] if at_us > history.exact_from_us]
        assert [at_us for at_us in found[::2] if at_us > history.exact_from_us] == last
    assert history.unowned_us(DAY_S * SECOND_US) == 12 * 400_000 * (DAY_S // 20 - 1)
    halfway_us = DAY_S // 2 * SECOND_US
    assert history.unowned_us(halfway_us) == pytest.approx(12 * 400_000 * (DAY_S // 40 - 1), rel=0.01)
    assert history.generation_at(DAY_S * SECOND_US) == DAY_S // 20
    assert history.generation_at(halfway_us) == pytest.approx(DAY_S // 40, rel=0.01)


def test_many_partitions_share_the_room() -> None:
    history, lengths, _ = a_day(400, 900)
    assert max(lengths) <= kept.LEAST_RUNS
    assert history.length > kept.LEAST_RUNS // 8
    assert all(runs[0] <= 400_000 for runs in history.runs.values())


def test_a_barrier_ends_where_it_was_open() -> None:
    history = OwnershipHistory()
    for at_us, is_open in ((5, True), (6, True), (9, False), (9, False), (12, True)):
        history.open_or_close(at_us, at_us, is_open=is_open)
    assert [(one.from_us, one.to_us, one.generation) for one in history.barriers] == [(5, 9, 9), (12, NEVER, NEVER)]


def test_an_owner_of_no_duration_leaves_one_run() -> None:
    history = OwnershipHistory()
    for at_us, code in ((5, OWNED), (9, UNOWNED), (20, OWNED), (20, UNOWNED), (30, OWNED)):
        history.note("orders-0", at_us, code)
    assert history.runs == {"orders-0": [5, OWNED, 9, UNOWNED, 30, OWNED]}
    assert history.length == 3

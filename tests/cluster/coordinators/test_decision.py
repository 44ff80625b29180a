from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster.coordinators.decision import Deadlines, Decision, Draft
from cluster.coordinators.records import GroupTombstone
from cluster.protocol.errors import ErrorCode

NAMES = [(kind, group, member) for kind in (0, 1) for group in ("a", "b") for member in ("", "m")]


def test_a_deadline_is_replaced_by_its_name() -> None:
    deadlines = Deadlines()
    deadlines.set((0, "g", "m"), 10)
    deadlines.set((0, "g", "m"), 30)
    assert deadlines.next_us() == 30
    deadlines.set((0, "g", "m"), 20)
    assert deadlines.next_us() == 20
    assert deadlines.pop_due(19) is None
    assert deadlines.pop_due(20) == (0, "g", "m")
    assert deadlines.next_us() is None


def test_equal_instants_are_due_in_the_order_of_their_names() -> None:
    deadlines = Deadlines()
    for name in reversed(NAMES):
        deadlines.set(name, 5)
    assert [deadlines.pop_due(5) for _ in NAMES] == sorted(NAMES)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("set"), st.sampled_from(NAMES), st.integers(0, 40)),
            st.tuples(st.just("cancel"), st.sampled_from(NAMES), st.just(0)),
            st.tuples(st.just("due"), st.sampled_from(NAMES), st.integers(0, 40)),
        ),
        max_size=200,
    )
)
def test_deadlines_are_what_a_plain_dictionary_says(moves: list[tuple[str, tuple[int, str, str], int]]) -> None:
    deadlines, plain = Deadlines(), dict[tuple[int, str, str], int]()
    for move, name, at_us in moves:
        if move == "set":
            deadlines.set(name, at_us)
            plain[name] = at_us
        elif move == "cancel":
            deadlines.cancel(name)
            plain.pop(name, None)
        else:
            due = sorted((at, name) for name, at in plain.items() if at <= at_us)
            assert deadlines.pop_due(at_us) == (due[0][1] if due else None)
            if due:
                del plain[due[0][1]]
        assert deadlines.next_us() == min(plain.values(), default=None)
        assert len(deadlines) == len(plain)
        assert deadlines.get(name) == plain.get(name)


def test_renewing_a_thousand_times_keeps_one_entry() -> None:
    deadlines = Deadlines()
    for at_us in range(1_000):
        deadlines.set((0, "g", "m"), 1_000 + at_us)
    for at_us in range(1_000):
        deadlines.set((0, "g", "m"), 1_000 - at_us)  # each one earlier: a new entry every time
    assert len(deadlines._heap) < 100
    assert deadlines.next_us() == 1


def test_what_waits_for_records_runs_in_a_draft_of_its_own_time() -> None:
    draft = Draft(5)
    draft.records.append(GroupTombstone("g"))
    seen = []
    draft.when_committed(lambda error, later: seen.append((error, later.now_us)))
    draft.when_committed(lambda error, later: later.records.append(GroupTombstone("h")))
    decision = draft.decision()
    assert decision.records == (GroupTombstone("g"),)
    assert decision.then is not None
    assert decision.then(ErrorCode.NONE, 9) == Decision((GroupTombstone("h"),))
    assert seen == [(ErrorCode.NONE, 9)]

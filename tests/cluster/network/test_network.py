"""Links keep the order and lose nothing, and each fault of a link is cleared by itself."""

import pytest

from cluster.network import Link, LinkCut, LinkDelay, LinkFault, LinkHold, LinkSelector, Network
from cluster.spec import LinkSpec, NetworkSpec
from cluster.virtual_time import Timeline
from tests.support.counted_work import instructions
from tests.support.network_scene import MS, run_scene

HERE = (LinkSelector("a", "b"),)


class Wire:
    """A network, its link from a to b, and what arrives there: (word, ms)."""

    def __init__(self, timeline: Timeline, jitter: float = 0.0) -> None:
        self._timeline = timeline
        self.network = Network(timeline, NetworkSpec(MS, jitter, (LinkSpec(("a", "far"), 20 * MS),)), 1)
        self.link: Link = self.network.link("a", "b")
        self.arrived: list[tuple[str, int]] = []

    def say(self, *words: str) -> None:
        for word in words:
            self.link.send(self.hear, word)

    def hear(self, word: str) -> None:
        self.arrived.append((word, self._timeline.now_us // MS))


def test_a_link_delivers_in_order_whatever_its_jitter() -> None:
    async def scene(timeline: Timeline) -> None:
        wire = Wire(timeline, jitter=1.0)
        for number in range(50):
            timeline.call_at(number * 100, wire.say, str(number))
        await timeline.fly(30 * MS)
        assert [word for word, _ in wire.arrived] == [str(number) for number in range(50)]

    run_scene(scene)


def latencies_us(ends: tuple[str, str], others: tuple[tuple[str, str], ...]) -> list[int]:
    """The latencies of ten messages from one end to the other, while other links are used too."""
    took_us: list[int] = []

    async def scene(timeline: Timeline) -> None:
        network = Network(timeline, NetworkSpec(MS, 0.5), 1, ("broker-1", "broker-2"))

        def send(at_us: int) -> None:
            for other in others:
                network.link(*other).send(id, None)
            network.link(*ends).send(lambda _: took_us.append(timeline.now_us - at_us), None)

        for number in range(10):
            timeline.call_at(number * 10 * MS, send, number * 10 * MS)
        await timeline.fly(200 * MS)

    run_scene(scene)
    return took_us


@pytest.mark.parametrize(("ends", "other"), [
    (("a", "broker-1"), ("b", "broker-1")),
    (("broker-1", "a"), ("b", "broker-1")),
    (("broker-1", "a"), ("broker-1", "b")),
    (("broker-1", "broker-2"), ("b", "broker-1")),
    (("broker-1", "broker-2"), ("broker-1", "b")),
    (("broker-1", "broker-2"), ("broker-2", "b")),
    (("broker-1", "broker-2"), ("broker-2", "broker-1")),
])  # fmt: skip
def test_one_more_client_changes_the_draws_of_no_other_link(ends: tuple[str, str], other: tuple[str, str]) -> None:
    assert latencies_us(ends, (other,)) == latencies_us(ends, ())
    assert len(set(latencies_us(ends, ()))) == 10


def test_the_links_of_one_client_draw_from_one_stream() -> None:
    for ends, other in [(("a", "broker-1"), ("broker-2", "a")), (("broker-1", "a"), ("a", "broker-1"))]:
        assert latencies_us(ends, (other,)) != latencies_us(ends, ())


def test_what_is_sent_over_a_cut_link_goes_on_when_it_is_mended() -> None:
    async def scene(timeline: Timeline) -> None:
        wire = Wire(timeline)
        wire.network.inject("one", LinkCut(HERE))
        wire.say("first", "second")
        back: list[int] = []
        wire.network.link("b", "a").send(lambda _: back.append(timeline.now_us), None)
        await timeline.fly(5 * MS)
        assert (wire.arrived, back) == ([], [MS])
        wire.network.clear("one")
        await timeline.fly(10 * MS)
        assert wire.arrived == [("first", 6), ("second", 6)]

    run_scene(scene)


def test_a_sender_that_dies_takes_what_is_behind_a_cut_but_not_what_is_held_on_the_wire() -> None:
    async def scene(timeline: Timeline) -> None:
        wire = Wire(timeline)
        wire.say("on its way")
        wire.network.inject("held", LinkHold(HERE))
        wire.say("held")
        wire.network.inject("cut", LinkCut(HERE))
        wire.say("behind the cut")
        wire.network.process_died("b")  # the other end: nothing of this link was its
        wire.network.process_died("a")
        wire.say("of its next life")
        wire.network.clear("cut")
        await timeline.fly(3 * MS)
        assert wire.arrived == [("on its way", 1)]
        wire.network.clear("held")
        await timeline.fly(9 * MS)
        assert [word for word, _ in wire.arrived[1:]] == ["held", "of its next life"]

    run_scene(scene)


def test_injuries_of_one_link_are_undone_one_by_one() -> None:
    async def scene(timeline: Timeline) -> None:
        wire = Wire(timeline)
        told: list[bool] = []
        wire.link.watch(lambda: told.append(wire.link.cut_since_us is not None))
        faults: dict[str, LinkFault] = {
            "slow": LinkDelay(HERE, 50 * MS),
            "cut": LinkCut(HERE),
            "held": LinkHold(HERE),
            "slower": LinkDelay(HERE, 90 * MS),
        }
        for name, fault in faults.items():
            await timeline.fly(timeline.now_us + MS)
            wire.network.inject(name, fault)
        wire.say("kept")
        states = []
        for name in ("cut", "slower", "held", "slow"):
            wire.network.clear(name)
            states.append((wire.link.latency_us // MS, wire.link.cut_since_us))
        assert states == [(90, 2 * MS), (50, 2 * MS), (50, None), (1, None)]
        assert told == [True, False]
        await timeline.fly(100 * MS)
        assert wire.arrived == [("kept", 4 + 50)]  # sent on while it was slow

    run_scene(scene)


def test_an_injury_at_every_link_of_a_process_reaches_links_made_later_but_not_its_own() -> None:
    async def scene(timeline: Timeline) -> None:
        network = Wire(timeline).network
        network.inject("isolated", LinkCut((LinkSelector("a", None), LinkSelector(None, "a"))))
        await timeline.fly(7 * MS)
        ends = [("a", "b"), ("late", "a"), ("a", "late"), ("a", "a"), ("b", "late")]
        assert [network.link(*one).cut_since_us for one in ends] == [0, 0, 0, None, None]
        network.clear("isolated")
        assert [network.link(*one).cut_since_us for one in ends] == [None] * 5

    run_scene(scene)


def test_links_have_the_latencies_of_the_scenario_until_they_are_slowed() -> None:
    async def scene(timeline: Timeline) -> None:
        network = Wire(timeline).network
        ends = (("a", "far"), ("far", "a"), ("a", "c"), ("a", "a"))
        assert [network.link(*one).latency_us // MS for one in ends] == [20, 20, 1, 0]
        network.inject("slow", LinkDelay((LinkSelector("a", "far"), LinkSelector("far", "a")), 50 * MS))
        assert [network.link(*one).latency_us // MS for one in ends] == [50, 50, 1, 0]
        network.clear("slow")
        assert network.link("far", "a").latency_us == 20 * MS

    run_scene(scene)


def test_processes_in_other_racks_are_further_apart_also_when_one_moves() -> None:
    async def scene(timeline: Timeline) -> None:
        spec = NetworkSpec(MS, 0.0, (LinkSpec(("c", "a"), 3 * MS),), between_racks_us=20 * MS)
        network = Network(timeline, spec, 1)
        for process, rack in (("a", "east"), ("b", "west"), ("c", "west"), ("d", "")):
            network.place(process, rack)
        ends = (("a", "b"), ("b", "a"), ("b", "c"), ("a", "c"), ("a", "d"), ("b", "b"))
        assert [network.link(*one).latency_us // MS for one in ends] == [20, 20, 1, 3, 1, 0]
        network.inject("slow", LinkDelay((LinkSelector("b", "c"),), 50 * MS))
        network.place("b", "east")
        assert [network.link(*one).latency_us // MS for one in ends] == [1, 1, 50, 3, 1, 0]
        network.clear("slow")
        assert network.link("b", "c").latency_us == 20 * MS

    run_scene(scene)


def test_a_fault_of_one_process_is_no_work_for_the_links_of_others() -> None:
    async def scene(timeline: Timeline) -> None:
        network = Wire(timeline).network
        selectors = LinkSelector("a", None), LinkSelector(None, "a"), LinkSelector("b", "a")

        def fault() -> None:
            network.inject("cut", LinkCut(selectors))
            network.clear("cut")
            network.process_died("a")

        fault()
        alone = instructions(fault)
        for number in range(200):
            network.link(f"client-{number}", "b")
            network.link("b", f"client-{number}")
        assert instructions(fault) == alone

    run_scene(scene)


def test_what_links_held_goes_on_in_the_order_in_which_they_were_made() -> None:
    async def scene(timeline: Timeline) -> None:
        network = Network(timeline, NetworkSpec(MS, 0.0), 1)
        ends = [("c", "a"), ("a", "b"), ("b", "a"), ("a", "c"), ("d", "e")]
        links = [network.link(*one) for one in ends]
        network.inject("isolated", LinkCut((LinkSelector("a", None), LinkSelector(None, "a"))))
        network.inject("all", LinkHold((LinkSelector(None, None),)))
        assert [link.cut_since_us for link in links] == [0] * 5
        arrived: list[tuple[str, str]] = []
        for link, one in zip(links, ends, strict=True):
            link.send(arrived.append, one)
        network.clear("all")
        network.clear("isolated")
        await timeline.fly(9 * MS)
        assert arrived == [("d", "e"), *ends[:4]]

    run_scene(scene)

"""What the overview, the frame and the menus say of the synthetic flight."""

import math

import pytest

from cluster.commands import parse
from cluster.commands import text_of as text_of_command
from cluster.config import UNBUILT
from cluster.view import ClusterView
from cluster.view.state import LogEntry
from console.flight_clock import PLAYBACK_SPEEDS, FlightClock, next_speed
from console.presenters import chrome, formatting
from console.presenters.event_log import EventLogListing, last_entries, merged_entries
from console.presenters.fault_menu import CommandTarget, fault_menu_entries
from console.presenters.help import FaultMenuListing, failure_lines
from console.presenters.list_view import Listing
from console.presenters.overview import BrokersListing, GroupsListing, lag_trend
from console.presenters.partition_grids import TopicsListing
from console.presenters.producers.table import ProducersListing, acked_rates
from console.presenters.styled_text import MUTED, WARN, length, plain
from tests.support.console import synthetic, synthetic_transactions
from tests.support.console.stopped_clock import NAMES
from tests.support.console.synthetic import us


def text_of(listing: Listing) -> str:
    rows = [plain(row) for key in listing.row_keys() for row in listing.rows(key)]
    return "\n".join([plain(listing.note()), plain(listing.header()), *rows])


def at(seconds: float, phase: str = "live", speed: float = 1.0, reached: float = 1.0) -> FlightClock:
    return FlightClock(us(seconds), speed, reached, phase, us(300))


def test_groups_say_what_they_wait_for() -> None:
    said = text_of(GroupsListing(synthetic.view_at(20.0), us(20.0), 120))
    assert "↻ PreparingRebalance" in said
    assert "3/4" in said
    assert "billing-3, within 4:54" in said
    assert "billing-3: last poll 5.8 s" in text_of(GroupsListing(synthetic.view_at(20.0), us(20.0), 200))


def test_groups_say_what_their_last_rebalance_was() -> None:
    said = text_of(GroupsListing(synthetic.view_at(90.0), us(90.0), 200))
    assert "session expired (billing-2) · took 4.3 s · stopped 38 partition-s · 2.1 s ago" in said
    assert "session expired" in text_of(GroupsListing(synthetic.view_at(90.0), us(90.0), 120))


def test_first_members_gather_by_time() -> None:
    assert "initial delay: 2.1 s" in text_of(GroupsListing(synthetic.view_at(2.9), us(2.9), 120))


def test_a_group_before_its_first_generation_has_none() -> None:
    row = text_of(GroupsListing(synthetic.view_at(0.3), us(0.3), 120)).splitlines()[2]
    assert "○ Empty" in row
    assert "–" in row
    assert "none yet" in row


def test_leaderless_partitions_stand_out_with_a_sign_and_words() -> None:
    said = text_of(TopicsListing(synthetic.view_at(90.0), 90_000_000, 120))
    assert "✖ 1 without a leader" in said
    assert "▲ 12 under-replicated" in said
    payments = next(row for row in said.splitlines() if row.startswith("  payments"))
    assert payments.split()[1:7].index("✖") == 4


def test_partitions_below_min_isr_have_their_own_sign() -> None:
    view = synthetic.view_at(90.0)
    view.partitions["orders-3"].isr = (1,)
    assert "▽" in text_of(TopicsListing(view, 0, 120)).splitlines()[2]


def test_brokers_tell_silence_from_fencing() -> None:
    assert "✖ silent" in text_of(BrokersListing(synthetic.view_at(62.0), 80))
    said = text_of(BrokersListing(synthetic.view_at(90.0), 80))
    assert "✖ down" in said
    assert "broker-1 ◆" in said
    assert "billing" in said


@pytest.mark.parametrize(
    ("paused", "fenced", "registered", "state"),
    [(True, False, True, "‖ frozen"), (False, True, False, "↻ starting"), (False, True, True, "✖ fenced")],
)
def test_brokers_between_up_and_down(paused: bool, fenced: bool, registered: bool, state: str) -> None:
    view = synthetic.view_at(30.0)
    broker = view.brokers[2]
    broker.paused, broker.fenced, broker.registered = paused, fenced, registered
    assert state in text_of(BrokersListing(view, 80))


def test_producers_show_rate_and_errors() -> None:
    view = synthetic.view_at(90.0)
    view.producers["ledger-1"].failed, view.producers["ledger-1"].last_error = 7, "NOT_ENOUGH_REPLICAS"
    said = text_of(ProducersListing(view, us(90.0), 120))
    assert "96/s" in said
    assert "NOT_ENOUGH_REPLICAS" in said


@pytest.mark.parametrize("error", ["REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"])
def test_an_error_has_its_whole_name_beside_a_transaction(error: str) -> None:
    view = synthetic_transactions.view_at(20.0)
    view.producers["pay-1"].last_error = error
    said = text_of(ProducersListing(view, us(20.0), 120))
    assert f"{error}  " in said
    assert "transaction" in said
    assert "oldest batch" in said, "how long a batch has waited stays"


def test_how_long_nothing_was_acknowledged_is_said_without_an_error() -> None:
    view = synthetic_transactions.view_at(20.0)
    view.producers["pay-1"].state, view.producers["pay-1"].waits_since_us = "Running", us(2.0)
    assert "no ack for 18 s" in text_of(ProducersListing(view, us(20.0), 120))


SAW = [40, 90, 140, 190, 240]  # commits every five seconds, fifty records a second


@pytest.mark.parametrize(
    ("values", "arrow", "amber"),
    [
        ([5, 6], "", False),
        ([7] * 10, "→", False),
        (SAW * 12, "→", False),
        ((SAW * 12)[3:], "→", False),
        ([900] * 30 + list(range(900, 0, -30)), "↘", False),
        ([0] * 20 + list(range(0, 1_000, 50)), "↗", False),
        ([place * 40 + saw for place, saw in enumerate(SAW * 12)], "↗", True),
        ([100_000 + place * 9 for place in range(60)], "↗", True),
    ],
)
def test_lag_arrows_follow_the_trend_and_not_the_commits(values: list[int], arrow: str, amber: bool) -> None:
    group = synthetic.view_at(20.0).groups["billing"]
    group.lag_series.values = values
    assert lag_trend(group, values[-1] or 1) == (arrow, WARN if amber else MUTED)
    assert lag_trend(group, 0)[0] != "↗", "nothing rises beside a lag of 0"


@pytest.mark.parametrize("width", [9, 21, 30, 60])
def test_a_sparkline_shows_a_minute_whatever_its_width(width: int) -> None:
    values = [0] * 30 + [9] + [0] * 59  # the peak is 59 seconds ago
    assert formatting.resampled(0, values, width).count(9) <= 1
    recent = [0] * 61 + [9] + [1] * 28
    cells = formatting.resampled(0, recent, width)
    assert len(cells) == width
    assert cells.index(9) == pytest.approx(width * 31 / 60, abs=1)
    assert formatting.resampled(0, [3], width)[-1] == 3
    assert formatting.resampled(0, [], width) == []


def test_acked_rates_fall_to_nothing_when_nothing_happens_any_more() -> None:
    producer = synthetic.view_at(20.0).producers["checkout-1"]
    assert acked_rates(producer, us(23.0))[-3:] == [acked_rates(producer, us(23.0))[-3], 0, 0]


@pytest.mark.parametrize("width", [60, 80, 119, 120, 160, 200])
@pytest.mark.parametrize("seconds", [0.0, 2.9, 20.0, 90.0])
def test_no_line_is_wider_than_its_panel(seconds: float, width: int) -> None:
    view, now_us = synthetic.view_at(seconds), us(seconds)
    listings: list[Listing] = [
        GroupsListing(view, now_us, width),
        TopicsListing(view, 0, width),
        BrokersListing(view, width),
        ProducersListing(view, now_us, width),
        EventLogListing(view, width),
    ]
    for listing in listings:
        assert length(listing.header()) <= width
        for key in listing.row_keys():
            assert all(length(row) <= width for row in listing.rows(key)), (type(listing).__name__, key)
    strip = chrome.flight_strip(view, at(seconds), width)
    assert length(strip) == length(chrome.strip_scale(at(seconds), width)) == width
    assert all(length(row) == width for row in chrome.ticker(view, width, 3))


def test_events_can_be_those_of_some_subjects_and_be_searched() -> None:
    view = synthetic.view_at(90.0)
    billing = EventLogListing(view, 100, {"billing", "billing-2"})
    said = text_of(billing)
    assert "kill billing-2" in said
    assert "audit" not in said
    everything = EventLogListing(view, 100)
    assert any(everything.matches(key, "STABLE") for key in everything.row_keys())
    assert everything.matches(everything.row_keys()[0], "!nothing like it")


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 200])
@pytest.mark.parametrize("seconds", [0.0, 20.0, 90.0])
def test_the_header_fills_its_line(seconds: float, width: int) -> None:
    view = synthetic.view_at(seconds)
    for clock in (at(seconds), at(seconds, speed=20.0, reached=3.1), at(seconds, "paused"), at(seconds, "ended")):
        said = chrome.header(view, clock, "first-flight · seed 7", width, recording=True)
        assert length(said) == width
        assert "REC" in plain(said)


def test_the_header_says_what_is_wrong_in_signs_and_numbers() -> None:
    said = plain(chrome.header(synthetic.view_at(90.0), at(90.0), "first-flight · seed 7", 120, recording=False))
    assert "brokers 2/3 ✖" in said
    assert "groups 2 ●" in said
    assert "faults 2 ▲" in said


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (at(761.35), "00:12:41.3    ▶ LIVE  ×1"),
        (at(761.35, speed=20.0, reached=3.1), "▶ LIVE  ×20 (actual ×3.1)"),
        (at(761.35, speed=math.inf, reached=812.0), "▶ LIVE  flat out ×812"),
        (at(761.35, "paused", speed=20.0), "00:12:41.350  ‖ PAUSED  ×20"),
        (at(761.35, speed=-4.0, reached=4.0)._replace(recorded=True), "◀ PLAYBACK  ×-4"),
        (at(600, "ended"), "00:10:00.000  ■ ENDED"),
        (at(600, "failed"), "✖ FAILED"),
        (at(0, "building"), "building the cluster …"),
    ],
)
def test_time_says_where_it_is_and_how_fast(clock: FlightClock, words: str) -> None:
    assert words in plain(chrome.time_words(clock))


def test_the_strip_keeps_its_scale_when_the_end_is_known() -> None:
    assert chrome.strip_span(us(10), us(300)) == us(300)
    assert chrome.strip_span(us(10), None) == us(60)
    assert chrome.strip_span(us(130), None) == us(240)


def test_the_strip_marks_faults_over_elections_over_rebalances() -> None:
    strip = plain(chrome.flight_strip(synthetic.view_at(90.0), at(90.0), 122))
    assert len(strip) == 122
    assert strip[1 + 16] == "✖"
    assert strip[1 + 36] == "┃"
    assert set(strip[1 + 37 : -1]) == {"┈"}


def test_a_view_before_anything_happened_can_be_shown() -> None:
    view = ClusterView()
    for listing in (GroupsListing(view, 0, 80), TopicsListing(view, 0, 80), BrokersListing(view, 80)):
        assert list(listing.row_keys()) == []
        assert plain(listing.vacant)
    assert length(chrome.header(view, FlightClock(), "x", 80, recording=False)) == 80


def test_speeds_go_up_and_down_in_steps() -> None:
    assert [next_speed(each, 1) for each in (1.0, 100.0, math.inf)] == [2.0, math.inf, math.inf]
    assert [next_speed(each, -1) for each in (1.0, math.inf, 0.1, 3.0)] == [0.5, 100.0, 0.1, 2.0]
    assert [next_speed(-1.0, by, PLAYBACK_SPEEDS) for by in (-1, 0, 1)] == [-0.5, 1.0, -2.0]


TARGETS = [
    CommandTarget("group", "billing"),
    CommandTarget("member", "billing-1"),
    CommandTarget("member", "billing-2"),
    CommandTarget("broker", "broker-3"),
    CommandTarget("producer", "checkout-1"),
    CommandTarget("topic", "orders"),
]


@pytest.mark.parametrize("seconds", [0.3, 20.0, 90.0])
@pytest.mark.parametrize("target", TARGETS)
def test_every_possible_fault_is_a_command_that_parses(target: CommandTarget, seconds: float) -> None:
    faults = fault_menu_entries(synthetic.view_at(seconds), NAMES, target)
    assert faults
    assert len({fault.text for fault in faults}) == len(faults)
    assert all(fault.effect for fault in faults)


def test_every_entry_of_every_menu_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.config.unsupported.UNBUILT", {})
    view = synthetic.view_at(90.0)
    targets = [
        CommandTarget("group", "billing"),
        CommandTarget("member", "billing-1"),
        CommandTarget("broker", "broker-1"),
    ]
    targets += [CommandTarget("producer", "checkout-1"), CommandTarget("topic", "orders")]
    for target in targets:
        for fault in fault_menu_entries(view, NAMES, target):
            assert text_of_command(parse(fault.text, NAMES)) == fault.text
    controllers = {
        fault.text: fault.reason for fault in fault_menu_entries(view, NAMES, CommandTarget("broker", "broker-2"))
    }
    assert controllers["fail over controller"] == "broker-1 is the controller, not this one"


def test_impossible_faults_stay_with_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UNBUILT, "command rolling_restart", "rolling restart")
    view = synthetic.view_at(90.0)
    dead = {fault.text: fault.reason for fault in fault_menu_entries(view, NAMES, CommandTarget("member", "billing-2"))}
    assert dead["kill billing-2"] == "the process is not running"
    assert dead["start billing-2"] == ""
    alive = {
        fault.text: fault.reason for fault in fault_menu_entries(view, NAMES, CommandTarget("member", "billing-1"))
    }
    assert alive["start billing-1"] == "already running"
    assert alive["stall billing-1 for 6m"] == ""
    group = {fault.text: fault.reason for fault in fault_menu_entries(view, NAMES, CommandTarget("group", "billing"))}
    assert "not built yet" in group["rolling restart billing every 30s"]
    empty = {
        fault.text: fault.reason
        for fault in fault_menu_entries(synthetic.view_at(0.3), NAMES, CommandTarget("group", "billing"))
    }
    assert empty["stall billing-1 for 1m"] == "the group is Empty: no member runs"


def test_a_menu_says_what_a_command_does_to_this_member() -> None:
    view = synthetic.view_at(90.0)
    member = view.members["billing-1"]

    def effects() -> dict[str, str]:
        return {
            fault.text: fault.effect for fault in fault_menu_entries(view, NAMES, CommandTarget("member", "billing-1"))
        }

    assert effects()["stall billing-1 for 6m"] == "longer than max.poll.interval.ms (5:00): the member leaves"
    assert effects()["stop billing-1"] == "close(): commits, sends LeaveGroup"
    member.max_poll_interval_ms, member.session_timeout_ms, member.instance_id = 600_000, 90_000, "billing-1"
    static = effects()
    stalled = "longer than max.poll.interval.ms (10:00): heartbeats stop, the session ends"
    assert static["stall billing-1 for 11m"] == stalled
    assert static["stop billing-1"] == "close(): commits, sends no LeaveGroup: static"
    assert static["start billing-1"] == "start again, in its place if kept"
    assert static["pause heartbeats of billing-1 for 1m"] == "poll() continues; the session lasts longer: 90 s"


def test_the_menu_shows_reasons_where_effects_would_stand() -> None:
    faults = fault_menu_entries(synthetic.view_at(90.0), NAMES, CommandTarget("member", "billing-2"))
    said = text_of(FaultMenuListing(CommandTarget("member", "billing-2"), faults, 100))
    assert "kill billing-2" in said
    assert "✖ the process is not running" in said


def test_a_failure_is_told_in_words() -> None:
    assert any("KeyError: 'x'" in plain(row) for row in failure_lines("the simulation failed at 1: KeyError: 'x'", 80))


def test_what_befell_many_at_once_is_one_line() -> None:
    said = text_of(EventLogListing(synthetic.view_at(90.0), 120))
    assert "orders-2, orders-5 and 3 more: leader 3 → 1 (broker fenced)" in said
    assert said.count("leader 3 → 1") == 1


def elected(partition: str, leader: int, at_us: int = 5, reason: str = "broker fenced") -> LogEntry:
    predicate = f" leader 2 → {leader} ({reason})" if leader >= 0 else f" has no leader ({reason})"
    entry = LogEntry(at_us, "election", partition, partition + predicate, "leader_elected", predicate)
    entry.elected_for = reason if leader >= 0 else ""
    return entry


def test_new_leaders_of_internal_topics_are_one_row_that_opens_to_its_parts() -> None:
    internal = [elected(f"__consumer_offsets-{number}", 1 + 2 * (number % 2)) for number in range(6)]
    users = [elected(f"orders-{number}", 1 + 2 * (number % 2)) for number in range(4)]
    lost = elected("__consumer_offsets-9", -1)
    assert [entry.text for entry in merged_entries([*users, *internal, lost, elected("a-1", 1, 2_000_000)])] == [
        "6 partitions of __consumer_offsets: new leaders (broker fenced)",
        "orders-0, orders-2: leader 2 → 1 (broker fenced)",
        "orders-1, orders-3: leader 2 → 3 (broker fenced)",
        "__consumer_offsets-9 has no leader (broker fenced)",
        "a-1 leader 2 → 1 (broker fenced)",
    ]
    few = [elected("__consumer_offsets-0", 3), elected("__transaction_state-0", 5)]
    assert [entry.text for entry in merged_entries(few)] == [
        "__consumer_offsets-0 leader 2 → 3 (broker fenced)",
        "__transaction_state-0 leader 2 → 5 (broker fenced)",
    ]
    view = synthetic.view_at(1.0)
    view.log_entries = [*internal, elected("__transaction_state-1", 1)]
    folded = EventLogListing(view, 100)
    (key,) = folded.row_keys()
    assert "7 internal partitions: new leaders (broker fenced)" in plain(folded.rows(key)[0])
    assert plain(folded.rows(key)[0]).endswith(" + enter: all 7")
    assert plain(EventLogListing(view, 66).rows(key)[0]).endswith(" +"), "what enter does has room, or its sign"
    assert folded.instant_of(key) is None
    assert folded.matches(key, "__transaction_state-1")
    unfolded = EventLogListing(view, 100, None, {key})
    keys = unfolded.row_keys()
    assert len(keys) == 8
    assert "__consumer_offsets-0 leader 2 → 1" in plain(unfolded.rows(keys[1])[0])
    assert unfolded.instant_of(keys[1]) == 5
    assert not unfolded.unfolds(keys[1])


def test_new_leaders_of_many_brokers_are_counted() -> None:
    many = [elected(f"orders-{number}", 10 + number) for number in range(5)]
    assert [entry.text for entry in merged_entries(many)] == ["5 partitions of orders: new leaders (broker fenced)"]
    many.append(elected("payments-0", 3))
    assert [entry.text for entry in merged_entries(many)] == ["6 partitions of 2 topics: new leaders (broker fenced)"]


def test_the_newest_entries_are_no_part_of_a_row() -> None:
    burst = [elected(f"__consumer_offsets-{number}", 1) for number in range(9)]
    assert len(last_entries([elected("a-0", 1, reason="x"), *burst], 3)) == 10
    assert last_entries([LogEntry(5, "member", "a", "a", "member_started"), *burst], 3) == burst


def test_a_killed_process_and_the_command_are_one_line() -> None:
    killed = [
        LogEntry(5, "fault", "billing-2", "billing-2 was killed", "member_stopped", " was killed"),
        LogEntry(5, "fault", "kill billing-2", "kill billing-2", "fault_started", targets=("billing-2",)),
    ]
    (row,) = merged_entries(killed)
    assert (row.text, row.subject, row.targets) == (
        "billing-2 was killed (kill billing-2)",
        "billing-2",
        ("billing-2",),
    )
    killed[1].targets = ("billing-3",)
    assert merged_entries(killed) == killed
    killed[1].at_us, killed[1].targets = 6, ("billing-2",)
    assert merged_entries(killed) == killed


def test_partitions_led_by_a_dead_broker_stand_out_before_the_controller_knows() -> None:
    said = text_of(TopicsListing(synthetic.view_at(62.0), 62_000_000, 120))
    assert "✖ 4 led by a dead broker" in said

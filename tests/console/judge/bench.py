"""The judge's bench: a flight's events, its sampled instants, and every line of the screens at each instant."""

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import pairwise

import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.flight_clock import FlightClock
from console.presenters import chrome
from console.presenters.active_faults import ActiveFaultsListing
from console.presenters.consumer_groups.members_table import ReconciliationListing
from console.presenters.conversations.followed import FollowedConversation
from console.presenters.conversations.listing import ConversationListing
from console.presenters.conversations.messages import ConversationLog
from console.presenters.conversations.newest_events import NewestEvents
from console.presenters.event_log import EventLogListing
from console.presenters.exceptions import headline
from console.presenters.members import MembersListing
from console.presenters.overview import BrokersListing, GroupsListing
from console.presenters.partition_grids import OwnershipListing, TopicsListing
from console.presenters.partitions.tables import (
    LogListing,
    OpenTransactionsListing,
    ReadersListing,
    ReplicasListing,
)
from console.presenters.producers.limits import configs_of
from console.presenters.producers.table import ProducersListing
from console.presenters.raster import comparison
from console.presenters.raster.axis import axis_for
from console.presenters.raster.listing import BARRIERS, COST, RasterListing, axis_width, cell_words
from console.presenters.rebalance_details import details_lines
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.rebalances import NOW, RebalancesListing
from console.presenters.styled_text import WARN, Line, plain
from console.presenters.transactions import (
    HeldBackListing,
    StatesListing,
    TransactionEventsListing,
    TransactionsListing,
)
from console.presenters.why.answers import Subject
from console.presenters.why.listing import WhyListing
from recordings.scenarios.loader import load
from recordings.swarm.generator import draw
from tests.console.judge.books import Books
from tests.console.judge.consumer_group_judge import ConsumerGroupJudge
from tests.console.judge.conversation_judge import ROWS, ConversationJudge
from tests.console.judge.details_judge import DetailsJudge, judge_row
from tests.console.judge.event_log_judge import judge_entry
from tests.console.judge.event_log_judge import judge_row as judge_event_row
from tests.console.judge.frame_judge import judge_header, judge_scale, judge_strip
from tests.console.judge.grammar import Verdict
from tests.console.judge.headline_judge import HeadlineJudge
from tests.console.judge.members_judge import MembersJudge
from tests.console.judge.overview_judge import OverviewJudge
from tests.console.judge.ownership_judge import OwnershipJudge
from tests.console.judge.partition_judge import PartitionJudge
from tests.console.judge.phase_judge import PhaseJudge
from tests.console.judge.processes_bench import judge_member_places, judge_producer_places
from tests.console.judge.producer_books import declared_configs
from tests.console.judge.raster_judge import RasterJudge, cells_after, judge_difference, names_of, text_after
from tests.console.judge.records_bench import judge_records
from tests.console.judge.spoken import instant
from tests.console.judge.topology_bench import judge_topology
from tests.console.judge.transactions_judge import TransactionsJudge
from tests.console.judge.why_judge import WhyJudge
from tests.support.random_flights import WITH_TRANSACTIONS, random_spec

SECOND_US = 1_000_000
SAMPLED = (
    e.RebalanceStarted, e.JoinBarrierCompleted, e.GroupStabilized, e.FaultStarted, e.BrokerStopped, e.BrokerFenced,
    e.MemberStopped, e.MemberRemoved, e.GroupLoaded, e.MemberPaused, e.BrokerPaused, e.BrokerStarted, e.MemberStarted,
    e.StaticMemberReplaced, e.JoinBarrierExtended, e.CoordinatorLost, e.TransactionFenced,
    e.PartitionReassigned,
    e.ConsumerGroupEpochBumped, e.MemberAssignmentChanged, e.ConsumerGroupStateChanged, e.StaticMemberLeft,
)  # fmt: skip
AFTER_US = (0, 1_700_000, 5_300_000)
WIDTHS = (240, 170)
ENTRIES, ENTRIES_UNFOLDED, TICKER_ROWS, MEMBERS, REBALANCES, ASKED = 6, 24, 3, 12, 2, 8
RANDOM_S = 60


def random_flight(seed: int) -> ScenarioSpec:
    """Odd seeds come from the swarm of `flightdeck check`, even ones from the tests' own; of four one has transactions.

    So have some of the swarm's.
    """
    if seed % 2:
        return draw(seed, RANDOM_S * SECOND_US).spec
    return random_spec(seed + WITH_TRANSACTIONS if seed % 4 == 2 else seed)


def named(name: str) -> ScenarioSpec:
    """A flight of the library, or `random 37`."""
    kind, _, seed = name.partition(" ")
    return random_flight(int(seed)) if seed else load(kind).spec


def flown(spec: ScenarioSpec, seed: int, until_us: int) -> list[e.Event]:
    """The events of a flight."""
    events: list[e.Event] = []
    simulation = Simulation(spec, seed, sinks=[events.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(min(spec.until_us, until_us))

    trio.run(main, clock=simulation.timeline)
    return events


def instants(events: Sequence[e.Event], most: int) -> list[int]:
    """Instants of and after significant events, and some in between; at most `most`, spread over the flight."""
    until_us = events[-1].at_us
    sampled = [event.at_us + after for event in events if isinstance(event, SAMPLED) for after in AFTER_US]
    sampled += range(700_000, until_us, 7 * SECOND_US)
    found = sorted({at_us for at_us in sampled if at_us < until_us})
    return [found[place * len(found) // most] for place in range(most)] if len(found) > most else found


def judged(events: Sequence[e.Event], spec: ScenarioSpec, most: int = 30) -> Iterator[Verdict]:
    """The verdict on the screens' claims at each sampled instant of a flight."""
    view, books, newest, at = ClusterView(), Books(), NewestEvents(), 0
    for number, now_us in enumerate(instants(events, most)):
        while at < len(events) and events[at].at_us <= now_us:
            fold(view, events[at])
            books.note(events[at])
            newest.observe(events[at])
            at += 1
        verdict = judge(view, books, now_us, spec, WIDTHS[number % len(WIDTHS)])
        judge_conversations(newest.conversation, books, number, verdict)
        judge_records(newest.logs, view, books, number, verdict)
        yield verdict


def false_claims(events: Sequence[e.Event], spec: ScenarioSpec, most: int = 30) -> list[str]:
    """All false claims of a flight; a flight with few claims fails, because it would show nothing."""
    verdicts = list(judged(events, spec, most))
    assert sum(verdict.claims for verdict in verdicts) > 20 * len(verdicts) > 0
    return [words for verdict in verdicts for words in verdict.false]


def false_at_the_end(events: Sequence[e.Event], spec: ScenarioSpec) -> list[str]:
    """The false claims of all screens after the last event, which costs one look."""
    view, books = ClusterView(), Books()
    for event in events:
        fold(view, event)
        books.note(event)
    return judge(view, books, events[-1].at_us, spec, WIDTHS[0]).false


def is_found_false(events: Sequence[e.Event], spec: ScenarioSpec, most: int = 30, words: str = "") -> bool:
    """Whether the judge finds a false claim, one with these words, at the first instant that shows one."""
    return any(words in claim for verdict in judged(events, spec, most) for claim in verdict.false)


def judge(view: ClusterView, books: Books, now_us: int, spec: ScenarioSpec, width: int) -> Verdict:
    """Judge all screens at one instant."""
    verdict = Verdict(now_us)
    _frame(view, books, now_us, verdict)
    judge_headline(view, books, now_us, spec, verdict)
    _overview(view, books, now_us, spec, width, verdict)
    _transactions(view, books, now_us, width, verdict)
    judge_answers(view, books, now_us, spec, verdict)
    judge_partitions(view, books, now_us, width, verdict)
    judge_member_places(view, books, now_us, verdict)
    judge_topology(view, books, now_us, spec, width, verdict)
    judge_producer_places(view, books, now_us, spec, verdict)
    for name in books.groups:
        _group(view, books, name, now_us, spec, width, verdict)
    for one, other in pairwise(books.groups):
        histories = view.groups[one].history, view.groups[other].history
        words = plain(comparison.difference_words((one, other), *histories, now_us))
        judge_difference(books.rasters[one], books.rasters[other], now_us, words, verdict)
    return verdict


def _rows(rows: Sequence[Line]) -> list[str]:
    return [plain(row) for row in rows]


def _frame(view: ClusterView, books: Books, now_us: int, verdict: Verdict) -> None:
    at = FlightClock(now_us, 1.0, 1.0, "paused", 0)
    judge_header(books, plain(chrome.health(view, 3)), now_us, verdict)
    judge_header(books, plain(chrome.time_words(at)), now_us, verdict)
    strip = plain(chrome.flight_strip(view, at, 122))
    judge_strip(books, strip, now_us, chrome.strip_span(now_us, None), verdict)
    judge_scale(plain(chrome.strip_scale(at, 122)), chrome.strip_span(now_us, None), verdict)
    _entries(lambda unfolded: EventLogListing(view, 300, None, unfolded), books, verdict)
    for text in (plain(row).rstrip() for row in chrome.ticker(view, 300, TICKER_ROWS) if plain(row).strip()):
        judge_entry(books, instant(text[1:13]), text[17:].strip(), "ticker", verdict)


def _entries(listing: Callable[[Container[str]], EventLogListing], books: Books, verdict: Verdict) -> None:
    """Judge the newest rows of a log, as they are and with what they stand for."""
    keys = listing(()).row_keys()[:ENTRIES]
    opened = listing(set(keys))
    rows = [listing(()).rows(key)[0] for key in keys]
    rows += [opened.rows(key)[0] for key in opened.row_keys()[:ENTRIES_UNFOLDED]]
    for text in (plain(row).rstrip() for row in rows if plain(row).strip()):
        judge_event_row(books, instant(text[1:13]), text[14:].strip().partition(" ")[2].strip(), verdict)


def judge_headline(view: ClusterView, books: Books, now_us: int, spec: ScenarioSpec, verdict: Verdict) -> None:
    """Judge the headline in each of its lengths."""
    if not view.brokers:
        return
    found = headline.headline(view, now_us, spec.broker_session_us, configs_of(spec))
    judge_ = HeadlineJudge(books, now_us, verdict, spec)
    for form in found.forms:
        judge_.judge(f"{headline.GLYPHS[found.tone]} {form}")
    held = headline.in_force(view, now_us, spec.broker_session_us, configs_of(spec))
    judge_.judge_in_force([one.forms[0] for one in held])


def judge_answers(view: ClusterView, books: Books, now_us: int, spec: ScenarioSpec, verdict: Verdict) -> None:
    """Judge the answers of `why?` on some subjects of each kind."""
    judge_ = WhyJudge(books, now_us, verdict, spec)
    for kind, names in judge_.subjects().items():
        for name in names[:ASKED]:
            subject, configs = Subject(kind, name), configs_of(spec)
            listing = WhyListing(view, subject, now_us, spec.broker_session_us, 400, configs)
            judge_.judge(kind, name, [plain(listing.rows(key)[0]).rstrip() for key in listing.row_keys()])


def _overview(view: ClusterView, books: Books, now_us: int, spec: ScenarioSpec, width: int, verdict: Verdict) -> None:
    judge_ = OverviewJudge(books, now_us, verdict)
    stuck = HeadlineJudge(books, now_us, verdict, spec).stuck_partitions()
    groups = GroupsListing(view, now_us, width)
    for key in groups.row_keys():
        row = groups.rows(key)[0]
        amber = any(text.strip() in {"↗", "→", "↘"} and tone == WARN for text, tone in row)
        judge_.group(key, plain(groups.header()), plain(row), amber)
    brokers = BrokersListing(view, width)
    for key in brokers.row_keys():
        judge_.broker(int(key.partition("-")[2]), plain(brokers.header()), plain(brokers.rows(key)[0]))
    producers = ProducersListing(view, now_us, width, configs_of(spec))
    declared = declared_configs(spec, books.cluster.producers)
    for key in producers.row_keys():
        judge_.producer(key, declared[key], plain(producers.header()), plain(producers.rows(key)[0]))
    topics = TopicsListing(view, now_us, width)
    for key in topics.row_keys():
        if "#" not in key:
            judge_.topic(key, plain(topics.rows(key)[0]), stuck)
    faults = ActiveFaultsListing(view, now_us, width)
    for key in faults.row_keys():
        said = plain(faults.header()), plain(faults.rows(key)[0])
        if key.isdecimal():
            judge_.fault(int(key), *said)
        else:
            judge_.operation(*said)
    judge_.all_operations(len(faults.operations))


def _transactions(view: ClusterView, books: Books, now_us: int, width: int, verdict: Verdict) -> None:
    judge_ = TransactionsJudge(books, now_us, verdict)
    ids, held = TransactionsListing(view, now_us, width), HeldBackListing(view, now_us, width)
    judge_.listed(list(ids.row_keys()), plain(ids.vacant))
    for key in ids.row_keys():
        judge_.transactional_id(key, plain(ids.header()), plain(ids.rows(key)[0]))
    judge_.held(list(held.row_keys()), plain(held.vacant))
    for key in held.row_keys():
        judge_.held_back(key, plain(held.header()), plain(held.rows(key)[0]))
    states = StatesListing(view, width)
    for key in states.row_keys():
        judge_.state(key[1:], plain(states.header()), plain(states.rows(key)[0]))
    listing = TransactionEventsListing(view, 300)
    _entries(lambda unfolded: TransactionEventsListing(view, 300, unfolded), books, verdict)
    if not listing.row_keys():
        judge_.nothing_befell(plain(listing.vacant))


def judge_partitions(view: ClusterView, books: Books, now_us: int, width: int, verdict: Verdict) -> None:
    """Judge the place of some partitions, those with transactions first, others at each instant in turn."""
    internal = {topic.topic for topic in view.topics.values() if topic.internal}
    known = view.partitions
    names = sorted(known, key=lambda name: (known[name].transactions is None, known[name].topic in internal))
    turn = now_us // 100_000 % max(1, len(names))
    for name in dict.fromkeys([*names[:2], *names[turn : turn + 2]]):
        one = view.partitions[name]
        judge_ = PartitionJudge(books, name, now_us, verdict)
        log, readers = LogListing(view, one, now_us, width), ReadersListing(view, one, now_us, width)
        judge_.log([plain(log.rows(key)[0]).strip() for key in log.row_keys()])
        judge_.listed(list(readers.row_keys()), plain(readers.vacant))
        for key in readers.row_keys():
            judge_.reader(key, plain(readers.header()), plain(readers.rows(key)[0]))
        spans = OpenTransactionsListing(view, one, now_us, width)
        rows = [plain(spans.rows(key)[0]) for key in spans.row_keys()]
        judge_.transactions(plain(spans.header()), rows, plain(spans.vacant))
        replicas = ReplicasListing(view, one, width)
        rows = [plain(replicas.rows(key)[0]) for key in replicas.row_keys()]
        judge_.replicas(plain(replicas.header()), rows)


def _sign(row: Line) -> tuple[str, str]:
    """A member's letter and hue, which come first."""
    return next((text.strip(), tone) for text, tone in row if text.strip())


def _owners(grid: OwnershipListing, judge_: OwnershipJudge) -> None:
    for key in grid.row_keys():
        topic, _, first = key.partition("#")
        judge_.row(topic, int(first or 0), plain(grid.header()), grid.rows(key)[0])
    judge_.whole()


def _raster(
    view: ClusterView, books: Books, name: str, signs: dict[str, tuple[str, str]], now_us: int, verdict: Verdict
) -> None:
    """A whole flight or its last seconds, with a row for each partition or shared rows, by turns."""
    turn, width = now_us // 100_000, 100
    axis = axis_for(now_us, axis_width(width), (0, 40 * SECOND_US, 7 * SECOND_US)[turn % 3])
    listing = RasterListing(view, view.groups[name], axis, width, room=(60, 5)[turn % 2])
    judge_ = RasterJudge(books.rasters[name], name, (axis.first_us, axis.cell_us), now_us, verdict)
    label = 2 + listing.label
    judge_.times(text_after(listing.header(), label))
    for key, row in listing.grid.rows.items():
        judge_.row(names_of(key), cells_after(listing.rows(key)[0], label)[: axis.known], signs)
        column = turn * 7 % axis.known
        judge_.cell(names_of(key), column, plain(cell_words(view.groups[name], row, axis, axis.start_of(column))))
    if listing.grid.rows:
        judge_.barriers(text_after(listing.rows(BARRIERS)[0], label), axis.width)
        judge_.cost(text_after(listing.rows(COST)[0], label)[: axis.width])
        judge_.note(plain(listing.note()))


def judge_conversations(log: ConversationLog, books: Books, turn: int, verdict: Verdict) -> None:
    """Judge the conversation of all, and of some members, producers and transactional ids in turn."""
    names = [*books.members, *books.cluster.producers, *books.transactions.ids]
    ids = books.transactions.ids
    chosen = [names[turn * 3 % len(names)], names[turn * 5 % len(names)]] if names else []
    first = next(iter(ids), "")
    last = ids[first].last if first else None
    markers = [f"producer id {last.producer_id}"] if last is not None else []
    for few in ([], list(dict.fromkeys(chosen)), [first, *markers] if first else chosen[:1]):
        listing = ConversationListing(FollowedConversation().messages(log, few), few, (400, 120, 80)[turn % 3])
        rows = [plain(listing.rows(key)[0]) for key in listing.row_keys()[-ROWS:]]
        ConversationJudge(books.conversation, few, verdict).judge(plain(listing.header()), rows)


def _reconciliation(table: ReconciliationListing, judge_: ConsumerGroupJudge, verdict: Verdict) -> None:
    """The columns begin at the same cells in each row; the last one ends with its title."""
    columns = range(1, 7 if "protocol" in plain(table.header()) else 6)
    starts = [table.layout.place_of(column) for column in columns]
    rows = []
    for key in table.row_keys():
        text = plain(table.rows(key)[0])
        rows.append((key, [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]))
    protocols = [(key, cells.pop(1) if len(cells) > 5 else "") for key, cells in rows]
    judge_.protocols(plain(table.note()), protocols, verdict)
    judge_.table(rows, verdict)


def _group(  # noqa: PLR0917
    view: ClusterView, books: Books, name: str, now_us: int, spec: ScenarioSpec, width: int, verdict: Verdict
) -> None:
    group, book = view.groups[name], books.groups[name]
    session_us = spec.broker_session_us
    phase = PhaseListing(view, group, now_us, width, session_us)
    said = [plain(phase.rows(key)[0]) for key in phase.row_keys()]
    PhaseJudge(books, book, now_us, verdict, session_us).judge(plain(phase.note()), said)
    if book.new is not None:
        _reconciliation(
            ReconciliationListing(view, group, now_us, 240), ConsumerGroupJudge(books, book, book.new, now_us), verdict
        )
    members = MembersListing(view, group, now_us, 240)
    judge_ = MembersJudge(books, book, now_us, verdict)
    judge_.note(plain(members.note()))
    for key in list(members.row_keys())[:MEMBERS]:
        rows = members.rows(key)
        judge_.member(key, plain(members.header()), *_rows(rows))
        judge_.lane_tone(key, amber=any("▓" in text and tone == WARN for text, tone in rows[0]))
    signs = {key: _sign(members.rows(key)[0]) for key in members.row_keys()}
    _owners(OwnershipListing(view, group, width), OwnershipJudge(books, book, signs, verdict))
    _raster(view, books, name, signs, now_us, verdict)
    table = RebalancesListing(view, group, now_us, 240)
    rebalances = {one.key: one for one in book.rebalances}
    for key in [key for key in table.row_keys() if key != NOW][:REBALANCES]:
        if key not in rebalances:
            verdict.claim(False, f"rebalances of {name}", f"none began at {key}")
            continue
        judge_row(book, rebalances[key], plain(table.header()), plain(table.rows(key)[0]), verdict)
        DetailsJudge(books, book, rebalances[key], now_us, verdict).judge(_rows(details_lines(view, group, key, 100)))

"""Puts the places of topics, brokers and links before their judges."""

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from console.presenters.list_view import Listing
from console.presenters.styled_text import plain
from console.presenters.topology.broker import (
    BrokerListing,
    BrokerReplicasListing,
    CoordinatedListing,
    RiskListing,
)
from console.presenters.topology.brokers import BrokersTable
from console.presenters.topology.links import LinkListing, LinkMatrixListing
from console.presenters.topology.topic_configuration import ConfigurationListing
from console.presenters.topology.topics import TopicListing, TopicPartitionsListing, TopicReadersListing
from tests.console.judge.books import Books
from tests.console.judge.broker_judge import BrokerJudge
from tests.console.judge.grammar import Verdict
from tests.console.judge.link_judge import LinkJudge
from tests.console.judge.topic_judge import TopicJudge

ROWS, LINKS = 12, 3
WIDE = 4_000


def judge_topology(
    view: ClusterView, books: Books, now_us: int, spec: ScenarioSpec, width: int, verdict: Verdict
) -> None:
    """Judge every topic that users declared, one internal one in turn, and every broker."""
    internal = [name for name, topic in view.topics.items() if topic.internal]
    users = [name for name, topic in view.topics.items() if not topic.internal]
    for name in [*users, *internal[now_us // 100_000 % max(1, len(internal)) :][:1]]:
        judge_topic(view, books, name, now_us, spec, width, verdict)
    table = BrokersTable(view, now_us, width)
    for key in table.row_keys():
        number = int(key.removeprefix("broker-"))
        judge = BrokerJudge(books, number, now_us, spec.broker_session_us, verdict)
        judge.row(plain(table.header()), plain(table.rows(key)[0]))
        judge_broker(view, judge, now_us, width)
    judge_links(view, books, now_us, spec, verdict)


def judge_links(view: ClusterView, books: Books, now_us: int, spec: ScenarioSpec, verdict: Verdict) -> None:
    """Every cell of the matrix in its wide form, and the links of some processes in turn."""
    judge = LinkJudge(books, spec, verdict)
    matrix = LinkMatrixListing(view, spec, WIDE, "", 0)
    judge.listed(matrix.row_keys())
    start = 2 + matrix.label
    for key in matrix.row_keys():
        row = plain(matrix.rows(key)[0])
        for place, broker in enumerate(matrix.brokers):
            judge.cell(key, broker, row[start + place * matrix.cell :][: matrix.cell].strip())
    names, turn = matrix.row_keys(), now_us // 100_000
    for one in names[:LINKS]:
        judge.process(one, list(LinkListing(view, spec, one, "", now_us, WIDE).faults))
    for one in dict.fromkeys([*names[:LINKS], *names[turn % max(1, len(names)) :][:1]]):
        for other in matrix.brokers[turn % max(1, len(matrix.brokers)) :][:2]:
            if one != other:
                link = LinkListing(view, spec, one, other, now_us, WIDE)
                judge.link(one, other, [plain(way) for way in link.ways], list(link.faults))


def _rows(listing: Listing) -> dict[str, str]:
    return {key: plain(listing.rows(key)[0]) for key in listing.row_keys()}


def judge_topic(  # noqa: PLR0917 - what a judge needs
    view: ClusterView, books: Books, name: str, now_us: int, spec: ScenarioSpec, width: int, verdict: Verdict
) -> None:
    """The panels of one topic's place."""
    topic, judge = view.topics[name], TopicJudge(books, name, now_us, spec, verdict)
    sums = [plain(row).strip() for row in TopicListing(view, topic, now_us, WIDE).lines]
    judge.sum(sums[0], sums[1])
    partitions = TopicPartitionsListing(view, topic, width)
    names = list(partitions.row_keys())
    judge.listed(names)
    turn = now_us // 100_000 % max(1, len(names))
    for key in dict.fromkeys([*names[:ROWS], *names[turn : turn + 2]]):
        judge.partition(key, plain(partitions.header()), plain(partitions.rows(key)[0]))
    readers = TopicReadersListing(view, topic, width)
    judge.readers(plain(readers.header()), _rows(readers), plain(readers.vacant))
    configuration = ConfigurationListing(view, topic, spec, width)
    judge.configuration(plain(configuration.header()), _rows(configuration))


def judge_broker(view: ClusterView, judge: BrokerJudge, now_us: int, width: int) -> None:
    """The panels of one broker's place."""
    broker = view.brokers[judge.number]
    process, *faults, share = (plain(row).strip() for row in BrokerListing(view, broker, now_us, WIDE).lines)
    judge.process(process)
    judge.faults(faults)
    judge.share(share)
    replicas = BrokerReplicasListing(view, broker, width)
    names = list(replicas.row_keys())
    judge.replicas(names)
    for key in names[:ROWS]:
        judge.replica(key, plain(replicas.header()), plain(replicas.rows(key)[0]))
    coordinated = CoordinatedListing(view, broker, width)
    judge.coordinators(plain(coordinated.header()), _rows(coordinated))
    risk = RiskListing(view, broker, WIDE, judge.session_us)
    judge.risk({key: plain(risk.found[key]).strip() for key in risk.row_keys()}, plain(risk.vacant))

"""The console's screens as text, for a player that has nothing else: panels as they are drawn, answers of `w`."""

from collections.abc import Iterator, Mapping

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from console.presenters.exceptions.headline import headline, headline_line
from console.presenters.list_view import Listing
from console.presenters.members import MembersListing
from console.presenters.overview import BrokersListing, GroupsListing
from console.presenters.partition_grids import TopicsListing
from console.presenters.producers.limits import configs_of
from console.presenters.producers.table import ProducersListing
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.styled_text import plain
from console.presenters.why.listing import WhyListing
from console.presenters.why.questions import subject_named

WIDTH = 200


def drawn(listing: Listing) -> str:
    """A panel's text: its title, its header, its rows."""
    rows = [plain(row) for key in listing.row_keys() for row in listing.rows(key)]
    return "\n".join([listing.title, plain(listing.header()), *rows])


def screens(view: ClusterView, now_us: int, spec: ScenarioSpec) -> Mapping[str, str]:
    """Every place that the player looks at: `headline`, the overview's panels, `members GROUP`, `why NAME`."""
    return dict(_places(view, now_us, spec))


def _places(view: ClusterView, now_us: int, spec: ScenarioSpec) -> Iterator[tuple[str, str]]:
    session_us, configs = spec.broker_session_us, configs_of(spec)
    yield "headline", plain(headline_line(headline(view, now_us, session_us, configs), WIDTH))
    yield "groups", drawn(GroupsListing(view, now_us, WIDTH))
    yield "topics", drawn(TopicsListing(view, now_us, WIDTH))
    yield "brokers", drawn(BrokersListing(view, WIDTH))
    yield "producers", drawn(ProducersListing(view, now_us, WIDTH, configs))
    for name, group in view.groups.items():
        yield f"phase {name}", drawn(PhaseListing(view, group, now_us, WIDTH, session_us))
        yield f"members {name}", drawn(MembersListing(view, group, now_us, WIDTH, brief=True))
    brokers = [f"broker-{number}" for number in view.brokers]
    for name in (*view.members, *view.producers, *brokers):
        subject = subject_named(view, name)
        assert subject is not None
        yield f"why {name}", drawn(WhyListing(view, subject, now_us, session_us, WIDTH, configs))

"""The table of screens. `go`, the keys, the palette and the help derive from it: a new screen is one line here."""

from console.screens.comparison import ComparisonScreen
from console.screens.conversation import ConversationScreen
from console.screens.flight_screen import FlightScreen
from console.screens.game import GameScreen
from console.screens.group import GroupScreen
from console.screens.library import LibraryScreen
from console.screens.logged import LoggedGroupScreen, LoggedRebalanceScreen, LoggedTransactionsScreen
from console.screens.member import MemberScreen
from console.screens.overview import OverviewScreen
from console.screens.partition import PartitionScreen
from console.screens.producer import ProducerScreen
from console.screens.raster import RasterScreen
from console.screens.rebalance_details import RebalanceDetailsScreen
from console.screens.records import RecordsScreen
from console.screens.topology.broker import BrokerScreen
from console.screens.topology.brokers import BrokersScreen
from console.screens.topology.topic import TopicScreen
from console.screens.transactions import TransactionsScreen

SCREENS: tuple[type[FlightScreen], ...] = (
    OverviewScreen,
    LoggedGroupScreen,
    LoggedRebalanceScreen,
    LoggedTransactionsScreen,
    GroupScreen,
    LibraryScreen,
    TransactionsScreen,
    RasterScreen,
    TopicScreen,
    PartitionScreen,
    RecordsScreen,
    RebalanceDetailsScreen,
    MemberScreen,
    BrokersScreen,
    BrokerScreen,
    ProducerScreen,
    ComparisonScreen,
    ConversationScreen,
    GameScreen,
)
"""Every screen that `go` reaches. The first is the bottom of the stack. If two have a place of the same name, `go`
opens the first: a group may be named like a screen."""

PLACES = tuple(place for screen in SCREENS if screen.place for place in (screen.place, *screen.places_inside))
"""The places of screens and inside them; `go` also takes groups, members, topics, partitions, brokers and producers."""

"""The analyses of the report, in the order of their sentences in the verdict."""

from typing import Any

from recordings.spark.analyses.analysis import Analysis
from recordings.spark.analyses.availability import AVAILABILITY
from recordings.spark.analyses.delivery import DELIVERY
from recordings.spark.analyses.groups import GROUPS
from recordings.spark.analyses.held_back import HELD_BACK, LASTING_TRANSACTIONS
from recordings.spark.analyses.incidents import INCIDENTS
from recordings.spark.analyses.log_losses import LOG_LOSSES
from recordings.spark.analyses.membership import MEMBERSHIP
from recordings.spark.analyses.outages import OUTAGES
from recordings.spark.analyses.producers import PRODUCERS
from recordings.spark.analyses.rebalances import REBALANCES
from recordings.spark.analyses.replication import REPLICATION
from recordings.spark.analyses.storms import STORMS
from recordings.spark.analyses.throughput import THROUGHPUT
from recordings.spark.analyses.transactions import TRANSACTIONS

ANALYSES: tuple[Analysis[Any], ...] = (
    LOG_LOSSES,
    DELIVERY,
    PRODUCERS,
    OUTAGES,
    AVAILABILITY,
    REPLICATION,
    MEMBERSHIP,
    THROUGHPUT,
    TRANSACTIONS,
    HELD_BACK,
    LASTING_TRANSACTIONS,
    INCIDENTS,
    REBALANCES,
    STORMS,
    GROUPS,
)

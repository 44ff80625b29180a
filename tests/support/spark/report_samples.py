"""A flight's findings made up by hand, for what is said and drawn of them."""

import msgspec

from recordings.spark import report_model as data
from recordings.spark.report_cluster_model import ProducerReport
from recordings.spark.report_document import Flight
from recordings.spark.verdict import UNJUDGED

SECOND_US = 1_000_000

NO_LAG = data.LagMeasures(
    lag_p50=5,
    lag_p95=9,
    lag_p99=10,
    lag_peak=10,
    lag_peak_second=30,
    lag_area=300,
    lag_end=0,
    time_lag_p50_us=0,
    time_lag_p95_us=0,
    time_lag_p99_us=0,
    time_lag_peak_us=400_000,
    time_lag_peak_second=30,
)
LAG = msgspec.structs.replace(
    NO_LAG, lag_p95=20, lag_p99=400, lag_peak=500, time_lag_peak_us=41 * SECOND_US, time_lag_peak_second=32
)

NO_LAG_SERIES = data.LagSeries(seconds_per_point=1, lag=[0, 10, 10, 0], time_lag_us=[0, 5, 400_000, 0])
LAG_SERIES = data.LagSeries(seconds_per_point=16, lag=[0, 10, 500, 0], time_lag_us=[0, 5, 41_000_000, 0])

COUNTS = dict.fromkeys(data.Totals.__struct_fields__, 0) | dict.fromkeys(
    ("produced", "acked", "appended", "acknowledged", "delivered"), 1_000
)
"""Of a flight in which every record was delivered once."""

GROUP = data.Group(
    group="billing",
    protocol="classic",
    topics=["orders"],
    partitions=12,
    members=4,
    processed=1_000,
    **COUNTS,
    deleted=0,
    refused_members=[],
    rebalances=0,
    rebalances_ended=0,
    rebalancing_us=0,
    stopped_partition_us=0,
    orphaned_partition_us=0,
    unowned_at_end_us=0,
    stopped_member_us=0,
    reread=0,
    lag=NO_LAG,
    series=NO_LAG_SERIES,
    heat=data.Heat(seconds_per_cell=1, partitions=["orders-2", "orders-10"], rows=[[0, 1, 1, 0], [0, 0, 500, 500]]),
    worst_partitions=[],
)

REBALANCE = data.Rebalance(
    group="billing",
    rebalance=2,
    generation=2,
    cause="session expired",
    trigger="billing-2",
    initial=False,
    started_us=30 * SECOND_US,
    closed_us=31 * SECOND_US,
    assigned_us=31_004_000,
    ended_us=31_006_000,
    ends="Stable",
    barriers=1,
    members=3,
    waited_for="billing-1",
    waited_us=SECOND_US,
    moved=4,
    stopped_partition_us=3_100_000,
    orphaned_partition_us=132 * SECOND_US,
    after_partition_us=0,
    stopped_partitions=4,
    orphaned_partitions=3,
    after_partitions=0,
    stopped_member_us=40_000,
    reread=13,
    attendance=[
        data.Attendance(
            member="billing-1",
            newcomer=False,
            stopped_us=30_900_000,
            joined_us=31 * SECOND_US,
            synced_us=31_002_000,
            ready_us=31_007_000,
        ),
        data.Attendance(
            member="billing-9", newcomer=True, stopped_us=None, joined_us=30 * SECOND_US, synced_us=None, ready_us=None
        ),
    ],
)

EFFECT = data.Effect(
    group="billing",
    baseline=20,
    peak=500,
    peak_second=32,
    time_lag_peak_us=41 * SECOND_US,
    recovered_us=23 * SECOND_US,
)
INCIDENT = data.Incident(
    at_us=10 * SECOND_US,
    text="kill billing-2",
    kind="kill",
    targets=["billing-2"],
    source="operator",
    fault=True,
    cleared_us=None,
    repairs=False,
    lasts_us=0,
    refused="",
    effects=[EFFECT],
)

PRODUCER = ProducerReport(producer="checkout-1", acked=1_000, failed=0, retries=0, fenced=0, failures={}, retried={})

TOTALS = data.Totals(**COUNTS)

CALM = Flight(
    run_id="abc",
    scenario="made-up",
    title="Made up",
    lesson="",
    seed=1,
    settings=[],
    started="2026-01-01T00:00:00+00:00",
    flightdeck="0",
    virtual_us=60 * SECOND_US,
    events=3,
    commands=0,
    journal_sha256="",
    complete=True,
    warnings=[],
    verdict=UNJUDGED,
    totals=TOTALS,
    groups=[GROUP],
    producers=[PRODUCER],
    outages=[],
    availability=[],
    log_losses=[],
    incidents=[],
    rebalances=[],
    storms=[],
    reconciliation=data.Reconciliation(equal=True, recorded={"a": 3}, found={"a": 3}, missing_events=0),
)


def with_incidents() -> Flight:
    """A member died, its group fell behind, rebalanced and read 13 records again."""
    group = msgspec.structs.replace(
        GROUP,
        lag=LAG,
        series=LAG_SERIES,
        rebalances=1,
        duplicated=13,
        stopped_partition_us=3_100_000,
        orphaned_partition_us=132 * SECOND_US,
        reread=13,
    )
    totals = msgspec.structs.replace(TOTALS, duplicated=13)
    return msgspec.structs.replace(
        CALM, groups=[group], totals=totals, incidents=[INCIDENT], rebalances=[REBALANCE], commands=1
    )

"""How much of the disk a request needs: what a slow or full disk holds up."""

import pytest

from cluster.broker.disk import appends_of
from cluster.protocol.api import Request
from cluster.protocol.messages import HeartbeatRequest, InitProducerIdRequest, OffsetCommitRequest, ProduceRequest
from cluster.protocol.record_batch import RecordBatch
from cluster.protocol.transaction_messages import AddPartitionsToTxnRequest, EndTxnRequest, WriteTxnMarkersRequest

BATCH = RecordBatch("orders-0", "web-1", -1, -1, -1, 0, 1, 100, 0)


@pytest.mark.parametrize(
    ("request_", "appends"),
    [
        (ProduceRequest(-1, 30_000, [BATCH, BATCH]), 2),
        (WriteTxnMarkersRequest(7, 1, 0, True, ("orders-0", "orders-1", "orders-2")), 3),
        (InitProducerIdRequest(None, 60_000), 0),
        (InitProducerIdRequest("pay", 60_000), 1),
        (AddPartitionsToTxnRequest("pay", 7, 1, ("orders-0",)), 1),
        (AddPartitionsToTxnRequest("pay", 7, 1, ("orders-0",), verify_only=True), 0),
        (EndTxnRequest("pay", 7, 1, True), 1),
        (OffsetCommitRequest("g", 1, "g-1", None, {"orders-0": (5, -1, "")}), 1),
        (HeartbeatRequest("g", 1, "g-1", None), 0),
    ],
)
def test_a_request_waits_for_as_many_appends_as_it_makes(request_: Request, appends: int) -> None:
    assert appends_of(request_) == appends

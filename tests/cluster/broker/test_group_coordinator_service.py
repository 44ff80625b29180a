"""A broker's group coordinators beside the log that they write to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.group_coordinator_service import GroupCoordinatorService
from cluster.broker.metadata_cache import MetadataCache
from cluster.config import resolve
from cluster.events import TransactionOffsetsRefused
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import ABORT, RecordBatch
from cluster.spec import Buggify
from tests.support.fake_replica import FakeReplica

PRODUCER, EPOCH = 7, 3


class Coordinating:
    """A broker that leads the one partition of __consumer_offsets."""

    def __init__(self) -> None:
        self.now_us, self.id = 1_000, 1
        self.emitted: list[Any] = []
        self.timeouts = SimpleNamespace(expire_at=lambda *_: None)
        self.timeline = SimpleNamespace(call_at=lambda *_: SimpleNamespace(pending=True, at_us=0))
        self.buggify = Buggify(1, on=False)
        self.metadata = MetadataCache()
        self.replica = FakeReplica("__consumer_offsets-0")
        config = resolve("broker", {"offsets.topic.num.partitions": 1})
        fixed = BrokerConfig.of(config)
        self.coordination = GroupCoordinatorService(cast(Any, self), fixed, config, lambda: "uuid", {})
        self.coordination.on_elected(cast(Any, self.replica), at_creation=True)

    def emit(self, event: object) -> None:
        self.emitted.append(event)

    @staticmethod
    def leader_since(_: str) -> int:
        return 5

    def commit(self, epoch: int) -> dict[str, ErrorCode]:
        request = t.TxnOffsetCommitRequest("pay", "g", PRODUCER, epoch, -1, "", None, {"orders-0": (5, -1, "")})
        call: Any = SimpleNamespace(request=request, response=None)
        call.reply = lambda response: setattr(call, "response", response)
        self.coordination.commit_in_transaction(call)
        errors: dict[str, ErrorCode] = call.response.errors
        return errors


@pytest.mark.parametrize(("epoch", "error"), [(EPOCH - 1, ErrorCode.INVALID_PRODUCER_EPOCH), (EPOCH, ErrorCode.NONE)])
def test_the_log_fences_offsets_of_an_old_producer_epoch(epoch: int, error: ErrorCode) -> None:
    """Also where nothing was verified: the append of a coordinator checks the epoch (`checkProducerEpoch`)."""
    broker = Coordinating()
    marker = RecordBatch(
        "__consumer_offsets-0", "", PRODUCER, EPOCH, -1, -1, 1, 78, 0, transactional=True, marker=ABORT
    )
    broker.replica.append(marker, 0)
    log_end = broker.replica.log.log_end
    assert broker.commit(epoch) == {"orders-0": error}
    assert broker.replica.log.log_end - log_end == (error is ErrorCode.NONE)
    refused = [(event.error, event.group) for event in broker.emitted if isinstance(event, TransactionOffsetsRefused)]
    assert refused == ([] if error is ErrorCode.NONE else [("INVALID_PRODUCER_EPOCH", "g")])

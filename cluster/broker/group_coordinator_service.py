"""The group coordinators on one broker, and their partitions of `__consumer_offsets` (`GroupCoordinatorService`)."""

from collections.abc import Callable, Mapping
from typing import cast

from msgspec.structs import replace

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.coordinator_runtime import CoordinatorRuntime, HostedCoordinator
from cluster.broker.host import BrokerHost, RequestHandlers
from cluster.broker.replica import Replica
from cluster.coordinators.decision import Record
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.offset_commit import TransactionProducer
from cluster.coordinators.records import CommittedOffset, GroupRecord
from cluster.events import GroupDeleted
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import GroupRequest, ServedBy
from cluster.protocol.api_table import error_response, served_by
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import OFFSETS_TOPIC
from cluster.protocol.record_batch import COMMIT, NO_PRODUCER_ID, RecordBatch


class GroupCoordinatorService(CoordinatorRuntime[GroupCoordinator]):
    """Every group coordinator of one broker. `new_uuid` mints member ids.

    `groups_held` (ground truth) maps a partition to the groups of its last coordinator, on whichever broker.
    """

    topic = OFFSETS_TOPIC

    def __init__(
        self,
        broker: BrokerHost[Replica],
        fixed: BrokerConfig,
        config: Mapping[str, object],
        new_uuid: Callable[[], str],
        groups_held: dict[str, Mapping[str, object]],
    ) -> None:
        super().__init__(broker, fixed.offsets_topic_partitions)
        self._commit_timeout_us = fixed.offsets_commit_timeout_us
        self._config, self._new_uuid, self._groups_held = config, new_uuid, groups_held

    def handlers(self) -> RequestHandlers:
        """The requests that a group coordinator serves."""
        return dict.fromkeys(served_by(ServedBy.GROUP_COORDINATOR, GroupRequest), self.handle)

    def handle(self, call: InFlightRequest) -> None:
        """Pass a group's request to its coordinator here, or answer NOT_COORDINATOR."""
        request: GroupRequest = call.request
        self.for_key(request.group, call)

    def commit_in_transaction(self, call: InFlightRequest) -> None:
        """TxnOffsetCommit (API 28): offsets that count when the transaction commits."""
        request: t.TxnOffsetCommitRequest = call.request
        hosted = self.hosted.get(self.partition_of(request.group))
        if hosted is None:
            call.reply(error_response(request, ErrorCode.NOT_COORDINATOR))
            return
        commit = m.OffsetCommitRequest(
            request.group, request.generation, request.member_id, request.instance_id, request.offsets
        )
        producer = TransactionProducer(request.producer_id, request.epoch, request.transactional_id)
        self._run(hosted, hosted.coordinator.commit_in_transaction(commit, producer, call, self._broker.now_us))

    def on_transaction_ended(self, partition: str, producer_id: int, *, committed: bool) -> None:
        """A marker was appended to a partition of the topic: its pending offsets count now, or are dropped."""
        hosted = self.hosted.get(partition)
        if hosted is not None:
            self._run(hosted, hosted.coordinator.end_transaction(producer_id, committed, self._broker.now_us))

    def _load(self, hosted: HostedCoordinator[GroupCoordinator]) -> None:
        """Also emit GroupDeleted for groups that are lost: no disk held their records."""
        super()._load(hosted)
        if hosted.closed or self._superseded(hosted):
            return
        partition, groups = hosted.replica.partition, hosted.coordinator.all_groups
        for name in self._groups_held.get(partition, {}):
            if name not in groups:
                self._broker.emit(GroupDeleted(group=name, broker=self._broker.id))
        self._groups_held[partition] = groups

    def on_resigned(self, replica: Replica) -> None:
        """Keep the names of the dropped groups, so that the next coordinator can tell which of them are lost."""
        hosted, held = self.hosted.get(replica.partition), self._groups_held
        if hosted is not None and held.get(replica.partition) is hosted.coordinator.all_groups:
            held[replica.partition] = dict(hosted.coordinator.all_groups)
        super().on_resigned(replica)

    def _new(self) -> GroupCoordinator:
        return GroupCoordinator(self._broker.id, self._config, self._new_uuid, self._broker.metadata.topics)

    def _replay(self, coordinator: GroupCoordinator, batch: RecordBatch) -> None:
        for record in batch.payload:
            coordinator.replay(cast(GroupRecord, record))
        if batch.marker and coordinator.loading:
            coordinator.end_transaction(batch.producer_id, batch.marker == COMMIT, self._broker.now_us)

    def _append_timeout_us(self, _: tuple[Record, ...]) -> int:
        return self._commit_timeout_us

    def _batch(self, partition: str, records: tuple[Record, ...], now_us: int) -> RecordBatch:
        """Offsets of a transaction carry its producer id, so that its marker ends them too."""
        batch, first = super()._batch(partition, records, now_us), records[0]
        if not isinstance(first, CommittedOffset) or first.producer_id == NO_PRODUCER_ID:
            return batch
        return replace(batch, producer_id=first.producer_id, epoch=first.producer_epoch, transactional=True)

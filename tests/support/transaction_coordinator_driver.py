"""A transaction coordinator on a desk: its log commits at once, with an error, or when a test says so."""

from __future__ import annotations

from typing import Any

from cluster.coordinators.decision import Decision, Markers
from cluster.coordinators.records import TransactionMetadata, TransactionRecord
from cluster.coordinators.transaction.coordinator import TransactionCoordinator
from cluster.events import Event
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.protocol.transaction_states import TransactionState

ID, PRODUCER_ID, EPOCH = "t", 10, 4
SECOND_US = 1_000_000
S = TransactionState


class Desk:
    """A coordinator with a log that commits at once, or with an error, or when told."""

    def __init__(self, version: int = 2, **config: object) -> None:
        self.config = {"transaction.version": version, **config}
        self.version, self.now_us = version, SECOND_US
        self.log: list[TransactionRecord] = []
        self.markers: list[Markers] = []
        self.append_error = ErrorCode.NONE
        self.held: list[Decision] | None = None
        self.emitted: list[Event] = []
        self._next_producer_id = 100
        self.coordinator = self._new()
        self.run(self.coordinator.loaded(self.now_us))

    def _new(self) -> TransactionCoordinator:
        return TransactionCoordinator(1, self.config, self._new_producer_id)

    def _new_producer_id(self) -> int:
        self._next_producer_id += 1
        return self._next_producer_id

    def given(self, state: TransactionState, *, epoch: int = EPOCH, **fields: Any) -> None:  # noqa: ANN401 - of a record
        """A transactional id in this state, as after a load."""
        ongoing = state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT)
        fields = {"partitions": ("orders-0", "orders-1"), "start_us": self.now_us} | fields if ongoing else fields
        record = TransactionMetadata(
            ID, PRODUCER_ID, epoch, state=state, update_us=self.now_us, version=self.version, **fields
        )
        self.log.append(record)
        self.fail_over()

    def fail_over(self) -> None:
        """A new coordinator replays the log."""
        self.run(self.coordinator.unload(self.now_us))
        self.markers.clear()
        self.coordinator = self._new()
        for record in self.log:
            self.coordinator.replay(record)
        self.run(self.coordinator.loaded(self.now_us))

    def run(self, decision: Decision | None, call: object = None) -> list[Any]:
        answers: list[Any] = []
        while decision is not None:
            answers += [response for to, response in decision.replies if to is call]
            self.markers += decision.markers
            self.emitted += decision.events
            if self.append_error is ErrorCode.NONE:
                for record in decision.records:
                    assert isinstance(record, TransactionRecord)
                    self.log.append(record)
                    self.coordinator.replay(record)
            if self.held is not None and decision.records:
                self.held.append(decision)
                return answers
            decision = decision.then(self.append_error, self.now_us) if decision.then else None
        return answers

    def ask(self, request: Request) -> Any:  # noqa: ANN401 - the response to the request
        call = object()
        answers = self.run(self.coordinator.handle(request, call, self.now_us), call)
        return answers[0] if answers else None

    def init(self, producer_id: int = -1, epoch: int = -1) -> m.InitProducerIdResponse:
        answer: m.InitProducerIdResponse = self.ask(m.InitProducerIdRequest(ID, 60_000, producer_id, epoch))
        return answer

    def add(self, *partitions: str, epoch: int = EPOCH, verify_only: bool = False) -> ErrorCode:
        request = t.AddPartitionsToTxnRequest(ID, PRODUCER_ID, epoch, partitions, verify_only)
        return next(iter(self.ask(request).errors.values()))  # type: ignore[no-any-return]

    def end(self, *, commit: bool, epoch: int = EPOCH, version: int | None = None) -> t.EndTxnResponse:
        request = t.EndTxnRequest(ID, PRODUCER_ID, epoch, commit, version or self.version)
        answer: t.EndTxnResponse = self.ask(request)
        return answer

    def mark(self) -> None:
        """Every marker reaches its partition."""
        for sent in list(self.markers):
            for partition in sent.partitions:
                self.run(
                    self.coordinator.marked(sent.transactional_id, sent.producer_id, sent.epoch, partition, self.now_us)
                )
        self.markers.clear()

    def deadline(self) -> None:
        at_us = self.coordinator.next_deadline_us()
        assert at_us is not None
        self.now_us = at_us
        self.run(self.coordinator.on_deadline(at_us))

    def state(self) -> TransactionState:
        return self.metadata.state

    @property
    def metadata(self) -> TransactionMetadata:
        return self.coordinator.transactions[ID].metadata

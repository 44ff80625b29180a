"""txn_coordinator_scenarios.json: one transaction coordinator call in each step, against a given or the last state.

A step with `given` begins anew from that metadata; one without goes on from where the last step left the coordinator.
Unless stated: transactional id `t`, producer id 10, epoch 1. A vector tagged "v2" speaks transaction.version 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cluster.coordinators.decision import Decision, Markers
from cluster.coordinators.records import TransactionMetadata
from cluster.coordinators.transaction.coordinator import TransactionCoordinator
from cluster.coordinators.transaction.transaction import Transaction
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode
from cluster.protocol.transaction_states import TRANSACTION_STATES, TransactionState
from tests.oracles.outcome import Skip
from tests.oracles.rules import IN_FORCE

ID = "t"
PRODUCER_ID, EPOCH = 10, 1
FRESH_PRODUCER_IDS = 100  # what the coordinator draws once there is a `given`: recognisably "new"
APPEND_ERROR = ErrorCode.NOT_ENOUGH_REPLICAS
IN_TRANSACTION, ELSEWHERE = "orders-0", "orders-1"
HOUR_US = 3_600_000_000


class Bench:
    """One coordinator, its clock, and what it wrote and sent in a step."""

    def __init__(self, tags: list[str]) -> None:
        self.version = 2 if "v2" in tags else 1
        self.now_us = 2 * HOUR_US
        self.begin(None)

    def begin(self, given: dict[str, Any] | None) -> None:
        """A new coordinator that has loaded this metadata (None: nothing)."""
        given = given or {}
        self.next_producer_id: int = given.get("next_producer_id", FRESH_PRODUCER_IDS if given else 0)
        version = given.get("version", self.version)
        config = {"transaction.version": version}
        self.coordinator = TransactionCoordinator(1, config, self._new_producer_id)
        self.coordinator._context.rules = IN_FORCE.get()
        self.version_spoken = version
        self.known_ids: set[int] = set()
        self.written: list[Any] = []
        self.markers: list[Any] = []
        self.append_error = ErrorCode.NONE
        if given:
            self.coordinator.replay(self._metadata(given))
        self.coordinator.loading = False  # as loaded; what a load itself sends is `coordinator_load`'s business
        if given:
            self.coordinator.next_deadline_us()
            if given.get("pending_state"):
                self.transaction.pending = _pending(given["pending_state"])
            self.transaction.unmarked = dict.fromkeys(self.transaction.metadata.partitions)

    def _new_producer_id(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id - 1

    def _metadata(self, given: dict[str, Any]) -> TransactionMetadata:
        state = TransactionState(given["state"])
        open_states = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
        partitions = given.get("partitions", [IN_TRANSACTION] if state in open_states else [])
        idle_us = 8 * 24 * HOUR_US if given.get("idle") else 0
        started_us = given.get("started_ms_ago", 0) * 1000
        return TransactionMetadata(
            ID,
            given.get("producer_id", PRODUCER_ID),
            given.get("producer_epoch", EPOCH),
            given.get("last_epoch", -1),
            previous_producer_id=given.get("previous_producer_id", -1),
            next_producer_id=-1,
            timeout_ms=given.get("timeout_ms", 60_000),
            state=state,
            partitions=tuple(partitions),
            start_us=self.now_us - started_us if state in open_states else -1,
            update_us=self.now_us - idle_us,
            version=given.get("version", self.version),
        )

    @property
    def transaction(self) -> Transaction:
        """The one transactional id."""
        return self.coordinator.transactions[ID]

    def run(self, decide: Callable[[object, int], Decision]) -> Any:  # noqa: ANN401 - the response to what was asked
        """Run a decision to its end; returns the answer, if there is one."""
        call = object()
        answers: list[Any] = []
        decision: Decision | None = decide(call, self.now_us)
        while decision is not None:
            answers += [response for to, response in decision.replies if to is call]
            self.written += decision.records
            self.markers += decision.markers
            decision = decision.then(self.append_error, self.now_us) if decision.then else None
        return answers[0] if answers else None

    def complete(self) -> None:
        """Every partition gets its marker."""
        for sent in self.markers:
            for partition in sent.partitions:
                self.run(partial(self._marked, sent, partition))

    def _marked(self, sent: Markers, partition: str, _: object, now_us: int) -> Decision:
        return self.coordinator.marked(ID, sent.producer_id, sent.epoch, partition, now_us)


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    bench = Bench(vector.get("tags", []))
    for number, step in enumerate(vector["steps"], 1):
        call = STEPS.get(step["call"])
        if call is None:
            raise Skip(f"call {step['call']!r} is not known")
        if step.get("given"):
            bench.begin(step["given"])
        bench.written, bench.markers = [], []
        try:
            call(bench, step)
        except AssertionError as error:
            raise AssertionError(f"step {number}, {step['call']}: {error}") from error


# --- calls ------------------------------------------------------------------------------------------------------------


def _init_producer_id(bench: Bench, step: dict[str, Any]) -> None:
    _situation(bench, step)
    expected = step.get("expected") or {}
    bench.known_ids = _ids(bench)
    request = m.InitProducerIdRequest(
        step.get("transactional_id", ID),
        step.get("timeout_ms", 60_000),
        expected.get("producer_id", -1),
        expected.get("epoch", -1),
    )
    answer = bench.run(lambda call, now_us: bench.coordinator.handle(request, call, now_us))
    _check(bench, step["expect"], answer)


def _end_txn(bench: Bench, step: dict[str, Any]) -> None:
    _situation(bench, step)
    version = step.get("version", step.get("request_version_txn", bench.version_spoken))
    if step.get("request_version") is not None:
        version = 2 if step["request_version"] >= 5 else 1  # EndTxn v5 came with transaction.version 2
    bench.known_ids = _ids(bench)
    request = t.EndTxnRequest(
        step.get("transactional_id", ID),
        step.get("producer_id", _producer(bench)[0]),
        step.get("epoch", EPOCH),
        step["result"] == "COMMIT",
        version,
    )
    answer = bench.run(lambda call, now_us: bench.coordinator.handle(request, call, now_us))
    _check(bench, step["expect"], answer)


def _add_partitions(bench: Bench, step: dict[str, Any]) -> None:
    _situation(bench, step)
    _check(bench, step["expect"], _partitions(bench, step, verify_only=False))


def _verify_partitions(bench: Bench, step: dict[str, Any]) -> None:
    _situation(bench, step)
    _check(bench, step["expect"], _partitions(bench, step, verify_only=True))


def _partitions(bench: Bench, step: dict[str, Any], *, verify_only: bool) -> t.AddPartitionsToTxnResponse:
    named = step.get("partitions", "in the transaction")
    names = {"in the transaction": [IN_TRANSACTION], "not in the transaction": [ELSEWHERE]}
    partitions = tuple(named if isinstance(named, list) else names[named])
    request = t.AddPartitionsToTxnRequest(
        step.get("transactional_id", ID),
        step.get("producer_id", PRODUCER_ID),
        step.get("epoch", EPOCH),
        partitions,
        verify_only,
    )
    answer: t.AddPartitionsToTxnResponse = bench.run(
        lambda call, now_us: bench.coordinator.handle(request, call, now_us)
    )
    return answer


def _scan(bench: Bench, step: dict[str, Any]) -> None:
    _situation(bench, step)
    decision = bench.coordinator.scan_timeouts if step["call"] == "timeout_scan" else bench.coordinator.scan_expired
    bench.run(lambda _, now_us: decision(now_us))
    _check(bench, step["expect"], None)


def _coordinator_load(bench: Bench, step: dict[str, Any]) -> None:
    bench.coordinator.loading = True
    bench.run(lambda _, now_us: bench.coordinator.loaded(now_us))
    _check(bench, step["expect"], None)


def _valid_previous(_: Bench, step: dict[str, Any]) -> None:
    previous = [state.value for state in TRANSACTION_STATES.predecessors(TransactionState(step["state"]))]
    assert sorted(previous) == sorted(step["expect"]), f"{step['state']} may follow {previous}"


STEPS: dict[str, Callable[[Bench, dict[str, Any]], None]] = {
    "init_producer_id": _init_producer_id,
    "end_txn": _end_txn,
    "add_partitions": _add_partitions,
    "verify_partitions": _verify_partitions,
    "timeout_scan": _scan,
    "expiration_scan": _scan,
    "coordinator_load": _coordinator_load,
    "valid_previous": _valid_previous,
}

# --- situations and expectations --------------------------------------------------------------------------------------

REMARKS = ("retry", "same epoch", "repeat")  # a situation that only explains what the step's arguments say


def _situation(bench: Bench, step: dict[str, Any]) -> None:
    """Set up what the step says in prose; Skip what cannot be set up."""
    text = step.get("situation", "")
    bench.append_error = ErrorCode.NONE
    if "append fails" in text:
        bench.append_error = APPEND_ERROR
    elif "not owner" in text or "not coordinator" in text:
        bench.coordinator.resigned = True
    elif "loading" in text:
        bench.coordinator.resigned, bench.coordinator.loading = False, True
    elif text and "append succeeds" not in text and not any(word in text for word in REMARKS):
        raise Skip(f"situation {text!r} cannot be set up")


def _producer(bench: Bench) -> tuple[int, int]:
    transaction = bench.coordinator.transactions.get(ID)
    return (transaction.metadata.producer_id, transaction.metadata.epoch) if transaction else (PRODUCER_ID, EPOCH)


def _pending(name: str) -> TransactionState:
    return TransactionState.PREPARE_ABORT if name == "any" else TransactionState(name)


def _check(bench: Bench, expect: dict[str, Any], answer: object) -> None:
    for key, wanted in expect.items():
        if key == "after_complete":
            bench.complete()
        check = CHECKS.get(key)
        if check is None:
            raise Skip(f"expectation {key!r} is not known")
        check(bench, wanted, answer)


def _metadata_is(bench: Bench, wanted: dict[str, Any], _: object) -> None:
    now = bench.transaction.metadata
    names = {"producer_epoch": "epoch"}
    for field, value in wanted.items():
        found = now.state.value if field == "state" else getattr(now, names.get(field, field))
        assert found == value, f"{field} is {found}, not {value}"


def _ids(bench: Bench) -> set[int]:
    """Every producer id that the transactional id has had."""
    transaction = bench.coordinator.transactions.get(ID)
    if transaction is None:
        return set()
    now = transaction.metadata
    return {now.producer_id, now.previous_producer_id, now.next_producer_id}


def _producer_id_is(bench: Bench, wanted: object, answer: m.InitProducerIdResponse) -> None:
    if wanted == "new":
        assert answer.producer_id >= 0, answer
        assert answer.producer_id not in bench.known_ids, answer
    else:
        assert answer.producer_id == wanted, answer


def _states(bench: Bench) -> list[str]:
    return [record.state.value for record in bench.written if isinstance(record, TransactionMetadata)]


def _equal(found: object, wanted: object) -> None:
    assert found == wanted, f"{found!r} instead of {wanted!r}"


CHECKS: dict[str, Callable[[Bench, Any, Any], None]] = {
    "error": lambda _, wanted, answer: _equal(_error(answer), wanted),
    "per_partition": lambda _, wanted, answer: _equal({one.name for one in answer.errors.values()}, {wanted}),
    "producer_id": _producer_id_is,
    "epoch": lambda _, wanted, answer: _equal(answer.epoch, wanted),
    "after": _metadata_is,
    "after_prepare": _metadata_is,
    "after_complete": _metadata_is,
    "state": lambda bench, wanted, _: _equal(bench.transaction.metadata.state.value, wanted),
    "state_written": lambda bench, wanted, _: _equal(_states(bench)[:1], [wanted]),
    "epoch_in_memory": lambda bench, wanted, _: _equal(bench.transaction.metadata.epoch, wanted),
    "failed_epoch_fence": lambda bench, wanted, _: _equal(bench.transaction.failed_epoch_fence, wanted),
    "markers_sent": lambda bench, wanted, _: _equal(
        bool(bench.markers) if isinstance(wanted, bool) else len(bench.markers), wanted
    ),
    "log_append": lambda bench, wanted, _: _equal(bool(bench.written), wanted),
    "removed": lambda bench, wanted, _: _equal(ID not in bench.coordinator.transactions, wanted),
}


def _error(answer: Any) -> str:  # noqa: ANN401 - any response
    errors = getattr(answer, "errors", None)
    name: str = next(iter(errors.values())).name if errors else answer.error.name
    return name

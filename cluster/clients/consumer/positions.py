"""The positions of partitions that have none: the committed offset, else `auto.offset.reset`.

Theory of operation. A partition has no position after it was assigned, and when its log does not have the position
(OFFSET_OUT_OF_RANGE: retention or DeleteRecords passed it, or it is beyond the end). The committed offset is requested
once after an assignment. A partition without one is reset: `earliest` and `latest` request an end of the log,
`by_duration:…` the first record of that age. With `none` poll() throws NoOffsetForPartitionException or
OffsetOutOfRangeException, which ends the application. `PositionValidation` checks positions after a change of leader.
Source: `SubscriptionState`, `ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`, `OffsetFetcher`,
`FetchCollector.handleInitializeErrors`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cluster import events as e
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.position_validation import PositionValidation
from cluster.config import parse_iso_duration
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode

MS: Final = 1_000
BY_DURATION: Final = "by_duration:"
NO_EPOCHS: Final[Mapping[str, int]] = MappingProxyType({})
_NOT_THERE = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class Positions:
    """The owned partitions without a position, and the requests that find one.

    `with_epoch`: OffsetFetch has the member epoch, and the coordinator refuses an old one (STALE_MEMBER_EPOCH).
    """

    def __init__(self, consumer: ConsumerHost, *, with_epoch: bool = False) -> None:
        self._consumer, self._with_epoch = consumer, with_epoch
        self.validation = PositionValidation(consumer, self._reset_by_policy)
        self.reset()

    def reset(self) -> None:
        """Begin a new process, or forget all partitions."""
        self._unknown: dict[str, None] = {}
        self._reset_only: dict[str, None] = {}  # whose committed offset is not requested (again)
        self._out_of_range: dict[str, int] = {}  # … because the log did not have this position
        self._otherwise: dict[str, int] = {}  # where to continue without a committed offset, instead of a reset
        self._not_before_us: dict[str, int] = {}  # when to request again after nothing was found
        self.validation.reset()

    @property
    def missing(self) -> bool:
        """Whether a partition has no position, and one can be requested now."""
        if not self._unknown:
            return False
        now_us = self._consumer.timeline.now_us
        return any(self._not_before_us.get(name, 0) <= now_us for name in self._unknown)

    def assigned(self, partitions: tuple[str, ...]) -> None:
        """Find the positions of new partitions, first their committed offsets."""
        self._unknown |= dict.fromkeys(partitions)

    def revoked(self, partitions: tuple[str, ...]) -> None:
        """Forget partitions that were revoked."""
        for name in partitions:
            self._forget(name)

    def out_of_range(self, partition: str) -> None:
        """Reset a position that is not in the log, by `auto.offset.reset`."""
        consumer = self._consumer
        if partition in consumer.owned:
            self._unknown[partition] = self._reset_only[partition] = None
            position = self._out_of_range[partition] = consumer.fetcher.positions.get(partition, -1)
            consumer.fetcher.revoke((partition,), "out of range")
            consumer.emit(
                e.PositionOutOfRange(
                    group=consumer.group,
                    member=consumer.name,
                    partition=partition,
                    position=position,
                    reset=consumer.config.auto_offset_reset,
                )
            )

    def _reset_by_policy(self, partition: str) -> None:
        """Reset the position of a truncated log whose leader does not know the epoch, by `auto.offset.reset`."""
        self._unknown[partition] = self._reset_only[partition] = None

    def reset_to_committed(self, otherwise: dict[str, int], reason: str) -> None:
        """Continue at the committed offsets of owned partitions; `otherwise`: positions of those without one."""
        consumer = self._consumer
        names = [name for name in otherwise if name in consumer.owned]
        self._unknown |= dict.fromkeys(names)
        self._otherwise |= {name: otherwise[name] for name in names}
        for name in names:
            self.validation.forget(name)
        consumer.fetcher.revoke(tuple(names), "transaction aborted")
        consumer.emit(
            e.PositionsRolledBack(group=consumer.group, member=consumer.name, partitions=tuple(names), reason=reason)
        )

    def seek(self, partition: str, offset: int) -> None:
        """KafkaConsumer.seek: set the position; the next fetch finds out whether the log has it."""
        consumer = self._consumer
        self._unknown[partition] = None
        consumer.fetcher.revoke((partition,), "seek")
        self._position({partition: offset}, "seek")

    async def find(self) -> None:
        """Request the committed offsets, or reset partitions without one; one step, which poll() repeats."""
        ask = [name for name in self._unknown if name not in self._reset_only]
        if ask:
            await self._ask_committed(ask)
        elif self._consumer.config.auto_offset_reset == "none":
            self._throw()
        else:
            await self._reset()

    async def _ask_committed(self, ask: list[str]) -> None:
        consumer = self._consumer
        request = m.OffsetFetchRequest(consumer.group, ask, require_stable=True)
        if self._with_epoch and consumer.generation > 0:
            request.member_id, request.member_epoch = consumer.member_id, consumer.generation
        response: m.OffsetFetchResponse | None = await consumer.ask_coordinator(request)
        if response is None or response.error is not ErrorCode.NONE:
            if response is not None and response.error in _NOT_THERE:
                consumer.coordinator_unknown(f"error response {response.error.name}")
            await consumer.sleep(consumer.retry_backoff_us)
            return
        if any(error is not ErrorCode.NONE for error, *_ in response.offsets.values()):
            # UNSTABLE_OFFSET_COMMIT of one partition: Kafka's client drops the whole response and requests all again
            await consumer.sleep(consumer.retry_backoff_us)
            return
        committed = {name: offset for name, (_, offset, _, _) in response.offsets.items()}
        epochs = {name: epoch for name, (_, _, epoch, _) in response.offsets.items()}
        self._position({name: offset for name, offset in committed.items() if offset >= 0}, "committed", epochs)
        without = [name for name, offset in committed.items() if offset < 0]
        self._position({name: self._otherwise[name] for name in without if name in self._otherwise}, "seek")
        self._reset_only |= dict.fromkeys([name for name in without if name in self._unknown])

    def _throw(self) -> None:
        """Let poll() throw: a partition has no offset, and there is no reset policy."""
        out_of_range = {name: at for name, at in self._out_of_range.items() if name in self._unknown}
        if out_of_range:
            name, at = next(iter(out_of_range.items()))
            text = f"OffsetOutOfRangeException: position {at} of {name} is not in the log, and there is no reset policy"
        else:
            names = ", ".join(self._unknown)
            text = f"NoOffsetForPartitionException: undefined offset with no reset policy for {names}"
        self._consumer.fail(text)

    async def _reset(self) -> None:
        consumer = self._consumer
        policy = consumer.config.auto_offset_reset
        now_us = consumer.timeline.now_us
        by_leader: dict[int, list[str]] = {}
        for name in self._unknown:
            if self._not_before_us.get(name, 0) <= now_us:
                by_leader.setdefault(consumer.leader_of(name), []).append(name)
        for leader, names in by_leader.items():
            response: m.ListOffsetsResponse | None = None
            if leader >= 0:
                response = await consumer.ask(leader, self._question(names, policy))
            if (
                response is None
            ):  # Kafka asks the other leaders meanwhile (OffsetFetcherUtils.regroupPartitionMapByNode)
                self._refused(names)
                continue
            found = {name: offset for name, (error, offset) in response.offsets.items() if error is ErrorCode.NONE}
            self._position({name: offset for name, offset in found.items() if offset >= 0}, policy.partition(":")[0])
            none = [name for name, offset in found.items() if offset < 0]
            self._ask_again(none, consumer.config.request_timeout_ms * MS)
            if len(found) < len(names):
                self._refused([name for name in names if name not in found])

    def _refused(self, names: list[str]) -> None:
        """Request again after a metadata refresh: the leader has changed, or there is none."""
        self._consumer.mark_metadata_stale()
        self._ask_again(names, self._consumer.retry_backoff_us)

    def _question(self, names: list[str], policy: str) -> m.ListOffsetsRequest:
        consumer = self._consumer
        committed = consumer.config.read_committed
        if not policy.startswith(BY_DURATION):
            return m.ListOffsetsRequest(names, latest=policy == "latest", read_committed=committed)
        since_us = consumer.timeline.now_us - parse_iso_duration(policy.removeprefix(BY_DURATION))
        return m.ListOffsetsRequest(names, latest=False, read_committed=committed, since_us=max(0, since_us))

    def _ask_again(self, names: list[str], delay_us: int) -> None:
        """Request the offsets of these partitions again after a delay: none was found."""
        consumer = self._consumer
        again_us = consumer.timeline.now_us + delay_us
        for name in names:
            if name in self._unknown:
                self._not_before_us[name] = again_us
        if names:
            consumer.timeline.call_at(again_us, consumer.request_attention)

    def _position(self, found: dict[str, int], reason: str, epochs: Mapping[str, int] = NO_EPOCHS) -> None:
        """Set the positions of partitions that are still owned and still without one; `epochs` of committed offsets."""
        consumer = self._consumer
        positions = {name: offset for name, offset in found.items() if name in self._unknown}
        if not positions:
            return
        for name in positions:
            self._forget(name)
        self.validation.begin(positions, epochs)
        consumer.emit(e.PositionsReset(group=consumer.group, member=consumer.name, positions=positions, reason=reason))

    def _forget(self, name: str) -> None:
        known_of = self._unknown, self._reset_only, self._out_of_range, self._otherwise, self._not_before_us
        for known in known_of:
            known.pop(name, None)
        self.validation.forget(name)

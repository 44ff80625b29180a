"""Validation of positions after a change of leader: is the position still in the partition's log (KIP-320)?

Theory of operation. A position has the leader epoch of the record that was read before it (`offset_epoch`), and the
leader for which it is valid. An owned partition is in one of Kafka's states. INITIALIZING and AWAIT_RESET have no
position (`Positions`); FETCHING is read (`Fetcher`). AWAIT_VALIDATION is handled here: the partition is neither read
nor committed, and its buffered records are dropped. When metadata has another leader epoch, a position with an offset
epoch awaits validation; one without it (a reset, a seek) is kept. OffsetForLeaderEpoch asks the leader where that
offset epoch ends in its log. At the position or behind it, reading continues. Before it, the logs diverge there, and
records that were read after that offset are gone. With a reset policy reading continues at the divergence; if the
leader does not know the epoch, at the policy's offset. With `none` poll() throws LogTruncationException. After any
error the request is sent again, with fresh metadata.
Source: `SubscriptionState.maybeValidatePosition`, `maybeCompleteValidation`; `OffsetFetcher.validatePositionsAsync`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from cluster import events as e
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.fetcher import FetchPosition
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode

MS: Final = 1_000
UNDEFINED: Final = -1


class PositionValidation:
    """The positions that await validation. `reset` resets a position whose epoch the leader does not know."""

    def __init__(self, consumer: ConsumerHost, reset: Callable[[str], None]) -> None:
        self._consumer, self._reset_position = consumer, reset
        self.reset()

    def reset(self) -> None:
        """Begin a new process."""
        self.awaiting: dict[str, FetchPosition] = {}
        self._not_before_us: dict[str, int] = {}
        self._truncations: dict[str, str] = {}  # partition → the diverging offset, for poll() to throw
        self._seen = self._consumer.metadata_version

    # --- states -------------------------------------------------------------------------------------------------------

    def begin(self, positions: Mapping[str, int], offset_epochs: Mapping[str, int]) -> None:
        """Take positions from commits or resets; those with an epoch of an earlier leader await validation.

        A position of the current leader epoch is kept: a leader has the records that it has served (Kafka asks anyway).
        """
        taken: dict[str, int] = {}
        for name, offset in positions.items():
            led, epoch = self._consumer.partitions.get(name), offset_epochs.get(name, UNDEFINED)
            if epoch == UNDEFINED or led is None or led.leader_epoch == epoch:
                taken[name] = offset
            elif led.leader_epoch > epoch:
                self.awaiting[name] = FetchPosition(offset, epoch, led.leader, led.leader_epoch)
            else:  # the committing member had newer metadata: its leader has at least that epoch
                self.awaiting[name] = FetchPosition(offset, epoch, UNDEFINED, epoch - 1)
        if taken:
            self._consumer.fetcher.assign(taken, offset_epochs)

    def forget(self, name: str) -> None:
        """Stop validating a partition that was revoked, or gets another position."""
        self.awaiting.pop(name, None)
        self._not_before_us.pop(name, None)

    @property
    def outdated(self) -> bool:
        """Whether metadata was refreshed since the leader epochs were last checked."""
        return self._seen != self._consumer.metadata_version

    def check_leader_epochs(self) -> None:
        """Let positions whose partition has a newer leader epoch await validation."""
        consumer, fetcher = self._consumer, self._consumer.fetcher
        self._seen = consumer.metadata_version
        for name, position in self.awaiting.items():
            led = self._led_anew(name, position.leader_epoch)
            if led is not None:
                self.awaiting[name] = position._replace(leader=led.leader, leader_epoch=led.leader_epoch)
                self._not_before_us.pop(name, None)
        for name, epoch in list(fetcher.leader_epochs.items()):
            led = self._led_anew(name, epoch)
            if led is None:
                continue
            consumer.read_replica.drop((name,), "leader changed")
            position = FetchPosition(fetcher.positions[name], fetcher.offset_epochs[name], led.leader, led.leader_epoch)
            if position.offset_epoch == UNDEFINED:
                fetcher.resume(name, position)
            else:
                fetcher.revoke((name,), "leader changed")
                self.awaiting[name] = position

    def _led_anew(self, name: str, epoch: int) -> m.PartitionMetadata | None:
        """The leader of a partition, if its epoch is newer than this one."""
        led = self._consumer.partitions.get(name)
        return led if led is not None and led.leader >= 0 and led.leader_epoch > epoch else None

    # --- requests -----------------------------------------------------------------------------------------------------

    @property
    def due(self) -> bool:
        """Whether a leader can be asked now, or poll() has an exception to throw."""
        if not self.awaiting and not self._truncations:
            return False
        now_us = self._consumer.timeline.now_us
        return bool(self._truncations) or any(self._not_before_us.get(name, 0) <= now_us for name in self.awaiting)

    def ask(self) -> None:
        """Ask each leader about all positions that are due; poll() continues meanwhile."""
        consumer = self._consumer
        if self._truncations:
            offsets = ", ".join(f"{name}={offset}" for name, offset in self._truncations.items() if offset)
            self._truncations = {}
            consumer.fail(f"LogTruncationException: Truncated partitions detected with divergent offsets {{{offsets}}}")
            return
        now_us = consumer.timeline.now_us
        by_leader: dict[int, dict[str, FetchPosition]] = {}
        for name, position in self.awaiting.items():
            if self._not_before_us.get(name, 0) <= now_us:
                by_leader.setdefault(position.leader, {})[name] = position
        for leader, asked in by_leader.items():
            if leader == UNDEFINED:
                self._retry(asked)
                continue
            self._not_before_us |= dict.fromkeys(asked, now_us + consumer.config.request_timeout_ms * MS)
            question = {name: (position.leader_epoch, position.offset_epoch) for name, position in asked.items()}
            request = m.OffsetForLeaderEpochRequest(question)
            consumer.connection(leader).send(request, partial(self._answered, asked))

    def _retry(self, asked: dict[str, FetchPosition]) -> None:
        """Ask again with fresh metadata after `retry.backoff.ms`, or as soon as another leader is known."""
        consumer = self._consumer
        mine = [name for name, position in asked.items() if self.awaiting.get(name) == position]
        if mine:
            self._not_before_us |= dict.fromkeys(mine, consumer.timeline.now_us + consumer.retry_backoff_us)
            consumer.mark_metadata_stale()
            consumer.after(consumer.retry_backoff_us, consumer.request_attention)

    # --- responses ----------------------------------------------------------------------------------------------------

    def _answered(self, asked: dict[str, FetchPosition], response: m.OffsetForLeaderEpochResponse | None) -> None:
        ends = response.ends if response is not None else {}
        self._retry({name: position for name, position in asked.items() if not _served(ends.get(name))})
        for name, position in asked.items():
            answer = ends.get(name)
            if answer is None or not _served(answer) or self.awaiting.get(name) != position:
                continue  # stale: the leader or the position has changed
            _, epoch, end = answer
            if UNDEFINED in (epoch, end):
                self._truncated(name, position, UNDEFINED, UNDEFINED)
            elif end < position.offset:
                self._truncated(name, position, epoch, end)
            else:
                self._resume(name, position)
        self._consumer.request_attention()

    def _resume(self, name: str, position: FetchPosition) -> None:
        self.forget(name)
        self._consumer.fetcher.resume(name, position)

    def _truncated(self, name: str, position: FetchPosition, epoch: int, end: int) -> None:
        """Handle a log that diverges from the records read at `end` (-1: unknown)."""
        consumer = self._consumer
        reset = consumer.config.auto_offset_reset
        consumer.emit(
            e.PositionTruncated(
                group=consumer.group,
                member=consumer.name,
                partition=name,
                position=position.offset,
                offset_epoch=position.offset_epoch,
                leader_epoch=position.leader_epoch,
                diverging=end,
                diverging_epoch=epoch,
                reset=reset,
            )
        )
        if reset == "none":
            self._truncations[name] = "" if end == UNDEFINED else _offset_and_metadata(end, epoch)
        elif end == UNDEFINED:
            self.forget(name)
            self._reset_position(name)
        else:
            self._resume(name, position._replace(offset=end, offset_epoch=epoch))
            consumer.emit(
                e.PositionsReset(group=consumer.group, member=consumer.name, positions={name: end}, reason="truncated")
            )


def _served(answer: tuple[ErrorCode, int, int] | None) -> bool:
    return answer is not None and answer[0] is ErrorCode.NONE


def _offset_and_metadata(offset: int, epoch: int) -> str:
    return f"OffsetAndMetadata{{offset={offset}, leaderEpoch={epoch}, metadata=''}}"

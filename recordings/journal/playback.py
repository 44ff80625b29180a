"""A recording as a source of events at any speed, forwards and backwards.

The cursor is an instant and an event: `view` is the fold of all events up to there. Forwards, events are folded one
after the other; a jump folds from the keyframe before. A seek therefore gives exactly the view that playing gives. No
clock runs here: the player calls `tick` with the wall time that has passed.

A recording without keyframes gets them while it is folded for the first time.
"""

import gc
import math
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cluster.commands import CommandError, Mark, parse
from cluster.events import Event, kind_of
from cluster.view import ClusterView, fold
from cluster.view.state import LogEntry
from recordings.bounded_files import RecordingError
from recordings.journal.format import Position
from recordings.journal.keyframes import Keyframes
from recordings.journal.misfits import MISFITS
from recordings.journal.reader import DamagedError, Recording

SLOWEST, FASTEST = 0.01, 1_000.0
MICROSECONDS = 1_000_000
LANDMARKS = ("rebalance", "fault")
EVENTS_BETWEEN_LOOKS = 64  # events, after which a tick with a budget reads the clock

Listener = Callable[[Event], object]


class Playback:
    """A cursor in a recording: `view` is the fold of the events up to it, `at_us` its instant.

    `last` is the event before the cursor; None at the beginning, and where a jump ended at a keyframe.
    `listeners` get every event that is played (`tick`, `step` forwards). A jump sends them nothing, replaces `view` and
    counts in `jumps`. `end_us` and `events` are the whole recording's. Every method that reads may raise DamagedError
    (with `salvage` the recording ends there). `grown`: how many events a recording that is being written holds, and the
    instant in µs up to which it does; its recorder makes the keyframes.
    """

    def __init__(
        self, recording: Recording, keyframes: Keyframes | None = None, grown: tuple[int, int] | None = None
    ) -> None:
        self.recording, self._grows = recording, grown is not None
        if grown is None:
            totals = recording.footer
            if totals is None or recording.salvage:
                totals = recording.survey().totals
            grown = totals.events, totals.virtual_us
        self.events, self.end_us = grown
        self.listeners: list[Listener] = []
        self.jumps = 0
        self.playing = False
        self._speed = 1.0
        self._keyframes = keyframes or Keyframes(recording.path)
        self._keyframes.forget_after(self.events)
        self._landmarks: list[LogEntry] | None = None
        self.view, self.at_us = ClusterView(), 0
        self.last: Event | None = None
        self._origin: Position | None = None
        self._ahead = self._read(None)
        self._peeked: Event | None = next(self._ahead, None)

    @property
    def seq(self) -> int:
        """The last event before the cursor; 0 at the beginning."""
        return self.view.seq

    @property
    def at_end(self) -> bool:
        """Whether the cursor is at the end."""
        return self._peeked is None and self.at_us >= self.end_us

    # --- playing ------------------------------------------------------------------------------------------------------

    @property
    def speed(self) -> float:
        """Virtual seconds per wall second, backwards below zero; its amount is clamped to 0.01 to 1,000."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._speed = math.copysign(min(max(abs(speed), SLOWEST), FASTEST), speed)

    def tick(self, elapsed_s: float, budget_s: float = math.inf) -> None:
        """While playing, let `elapsed_s` seconds of wall time pass, and play the events that became due.

        Stops when `budget_s` of wall time is used up; late events are played in later ticks, not in a burst. At the end
        it stops playing. Backwards it jumps to the instant before, and stops at the beginning.
        """
        if not self.playing:
            return
        if self._speed < 0:
            self.seek_us(self.at_us + round(elapsed_s * self._speed * MICROSECONDS))
            self.playing = self.at_us > 0
            return
        target_us = min(self.at_us + round(elapsed_s * self._speed * MICROSECONDS), self.end_us)
        deadline = time.perf_counter() + budget_s
        while self._play(target_us, EVENTS_BETWEEN_LOOKS):
            if time.perf_counter() >= deadline:
                self.at_us = max(self.at_us, self.view.at_us)
                return
        self.at_us = target_us
        self.playing = not self.at_end

    def step(self, count: int = 1) -> None:
        """Move by a number of events: forwards to just after the next ones, backwards (negative) by a jump."""
        if count < 0:
            self.seek_seq(self.seq + count)
            return
        self._play(math.inf, count)
        self.at_us = self.end_us if self._peeked is None else max(self.at_us, self.view.at_us)

    # --- jumping ------------------------------------------------------------------------------------------------------

    def seek_us(self, at_us: int) -> None:
        """Jump to an instant within the recording: after every event up to and including it."""
        at_us = min(max(at_us, 0), self.end_us)
        with _no_collections():
            self._jump(self._keyframes.before_us(at_us), back=at_us < self.view.at_us)
            self._fold(at_us=at_us)
        self.at_us = at_us

    def seek_seq(self, seq: int) -> None:
        """Jump to just after an event (0: before the first); the cursor's instant is the event's."""
        seq = min(max(seq, 0), self.events)
        with _no_collections():
            # one event before it is folded at least, so that `last` is known
            self._jump(self._keyframes.before_seq(seq - 1), back=seq < self.seq)
            self._fold(seq=seq)
        self.at_us = self.view.at_us

    def seek_when(self, holds: Callable[[ClusterView, Event], bool]) -> bool:
        """Advance to just after the first event for which `holds(view, event)`; False, and the end, if none does."""
        self.jumps += 1
        while (event := self._peeked) is not None:
            self._fold(seq=event.seq)
            if holds(self.view, event):
                self.at_us = event.at_us
                return True
        self.at_us = self.end_us
        return False

    def next_of_kind(self, kind: str) -> bool:
        """Advance to just after the next event of a kind; False, and the end, if there is none."""
        return self.seek_when(lambda _, event: kind_of(event) == kind)

    def next_moment(self) -> LogEntry | None:
        """Jump to the next rebalance or fault after the cursor; None, and no move, if there is none."""
        moments = self.landmarks()
        return self._go_to(moments, bisect_right(moments, self.at_us, key=_instant))

    def previous_moment(self) -> LogEntry | None:
        """Jump to the last rebalance or fault before the cursor; None, and no move, if there is none."""
        moments = self.landmarks()
        return self._go_to(moments, bisect_left(moments, self.at_us, key=_instant) - 1)

    def landmarks(self) -> list[LogEntry]:
        """Every rebalance and fault of the recording, in order (of a very long one, not every early one)."""
        if self._landmarks is None:
            end = Playback(self.recording, self._keyframes)
            end.seek_seq(self.events)
            self._landmarks = [moment for moment in end.view.log_entries if moment.kind in LANDMARKS]
        return self._landmarks

    def marks(self) -> list[tuple[int, str]]:
        """The operator's remarks: (µs, text), in order. Reads the whole recording the first time."""
        marks = []
        for line in self.recording.survey().commands:
            try:
                command = parse(line.command)
            except CommandError as error:
                raise RecordingError(f"the command after event {line.after_seq} is damaged: {error}") from error
            if isinstance(command, Mark):
                marks.append((line.at_us, command.text))
        return marks

    def _go_to(self, moments: list[LogEntry], place: int) -> LogEntry | None:
        if not 0 <= place < len(moments):
            return None
        self.seek_us(moments[place].at_us)
        return moments[place]

    # --- reading ------------------------------------------------------------------------------------------------------

    def _play(self, at_us: float, count: int) -> bool:
        """Play up to `count` events that are due at `at_us`; returns whether more may be due."""
        for _ in range(count):
            event = self._peeked
            if event is None or event.at_us > at_us:
                return False
            self._fold(seq=event.seq)
            for listener in self.listeners:
                listener(event)
        return True

    def _fold(self, *, seq: float = math.inf, at_us: float = math.inf) -> None:
        """Fold events up to a number and an instant, both included."""
        view, ahead, event = self.view, self._ahead, self._peeked
        try:
            while event is not None and event.seq <= seq and event.at_us <= at_us:
                fold(view, event)
                self.last = event
                self._peeked = event = next(ahead, None)
        except MISFITS as error:
            assert event is not None
            if self._origin is not None:  # the view, which it does not fit, came from a keyframe
                self._keyframes.forget_all()
                self._start_at(None)
                self._fold(seq=seq, at_us=at_us)
            else:
                self._end_before(event, error)

    def _end_before(self, event: Event, error: Exception) -> None:
        """An event that does not fit those before it is damage: the recording ends there, or cannot be played."""
        damage = self.recording.misfit(event)
        if not self.recording.salvage:
            raise damage from error
        self.recording.warn(f"{damage.place}: {damage.reason}; read up to event {event.seq - 1}")
        self.events = event.seq - 1
        self._keyframes.forget_after(self.events)
        self._start_at(None)
        self._fold(seq=self.events)
        self.end_us = self.view.at_us

    def _jump(self, keyframe: Position | None, *, back: bool) -> None:
        """Begin at a keyframe, if the way from the cursor is longer or leads back."""
        self.jumps += 1
        if back or (keyframe is not None and keyframe.seq > self.seq):
            self._start_at(keyframe)

    def _start_at(self, keyframe: Position | None) -> None:
        while keyframe is not None and not self._begin_behind(keyframe):
            keyframe = self._keyframes.before_seq(keyframe.seq)  # unusable: try the one before it
        self._origin, self.last = keyframe, None
        if keyframe is None:
            self.view = ClusterView()
            self._ahead = self._read(None)
            self._peeked = next(self._ahead, None)
        self.at_us = self.view.at_us

    def _begin_behind(self, keyframe: Position) -> bool:
        """Begin at a keyframe, if there is one and the journal continues behind it as it claims."""
        view = self._keyframes.get(keyframe)
        if view is None:
            return False
        ahead = self._read(keyframe)
        try:
            following = next(ahead, None)
        except DamagedError:
            following = None
        if following is None and keyframe.seq != self.events:
            self._keyframes.forget(keyframe)
            return False
        self.view, self._ahead, self._peeked = view, ahead, following
        return True

    def _read(self, start: Position | None) -> Iterator[Event]:
        """Events from a position on; the consumer folds all of a batch before it takes the next one."""
        before = start.seq if start is not None else 0
        for batch in self.recording.batches(start):
            events = [entry for entry in batch.entries if isinstance(entry, Event)]
            del events[max(0, self.events - before) :]  # written since the playback began: the recording is growing
            place = 0
            for keyframe in self._keyframes.between(before, before + len(events)):
                yield from events[place : keyframe.seq - before]
                place = keyframe.seq - before
                if self.view.seq == keyframe.seq:
                    self._keyframes.confirm(keyframe, self.view)
            yield from events[place:]
            if batch.end.seq > self.events:
                return
            before = batch.end.seq
            self._offer(batch.end)

    def _offer(self, place: Position) -> None:
        """Make a keyframe here, if the last one is far enough back and no later one exists."""
        last = self._keyframes.positions[-1].seq if self._keyframes.positions else 0
        if not self._grows and self.view.seq == place.seq >= self._keyframes.next_after(last):
            self._keyframes.put(place, self.view, keep=True)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Let the garbage collector rest: a jump makes tens of thousands of objects, and no cycles."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _instant(moment: LogEntry) -> int:
    return moment.at_us

"""The last acts of processes, kept as raw events: each question is answered by a search through them."""

from typing import NamedTuple

from cluster import events as e
from cluster.config import parse_rate

TOLD = (
    e.MemberStarted, e.MemberStopped, e.MemberStateChanged, e.MemberEpochChanged, e.PartitionsAssigned,
    e.PartitionsRevoked,
)  # fmt: skip
COMMITS = (e.OffsetsCommitted, e.OffsetCommitRefused, e.AutoCommitFailed)
ENDS = {"Left", "Dead", "Fenced", "FENCED", "STALE", "PREPARE_LEAVING", "LEAVING", "FATAL", "Assigned"}
WORKING = {"Ongoing", "PrepareCommit", "PrepareAbort"}
BEGINS = {"Joining", "Revoking", "JOINING"}
HOW = {"stop": "closed", "kill": "killed", "crash": "crashed"}
Coordinated = e.TransactionStateChanged | e.TransactionFenced
MemberTold = (
    e.MemberStarted
    | e.MemberStopped
    | e.MemberStateChanged
    | e.MemberEpochChanged
    | e.PartitionsAssigned
    | e.PartitionsRevoked
)


class StayBook:
    """A member's time in one generation: the event that told it, and those around it."""

    def __init__(self, story: list[MemberTold], place: int, before: int, after: int) -> None:
        self.story, self.place, self.before, self.after = story, place, before, after

    @property
    def generation(self) -> int:
        """Its number, or the member epoch."""
        told = self.story[self.place]
        assert isinstance(told, e.MemberStateChanged | e.MemberEpochChanged)
        return told.generation if isinstance(told, e.MemberStateChanged) else told.epoch

    @property
    def joined_us(self) -> int:
        """When the client knew it."""
        return self.story[self.place].at_us

    def asked(self) -> tuple[int, str]:
        """When and why it had begun to join: the first such event since it was in a generation, or stopped."""
        for event in self.story[self.before + 1 : self.place]:
            if begins(event):
                return event.at_us, event.reason if isinstance(event, e.MemberStateChanged) else ""
        last = self.story[self.before] if self.before >= 0 else None
        if last is not None and begins(last):
            return last.at_us, last.reason if isinstance(last, e.MemberStateChanged) else ""
        return self.joined_us, ""

    def ended(self) -> tuple[int, str]:
        """When and why it ended; -1 while it has not."""
        if self.after >= len(self.story):
            return -1, ""
        event = self.story[self.after]
        if isinstance(event, e.MemberStopped):
            return event.at_us, HOW[event.how]
        if isinstance(event, e.MemberStateChanged):
            return event.at_us, event.reason or (event.state if event.state in ENDS else "")
        if isinstance(event, e.MemberEpochChanged):
            return event.at_us, f"leaves with epoch {event.epoch}" if event.epoch < 0 else ""
        raise AssertionError(event)

    def assigned(self) -> tuple[int, int]:
        """The first onPartitionsAssigned while it lasted, -1 without one, and the partitions of all of them."""
        given = [one for one in self.story[self.place : self.after] if isinstance(one, e.PartitionsAssigned)]
        return (given[0].at_us if given else -1), sum(len(one.partitions) for one in given)

    def revoked(self, until: int) -> int:
        """The partitions revoked, up to the next generation."""
        later = self.story[self.place : until]
        return sum(len(one.partitions) for one in later if isinstance(one, e.PartitionsRevoked))


def begins(event: MemberTold) -> bool:
    """Whether a member begins to join, or goes on with it."""
    if isinstance(event, e.MemberStateChanged):
        return event.state in BEGINS
    return isinstance(event, e.MemberEpochChanged) and event.epoch == 0


def ends(event: MemberTold) -> bool:
    """Whether a member is in no generation after this, and does not join."""
    if isinstance(event, e.MemberStateChanged):
        return event.state in ENDS
    return isinstance(event, e.MemberStopped) or (isinstance(event, e.MemberEpochChanged) and event.epoch < 0)


class TransactionTold(NamedTuple):
    """A transaction by the events of its coordinator; -1: not yet, or not told.

    Lost: a coordinator loaded a log that ends before it, at `ended_us`.
    """

    start_us: int
    epoch: int
    partitions: tuple[str, ...]
    decided_us: int
    ended_us: int
    outcome: str
    fenced_for: str


class ProducerStory:
    """A producer by its own events."""

    def __init__(self, declared: e.ProducerDeclared) -> None:
        self.declared, self.rate = declared, declared.rate_per_second
        self.states: list[e.ProducerStateChanged] = []
        self.identity: e.ProducerIdAssigned | None = None
        self.sent = 0
        self.retried: dict[str, int] = {}
        self.last_error_us = -1

    @property
    def transactional_id(self) -> str:
        """Its transactional.id; "" for none."""
        return self.declared.transactional_id

    def note(self, event: e.Event) -> None:
        """Record one event of this producer."""
        match event:
            case e.ProducerDeclared():
                self.declared, self.rate = event, event.rate_per_second
            case e.ProducerStateChanged():
                resumed = bool(self.states) and self.states[-1].state == "Paused"
                if event.state == "Running" and not resumed:
                    self.identity = None
                self.states.append(event)
            case e.ProducerIdAssigned():
                self.identity = event
            case e.ProduceSent():
                self.sent += sum(event.records.values())
            case e.BatchRetried():
                self.retried[event.error] = self.retried.get(event.error, 0) + 1
                self.last_error_us = event.at_us
            case e.BatchSplit() | e.BatchFailed() | e.SendRefused():
                self.last_error_us = event.at_us


class LifeBooks:
    """What members, producers and transaction coordinators told."""

    def __init__(self) -> None:
        self.stories: dict[str, list[MemberTold]] = {}
        self.producers: dict[str, ProducerStory] = {}
        self.coordinators: dict[str, list[Coordinated]] = {}
        self.commits: dict[str, e.OffsetsCommitted | e.OffsetCommitRefused | e.AutoCommitFailed] = {}
        self.polls: dict[str, e.PollReturned | None] = {}
        self.done: dict[str, list[e.RecordsProcessed]] = {}
        self.finished: dict[str, int] = {}
        self.removed: dict[str, e.MemberRemoved] = {}
        self.followers: dict[tuple[str, str], int] = {}  # member and partition → the follower that it fetches from

    def note(self, event: e.Event) -> None:
        """Record one event."""
        self._note_producers(event)
        if isinstance(event, TOLD):
            self.stories.setdefault(event.member, []).append(event)
            if isinstance(event, e.MemberStarted):
                self.polls[event.member], self.done[event.member] = None, []
                self._forget(event.member, None)
            elif isinstance(event, e.MemberStopped | e.PartitionsRevoked):
                self._forget(event.member, event.partitions if isinstance(event, e.PartitionsRevoked) else None)
        elif isinstance(event, COMMITS):
            self.commits[event.member] = event
        elif isinstance(event, e.PollReturned):
            self.polls[event.member] = event
            self.done[event.member] = self.done.get(event.member, [])[-1:]
        elif isinstance(event, e.RecordsProcessed):
            self.done.setdefault(event.member, []).append(event)
            count = event.next_offset - event.first_offset
            self.finished[event.member] = self.finished.get(event.member, 0) + count
        elif isinstance(event, e.MemberRemoved):
            self.removed[event.member] = event
        elif isinstance(event, e.PreferredReadReplicaChanged):
            self.followers[event.member, event.partition] = event.broker

    def _forget(self, member: str, partitions: tuple[str, ...] | None) -> None:
        """It fetches from no follower any more, of these partitions or of all."""
        for who, name in list(self.followers):
            if who == member and (partitions is None or name in partitions):
                del self.followers[who, name]

    def _note_producers(self, event: e.Event) -> None:
        if isinstance(event, e.TransactionStateChanged | e.TransactionFenced):
            self.coordinators.setdefault(event.transactional_id, []).append(event)
        elif isinstance(event, e.SettingChanged):
            for name in event.processes:
                if event.key == "rate" and event.effect == "now" and name in self.producers:
                    self.producers[name].rate = parse_rate(event.value)
        elif isinstance(event, e.ProducerDeclared) and event.producer not in self.producers:
            self.producers[event.producer] = ProducerStory(event)
        elif (name := getattr(event, "producer", "")) in self.producers:
            self.producers[name].note(event)

    def transactions_of(self, name: str) -> list[TransactionTold]:
        """The transactions of a transactional id, oldest first."""
        pieces: list[list[Coordinated]] = [[]]
        for event in self.coordinators.get(name, []):
            state = event.state if isinstance(event, e.TransactionStateChanged) else ""
            if isinstance(event, e.TransactionStateChanged) and event.loaded and _is_cut_off(pieces[-1], event):
                pieces[-1].append(event)
                pieces.append([event] if state in WORKING else [])
                continue
            if state in {"Empty", "Dead"}:
                pieces[-1] = []
                continue
            pieces[-1].append(event)
            if state.startswith("Complete"):
                pieces.append([])
        return [told for piece in pieces if (told := _told(piece)) is not None]

    def finished_since_poll(self, member: str) -> int:
        """The records that its application has finished since its last poll() returned."""
        last = self.polls.get(member)
        after = [one for one in self.done.get(member, []) if last is None or one.seq > last.seq]
        return sum(one.next_offset - one.first_offset for one in after)

    def state(self, member: str) -> tuple[str, int, str]:
        """Its client's state, since when, and the reason of its last change."""
        found, since_us, why = "", -1, ""
        for event in self.stories.get(member, []):
            now, reason = found, why
            if isinstance(event, e.MemberStarted):
                now = "Joining"
            elif isinstance(event, e.MemberStopped):
                now = "Left" if event.how == "stop" else "Dead"
            elif isinstance(event, e.MemberStateChanged):
                now, reason = event.state, event.reason
            since_us = event.at_us if now != found else since_us
            found, why = now, reason
        return found, since_us, why

    def joins(self, member: str) -> tuple[int, str]:
        """Since when and why it is joining; -1 while it is not."""
        story = self.stories.get(member, [])
        found = -1, ""
        for event in story:
            if begins(event) and found[0] < 0:
                found = event.at_us, event.reason if isinstance(event, e.MemberStateChanged) else ""
            elif ends(event) or _number(event) > 0:
                found = -1, ""
        return found

    def stays(self, member: str) -> list[StayBook]:
        """Every generation that it was in, oldest first."""
        story = self.stories.get(member, [])
        places: list[int] = []
        open_until = -1  # the place at which the last one ended
        for place, event in enumerate(story):
            number = _number(event)
            if number > 0:
                same = isinstance(event, e.MemberEpochChanged) and places and open_until < 0
                if same and _number(story[places[-1]]) == number:
                    continue
                places.append(place)
                open_until = -1
            elif places and open_until < 0 and (begins(event) or ends(event)):
                open_until = place
        found = []
        for at, place in enumerate(places):
            upto = places[at + 1] if at + 1 < len(places) else len(story)
            after = next((one for one in range(place + 1, upto) if begins(story[one]) or ends(story[one])), upto)
            earlier = [one for one in range(place) if ends(story[one]) or _number(story[one]) > 0]
            found.append(StayBook(story, place, max(earlier, default=-1), after))
        return found

    def started_us(self, member: str) -> int:
        """When its last process started; -1 before the first one."""
        starts = [one.at_us for one in self.stories.get(member, []) if isinstance(one, e.MemberStarted)]
        return starts[-1] if starts else -1


def _number(event: MemberTold) -> int:
    """The generation or epoch that an event tells a member; 0 for any other event."""
    if isinstance(event, e.MemberStateChanged):
        return event.generation if event.state == "Syncing" else 0
    return max(0, event.epoch) if isinstance(event, e.MemberEpochChanged) else 0


def _is_cut_off(piece: list[Coordinated], loaded: e.TransactionStateChanged) -> bool:
    """Whether a loaded log lacks the transaction of these events: it tells of none, or of one that began before."""
    starts = [one.start_us for one in piece if isinstance(one, e.TransactionStateChanged) and one.state in WORKING]
    if not starts or loaded.state not in {*WORKING, "CompleteCommit", "CompleteAbort"}:
        return bool(starts)
    return loaded.start_us < starts[-1] if loaded.state == "Ongoing" else loaded.start_us != starts[-1]


def _told(piece: list[Coordinated]) -> TransactionTold | None:
    """The transaction of the events up to its completion, or its loss; None where they only complete one."""
    changes = [one for one in piece if isinstance(one, e.TransactionStateChanged)]
    last = changes[-1] if changes else None
    lost = last is not None and last.loaded and _is_cut_off(piece[:-1], last)
    working = [one for one in (changes[:-1] if lost else changes) if one.state in WORKING]
    if not working or last is None:
        return None
    starts = [one.start_us for one in working if one.state == "Ongoing"]
    start_us = starts[-1] if starts else working[0].start_us
    mine = [one for one in working if one.start_us == start_us or one.state != "Ongoing"]
    first = next(place for place, one in enumerate(piece) if one is mine[0])
    decided = next((one for one in mine if one.state != "Ongoing"), None)
    fenced = [one.reason for one in piece[first:] if isinstance(one, e.TransactionFenced)]
    ended = lost or last.state.startswith("Complete")
    outcomes = {"CompleteCommit": "● committed", "CompleteAbort": "✖ aborted", "PrepareCommit": "↻ commits",
                "PrepareAbort": "↻ aborts", "Ongoing": "▶ open"}  # fmt: skip
    return TransactionTold(
        start_us,
        mine[0].epoch,
        mine[-1].partitions,
        decided.at_us if decided is not None else -1,
        last.at_us if ended else -1,
        "✖ lost" if lost else outcomes[last.state],
        fenced[-1] if fenced else "",
    )

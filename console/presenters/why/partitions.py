"""Why a partition takes no records or hands none out: leader, in-sync replicas, last stable offset, owners."""

from collections.abc import Collection

from cluster.view.state import NEVER, PartitionView
from cluster.view.transactions import TransactionView
from console.presenters.exceptions.facts import and_more
from console.presenters.exceptions.group_lag import lag_parts
from console.presenters.formatting import countdown
from console.presenters.styled_text import ERROR, MOVING, OK, WARN, plain
from console.presenters.transactions import ONGOING, holder, is_stuck, left_of_timeout_us, transaction_of
from console.presenters.why.answers import Question, WhyAnswer, WhyFact, WhyFacts, fault_ends, in_order
from console.presenters.why.brokers import broker_lines, fenced_within, revive
from console.presenters.why.groups import process_lines
from console.presenters.why.paused import why_unread

NAMED = 2
OVERDUE = "overdue: the coordinator's next scan aborts it"
LIFE = ("fault_started", "producer_state_changed")
ANEW = {"Dead": "start", "Stopped": "start", "Paused": "resume"}


def leader_away(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The partition takes neither Produce nor Fetch: no leader, a dead one, a frozen one."""
    partition = facts.view.partitions[name]
    broker = facts.view.brokers.get(partition.leader)
    elected = facts.last(name, "leader_elected")
    if broker is None:
        in_sync = [number for number in partition.replicas if number in partition.isr]
        found = [fact for number in in_sync[:NAMED] for fact in broker_lines(facts, number)]
        ends = f"an in-sync replica registers: {_names(in_sync)}" if in_sync else ""
        verdict = f"{name} has no leader"
        return WhyAnswer(verdict, ERROR, in_order(*elected, *found), ends, revive(facts, in_sync))
    if broker.up and not broker.paused:
        return None
    who = f"broker-{broker.broker}"
    if broker.paused:
        verdict = f"{name} is led by {who}, which is frozen: requests wait"
    else:
        verdict = f"{name} has no live leader: {who} {'starts' if broker.alive else 'is down'}"
    found = [*elected, *broker_lines(facts, broker.broker)]
    ends = fenced_within(facts, broker.broker)
    return WhyAnswer(verdict, ERROR, in_order(*found), ends, revive(facts, [broker.broker]))


def leaders_away(facts: WhyFacts, whose: str, names: Collection[str]) -> WhyAnswer | None:
    """Partitions of a group or a member that have no live leader, or a frozen one; the facts are those of the first."""
    health = facts.partitions
    for sick, what in ((health.unled, "no live leader"), (health.frozen, "a frozen leader")):
        found = [one.partition for one in sick if one.partition in names]
        answer = leader_away(facts, found[0]) if found else None
        if answer is not None:
            number, total = len(found), len(names)
            verb = "has" if number == 1 else "have"
            noun = "partition" if total == 1 else "partitions"
            return answer._replace(verdict=f"{number} of {total} {noun} of {whose} {verb} {what}: {and_more(found)}")
    return None


def group_leaders_away(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Partitions that the group reads without a live leader."""
    group, topics = facts.view.groups[name], facts.view.partitions_by_topic
    names = {one for topic in group.topics for one in topics.get(topic, ())}
    return leaders_away(facts, name, names) if group.members else None


def below_minimum(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The leader refuses acks=all: fewer replicas in sync than min.insync.replicas."""
    partition = facts.view.partitions[name]
    number = len(partition.isr)
    least = min(facts.view.topics[partition.topic].min_insync_replicas, len(partition.replicas))
    if not _served(facts, partition) or number >= least:
        return None
    verdict = f"{name} is below min.insync.replicas: {number} of {least} in sync, acks=all is refused"
    return _without_replicas(facts, partition, verdict, ERROR)


def under_replicated(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A replica is not in sync; the partition still takes records."""
    partition = facts.view.partitions[name]
    number = len(partition.isr)
    least = min(facts.view.topics[partition.topic].min_insync_replicas, len(partition.replicas))
    if not _served(facts, partition) or number < least or number >= partition.replication_factor:
        return None
    verdict = f"{name} is under-replicated: {number} of {partition.replication_factor} replicas are in sync"
    return _without_replicas(facts, partition, verdict, WARN)


def stable_offset_stuck(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A transaction holds readers of committed data below the high watermark."""
    partition = facts.view.partitions[name]
    if partition.transactions is None or partition.last_stable_offset >= partition.high_watermark:
        return None
    since_us, words = holder(facts.view, partition, facts.now_us)
    verdict = f"read_committed reads {name} up to {partition.last_stable_offset} of {partition.high_watermark}: "
    verdict += plain(words)
    stuck = is_stuck(facts.view, partition, facts.now_us)
    producer_id = partition.transactions.index.holds_back()
    one = transaction_of(facts.view, NEVER if producer_id is None else producer_id)
    found: list[WhyFact] = []
    ends = ""
    may: tuple[str, ...] = (f"abort hanging transaction {name}",) if plain(words).startswith("hanging") else ()
    if one is not None and since_us != NEVER:
        processes = _processes(facts, one)
        found = [WhyFact(since_us, f"{one.transactional_id} began its transaction")]
        found += facts.lines(one.transactional_id, "transaction_fenced", "transaction_state_changed")
        found += [fact for process in processes for fact in facts.lines(process, *LIFE)]
        left_us = left_of_timeout_us(one, facts.now_us)
        if one.fencing:
            ends = "its coordinator aborts it"
        elif one.state == ONGOING and left_us > 0:
            ends = f"{one.transactional_id} times out in {countdown(left_us)} (transaction.timeout.ms)"
        elif one.state == ONGOING and not may:  # no coordinator ends a hanging one
            ends = OVERDUE
        may = tuple(_begins_anew(facts, process) for process in processes) if stuck and not one.fencing else may
    return WhyAnswer(verdict, WARN if stuck else MOVING, in_order(*found), ends, may)


def held_back_by(facts: WhyFacts, producer_id: int) -> WhyAnswer | None:
    """A stuck transaction of a producer id: the first partition whose readers it holds back."""
    for partition in facts.view.partitions.values():
        known = partition.transactions
        if (
            known is not None
            and known.index.holds_back() == producer_id
            and is_stuck(facts.view, partition, facts.now_us)
        ):
            return stable_offset_stuck(facts, partition.partition)
    return None


def readers_held_back(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A stuck transaction holds a group back: the partition where it holds back most."""
    worst = lag_parts(facts.view, facts.view.groups[name]).worst
    if worst is None or not is_stuck(facts.view, worst, facts.now_us):
        return None
    return stable_offset_stuck(facts, worst.partition)


def not_consumed(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A group reads the topic, and no member, or one that stands still, has the partition."""
    view = facts.view
    for group_name in view.topic_readers.get(view.partitions[name].topic, ()):
        group = view.groups[group_name]
        owner = group.owners.get(name)
        if owner is None:
            since_us = group.unowned_since_us.get(name, NEVER)
            lost = WhyFact(since_us, f"{name} lost its owner")
            return WhyAnswer(f"no member of {group_name} reads {name}", WARN, in_order(lost))
        answer = _owner_stands(facts, owner, group_name, name) if owner in view.members else None
        if answer is not None:
            return answer
    return None


def partition_goes_on(facts: WhyFacts, name: str) -> WhyAnswer:
    """The facts that prove that the partition is well."""
    one = facts.view.partitions[name]
    verdict = f"{name} is led by broker-{one.leader}, all {len(one.replicas)} replicas are in sync"
    return WhyAnswer(verdict, OK, facts.last(name, "leader_elected"))


def of_topic(question: Question) -> Question:
    """The question of a partition, asked of a topic: the first partition with an answer."""

    def asked(facts: WhyFacts, name: str) -> WhyAnswer | None:
        found = (question(facts, each) for each in facts.view.partitions_by_topic.get(name, ()))
        return next((answer for answer in found if answer is not None), None)

    return asked


def topic_goes_on(facts: WhyFacts, name: str) -> WhyAnswer:
    """The facts that prove that each partition of the topic is well."""
    number = len(facts.view.partitions_by_topic.get(name, ()))
    noun = "partition has" if number == 1 else "partitions have"
    return WhyAnswer(f"{name}: {number} {noun} a leader and all replicas in sync", OK)


PARTITION_QUESTIONS = (leader_away, below_minimum, under_replicated, stable_offset_stuck, not_consumed)
TOPIC_QUESTIONS = tuple(of_topic(question) for question in PARTITION_QUESTIONS)


def _owner_stands(facts: WhyFacts, owner: str, group: str, name: str) -> WhyAnswer | None:
    """The owner's process is frozen, its application is stalled, or it has paused the partition."""
    member = facts.view.members[owner]
    reason = why_unread(member, name)
    if reason is None:
        return None
    verdict = f"{owner} of {group} has {name} and reads nothing: {reason.words}"
    found = (*reason.facts, *process_lines(facts, owner))
    return WhyAnswer(verdict, WARN, in_order(*found), fault_ends(facts, owner), (reason.command,))


def _served(facts: WhyFacts, partition: PartitionView) -> bool:
    broker = facts.view.brokers.get(partition.leader)
    return broker is not None and broker.up and not broker.paused


def _without_replicas(facts: WhyFacts, partition: PartitionView, verdict: str, tone: str) -> WhyAnswer:
    """The replicas out of sync, the newest events of their brokers, the first one's remedy."""
    out = [one for one in partition.replicas if one not in partition.isr]
    found = [fact for number in out[:NAMED] for fact in broker_lines(facts, number)]
    verb = "is" if len(out) == 1 else "are"
    return WhyAnswer(verdict, tone, in_order(*found), f"{_names(out)} {verb} in sync again", revive(facts, out))


def _processes(facts: WhyFacts, one: TransactionView) -> list[str]:
    """The producers of this flight that have the id's producer id."""
    return [name for name, each in facts.view.producers.items() if each.producer_id == one.producer_id]


def _begins_anew(facts: WhyFacts, process: str) -> str:
    """The command after which the process ends what it left open, at the latest in initTransactions()."""
    return f"{ANEW.get(facts.view.producers[process].state, 'restart')} {process}"


def _names(numbers: list[int]) -> str:
    return ", ".join(f"broker-{number}" for number in numbers)

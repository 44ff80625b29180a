"""Conditions of partitions, brokers, transactions and producers. Each finds its words, or nothing."""

from cluster.view.brokers import BrokerView
from cluster.view.state import NEVER, PartitionView
from cluster.view.transactions import TransactionView, is_hanging
from console.presenters.coordinator_status import new_leader_by_us
from console.presenters.exceptions.facts import ClusterFacts, ConditionWords, and_more, longest_first
from console.presenters.formatting import countdown, duration
from console.presenters.overview import broker_state
from console.presenters.producers.limits import limits_of
from console.presenters.producers.table import still_us
from console.presenters.topology.standing import reassigned_partitions
from console.presenters.transactions import ONGOING, left_of_timeout_us, outdated_producers

DOWN_STATES = {"down": "is down", "silent": "is down", "frozen": "is frozen", "fenced": "is fenced"}
PASSING_STATES = {"starting": "starts", "stopping": "shuts down"}


def _names(partitions: list[PartitionView]) -> str:
    """The first partition and the number of others; those of the scenario's topics come first."""
    return and_more([one.partition for one in partitions])


def _verb(partitions: list[PartitionView], one: str, several: str) -> str:
    return one if len(partitions) == 1 else several


def _counted(facts: ClusterFacts, partitions: list[PartitionView]) -> str:
    """`3 partitions and 2 internal ones`: those of users, then those of internal topics."""
    internal = sum(facts.view.topics[one.topic].internal for one in partitions)
    users = len(partitions) - internal
    if not users:
        return f"{internal} internal partition{'s' if internal > 1 else ''}"
    also = f" and {internal} internal {'ones' if internal > 1 else 'one'}" if internal else ""
    return f"{users} partition{'s' if users > 1 else ''}{also}"


def _users_first(facts: ClusterFacts, partitions: list[PartitionView]) -> list[PartitionView]:
    return sorted(partitions, key=lambda one: facts.view.topics[one.topic].internal)


def without_leader(facts: ClusterFacts) -> ConditionWords | None:
    """Partitions that take neither a Produce nor a Fetch: no leader, or a dead one."""
    unled = _users_first(facts, facts.partitions.unled)
    if not unled:
        return None
    head = f"{_names(unled)} {_verb(unled, 'has', 'have')} no live leader"
    brokers = sorted({one.leader for one in unled if one.leader >= 0})
    if len(brokers) != 1 or brokers[0] not in facts.view.brokers:
        return longest_first(head)
    broker = facts.view.brokers[brokers[0]]
    if broker.alive:
        return longest_first(head, f"broker-{broker.broker} {'is frozen' if broker.paused else 'starts'}")
    left_us = new_leader_by_us(facts.view, broker.broker, facts.session_us) - facts.now_us
    return longest_first(head, f"broker-{broker.broker} is fenced within {countdown(left_us)}" if left_us > 0 else "")


def frozen_leader(facts: ClusterFacts) -> ConditionWords | None:
    """Partitions whose leader's process is frozen: requests wait for their answer."""
    brokers = sorted({f"broker-{one.leader}" for one in facts.partitions.frozen})
    if not brokers:
        return None
    are, lead = ("is", "leads") if len(brokers) == 1 else ("are", "lead")
    return longest_first(f"{and_more(brokers)} {are} frozen and {lead} {_counted(facts, facts.partitions.frozen)}")


def below_minimum(facts: ClusterFacts) -> ConditionWords | None:
    """Partitions that refuse acks=all."""
    short = _users_first(facts, facts.partitions.below_minimum)
    if not short:
        return None
    return longest_first(f"{_counted(facts, short)} below min.insync.replicas: acks=all refused", _names(short))


def under_replicated(facts: ClusterFacts) -> ConditionWords | None:
    """Partitions with a replica out of sync."""
    short = _users_first(facts, facts.partitions.under_replicated)
    if not short:
        return None
    return longest_first(f"{_counted(facts, short)} under-replicated", _names(short))


def reassigned(facts: ClusterFacts) -> ConditionWords | None:
    """Partitions with a reassignment in progress."""
    moving = _users_first(facts, reassigned_partitions(facts.view))
    if not moving:
        return None
    return longest_first(f"{_counted(facts, moving)} being reassigned", _names(moving))


def broker_away(facts: ClusterFacts) -> ConditionWords | None:
    """Brokers whose process is dead or frozen, or that the controller has fenced."""
    return _brokers(facts, DOWN_STATES)


def broker_passing(facts: ClusterFacts) -> ConditionWords | None:
    """Brokers that start or shut down."""
    return _brokers(facts, PASSING_STATES)


def _brokers(facts: ClusterFacts, states: dict[str, str]) -> ConditionWords | None:
    found: list[tuple[BrokerView, str]] = []
    for broker in facts.view.brokers.values():
        words = states.get(broker_state(broker))
        if words:
            found.append((broker, words))
    if not found:
        return None
    broker, words = found[0]
    others = f"{len(found) - 1} more {'broker' if len(found) == 2 else 'brokers'} too" if len(found) > 1 else ""
    return longest_first(f"broker-{broker.broker} {words}", others)


def _holders(facts: ClusterFacts) -> list[tuple[PartitionView, int, TransactionView | None]]:
    """Partitions whose last stable offset an open transaction holds: its producer id, and the transactional id."""
    by_producer = {one.producer_id: one for one in facts.view.transactions.values() if one.producer_id >= 0}
    found = []
    for partition, known in [(one, one.transactions) for one in facts.view.partitions.values() if one.transactions]:
        if not known.index.open:
            continue
        producer_id, stable = known.index.holds_back(), partition.last_stable_offset
        if producer_id is not None and known.index.open[producer_id] <= stable < partition.high_watermark:
            found.append((partition, producer_id, by_producer.get(producer_id)))
    return found


def hanging_transaction(facts: ClusterFacts) -> ConditionWords | None:
    """Open transactions that no coordinator will end."""
    hanging = [
        (partition.partition, producer_id)
        for partition, producer_id, one in _holders(facts)
        if is_hanging(one, partition.partition)
    ]
    if not hanging:
        return None
    name, producer_id = hanging[0]
    more = f" and {len(hanging) - 1} more" if len(hanging) > 1 else ""
    words = f"{name}{more}: last stable offset stuck behind a hanging transaction"
    return longest_first(words, f"producer id {producer_id}")


def stuck_transaction(facts: ClusterFacts) -> ConditionWords | None:
    """The oldest transaction that holds readers back and has used half of its transaction.timeout.ms."""
    held: dict[str, list[str]] = {}
    for partition, _, one in _holders(facts):
        if one is None or is_hanging(one, partition.partition) or one.state != ONGOING:
            continue
        if 2 * left_of_timeout_us(one, facts.now_us) <= 1_000 * one.timeout_ms:
            held.setdefault(one.transactional_id, []).append(partition.partition)
    if not held:
        return None
    oldest = min((facts.view.transactions[name] for name in held), key=lambda one: one.start_us)
    left_us = left_of_timeout_us(oldest, facts.now_us)
    age = duration(facts.now_us - oldest.start_us)
    head = f"{and_more(held[oldest.transactional_id])}: last stable offset stuck"
    by = f"{oldest.transactional_id}'s transaction"
    if oldest.fencing:  # its producer is fenced, and the coordinator aborts it: no timer is awaited
        ending = limit = "abort under way"
    else:
        ending = f"times out in {countdown(left_us)}" if left_us > 0 else "overdue"
        limit = f"{ending} (transaction.timeout.ms)"
    return ConditionWords((
        f"{head} behind {by}, {age}, {limit}",
        f"{head} behind {by}, {age}, {ending}",
        f"{head} by {oldest.transactional_id}, {ending}",
        f"{head}, {ending}",
    ))  # fmt: skip


def still_producer(facts: ClusterFacts) -> ConditionWords | None:
    """The running producer whose batches have waited longest without an acknowledgement."""
    still = [
        (still_us(one, facts.now_us, limits_of(facts.view, facts.configs, one)), one)
        for one in facts.view.producers.values()
        if one.waits_since_us != NEVER
    ]
    waiting = sorted((pair for pair in still if pair[0]), key=lambda pair: -pair[0])
    if not waiting:
        return None
    longest_us, first = waiting[0]
    makes = "makes" if len(waiting) == 1 else "make"
    head = f"{and_more([one.producer for _, one in waiting])} {makes} no progress: no acknowledgement for"
    return longest_first(f"{head} {duration(longest_us)}", f"last error {first.last_error}" if first.last_error else "")


def fenced_producer(facts: ClusterFacts) -> ConditionWords | None:
    """Producers that an epoch fenced: they send no more, or run on and do not know it yet."""
    fenced = _producers(facts, "Fenced", "fenced")
    outdated = outdated_producers(facts.view)
    if fenced is not None or not outdated:
        return fenced
    first, one = next(iter(outdated.items()))
    have = "has a fenced epoch: its next request is" if len(outdated) == 1 else "have fenced epochs: next requests are"
    epochs = f"epoch {facts.view.producers[first].epoch}, its transactional id has {one.epoch}"
    return longest_first(f"{and_more(list(outdated))} {have} refused", epochs if len(outdated) == 1 else "")


def dead_producer(facts: ClusterFacts) -> ConditionWords | None:
    """Producers whose process died."""
    return _producers(facts, "Dead", "down")


def _producers(facts: ClusterFacts, state: str, words: str) -> ConditionWords | None:
    found = [one.producer for one in facts.view.producers.values() if one.state == state]
    if not found:
        return None
    are, send = ("is", "sends") if len(found) == 1 else ("are", "send")
    return longest_first(f"{and_more(found)} {are} {words} and {send} nothing more")


def fault_in_force(facts: ClusterFacts) -> ConditionWords | None:
    """Faults that a command started and that still last."""
    faults = list(facts.view.faults.values())
    if not faults:
        return None
    words = f"fault in force: {faults[-1].text}" if len(faults) == 1 else f"{len(faults)} faults in force"
    return longest_first(words, f"newest: {faults[-1].text}" if len(faults) > 1 else "")

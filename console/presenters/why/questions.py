"""The table of questions: for each kind of subject what may be wrong with it, most useful first."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from cluster.view.state import ClusterView
from console.presenters.styled_text import OK
from console.presenters.why import brokers, groups, lags, members, partitions, paused, producers, transactions
from console.presenters.why.answers import Question, Subject, WhyAnswer, WhyFacts

MOST_ANSWERS = 7


class Questions(NamedTuple):
    """What may be wrong with a subject, most useful first, and the answer where nothing is."""

    asked: tuple[Question, ...]
    calm: Callable[[WhyFacts, str], WhyAnswer]


QUESTIONS: dict[str, Questions] = {
    "group": Questions(
        (
            groups.coordinator_not_available,
            groups.generation_not_complete,
            groups.silent_members,
            members.group_lost_a_member,
            partitions.group_leaders_away,
            groups.partitions_unowned,
            partitions.readers_held_back,
            lags.reader_stands_still,
            lags.lag_not_zero,
        ),
        groups.nothing_wrong,
    ),
    "member": Questions(
        (
            members.member_gone,
            members.process_stands_still,
            members.coordinator_away,
            members.poll_late,
            paused.partitions_paused,
            members.group_waits,
            members.heartbeat_late,
            members.owned_leaders_away,
            members.group_rebalances,
        ),
        members.member_goes_on,
    ),
    "partition": Questions(partitions.PARTITION_QUESTIONS, partitions.partition_goes_on),
    "topic": Questions(partitions.TOPIC_QUESTIONS, partitions.topic_goes_on),
    "broker": Questions(
        (
            brokers.broker_away,
            brokers.broker_passing,
            brokers.leads_nothing,
            brokers.out_of_sync,
            brokers.copies_replicas,
        ),
        brokers.broker_serves,
    ),
    "producer": Questions(
        (
            producers.process_away,
            producers.epoch_fenced,
            producers.stands_still,
            producers.partitions_refuse,
            producers.holds_readers_back,
            producers.records_failed,
        ),
        producers.producer_goes_on,
    ),
    "transaction": Questions(
        (
            transactions.coordinator_not_available,
            transactions.open_transaction,
            transactions.holds_readers_back,
            transactions.requests_refused,
        ),
        transactions.none_open,
    ),
}


def answers(facts: WhyFacts, subject: Subject) -> list[WhyAnswer]:
    """Every answer that holds, most useful first; where none needs attention, nothing is wrong comes first."""
    questions = QUESTIONS[subject.kind]
    found = [answer for question in questions.asked if (answer := question(facts, subject.name)) is not None]
    if all(answer.tone == OK for answer in found):
        found.insert(0, questions.calm(facts, subject.name))
    return found[:MOST_ANSWERS]


def subject_named(view: ClusterView, name: str) -> Subject | None:
    """What a name stands for; None for an unknown name."""
    return next((Subject(kind, name) for kind, names in _names(view).items() if name in names), None)


def is_known(view: ClusterView, subject: Subject) -> bool:
    """Whether a subject exists at the view's instant: time travel goes back beyond the begin of what is asked about."""
    return subject.name in _names(view).get(subject.kind, ())


def _names(view: ClusterView) -> dict[str, Collection[str]]:
    return {
        "group": view.groups,
        "member": view.members,
        "partition": view.partitions,
        "topic": view.topics,
        "broker": [f"broker-{number}" for number in view.brokers],
        "producer": view.producers,
        "transaction": view.transactions,
    }

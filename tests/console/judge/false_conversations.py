"""Conversations with one false statement each."""

from collections.abc import Callable, Container

import pytest

from cluster import events as e
from console.presenters.conversations import messages
from console.presenters.conversations.messages import LOST, REQUEST, Message

Patch = pytest.MonkeyPatch


def _changed(patch: Patch, event: type[e.Event], change: Callable[[Message], Message]) -> None:
    make = messages.TABLE[event]

    def changed(one: e.Event) -> Message | None:
        message = make(one)
        return message if message is None else change(message)

    patch.setitem(messages.TABLE, event, changed)


def a_request_comes_from_the_coordinator(patch: Patch) -> None:
    """The arrow of a JoinGroup points to the member."""
    _changed(patch, e.JoinReceived, lambda one: one._replace(source=one.targets[0], targets=(one.source,)))


def every_heartbeat_is_answered_without_error(patch: Patch) -> None:
    """REBALANCE_IN_PROGRESS is not shown."""

    def change(one: Message) -> Message:
        return one._replace(text="heartbeat · NONE")

    _changed(patch, e.HeartbeatAnswered, change)


def a_lost_coordinator_is_asked(patch: Patch) -> None:
    """What is lost looks like a request that arrives."""
    _changed(patch, e.CoordinatorLost, lambda one: one._replace(kind=REQUEST if one.kind == LOST else one.kind))


def the_barrier_answers_with_no_generation(patch: Patch) -> None:
    """The answer of a JoinGroup does not name the generation that begins."""
    _changed(patch, e.JoinBarrierCompleted, lambda one: one._replace(text="JoinGroup · NONE"))


def markers_concern_no_transactional_id(patch: Patch) -> None:
    """A conversation of a transactional id lacks what names its producer id."""

    def concerns(one: Message, names: Container[str]) -> bool:
        return one.source in names or any(name in names for name in one.targets)

    patch.setattr(Message, "concerns", concerns)


def every_state_is_of_init_producer_id(patch: Patch) -> None:
    """The step that leads to a state is always the first one."""
    patch.setattr(messages, "STEPS", dict.fromkeys(messages.STEPS, "InitProducerId · "))


def every_epoch_is_of_init_producer_id(patch: Patch) -> None:
    """Also one that the answer to EndTxn carries, and one that an idempotent producer raises itself."""

    def change(one: Message) -> Message:
        words = one.text.replace("uses", "InitProducerId ·")
        return one._replace(kind=messages.ANSWER, source=messages.BROKERS, targets=(one.source,), text=words)

    _changed(patch, e.ProducerIdAssigned, change)


FALSE_CONVERSATIONS = {
    every_epoch_is_of_init_producer_id: ("transaction-step-by-step", 45),
    every_state_is_of_init_producer_id: ("transaction-step-by-step", 45),
    a_request_comes_from_the_coordinator: ("eager-vs-cooperative", 45),
    every_heartbeat_is_answered_without_error: ("eager-vs-cooperative", 45),
    the_barrier_answers_with_no_generation: ("eager-vs-cooperative", 45),
    a_lost_coordinator_is_asked: ("coordinator-failover", 125),
    markers_concern_no_transactional_id: ("stuck-last-stable-offset", 75),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""

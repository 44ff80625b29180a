"""The pipeline stamps, folds and publishes an event, in this order, and answers nothing."""

from cluster.event_pipeline import Pipeline
from cluster.events import Event, TopicCreated
from cluster.virtual_time import Timeline


def topic() -> TopicCreated:
    return TopicCreated(topic="orders", partitions=1, replication_factor=1, min_insync_replicas=1, internal=False)


def test_an_event_is_stamped_and_folded_before_a_sink_gets_it() -> None:
    seen: list[tuple[int, int, bool]] = []
    timeline = Timeline(execute=lambda _: None)
    timeline.now_us = 7

    def sink(event: Event) -> None:
        seen.append((event.seq, event.at_us, pipeline.view.seq == event.seq))

    pipeline = Pipeline(timeline, [sink])
    emit = pipeline.logger().emit
    emit(topic())
    emit(topic())
    assert seen == [(1, 7, True), (2, 7, True)]


def test_emitting_answers_nothing_because_a_compiled_caller_checks_the_declared_type() -> None:
    emit: object = Pipeline(Timeline(execute=lambda _: None), []).logger().emit
    assert callable(emit)
    assert emit(topic()) is None

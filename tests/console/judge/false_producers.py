"""Tables of producers with one false statement each."""

import pytest

from cluster.view.document import oldest_batch_us
from cluster.view.state import ClusterView, ProducerView
from console.presenters.exceptions import cluster_conditions
from console.presenters.producers import limits, table
from console.presenters.producers.limits import ProducerConfigs, ProducerLimits
from console.presenters.styled_text import Line, line
from console.presenters.why import producers as why

Patch = pytest.MonkeyPatch


def a_retried_batch_is_young_again(patch: Patch) -> None:
    """The oldest batch counts from its last attempt: delivery.timeout.ms never comes nearer."""
    original = oldest_batch_us

    def last_sent_us(producer: ProducerView) -> int:
        return max((one.sent_us for one in producer.in_flight.values()), default=original(producer))

    patch.setattr(table, "oldest_batch_us", last_sent_us)


def requests_are_counted_of_all_brokers(patch: Patch) -> None:
    """Requests in flight to several brokers together, beside a limit for each connection."""
    original = table.clocks

    def clocks(producer: ProducerView, of: ProducerLimits | None, now_us: int) -> tuple[Line, Line, Line, Line]:
        first, *others = original(producer, of, now_us)
        return (line((str(len(producer.in_flight)), first[0][1]), *first[1:]), others[0], others[1], others[2])

    patch.setattr(table, "clocks", clocks)


def timeouts_are_the_defaults(patch: Patch) -> None:
    """Clocks run against Kafka's defaults, whatever the scenario says."""
    original = limits.limits_of

    def limits_of(view: ClusterView, configs: ProducerConfigs, producer: ProducerView) -> ProducerLimits | None:
        return original(view, {key: {} for key in configs}, producer)

    patch.setattr(table, "limits_of", limits_of)


def a_zombie_has_its_successor_s_transaction(patch: Patch) -> None:
    """The transaction of a producer id is shown for every process that ever had the id."""
    patch.setattr(table.ProducersListing, "_superseded", lambda self, producer: False)


def an_error_loses_its_end(patch: Patch) -> None:
    """A long error is cut where the column of an error had its end."""
    original = table.ProducersListing._error
    patch.setattr(table.ProducersListing, "_error", lambda self, producer: original(self, producer)[:14])


def a_running_producer_has_an_epoch_that_counts(patch: Patch) -> None:
    """A producer that has not heard that its epoch is fenced looks well."""
    patch.setattr(table, "outdated_producers", lambda view: {})


def only_a_refused_producer_is_fenced(patch: Patch) -> None:
    """The headline waits for the producer to hear of its newer epoch."""
    patch.setattr(cluster_conditions, "outdated_producers", lambda view: {})


def a_fenced_epoch_is_no_reason(patch: Patch) -> None:
    """`why?` finds nothing wrong with a producer that runs with a fenced epoch."""
    patch.setattr(why, "outdated_producers", lambda view: {})


FALSE_PRODUCERS = {
    a_running_producer_has_an_epoch_that_counts: ("stuck-last-stable-offset", 110),
    only_a_refused_producer_is_fenced: ("stuck-last-stable-offset", 110),
    a_fenced_epoch_is_no_reason: ("stuck-last-stable-offset", 110),
    an_error_loses_its_end: ("below-min-isr", 60),
    a_zombie_has_its_successor_s_transaction: ("zombie-producer", 60),
    a_retried_batch_is_young_again: ("broker-down", 90),
    requests_are_counted_of_all_brokers: ("broker-down", 90),
    timeouts_are_the_defaults: ("at-least-once", 40),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""

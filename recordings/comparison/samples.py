"""The bill of a flight as it adds up: a sample at each multiple of a step, and the lags of its groups there."""

from typing import Final

import msgspec

from cluster.events import Event
from cluster.view import ClusterView
from cluster.view.document import group_time_lag_us
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter

MOST_SAMPLES: Final = 240
_ROUND: Final = (1, 2, 5)


class BillSample(msgspec.Struct, frozen=True):
    """The bill after every event up to `bill.at_us`, and the time lag (µs) of each group then."""

    bill: Bill
    lags: dict[str, int]


class CourseDetail(msgspec.Struct, frozen=True):
    """A flight as a picture of it needs it: samples, the last at its end, and its groups there.

    `view` has groups, members and the names of partitions, and nothing else: another process sends it at once.
    """

    step_us: int
    samples: list[BillSample]
    view: ClusterView


def step_for(until_us: int) -> int:
    """The shortest round step with which a flight of this length has at most `MOST_SAMPLES` samples."""
    power = 1_000
    while True:
        for number in _ROUND:
            if number * power * MOST_SAMPLES >= until_us:
                return number * power
        power *= 10


class SampledMeter(BillMeter):
    """A meter that takes a sample at each multiple of `step_us`. Its view is its own, and ends with `until_us`."""

    def __init__(self, step_us: int, until_us: int | None) -> None:
        super().__init__(keep_log=True, until_us=until_us)
        self._step_us = self._next_us = step_us
        self._samples: list[BillSample] = []

    def __call__(self, event: Event) -> None:
        """Take the next event, and before it the samples that are due."""
        self._sample_before(event.at_us if self.until_us is None else min(event.at_us, self.until_us))
        super().__call__(event)

    def detail(self, bill: Bill) -> CourseDetail:
        """What was sampled, and the end of the flight, whose bill this is."""
        self._sample_before(bill.at_us)  # time has passed since the last event
        before = [sample for sample in self._samples if sample.bill.at_us < bill.at_us]
        view = ClusterView()
        view.groups, view.members = self.view.groups, self.view.members
        view.topics, view.partitions_by_topic = self.view.topics, self.view.partitions_by_topic
        return CourseDetail(self._step_us, [*before, self._sample_at(bill)], view)

    def _sample_before(self, at_us: int) -> None:
        while self._next_us < at_us:
            self._samples.append(self._sample_at(self.bill(self._next_us)))
            self._next_us += self._step_us

    def _sample_at(self, bill: Bill) -> BillSample:
        view = self.view
        lags = {name: group_time_lag_us(view, group, bill.at_us) for name, group in view.groups.items()}
        return BillSample(bill, lags)


def meter_up_to(end_us: int, cut_us: int | None, step_us: int | None) -> BillMeter:
    """The meter of a flight up to `end_us` that is compared up to `cut_us`, if before; with samples for a step."""
    if step_us is None:
        return BillMeter(keep_log=True, until_us=cut_us)
    return SampledMeter(step_us, end_us if cut_us is None else cut_us)

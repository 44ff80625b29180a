"""`until EXPRESSION`: when to stop, asked on the simulation's thread of the simulation's own view."""

from typing import Protocol

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, document
from recordings.scenarios.document_schema import Possible
from recordings.scenarios.predicates import Predicate, PredicateError

LOOK_US = 100_000  # virtual time between two evaluations
LAST_US = 1 << 62


class Now(Protocol):
    """Whatever knows the virtual time."""

    @property
    def now_us(self) -> int:
        """The instant."""


class Watch:
    """Whether an expression holds; asked every turn, it looks once a tenth of a virtual second.

    Raises PredicateError for what is no expression and, with `spec`, for names that cannot exist in the scenario.
    """

    def __init__(self, expression: str, view: ClusterView, clock: Now, spec: ScenarioSpec | None = None) -> None:
        self.predicate, self.view, self.clock = Predicate(expression), view, clock
        for trouble in self.predicate.trouble_in(Possible(spec)) if spec is not None else ():
            raise PredicateError(*trouble)
        self.asked_us = -LOOK_US

    def __call__(self) -> bool:
        """Ask again, if it is time to."""
        now_us = self.clock.now_us
        if now_us - self.asked_us < LOOK_US:
            return False
        self.asked_us = now_us
        answer = self.predicate.ask(document(self.view, now_us, self.predicate.needs))
        if answer.over_budget:  # half a second each time: it is not asked again
            self.asked_us = LAST_US
        return answer.holds

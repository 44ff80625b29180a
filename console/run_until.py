"""The stop condition of `until EXPRESSION`, evaluated on the simulation's thread over the simulation's own view."""

from collections.abc import Callable

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, document
from recordings.scenarios.document_schema import KnownNames
from recordings.scenarios.predicates import Predicate, PredicateError

EVALUATION_INTERVAL_US = 100_000  # virtual time between two evaluations
NEVER_US = 1 << 62


class UntilCondition:
    """Whether an expression holds. It is called every turn and evaluates once per 100 ms of virtual time.

    `now_us` returns the virtual time. Raises PredicateError for a malformed expression and, with `spec`, for names
    that the scenario cannot have.
    """

    def __init__(
        self, expression: str, view: ClusterView, now_us: Callable[[], int], spec: ScenarioSpec | None = None
    ) -> None:
        self.predicate, self.view, self.now_us = Predicate(expression), view, now_us
        for path_error in self.predicate.errors_in(KnownNames(spec)) if spec is not None else ():
            raise PredicateError(*path_error)
        self.evaluated_us = -EVALUATION_INTERVAL_US

    def holding(self) -> str:
        """The values by which the expression holds now; empty if it does not hold."""
        answer = self.predicate.ask(document(self.view, self.now_us(), self.predicate.needs))
        return (answer.found or self.predicate.text) if answer.holds else ""

    def __call__(self) -> bool:
        """Evaluate if the interval has passed; False in between."""
        now_us = self.now_us()
        if now_us - self.evaluated_us < EVALUATION_INTERVAL_US:
            return False
        self.evaluated_us = now_us
        answer = self.predicate.ask(document(self.view, now_us, self.predicate.needs))
        if answer.over_budget:  # each evaluation would take half a second of wall time: never evaluate again
            self.evaluated_us = NEVER_US
        return answer.holds

"""Five answers become a scenario: protocol, partitions, members, the time of one record, and what may go wrong."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

from cluster.commands import parse, text_of
from cluster.config import format_duration
from cluster.spec import ExpectationSpec, ScenarioSpec, StepSpec
from recordings.importing.draft import ClusterDraft, GroupDraft, ProducerDraft, TopicDraft
from recordings.importing.make import Imported, scenario_of, with_spec

Protocol = Literal["classic", "consumer"]
Worry = Literal["restarts", "deployment", "crash", "slow-processing", "broker-loss", "network", "nothing"]
PROTOCOLS: Final[tuple[str, ...]] = get_args(Protocol)
WORRIES: Final[tuple[str, ...]] = get_args(Worry)
MOST_GUESSED_RATE: Final = 500.0
UTILIZATION: Final = 0.5
STEP_US: Final = 60_000_000
_SLOWER: Final = 3

_COMMANDS: Final[Mapping[str, str]] = {
    "restarts": "rolling restart billing every 30s down 5s",
    "deployment": "rollout deployment billing",
    "crash": "kill billing-1 for 60s",
    "slow-processing": "slow dependency of billing to {slower} for 60s",
    "broker-loss": "kill broker-2 for 60s",
    "network": "cut billing-1 broker-2 for 60s",
}
_TITLES: Final[Mapping[str, str]] = {
    "restarts": "Members restart one after another",
    "deployment": "A Deployment replaces every member",
    "crash": "A member crashes and comes back",
    "slow-processing": "What members call for each record gets slow",
    "broker-loss": "A broker is lost and comes back",
    "network": "A member loses its connection to a broker",
    "nothing": "A group at work",
}


class Answers(msgspec.Struct, frozen=True):
    """The five answers; `per_record_us`: how long one member works on one record."""

    protocol: Protocol = "classic"
    partitions: int = 12
    members: int = 4
    per_record_us: int = 5_000
    worry: Worry = "restarts"

    @property
    def capacity(self) -> float:
        """How many records per second the members with partitions process."""
        return min(self.members, self.partitions) * 1_000_000 / max(1, self.per_record_us)

    @property
    def rate(self) -> float:
        """Records per second that keep the members half busy; no more than a flight needs to show it."""
        return round(min(MOST_GUESSED_RATE, self.capacity * UTILIZATION), 3)


def scenario_of_answers(answers: Answers) -> Imported:
    """The scenario of five answers. Raises RecordingError: it is larger than a scenario may be."""
    group = GroupDraft(
        topics={"orders"}, members=answers.members, per_record_us=answers.per_record_us, protocol=_protocol(answers)
    )
    draft = ClusterDraft(
        topics={"orders": TopicDraft(answers.partitions)},
        groups={"billing": group},
        producers={"checkout": ProducerDraft(("orders",), rate=answers.rate)},
        guessed=[f"checkout: {answers.rate:g} records/s, half of what the members process, at most 500/s"],
    )
    lesson = "Written by `flightdeck new`; its first lines say what was guessed."
    made = scenario_of(draft, _TITLES[answers.worry], lesson)
    return with_spec(made, _with_worry(made.spec, answers))


def _protocol(answers: Answers) -> str:
    return "consumer" if answers.protocol == "consumer" else ""


def _with_worry(spec: ScenarioSpec, answers: Answers) -> ScenarioSpec:
    """The spec with the fault a minute after its beginning, and with what should hold at its end."""
    steps = []
    if answers.worry != "nothing":
        slower = format_duration(_SLOWER * max(1_000, answers.per_record_us))
        command = parse(_COMMANDS[answers.worry].format(slower=slower))
        steps.append(StepSpec(STEP_US, command, text_of(command)))
    lag = max(100, int(answers.rate * 10))
    expectations = (
        ExpectationSpec(that="groups.billing.state == 'Stable'", at_us=spec.until_us),
        ExpectationSpec(that=f"groups.billing.lag < {lag}", at_us=spec.until_us),
    )
    return msgspec.structs.replace(spec, steps=tuple(steps), expectations=expectations)

"""The scenario of a recording as it was declared for the flight, without a plan to fly it."""

from cluster.spec import ScenarioSpec
from recordings.journal.format import Header
from recordings.scenarios.loader import ScenarioErrors, SettingError, apply_settings, parse_scenario


def declared_spec(header: Header) -> tuple[ScenarioSpec | None, str]:
    """The spec of the recorded scenario with its settings, or None and the reason."""
    try:
        scenario = parse_scenario(header.scenario_text, header.scenario, recorded=True)
        return apply_settings(scenario.spec, header.settings.set), ""
    except (ScenarioErrors, SettingError) as error:
        return None, f"this version cannot read the recording's scenario: {error}"

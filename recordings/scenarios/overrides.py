"""Settings: `[SCOPE:]KEY=VALUE` written over a scenario, from the command line, a sweep or a what-if.

`cluster.spec.overrides` defines the keys of each scope; here a text is read, and the result is validated as a scenario.
"""

from collections.abc import Iterable

from cluster.spec import FIELDS, ScenarioSpec, SettingError, did_you_mean, write_over
from recordings.scenarios.validation import check_scenario

__all__ = ["FIELDS", "Setting", "SettingError", "apply_settings", "parse_setting"]

Setting = tuple[str | None, str, object]


def parse_setting(text: str) -> tuple[str | None, str, str]:
    """Read `[SCOPE:]KEY=VALUE` into scope, key and value. Raises SettingError."""
    left, equals, value = text.partition("=")
    scope, colon, key = left.rpartition(":")
    if not equals or not key.strip() or (colon and not scope.strip()):
        raise SettingError(f"{text!r} is not a setting: write it like KEY=VALUE or SCOPE:KEY=VALUE")
    return scope.strip() or None, key.strip(), value.strip()


def apply_settings(spec: ScenarioSpec, settings: Iterable[Setting]) -> ScenarioSpec:
    """A new spec with the settings written over it in order; the result as a whole is validated at the end.

    A value is text, or already a number, truth value or list. Raises SettingError for the first that is wrong.
    """
    before = list(check_scenario(spec))
    labels = []
    for scope, key, value in settings:
        labels.append(f"{scope}:{key}={value}" if scope else f"{key}={value}")
        try:
            spec = write_over(spec, scope, key, value)
        except ValueError as error:
            raise SettingError(f"{labels[-1]}: {error}") from None
    wrong = next((problem for problem in check_scenario(spec) if problem not in before), None)
    if wrong is not None:
        raise SettingError(did_you_mean(f"{', '.join(labels)}: {wrong.reason}", wrong.suggestion))
    return spec

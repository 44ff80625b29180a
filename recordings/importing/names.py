"""Names for a scenario: those of the files where a scenario may have them, others where it may not."""

import re
from collections.abc import Iterable
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
_RESERVED: Final = re.compile(r"cluster|broker(-[0-9]+)?|brokers|\.\.?|__.*")
_INSTANCE: Final = re.compile(r"(.+)-[0-9]+")


class ScenarioNames:
    """Gives each topic, group and producer a name that no other has. `groups` and `producers`: those of the files.

    In a scenario the members of `billing` are `billing-1`, `billing-2` …: nothing else may be called so.
    """

    def __init__(self, groups: Iterable[str], producers: Iterable[str]) -> None:
        self._taken: set[str] = set()
        self._with_instances = {*groups, *producers}
        self.changed: list[str] = []

    def of(self, kind: str, name: str) -> str:
        """The name of a thing in the scenario."""
        wanted = name if _NAME.fullmatch(name) else re.sub(r"[^A-Za-z0-9._-]", "-", name)[:200] or kind
        if _RESERVED.fullmatch(wanted) or (kind == "topic" and wanted in self._with_instances) or self._is_one(wanted):
            wanted += f".{kind}"
        given, number = wanted, 1
        while given in self._taken or self._is_one(given):
            number += 1
            given = f"{wanted}.{number}"
        self._taken.add(given)
        if given != name:
            self.changed.append(f"{kind} {name} is called {given}: a scenario cannot have its name")
        if kind != "topic":
            self._with_instances.add(given)
        return given

    def _is_one(self, name: str) -> bool:
        """Whether a member of a group, or an instance of a producer, could be called so."""
        found = _INSTANCE.fullmatch(name)
        return found is not None and found[1] in self._with_instances

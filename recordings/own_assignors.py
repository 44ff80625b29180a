"""Assignors of one's own, loaded by dotted name with their scenario: `assignors = ["mypackage.module.ClassName"]`.

The module is looked for beside the scenario file first, then where Python looks. It must give the same answer for the
same question, or no flight with it can be flown again.
"""

import importlib
import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from cluster.assignors import ASSIGNORS, protocols_of
from cluster.config import is_dotted


def trouble(name: str, folder: Path | None = None) -> str | None:
    """Load an assignor of one's own, so that `ASSIGNORS` has it; why it cannot be loaded, None when it can.

    `folder`: the scenario's. Without it an assignor that was loaded before is taken as it is.
    """
    if not is_dotted(name) or (folder is None and name in ASSIGNORS):
        return None
    path, _, class_name = name.rpartition(".")
    try:
        module = _module(path, folder)
    except ModuleNotFoundError as error:
        beside = f"neither beside the scenario ({folder}) nor" if folder is not None else "not"
        missing = f"{error.name} was found {beside} on Python's path"
        return f"assignors: {name} cannot be loaded: {missing}"
    except Exception as error:  # noqa: BLE001 - whatever somebody else's module does when it is imported
        return f"assignors: {name} cannot be loaded: {type(error).__name__}: {error}"
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        return f"assignors: {name} cannot be loaded: module {path} has no class {class_name}"
    try:
        assignor = made()
    except Exception as error:  # noqa: BLE001 - or their class
        return f"assignors: {name} cannot be made: {type(error).__name__}: {error}"
    wrong = _wrong(assignor)
    if wrong is not None:
        return f"assignors: {name} is not an assignor: {wrong}"
    ASSIGNORS[name] = assignor
    return None


def _wrong(assignor: object) -> str | None:
    name = getattr(assignor, "name", None)
    if not isinstance(name, str) or not name:
        return "it has no `name`"
    if not callable(getattr(assignor, "assign", None)):
        return "it has no method `assign(partitions_per_topic, subscriptions)`"
    said = protocols_of(assignor)  # type: ignore[arg-type]
    if not said or any(protocol not in ("EAGER", "COOPERATIVE") for protocol in said):
        return f"`supported_protocols` is {said!r}, not some of EAGER and COOPERATIVE"
    return None


def _module(path: str, folder: Path | None) -> ModuleType:
    """A module beside the scenario, read anew each time, or one of Python's."""
    file = folder.joinpath(*path.split(".")).with_suffix(".py") if folder is not None else None
    if file is None or not file.is_file():
        return importlib.import_module(path)
    loader = SourceFileLoader(path, str(file))
    spec = importlib.util.spec_from_loader(path, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Not `exec_module`: its cache takes a file of the same length and second for the one it knows.
    exec(loader.source_to_code(file.read_bytes(), str(file)), module.__dict__)
    return module

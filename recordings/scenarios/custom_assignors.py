"""Custom assignors, named by their dotted path: `assignors = ["mypackage.module.ClassName"]`.

An assignor of the library is loaded with whatever names it. Any other is untrusted code: to read a scenario or a
recording reads only its name; to fly it needs permission (`recordings.scenarios.custom_code`), and executes the module.
Its answer must depend on the question alone: otherwise no flight with it can be rerun.
"""

import importlib
import importlib.util
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType

from cluster.assignors import ASSIGNORS, protocols_of
from cluster.config import is_dotted

SHIPPED = Path(__file__).parents[1] / "library"
_SHIPPED_PACKAGE = "recordings.library."


class CodeError(ValueError):
    """Why an assignor's code cannot be run."""


def load_error(name: str) -> str | None:
    """Why an assignor cannot be loaded, None if it can or is not the library's; loads only those of the library."""
    file = shipped_file(name)
    if file is None or name in ASSIGNORS:
        return None
    try:
        load(name, file)
    except CodeError as error:
        return str(error)
    return None


def shipped_file(name: str) -> Path | None:
    """The file of the library that has an assignor; None for Kafka's assignors, and for foreign code."""
    path = name.rpartition(".")[0]
    if not path.startswith(_SHIPPED_PACKAGE):
        return None
    file = SHIPPED.joinpath(*path.removeprefix(_SHIPPED_PACKAGE).split(".")).with_suffix(".py")
    return file if file.is_file() else None


def is_foreign(name: str) -> bool:
    """Whether an assignor is code that is neither Kafka's nor the library's."""
    return is_dotted(name) and shipped_file(name) is None


def find(name: str, folder: Path, *, on_path: bool) -> Path | None:
    """The file of an assignor's module below a folder, or (`on_path`) on Python's path; executes nothing."""
    parts = name.split(".")[:-1]
    file = folder.joinpath(*parts).with_suffix(".py")
    if file.is_file():
        return file
    places: list[str] | None = None
    origin: str | None = None
    for depth in range(1, len(parts) + 1) if on_path else ():
        spec = PathFinder.find_spec(".".join(parts[:depth]), places)
        if spec is None:
            return None
        origin, places = spec.origin, list(spec.submodule_search_locations or ())
    return Path(origin) if origin is not None and Path(origin).is_file() else None


def load(name: str, file: Path, *, importing: bool = False) -> None:
    """Execute a module's file and register its class as an assignor. Raises CodeError.

    `importing`: as Python imports it (a module of an installed package); else the file is read anew each time.
    """
    path, _, class_name = name.rpartition(".")
    try:
        module = importlib.import_module(path) if importing else _executed(path, file)
    except Exception as error:  # noqa: BLE001 - whatever the module raises when it is imported
        raise CodeError(f"{name} cannot be loaded: {type(error).__name__}: {error}") from None
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        raise CodeError(f"{name} cannot be loaded: module {path} has no class {class_name}")
    try:
        assignor = made()
    except Exception as error:  # noqa: BLE001 - or its class
        raise CodeError(f"{name} cannot be made: {type(error).__name__}: {error}") from None
    wrong = _wrong(assignor)
    if wrong is not None:
        raise CodeError(f"{name} is not an assignor: {wrong}")
    ASSIGNORS[name] = assignor


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


def _executed(path: str, file: Path) -> ModuleType:
    loader = SourceFileLoader(path, str(file))
    spec = importlib.util.spec_from_loader(path, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Not `exec_module`: its cache takes a file of the same length and second for the one it knows.
    exec(loader.source_to_code(file.read_bytes(), str(file)), module.__dict__)
    return module

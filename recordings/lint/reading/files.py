"""From a named file to its parts: by its suffix a scenario, YAML, or properties."""

import re
from pathlib import Path
from typing import Final

import msgspec

from recordings.lint.parts import Part, Setting
from recordings.lint.reading.facts import comments_of, with_facts
from recordings.lint.reading.frameworks import framed_parts, is_framed
from recordings.lint.reading.kubernetes import workload_settings
from recordings.lint.reading.lint_input import LintInputError, text_of_file
from recordings.lint.reading.placeholders import resolved
from recordings.lint.reading.plain_files import plain_parts
from recordings.lint.reading.properties_text import read_properties
from recordings.lint.reading.scenario_parts import scenario_parts
from recordings.lint.reading.strimzi import resource_parts
from recordings.lint.reading.yaml_text import YamlEntry, read_yaml

YAML: Final = (".yaml", ".yml")
PROPERTIES: Final = (".properties", ".conf", ".cfg", ".config")

_HOCON: Final = re.compile(r"^[ \t]*[\w.\"-]{1,200}[ \t]*=?[ \t]*\{[ \t]*$", re.MULTILINE)
"""A line that opens a block."""
_PROFILE: Final = re.compile(r"%([A-Za-z0-9_,-]{1,100})\.")
_ON_PROFILE: Final = ("spring.config.activate.on-profile", "spring.profiles")
MOST_PROFILES: Final = 20


class LintFile(msgspec.Struct, frozen=True):
    """A file as read: its parts, and the rules that a comment in it turns off."""

    parts: list[Part]
    ignored: frozenset[str] = frozenset()


def read_file(path: Path) -> LintFile:
    """The parts of a file. Raises LintInputError."""
    return read_text(text_of_file(path), str(path))


def read_text(text: str, file: str) -> LintFile:
    """The parts of a file's text; `file` is its name. Raises LintInputError."""
    suffix = Path(file).suffix.lower()
    if suffix == ".toml":
        parts = scenario_parts(text, file)
    elif suffix in YAML:
        parts = _of_yaml(text, file, 0)
    elif suffix in PROPERTIES:
        if (block := _HOCON.search(text)) is not None:
            line = text.count("\n", 0, block.start()) + 1
            raise LintInputError(file, line, "it is HOCON, which is not read; properties and YAML are")
        parts = _of_properties(text, file, 0)
    else:
        kinds = ", ".join((".toml (a scenario)", *YAML, *PROPERTIES))
        raise LintInputError(file, 0, f"its name says no format that is linted: {kinds}")
    facts, ignored = comments_of(text, file)
    return LintFile([with_facts(part, facts) for part in parts], ignored)


def _of_properties(text: str, file: str, line: int) -> list[Part]:
    documents = read_properties(text, file)
    return _of_documents([[_moved(each, line) for each in document] for document in documents], file)


def _of_yaml(text: str, file: str, line: int) -> list[Part]:
    parts, plain = list[Part](), list[list[Setting]]()
    documents = read_yaml(text, file)
    for document in documents:
        resource = resource_parts(document, file, documents)
        if resource is not None:
            parts += resource
            continue
        workload = workload_settings(document, file)
        if workload is not None:
            parts += [with_facts(part, workload[1]) for part in _of_settings(workload[0], file)]
            continue
        inner = _config_map(document, file)
        if inner is not None:
            parts += inner
            continue
        plain.append([Setting(value, file, at + line, _dotted(path)) for path, value, at in document])
    return parts + _of_documents(plain, file)


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[", "[")


def _config_map(document: list[YamlEntry], file: str) -> list[Part] | None:
    """The parts of the files in a ConfigMap of Kubernetes; None for another document. Raises LintInputError."""
    if not any(path == ("kind",) and value == "ConfigMap" for path, value, _ in document):
        return None
    parts = list[Part]()
    for path, value, line in document:
        if path[:1] != ("data",) or len(path) != 2:
            continue
        suffix = Path(path[1]).suffix.lower() if "\0" not in path[1] else ""
        if suffix in YAML:
            parts += _of_yaml(value, file, line)
        elif suffix in PROPERTIES:
            parts += _of_properties(value, file, line)
    return parts


def _moved(setting: Setting, line: int) -> Setting:
    return msgspec.structs.replace(setting, line=setting.line + line) if line else setting


def _of_documents(documents: list[list[Setting]], file: str) -> list[Part]:
    """The parts of a file's documents: what holds everywhere, and each profile over it."""
    everywhere, profiles = list[Setting](), dict[str, list[Setting]]()
    for document in documents:
        named = next((each.value for each in document if each.written in _ON_PROFILE), None)
        for setting in document:
            match = _PROFILE.match(setting.written)
            key = setting.written[match.end() :] if match else setting.written
            known = msgspec.structs.replace(setting, written=key, raw=setting.value or "")
            profile = match[1] if match else named
            if profile is None:
                everywhere.append(known)
            else:
                profiles.setdefault(profile, []).append(known)
    parts = _of_settings(everywhere, file)
    for name, over in list(profiles.items())[:MOST_PROFILES]:
        parts += [msgspec.structs.replace(part, profile=name) for part in _of_settings([*everywhere, *over], file)]
    return parts


def _of_settings(settings: list[Setting], file: str) -> list[Part]:
    framed = is_framed(settings)
    known = [
        msgspec.structs.replace(each, value=resolved(each.value or "", with_defaults=framed)) for each in settings
    ]  # fmt: skip
    return framed_parts(known, file) if framed else plain_parts(known, file)

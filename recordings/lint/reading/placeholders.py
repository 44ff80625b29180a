"""Values that only the running process knows: `${HOSTNAME}`, `$(POD_NAME)`, `{{ .Values.group }}`."""

import re
from typing import Final

_PLACEHOLDER: Final = re.compile(r"\$\{([^${}:]{0,200})(?::([^${}]{0,2000}))?\}")
_MARKS: Final = ("${", "$(", "{{", "#{")
_POD_NAMES: Final = re.compile(
    r"(?<![A-Za-z])(HOSTNAME|HOST_NAME|POD_NAME|POD|PODNAME|MY_POD_NAME|K8S_POD_NAME|KUBERNETES_POD_NAME)(?![A-Za-z])",
    re.IGNORECASE,
)
MOST_PLACEHOLDERS: Final = 20


def resolved(raw: str, *, with_defaults: bool) -> str | None:
    """A value with the defaults of its placeholders (`${NAME:default}`) put in; None when it stays unknown.

    `with_defaults`: Spring and Quarkus have such defaults; for Kafka itself `${env:NAME}` names a config provider.
    """
    text = raw
    if with_defaults:
        for _ in range(MOST_PLACEHOLDERS):
            match = _PLACEHOLDER.search(text)
            if match is None or match[2] is None:
                break
            text = text[: match.start()] + match[2] + text[match.end() :]
    return None if any(mark in text for mark in _MARKS) else text


def names_a_pod(raw: str) -> bool:
    """Whether a value is made of its pod's name: `billing-${HOSTNAME}`."""
    return any(mark in raw for mark in _MARKS) and _POD_NAMES.search(raw) is not None

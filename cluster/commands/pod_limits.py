"""The limits of a rolling update, by Kubernetes' rules of rounding."""

from typing import Final

from cluster.commands.grammar import CommandError

DEPLOYMENT_DEFAULT: Final = "25%"


def scaled(limit: str, replicas: int, *, up: bool) -> int:
    """A limit as a number of pods; a percentage is rounded. Source: `intstr.GetScaledValueFromIntOrPercent`."""
    if not limit.endswith("%"):
        return int(limit)
    whole, rest = divmod(int(limit[:-1]) * replicas, 100)
    return whole + (1 if up and rest else 0)


def deployment_limits(max_surge: str, max_unavailable: str, replicas: int) -> tuple[int, int]:
    """(surge, unavailable) of a Deployment; a percentage of surge is rounded up, of unavailable down.

    Raises CommandError for two limits of 0. When both are 0 only because of rounding, one pod may be
    unavailable. Source: `deploymentutil.ResolveFenceposts`, `ValidateRollingUpdateDeployment`.
    """
    surge_text, unavailable_text = max_surge or DEPLOYMENT_DEFAULT, max_unavailable or DEPLOYMENT_DEFAULT
    if int(surge_text.rstrip("%")) == int(unavailable_text.rstrip("%")) == 0:
        raise CommandError("max unavailable may not be 0 when max surge is 0", 0)
    if unavailable_text.endswith("%") and int(unavailable_text[:-1]) > 100:
        raise CommandError("max unavailable is at most 100%", 0)
    surge = scaled(surge_text, replicas, up=True)
    unavailable = scaled(unavailable_text, replicas, up=False)
    if surge == unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)


def statefulset_limit(max_unavailable: str, replicas: int) -> int:
    """How many pods of a StatefulSet may be unavailable: 1 unless said; a percentage is rounded down, to at least 1.

    Raises CommandError for 0. Source: `getStatefulSetMaxUnavailable`, `validateRollingUpdateStatefulSet`.
    """
    if max_unavailable and int(max_unavailable.rstrip("%")) == 0:
        raise CommandError("max unavailable of a StatefulSet is at least 1", 0)
    if max_unavailable.endswith("%") and int(max_unavailable[:-1]) > 100:
        raise CommandError("max unavailable is at most 100%", 0)
    return max(1, scaled(max_unavailable or "1", replicas, up=False))

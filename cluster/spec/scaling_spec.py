"""What a scenario says of the pods that a group's members run in: when they are ready, and what scales them."""

from typing import Final, Literal

import msgspec

Readiness = Literal["started", "joined"]
"""When a readiness probe succeeds: when the application polls, or when it has its first assignment."""

HPA_SYNC_US: Final = 15_000_000  # --horizontal-pod-autoscaler-sync-period
HPA_STABILIZATION_US: Final = 300_000_000  # behavior.scaleDown.stabilizationWindowSeconds


class AutoscalerSpec(msgspec.Struct, frozen=True):
    """An autoscaler that follows a group's lag: KEDA's Kafka scaler, and the HorizontalPodAutoscaler that it feeds.

    `lag_per_member`: KEDA's `lagThreshold`. The group has `least` to `most` members. `every_us`: the time between two
    looks at the lag. `stabilization_us`: a scale-down takes the highest recommendation of this time.
    """

    lag_per_member: int
    least: int = 1
    most: int = 1
    every_us: int = HPA_SYNC_US
    stabilization_us: int = HPA_STABILIZATION_US

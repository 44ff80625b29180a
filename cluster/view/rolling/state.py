"""The state of rollouts and rolling restarts under way."""

import msgspec


class RolloutView(msgspec.Struct):
    """A rollout under way: its workload, the number of processes that it replaces, and those that it asked to stop."""

    target: str
    workload: str
    since_us: int
    replaces: int
    stopped: dict[str, None] = {}


class RollingRestartView(msgspec.Struct, frozen=True):
    """A rolling restart by the clock: member i of `members` restarts `i * every_us` after `since_us`."""

    group: str
    members: int
    since_us: int
    every_us: int
    down_us: int

    def restarted(self, now_us: int) -> int:
        """How many members were asked to restart by an instant."""
        if not self.every_us:
            return self.members
        return min(self.members, 1 + (now_us - self.since_us) // self.every_us)

    @property
    def ends_us(self) -> int:
        """When the last member starts again."""
        return self.since_us + (self.members - 1) * self.every_us + self.down_us

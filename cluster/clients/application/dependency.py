"""The service that every member of a group calls for each record: how late it answers, and whether with an error."""


class Dependency:
    """A group's dependency. `delay_us`: what it adds to each record; `failing`: it answers each call with an error."""

    def __init__(self) -> None:
        self.delay_us = 0
        self.failing = False

    def quicken(self) -> None:
        """Answer as fast as ever."""
        self.delay_us = 0

    def restore(self) -> None:
        """Answer without errors again."""
        self.failing = False

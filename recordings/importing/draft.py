"""What imported files say of a cluster, before a scenario is made of it. Names and values are the files' own."""

from pathlib import Path
from typing import Final

import msgspec

from recordings.bounded_files import RecordingError, text_given

LARGEST_BYTES: Final = 16 << 20
MOST_DIGITS: Final = 15


class ImportFileError(RecordingError):
    """A file that cannot be imported: the file, its line (0: the whole file), the reason."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")


class TopicDraft(msgspec.Struct):
    """A topic. `partitions` and `replication` are None until a file says them; `config`: topic keys as text.

    `seen`: the highest number of a partition that a row has, -1 without one. `replicas`: the brokers of each partition,
    its preferred leader first, as far as rows have them.
    """

    partitions: int | None = None
    replication: int | None = None
    seen: int = -1
    config: dict[str, str] = {}
    replicas: dict[int, tuple[int, ...]] = {}


class LagSample(msgspec.Struct, frozen=True):
    """The lag of a group, summed over its partitions, so many seconds after the first sample."""

    at_s: float
    records: float


class GroupDraft(msgspec.Struct):
    """A group. `members` is None until a file says their number; `consumer_ids`: those that rows name.

    `config` and `producer`: keys of its members' consumers and producers, as text. `per_record_us`, `commit`: of its
    application. `lag`: all committed offsets behind their ends, None when no row has it. `lag_series`: its lag
    over time.
    """

    topics: set[str] = set()
    members: int | None = None
    consumer_ids: set[str] = set()
    protocol: str = ""
    assignor: str = ""
    static: bool = False
    config: dict[str, str] = {}
    commit: str = ""
    per_record_us: int | None = None
    lag: int | None = None
    lag_series: list[LagSample] = []


class ProducerDraft(msgspec.Struct):
    """A producer. Without topics it writes to all of them; `rate` in records per second, None: unknown."""

    topics: tuple[str, ...] = ()
    config: dict[str, str] = {}
    transactional_id: str = ""
    rate: float | None = None


class ClusterDraft(msgspec.Struct):
    """A cluster, filled by one reader after another. `brokers`: the ids that files name; `count`: how many one says.

    `guessed` and `left_out` are sentences for the first lines of the scenario.
    """

    topics: dict[str, TopicDraft] = {}
    groups: dict[str, GroupDraft] = {}
    producers: dict[str, ProducerDraft] = {}
    brokers: set[int] = set()
    count: int | None = None
    config: dict[str, str] = {}
    guessed: list[str] = []
    left_out: list[str] = []

    def topic(self, name: str) -> TopicDraft:
        """The topic of this name, made if no file has named it yet."""
        return self.topics.setdefault(name, TopicDraft())

    def group(self, name: str) -> GroupDraft:
        """The group of this name, made if no file has named it yet."""
        return self.groups.setdefault(name, GroupDraft())


def text_of(path: Path) -> str:
    """The text of a file that the user named. Raises ImportFileError."""
    try:
        return text_given(path, LARGEST_BYTES)
    except RecordingError as error:
        raise ImportFileError(str(path), 0, str(error)) from None


def whole_number(text: str) -> int | None:
    """A number of digits alone; None for another text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None

"""The Spark task of a comparison: a pair of recordings in, both bills up to the end of the shorter flight out."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from recordings.bounded_files import RecordingError
from recordings.comparison.bill import Bill
from recordings.comparison.course import Course, CourseOrder, course_of
from recordings.comparison.pairing import paired

ORDER: Final = "number bigint, a string, b string"
READ: Final = "number bigint, bills string"


class BillPair(msgspec.Struct, frozen=True, kw_only=True):
    """The bills of a pair up to one instant, or why there are none (`failure`).

    `shortened`: one flight is longer, and counts up to the end of the other one. `warnings`: the readers'.
    """

    a: Bill | None = None
    b: Bill | None = None
    shortened: bool = False
    warnings: list[str] = []
    failure: str | None = None


class BillPairTask:
    """Reads pairs of recordings in a worker. `salvage`: damaged recordings are read up to the damage."""

    def __init__(self, *, salvage: bool) -> None:
        self.salvage = salvage

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read each pair, and yield its bills as JSON."""
        for batch in batches:
            for row in batch.to_pylist():
                bills = self.read(Path(row["a"]), Path(row["b"]))
                text = msgspec.json.encode(bills).decode()
                yield pa.RecordBatch.from_pydict({"number": [row["number"]], "bills": [text]})

    def read(self, a: Path, b: Path) -> BillPair:
        """Both bills; what is wrong with a recording is the pair's result."""
        try:
            courses = [course_of(CourseOrder(path, None, self.salvage)) for path in (a, b)]
            until_us = min(course.until_us for course in courses)
            shortened = any(course.until_us > until_us for course in courses)
            courses = [self._up_to(course, until_us) for course in courses]
            paired(courses[0].bill, courses[1].bill)  # else one pair, a salvaged stump, would end the whole comparison
        except RecordingError as error:
            return BillPair(failure=str(error))
        warnings = list(dict.fromkeys(warning for course in courses for warning in course.warnings))
        return BillPair(a=courses[0].bill, b=courses[1].bill, shortened=shortened, warnings=warnings)

    def _up_to(self, course: Course, until_us: int) -> Course:
        """The course, read again if it is longer."""
        if course.until_us == until_us:
            return course
        return course_of(CourseOrder(Path(course.recording), until_us, self.salvage))
